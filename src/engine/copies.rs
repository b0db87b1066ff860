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
use super::nest::{LoopAxis, LoopNest, Tile, for_each_tile, walk};
use super::threads::{Cost, PARALLEL_FROM, for_each_range, max_threads};
use super::tuning::copies::{MANY_PLANES, SMALL_PLANE, STREAMED_FROM, TRANSPOSED_FROM, repeated};
use super::tuning::{
    BLOCK, CACHE_LINE, CHUNK_BYTES, CHUNKS_OF_A_THREAD, LARGE_ELEMENT, WIDE_REGISTER,
};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use ndarray::{Array, ArrayRef, ArrayViewMut, Dimension};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

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
) -> Result<Array<A, D>, BroadcastError> {
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
) -> Result<ArrayViewMut<'o, A, D>, BroadcastError> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    // SAFETY: `out` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    let count = unsafe { copy_to(out.as_mut_ptr().cast(), out.strides(), from, choose) }?;
    assert_eq!(count, out.len(), "elements were left out");
    // SAFETY: so many positions were written, each once: `copy`.
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
) -> Result<(), BroadcastError> {
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
) -> Result<usize, BroadcastError> {
    let (places, strides) = ((to.cast(), from.as_ptr().cast()), [strides, from.strides()]);
    // SAFETY: contract of `copy_to`; `from` is borrowed, and its elements are `Copy`, `Send` and
    // `Sync`, of the size of their gather. What `to` alone may access does not overlap it.
    unsafe { copy(from.shape(), strides, places, Gather::of::<A>(), choose) }
}

/// Where index 0 of every axis lies in output and source.
type Places = (*mut u8, *const u8);

/// One loop over output and source. Strides are in bytes.
type Axis = LoopAxis<2>;

/// Copies every element of an array. Returns how many. Errors come before the first write. Not
/// generic, so that it is compiled once.
///
/// # Safety
///
/// Elements are `Copy`, `Send` and `Sync`, of the size of `gather`. With `strides[0]`, the first
/// place is a valid array of `shape` that this call may write. With `strides[1]`, the second is a
/// valid array of `shape` that this call may read. The two do not overlap. No two indices of the
/// first share an element: constructors of mutable views refuse such strides or demand their
/// absence.
#[inline(never)]
unsafe fn copy(
    shape: &[usize],
    strides: [&[isize]; 2],
    places: Places,
    gather: &'static Gather,
    choose: Choose,
) -> Result<usize, BroadcastError> {
    let size = gather.size;
    let axes = shape.iter().enumerate().map(|(axis, &len)| Axis {
        size: len,
        strides: strides.map(|strides| strides[axis].wrapping_mul(size as isize)),
    });
    let copy = Copier { places, gather };
    if let Some(tile) = Tile::of(axes.clone()) {
        let len = tile.rows.size.saturating_mul(tile.columns.size);
        let bytes = len.saturating_mul(size);
        if bytes == 0 {
            return Ok(len);
        }
        if bytes <= BLOCK && choose(bytes).is_none() {
            // SAFETY: all positions of two valid arrays: contract of this function.
            unsafe { copy.tile(tile) };
            return Ok(len);
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
        // SAFETY: all positions of a nest that walks each index of two valid arrays once: contract
        // of this function.
        return Ok(unsafe { copy.range(axes, start, 0..len) });
    };
    let dense = is_dense(axes, size);
    // Whole rows, as many as are copied together, or whole planes; else chunks that begin at pages.
    let (unit, least) = match axes {
        [.., rows, columns] if crosses => (columns.size, rows.size.min(CACHE_LINE)),
        [.., rows, columns] if banded(axes, size).is_some() => (rows.size * columns.size, 1),
        _ => (0, 0),
    };
    let chunk_bytes = settings.chunk_bytes.max(unit * size * least);
    let chunks = match unit {
        0 if dense => {
            let first = places.0.wrapping_offset(start[0]);
            Chunks::new(len, size, first.addr(), chunk_bytes)
        }
        _ => Chunks::new(
            len,
            size,
            0,
            chunk_bytes.next_multiple_of((unit * size).max(1)),
        ),
    };
    let streamed = settings.streamed && dense && replicates(axes) && size < LARGE_ELEMENT;
    let done = AtomicUsize::new(0);
    for_each_range(chunks.count(), Cost::Bytes(bytes), |range| {
        let range = chunks.range(range);
        let count = match streamed {
            // SAFETY: as above. `Chunks` puts each position into one chunk, and `for_each_range`
            // passes each chunk once. The output is dense.
            true => unsafe { copy.stream(axes, start, range) },
            // SAFETY: as above.
            false => unsafe { copy.range(axes, start, range) },
        };
        done.fetch_add(count, Ordering::Relaxed);
    });
    Ok(done.into_inner())
}

/// How many positions the axes have.
fn positions(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.size).product()
}

/// The axes from the innermost one outwards, each with its place and with how many bytes of output
/// the axes inside it have.
fn outwards(axes: &[Axis], size: usize) -> impl Iterator<Item = (usize, &Axis, usize)> {
    let mut inside = size;
    axes.iter().enumerate().rev().map(move |(place, axis)| {
        let within = inside;
        inside *= axis.size;
        (place, axis, within)
    })
}

/// Whether the elements of output are neighbours in the order of the positions.
fn is_dense(axes: &[Axis], size: usize) -> bool {
    outwards(axes, size).all(|(_, axis, inside)| axis.strides[0] == inside as isize)
}

/// Whether the source has one element for all positions along an axis.
fn replicates(axes: &[Axis]) -> bool {
    axes.iter().any(|axis| axis.strides[1] == 0)
}

/// Moves the axis along which the source has its shortest stride next to the innermost one, if it
/// is another one. Of these two, a long one is made the outer one: threads share its rows.
/// Returns whether there is such an axis.
fn cross(nest: &mut LoopNest<2>, size: usize) -> bool {
    let inner = nest.inner();
    let shortest = (nest.axes().iter().enumerate())
        .filter(|(_, axis)| axis.strides[1] != 0)
        .min_by_key(|(_, axis)| axis.strides[1].unsigned_abs());
    let Some((place, &axis)) = shortest else {
        return false;
    };
    // Few rows are slow in squares. But if their elements alternate in the source without gaps, as
    // the channels of pixels do, they are copied without squares.
    let alternates = inner.strides[1] == (axis.size * size) as isize;
    let crosses = inner.strides[0] == size as isize
        && inner.strides[1] != 0
        && banded(nest.axes(), size) != Some(place)
        && axis.strides[1] != inner.strides[1]
        && inner.size >= TRANSPOSED_FROM[1]
        && (axis.size >= TRANSPOSED_FROM[0] || alternates);
    if crosses {
        let last = nest.axes().len() - 1;
        nest.move_axis(place, last - 1);
        let longer = inner.size > axis.size && inner.size * size > BLOCK;
        if longer && !replicates(nest.axes()) {
            nest.move_axis(last, last - 1);
        }
    }
    crosses
}

/// The outermost axis that replicates two axes or more, if what is inside it is dense in output.
/// Rows of copies of one element are written as fast as they are repeated, unless they are short.
fn replicated(axes: &[Axis], size: usize) -> Option<usize> {
    let inner = axes.last()?;
    if inner.strides[1] == 0 && inner.size * size >= 2 * WIDE_REGISTER {
        return None;
    }
    outwards(axes, size)
        .take_while(|&(_, axis, inside)| axis.strides[0] == inside as isize)
        .filter(|(place, axis, _)| axis.strides[1] == 0 && place + 3 <= axes.len())
        .map(|(place, ..)| place)
        .last()
}

/// The axis around axes that replicate the rows of output, if the source has its neighbours along
/// this axis and not along the rows.
fn banded(axes: &[Axis], size: usize) -> Option<usize> {
    let (inner, outer) = axes.split_last()?;
    let place = outer.iter().rposition(|axis| axis.strides[1] != 0)?;
    let crosses = inner.strides[0] == size as isize
        && axes[place].strides[1].unsigned_abs() < inner.strides[1].unsigned_abs();
    (crosses && place + 3 == axes.len()).then_some(place)
}

/// The longest axis around a plane that is small, if it is long enough.
fn small_planes(axes: &[Axis], size: usize) -> Option<usize> {
    outwards(axes, size)
        .take_while(|&(_, _, inside)| inside <= SMALL_PLANE)
        .map(|(place, axis, _)| (place, axis.size))
        .reduce(|longest, outer| if outer.1 > longest.1 { outer } else { longest })
        .filter(|&(place, len)| len >= MANY_PLANES && place + 3 <= axes.len())
        .map(|(place, _)| place)
}

/// A copy of elements of one size.
#[derive(Clone, Copy)]
struct Copier {
    places: Places,
    gather: &'static Gather,
}

// SAFETY: threads share the source, to be read, and write different elements of the output:
// contracts of its methods. The elements are `Send` and `Sync`: contract of `copy`.
unsafe impl Sync for Copier {}

impl Copier {
    /// Copies the positions of a range of the axes, of which position 0 lies at `start`. Returns
    /// how many there are.
    ///
    /// # Safety
    ///
    /// From the places on, the offsets of these positions are elements that may be written and
    /// read. Nothing else reaches those of the output, all of which differ, and no element that is
    /// read is written.
    unsafe fn range(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        let len = range.len();
        // Two axes are a block, whose rows are repeated by the gather.
        let around = match axes.len() < 3 {
            true => None,
            false => replicated(axes, self.gather.size)
                .map(|place| (place, true))
                .or_else(|| small_planes(axes, self.gather.size).map(|place| (place, false)))
                .or_else(|| banded(axes, self.gather.size).map(|place| (place, false))),
        };
        let Some((place, repeats)) = around else {
            // SAFETY: `for_each_tile` passes each position once: contract of this function.
            for_each_tile(axes, start, range, |tile| unsafe { self.tile(tile) });
            return len;
        };
        let (outer, axes) = axes.split_at(place);
        walk(outer, start, positions(axes), range, &mut |start, range| {
            match repeats {
                // SAFETY: `walk` passes each position once: contract of this function. What
                // `replicated`, `small_planes` and `banded` say holds for these axes.
                true => unsafe { self.repeated(axes, start, range) },
                // SAFETY: as above.
                false => unsafe { self.across(axes, start, range) },
            }
        });
        len
    }

    /// [`range`](Self::range) of axes that are dense in output and whose outermost one replicates
    /// what is inside it: copied once, then repeated. Eight axes of six, every other one
    /// replicated, take a thread 20 ps a byte by repetition, and 46 plane by plane.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn repeated(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) {
        let (outer, inner) = axes.split_at(1);
        let (size, inside) = (self.gather.size, positions(inner));
        // The range may begin in the middle of a period: what follows any position is periodic too.
        let period = inside.min(range.len());
        let (row, most) = (
            inner.last().map_or(1, |row| row.size),
            repeated(range.len() * size),
        );
        let step = match period * size <= most {
            true => period,
            // Whole rows, or a part of one.
            false if row * size <= most => most / (row * size) * row,
            false => (most / size).max(1),
        };
        for first in (0..period).step_by(step) {
            let count = step.min(period - first);
            let at = range.start + first;
            walk(outer, start, inside, at..at + count, &mut |start, range| {
                // SAFETY: some of the positions of this range.
                unsafe { self.range(inner, start, range) };
            });
            let to = (self.places.0.wrapping_offset(start[0])).wrapping_add(at * size);
            let bytes = (range.end - at) * size;
            // SAFETY: the positions of the range are neighbours in output, as the axes are dense,
            // and these of the first period are written.
            unsafe { repeat(to, count * size, period * size, bytes) };
        }
    }

    /// [`range`](Self::range) of axes whose outermost one has many planes inside: the first row of
    /// each, then the second row of each, and so on, of some planes at a time. Of planes that are
    /// [`banded`] the other rows are copied from the first one: 128 by 128 `f32`, each row 32
    /// times, take 35 us, and 100 us transposed for each repetition.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn across(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) {
        let one_by_one = |range| {
            // SAFETY: `for_each_tile` passes each of these positions of the range once.
            for_each_tile(axes, start, range, |tile| unsafe { self.tile(tile) });
        };
        let &[planes, ref rows @ .., columns] = axes else {
            return one_by_one(range);
        };
        let (size, len) = (self.gather.size, positions(rows) * columns.size);
        let (first, end) = (range.start.div_ceil(len), range.end / len);
        if end < first + MANY_PLANES {
            return one_by_one(range);
        }
        one_by_one(range.start..first * len);
        let banded = banded(axes, size) == Some(0);
        let together = (BLOCK / (len * size)).max(CACHE_LINE / size).max(1);
        for plane in (first..end).step_by(together) {
            let across = planes.resized(together.min(end - plane));
            let start = planes.moved(start, plane);
            let copied = if banded { 1 } else { positions(rows) };
            walk(rows, start, 1, 0..copied, &mut |offsets, _| {
                // SAFETY: the planes are in the range; `walk` passes each of their rows once.
                unsafe {
                    self.tile(Tile {
                        offsets,
                        rows: across,
                        columns,
                    })
                };
            });
            let (true, [rows]) = (banded, rows) else {
                continue;
            };
            let of_output = Copier {
                places: (self.places.0, self.places.0),
                ..*self
            };
            for plane in 0..across.size {
                let [first, _] = planes.moved(start, plane);
                let others = Tile {
                    offsets: [first + rows.strides[0], first],
                    rows: rows.resized(rows.size - 1),
                    columns: Axis {
                        strides: [size as isize; 2],
                        ..columns
                    },
                };
                // SAFETY: the rows of a plane but its first one, which is written, and does not
                // move the source along the axis of the rows.
                unsafe { of_output.tile(others) };
            }
        }
        one_by_one(end * len..range.end);
    }

    /// Copies a tile.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn tile(&self, tile: Tile<2>) {
        let size = self.gather.size;
        let tile = tile.along_output(size);
        let along = |axis: Axis| Along {
            len: axis.size,
            step: axis.strides[1],
        };
        let block = |[to, from]: [isize; 2], rows: Axis, columns| Block {
            to: self.places.0.wrapping_offset(to),
            pitch: rows.strides[0] as usize,
            from: self.places.1.wrapping_offset(from),
            rows: along(rows),
            columns: along(columns),
        };
        if tile.columns.strides[0] == size as isize {
            // SAFETY: the elements of the tile, whose rows are contiguous in output: the contract
            // of this function.
            return unsafe {
                self.gather
                    .copy(block(tile.offsets, tile.rows, tile.columns))
            };
        }
        for row in 0..tile.rows.size {
            let one = block(tile.offsets_at(row, 0), tile.columns, Axis::UNIT);
            // SAFETY: a row of the tile, as a column.
            unsafe { self.gather.copy(one) };
        }
    }

    /// [`range`](Self::range) of axes that are dense in output, with stores past the cache: parts
    /// are copied to a block in the cache, from which whole lines are streamed.
    ///
    /// # Safety
    ///
    /// As for [`range`](Self::range).
    unsafe fn stream(&self, axes: &[Axis], start: [isize; 2], range: Range<usize>) -> usize {
        let (size, count) = (self.gather.size, range.len());
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
            unsafe { Copier { places, ..*self }.range(axes, start, part) };
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
