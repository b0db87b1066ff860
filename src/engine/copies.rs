//! The driver of copies: it walks over the output and its source, and knows only the size of their
//! elements.
//!
//! The walk is in the order of the output's memory, or along the source's where that is another
//! one. What an axis replicates is copied once and repeated; blocks of rows and columns are copied
//! by the gather.

use super::block::{Along, Block, StackBlock, repeat};
use super::chunks::Chunks;
use super::gather::Gather;
use super::machine::{CAN_STREAM, fence, stream};
use super::memory::uninit_array;
use super::nest::{LoopAxis, LoopNest, Tile, for_each_tile, positions, walk};
use super::threads::{Cost, PARALLEL_FROM, max_threads};
use super::tuning::copies::{MANY_PLANES, SMALL_PLANE, STREAMED_FROM, TRANSPOSED_FROM, repeated};
use super::tuning::{
    BLOCK, CACHE_LINE, CHUNK_BYTES, CHUNKS_OF_A_THREAD, LARGE_ELEMENT, WIDE_REGISTER,
};
use crate::error::{ArrayRole, Result, check_shape};
use ndarray::{Array, ArrayRef, ArrayViewMut, Dimension};
use std::mem::MaybeUninit;
use std::ops::Range;

/// How the memory is treated; tests choose their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// Whether outputs without gaps are written past the cache.
    pub(crate) streamed: bool,
    pub(crate) chunk_bytes: usize,
}

impl Settings {
    /// For a copy to memory that exists, or to `fresh` memory, which has not been touched since it
    /// was allocated. `None`: so few bytes are copied by this thread.
    pub(crate) fn of(bytes: usize, fresh: bool) -> Option<Self> {
        if bytes < PARALLEL_FROM {
            return None;
        }
        // A power of two, so that chunks begin at pages.
        let chunk_bytes = (bytes / (CHUNKS_OF_A_THREAD * max_threads()))
            .clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end())
            .next_power_of_two();
        Some(Settings {
            streamed: CAN_STREAM && !fresh && bytes >= STREAMED_FROM,
            chunk_bytes,
        })
    }
}

/// The settings of a copy of so many bytes: see [`Settings::of`].
pub(crate) type Choose = fn(usize) -> Option<Settings>;

/// A copy in standard layout.
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
pub(crate) fn fresh<A: Copy + Send + Sync, D: Dimension>(
    from: &ArrayRef<A, D>,
) -> Result<Array<A, D>> {
    let mut out = uninit_array::<A, D>(from.raw_dim())?;
    into_uninit(out.view_mut(), from, |bytes| Settings::of(bytes, true))?;
    // SAFETY: `into_uninit` has returned `Ok`, thus initialised each element.
    Ok(unsafe { out.assume_init() })
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
///
/// # Errors
///
/// `WrongShape`, `AllocationFailed`. Nothing is written then.
#[inline]
pub(crate) fn into_uninit<'o, A: Copy + Send + Sync, D: Dimension>(
    mut out: ArrayViewMut<'o, MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
    choose: Choose,
) -> Result<ArrayViewMut<'o, A, D>> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    // SAFETY: `out` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    let count = unsafe { copy_to(out.as_mut_ptr().cast(), out.strides(), from, choose) }?;
    assert_eq!(count, out.len(), "elements were left out");
    // SAFETY: so many positions were copied, each once: `Copier::range`.
    Ok(unsafe { out.assume_init() })
}

/// Copies `from` into `out`.
///
/// # Errors
///
/// `WrongShape`, `AllocationFailed`. Nothing is written then.
pub(crate) fn into<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
    choose: Choose,
) -> Result<()> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    // SAFETY: `out` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    // The copy writes nothing but elements of `from`, so all elements stay initialised.
    unsafe { copy_to(out.as_mut_ptr(), out.strides(), from, choose) }?;
    Ok(())
}

/// Copies every element of `from` to the array at `to`. Returns how many.
///
/// # Safety
///
/// With `strides`, `to` is a valid array of the shape of `from` that this call alone may access. No
/// two of its indices share an element.
#[inline]
unsafe fn copy_to<A: Copy + Send + Sync, D: Dimension>(
    to: *mut A,
    strides: &[isize],
    from: &ArrayRef<A, D>,
    choose: Choose,
) -> Result<usize> {
    let copier = Copier {
        places: (to.cast(), from.as_ptr().cast()),
        gather: Gather::of::<A, true>(),
    };
    // SAFETY: contract of `copy_to`; `from` is borrowed, and its elements are `Copy`, `Send` and
    // `Sync`, of the size of their gather. What `to` alone may access does not overlap it.
    unsafe { copier.all(from.shape(), [strides, from.strides()], choose) }
}

/// Where index 0 of every axis lies in output and source.
type Places = (*mut u8, *const u8);

/// One loop over output and source. Strides are in bytes.
type Axis = LoopAxis<2>;

/// Whether the elements of output are neighbours in the order of the positions.
fn is_dense(axes: &[Axis], size: usize) -> bool {
    let mut inside = size;
    axes.iter().rev().all(|axis| {
        let continues = axis.strides[0] == inside as isize;
        inside *= axis.size;
        continues
    })
}

/// Whether the source has one element for all positions along an axis.
fn replicates(axes: &[Axis]) -> bool {
    axes.iter().any(|axis| axis.strides[1] == 0)
}

/// Moves the axis along which the source has its shortest stride next to the innermost one, if it
/// is another one. Of these two, a long one is made the outer one: threads share its rows.
/// Returns whether there is such an axis.
fn cross(nest: &mut LoopNest<2>, size: usize) -> bool {
    let Some(place) = nest.crossing(1) else {
        return false;
    };
    let (inner, axis, last) = (*nest.inner(), nest.axes()[place], nest.axes().len() - 1);
    // Few rows are slow in squares. But if their elements alternate in the source without gaps, as
    // the channels of pixels do, they are copied without squares.
    let alternates = inner.strides[1] == (axis.size * size) as isize;
    let crosses = inner.strides[0] == size as isize
        && !is_banded(&nest.axes()[place..], size)
        && inner.size >= TRANSPOSED_FROM[1]
        && (axis.size >= TRANSPOSED_FROM[0] || alternates);
    if crosses {
        nest.move_axis(place, last - 1);
        let longer = inner.size > axis.size && inner.size * size > BLOCK;
        if longer && !replicates(nest.axes()) {
            nest.move_axis(last, last - 1);
        }
    }
    crosses
}

/// Whether the outermost axis replicates what is inside it, and all are dense in output. Rows of
/// copies of one element are written as fast as they are repeated, unless they are short.
fn is_repeated(axes: &[Axis], size: usize) -> bool {
    let inner = axes[axes.len() - 1];
    axes[0].strides[1] == 0
        && (inner.strides[1] != 0 || inner.size * size < 2 * WIDE_REGISTER)
        && is_dense(axes, size)
}

/// Whether the outermost axis is long, longer than each inside it, and has small planes inside.
fn has_small_planes(axes: &[Axis], size: usize) -> bool {
    let (planes, inner) = (axes[0].size, &axes[1..]);
    planes >= MANY_PLANES
        && positions(inner) * size <= SMALL_PLANE
        && inner.iter().all(|axis| axis.size < planes)
}

/// Whether the axes are bands: the middle one of three replicates the rows of output, and the
/// source has its neighbours along the outer one and not along the rows.
fn is_banded(axes: &[Axis], size: usize) -> bool {
    let [outer, rows, inner] = axes else {
        return false;
    };
    let [outer, inside] = [outer, inner].map(|axis| axis.strides[1].unsigned_abs());
    rows.strides[1] == 0 && outer != 0 && outer < inside && inner.strides[0] == size as isize
}

/// A copy of elements of one size.
struct Copier {
    places: Places,
    gather: &'static Gather,
}

// SAFETY: threads share the source, to be read, and write different elements of the output:
// contracts of its methods. The elements are `Send` and `Sync`: contract of `all`.
unsafe impl Sync for Copier {}

impl Copier {
    /// Copies every element of an array. Returns how many. Errors come before the first write. Not
    /// generic, so that it is compiled once.
    ///
    /// # Safety
    ///
    /// Elements are `Copy`, `Send` and `Sync`, of the size of the gather. With `strides[0]`, the
    /// first place is a valid array of `shape` that this call may write. With `strides[1]`, the
    /// second is a valid array of `shape` that this call may read. The two do not overlap. No two
    /// indices of the first share an element: constructors of mutable views refuse such strides or
    /// demand their absence.
    #[inline(never)]
    unsafe fn all(&self, shape: &[usize], strides: [&[isize]; 2], choose: Choose) -> Result<usize> {
        let size = self.gather.size;
        let axes = shape.iter().enumerate().map(|(axis, &len)| Axis {
            size: len,
            strides: strides.map(|strides| strides[axis].wrapping_mul(size as isize)),
        });
        if let Some(tile) = Tile::of(axes.clone()) {
            let len = tile.rows.size.saturating_mul(tile.columns.size);
            let bytes = len.saturating_mul(size);
            if (1..=BLOCK).contains(&bytes) && choose(bytes).is_none() {
                // SAFETY: all positions of two valid arrays: contract of this function.
                return Ok(unsafe { self.tile(tile) });
            }
        }
        let mut nest = LoopNest::empty();
        nest.fill(axes)?;
        nest.sort();
        let (len, bytes) = (nest.len(), nest.len() * size);
        if bytes == 0 {
            return Ok(len);
        }
        let crosses = cross(&mut nest, size);
        let (axes, start) = (nest.axes(), nest.start());
        let Some(settings) = choose(bytes) else {
            // SAFETY: all positions of a nest that walks each index of two valid arrays once:
            // contract of this function.
            return Ok(unsafe { self.range(axes, start, 0..len) });
        };
        let dense = is_dense(axes, size);
        // Whole rows, as many as are copied together, or whole planes; else chunks that begin at
        // pages.
        let (unit, least) = match axes {
            [.., rows, columns] if crosses => (columns.size, rows.size.min(CACHE_LINE)),
            [_, rows, columns] if is_banded(axes, size) => (rows.size * columns.size, 1),
            _ => (0, 0),
        };
        let address = match unit == 0 && dense {
            true => self.places.0.wrapping_offset(start[0]).addr(),
            false => 0,
        };
        let unit = unit * size;
        let chunk_bytes = (settings.chunk_bytes.max(unit * least)).next_multiple_of(unit.max(1));
        let streamed = settings.streamed && dense && replicates(axes) && size < LARGE_ELEMENT;
        let chunks = Chunks::new(len, size, address, chunk_bytes);
        Ok(chunks.for_each(Cost::Bytes(bytes), |range| match streamed {
            // SAFETY: as above. Each position is in one range. The output is dense.
            true => unsafe { self.stream(axes, start, range) },
            // SAFETY: as above.
            false => unsafe { self.range(axes, start, range) },
        }))
    }

    /// Copies the positions of a range of the axes, of which position 0 lies at `start`, each once.
    /// Returns how many were copied.
    ///
    /// # Safety
    ///
    /// From the places on, the offsets of these positions are elements that may be written and
    /// read. Nothing else reaches those of the output, all of which differ, and no element that is
    /// read is written.
    unsafe fn range(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        let first = |are: fn(&[Axis], usize) -> bool| {
            (0..axes.len().saturating_sub(2)).find(|&place| are(&axes[place..], self.gather.size))
        };
        let repeated = first(is_repeated);
        let around = repeated.or_else(|| first(has_small_planes).or_else(|| first(is_banded)));
        let Some(place) = around else {
            // SAFETY: the contract of this function.
            return unsafe { self.tiles(axes, start, range) };
        };
        let (outer, axes) = axes.split_at(place);
        let mut count = 0;
        walk(outer, start, positions(axes), range, &mut |start, range| {
            count += match repeated {
                // SAFETY: `walk` passes each position once: contract of this function. The axes are
                // as `is_repeated` says.
                Some(_) => unsafe { self.repeated(axes, start, range) },
                // SAFETY: as above. There are three axes or more.
                None => unsafe { self.across(axes, start, range) },
            };
        });
        count
    }

    /// [`range`](Self::range), tile by tile.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn tiles(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        let mut count = 0;
        for_each_tile(axes, start, range, |tile| {
            // SAFETY: `for_each_tile` passes each position once: contract of this function.
            count += unsafe { self.tile(tile) };
        });
        count
    }

    /// [`range`](Self::range) of axes that are dense in output and whose outermost one replicates
    /// what is inside it: copied once, then repeated. Eight axes of six, every other one
    /// replicated, take a thread 20 ps a byte by repetition, and 46 plane by plane.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn repeated(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        let (outer, inner) = axes.split_at(1);
        let (size, inside) = (self.gather.size, positions(inner));
        // The range may begin in the middle of a period: what follows any position is periodic too.
        let period = inside.min(range.len());
        let step = (repeated(range.len() * size) / size).max(1);
        let mut copied = 0;
        for first in (0..period).step_by(step) {
            let count = step.min(period - first);
            let at = range.start + first;
            walk(outer, start, inside, at..at + count, &mut |start, range| {
                // SAFETY: some of the positions of this range.
                copied += unsafe { self.range(inner, start, range) };
            });
            let to = (self.places.0.wrapping_offset(start[0])).wrapping_add(at * size);
            let bytes = (range.end - at) * size;
            // SAFETY: the positions of the range are neighbours in output, as the axes are dense,
            // and these of the first period are written.
            unsafe { repeat(to, count * size, period * size, bytes) };
        }
        // The other positions repeat the first period.
        copied + (range.len() - period)
    }

    /// [`range`](Self::range) of axes whose outermost one has many planes inside: the first row of
    /// each, then the second row of each, and so on, of some planes at a time. Of bands the other
    /// rows are copied from the first one: 128 by 128 `f32`, each row 32 times, take 35 us, and 100
    /// us transposed for each repetition.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range). There are three axes or more.
    unsafe fn across(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        // SAFETY: some of the positions of the range.
        let one_by_one = |range| unsafe { self.tiles(axes, start, range) };
        let (planes, columns) = (axes[0], axes[axes.len() - 1]);
        let rows = &axes[1..axes.len() - 1];
        let (size, len) = (self.gather.size, positions(rows) * columns.size);
        let (first, end) = (range.start.div_ceil(len), range.end / len);
        if end < first + MANY_PLANES {
            return one_by_one(range);
        }
        let mut count = one_by_one(range.start..first * len);
        let repeats = match rows {
            [rows] if is_banded(axes, size) => Some(rows),
            _ => None,
        };
        let copied = repeats.map_or(positions(rows), |_| 1);
        let together = (BLOCK / (len * size)).max(CACHE_LINE / size).max(1);
        for plane in (first..end).step_by(together) {
            let across = planes.resized(together.min(end - plane));
            let start = planes.moved(start, plane);
            walk(rows, start, 1, 0..copied, &mut |offsets, _| {
                let tile = Tile {
                    offsets,
                    rows: across,
                    columns,
                };
                // SAFETY: the planes are in the range; `walk` passes each of their rows once.
                count += unsafe { self.tile(tile) };
            });
            let Some(rows) = repeats else {
                continue;
            };
            for plane in 0..across.size {
                let first = self.places.0.wrapping_offset(planes.moved(start, plane)[0]);
                let others = Block {
                    to: first.wrapping_offset(rows.strides[0]),
                    pitch: rows.strides[0] as usize,
                    from: first,
                    rows: Along {
                        len: rows.size - 1,
                        step: 0,
                    },
                    columns: Along::of(&columns, 0),
                };
                // SAFETY: the rows of a plane but its first one. That one is written, and is equal
                // to them: the source does not move along the axis of the rows.
                unsafe { self.gather.copy(others) };
                count += others.rows.len * others.columns.len;
            }
        }
        count + one_by_one(end * len..range.end)
    }

    /// Copies a tile. Returns how many positions it has.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn tile(&self, tile: Tile<2>) -> usize {
        let size = self.gather.size;
        let tile = tile.along_output(size);
        let block = |[to, from]: [isize; 2], rows: Axis, columns| Block {
            to: self.places.0.wrapping_offset(to),
            pitch: rows.strides[0] as usize,
            from: self.places.1.wrapping_offset(from),
            rows: Along::of(&rows, 1),
            columns: Along::of(&columns, 1),
        };
        if tile.columns.strides[0] == size as isize {
            let all = block(tile.offsets, tile.rows, tile.columns);
            // SAFETY: the elements of the tile, whose rows are contiguous in output: the contract
            // of this function.
            unsafe { self.gather.copy(all) };
        } else {
            for row in 0..tile.rows.size {
                let one = block(tile.offsets_at(row, 0), tile.columns, Axis::UNIT);
                // SAFETY: a row of the tile, as a column.
                unsafe { self.gather.copy(one) };
            }
        }
        tile.rows.size * tile.columns.size
    }

    /// [`range`](Self::range) of axes that are dense in output, with stores past the cache: parts
    /// are copied to a block in the cache, from which whole lines are streamed.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn stream(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        let (size, mut count) = (self.gather.size, 0);
        let mut memory = StackBlock::new();
        let step = BLOCK / size;
        for first in range.clone().step_by(step) {
            let part = first..range.end.min(first + step);
            let (at, bytes) = (part.start * size, part.len() * size);
            let to = memory.0.as_mut_ptr().cast::<u8>();
            // As the axes are dense, position `first` then lies at `to`.
            let built = to.wrapping_sub(at).wrapping_offset(start[0].wrapping_neg());
            let places = (built, self.places.1);
            // SAFETY: some of the positions; there is room for them in `memory`.
            count += unsafe { Copier { places, ..*self }.range(axes, start, part) };
            let out = self.places.0.wrapping_offset(start[0]).wrapping_add(at);
            // SAFETY: these positions are neighbours in output, which is dense. The fence follows.
            unsafe { stream(to, out, bytes) };
        }
        fence();
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tuning::HUGE_PAGE;

    #[test]
    fn chunks_are_equal_parts_of_a_threads_share_within_bounds() {
        let parts = CHUNKS_OF_A_THREAD * max_threads();
        for (share, chunk_bytes) in [
            (0_usize, 128 << 10),
            (128 << 10, 128 << 10),
            ((128 << 10) + 1, 256 << 10),
            (200_000, 256 << 10),
            (1 << 20, 1 << 20),
            ((1 << 20) + 1, HUGE_PAGE),
            (HUGE_PAGE, HUGE_PAGE),
            (1 << 30, HUGE_PAGE),
        ] {
            let bytes = share.saturating_mul(parts).max(PARALLEL_FROM);
            let settings = Settings::of(bytes, true).unwrap();
            assert_eq!(settings.chunk_bytes, chunk_bytes, "{share}");
        }
        assert!(Settings::of(PARALLEL_FROM - 1, true).is_none());
    }

    #[test]
    fn only_existing_memory_beyond_the_border_is_streamed() {
        for (bytes, fresh, streamed) in [
            (STREAMED_FROM - 1, false, false),
            (STREAMED_FROM, false, CAN_STREAM),
            (isize::MAX as usize, false, CAN_STREAM),
            (isize::MAX as usize, true, false),
        ] {
            let settings = Settings::of(bytes, fresh).unwrap();
            assert_eq!(settings.streamed, streamed, "{bytes} {fresh}");
        }
    }

    #[test]
    fn dense_output_lies_side_by_side_in_order() {
        let axis = |size, to| Axis {
            size,
            strides: [to, 5],
        };
        for (axes, dense) in [
            (&[][..], true),
            (&[axis(7, 2)], true),
            (&[axis(7, -2)], false),
            (&[axis(7, 4)], false),
            (&[axis(3, 14), axis(7, 2)], true),
            (&[axis(3, 16), axis(7, 2)], false),
            (&[axis(2, 42), axis(3, 14), axis(7, 2)], true),
            (&[axis(2, 44), axis(3, 14), axis(7, 2)], false),
        ] {
            assert_eq!(is_dense(axes, 2), dense, "{axes:?}");
        }
    }
}
