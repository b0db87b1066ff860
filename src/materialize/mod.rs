//! Owned copies of any view, at the speed of the memory.
//!
//! [`MaterializeExt`] is the trait; `layout` makes the two operands' axes few, `kernel` moves elements on one thread, `parallel` cuts
//! the work, `memory` allocates and streams. This file decides which of their ways a copy takes.

mod copy;

use crate::engine::chunks::Chunks as Parts;
use crate::engine::memory::uninit_array;
use crate::engine::nest::{LoopNest, offsets_of, walk};
use crate::engine::stream::{CAN_STREAM, stream_fence};
use crate::engine::threads::{Cost, PARALLEL_FROM, for_each_range, max_threads};
use crate::engine::tuning::HUGE_PAGE;
use crate::error::{ArrayRole, BroadcastError, wrong_shape};
use crate::operand::Operand;
use copy as kernel;
use kernel::{Axis, LONG_ROW};
use ndarray::{Array, ArrayBase, ArrayRef, ArrayViewMut, Data, Dimension};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Up to this many elements are copied by ndarray's iterators, which take 1 to 1.7 ns for each. Finding loops takes 65 to 95 ns first.
const TINY: usize = 32;

/// From this many bytes on, existing memory is written past the cache.
///
/// With 32 MiB of last-level cache, one core writes a buffer over and over at 16 us per MiB by plain stores if it is 4 MiB, 33 if 16, 42 if
/// 20, 55 if 28 and 60 beyond; streamed, it takes 37 whatever the size.
const STREAM_FROM: usize = 20 << 20;

/// A replicated axis is written by repetition if it covers at least this many bytes in a row.
const LONG_REPEAT: usize = LONG_ROW;

/// The same where out is streamed and goes on beyond the axis: each stretch may begin and end within a line. 256 MiB in stretches of
/// 5 KiB take 28 to 30 ps a byte so and 18 through blocks that end with lines, in stretches of 33 KiB 18 and 20.
const LONG_STREAMED_REPEAT: usize = 32 << 10;

/// A repeated piece of the source that has to be made, by a gather or a transposition, is made once for several of its places if it
/// is at most this long: four of them are then a part of the work.
const LONGEST_PERIOD: usize = HUGE_PAGE / 2;

/// What is repeated so often is hardly worth making with more care. Less often it may be a part of what an axis further out repeats at
/// least as often: 4 MiB of eight axes, every other one replicated 4 times and the first 64, take 210 us if periods of 4 KiB are
/// made for 4 places each, and 120 if those of 64 KiB are for 8. Where the memory sets the pace, as it does when streaming, both
/// take the same.
const MANY_REPEATS: usize = 16;

/// Rows and columns from which a transposed matrix is cut into squares. 4 MiB of 4 by 6 matrices take 770 us so and 670 row by row; 4 by
/// 8 take 590 either way; 2 or 3 rows of 64 take 890 and 670 in squares, 140 and 170 row by row.
const TRANSPOSED_FROM: [usize; 2] = [4, 8];

/// Parts of a copy are between these sizes. A lower bound of 256 KiB takes up to 5 % longer for 4 MiB on two threads; above a huge page,
/// which one thread should touch alone, there is nothing to gain.
const PART_BYTES: Range<usize> = 64 << 10..HUGE_PAGE;

/// Owned copies of any view: of a broadcast one, and of a transposed, strided or reversed one just as well.
///
/// For every `ArrayBase` and for `ArrayRef`. The elements are copied as they are, by every thread of the current rayon pool (with
/// the feature `rayon`) if there is enough to copy.
///
/// | method | the copy lies in | layout |
/// |---|---|---|
/// | [`materialize`](Self::materialize) | fresh memory | standard |
/// | [`materialize_into`](Self::materialize_into) | an array or view that exists | any |
/// | [`materialize_into_uninit`](Self::materialize_into_uninit) | memory that is not initialised yet | any |
///
/// When to copy, and how to copy in pieces: [the guide](crate::guide::copies_and_gradients).
pub trait MaterializeExt: Operand {
    /// An owned copy in standard layout (row-major, contiguous).
    ///
    /// # Errors
    ///
    /// [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge) if the copy would have more than `isize::MAX` bytes,
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed) if there is no memory for it.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let bias = array![1., 2., 3.];
    /// let owned = bias.broadcast_explicit((2, 3, 2), &[1])?.materialize()?;
    /// assert_eq!(owned, array![[[1., 1.], [2., 2.], [3., 3.]], [[1., 1.], [2., 2.], [3., 3.]]]);
    /// assert!(owned.is_standard_layout());
    /// # Ok::<(), BroadcastError>(())
    /// ```
    fn materialize(&self) -> Result<Array<Self::Elem, Self::Dim>, BroadcastError>
    where
        Self::Elem: Copy + Send + Sync;

    /// Copies into `out`: an array, or a mutable view with whatever strides.
    ///
    /// `out` cannot overlap the source: it is borrowed mutably while the source is borrowed. And no two of its elements overlap,
    /// as ndarray has no mutable view with such strides.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `out` has another shape than the source. It is then as it was.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let row = array![1, 2, 3];
    /// let mut out = Array2::zeros((2, 3));
    /// row.broadcast_numpy((2, 3))?.materialize_into(&mut out)?;
    /// assert_eq!(out, array![[1, 2, 3], [1, 2, 3]]);
    ///
    /// // The last column, from below.
    /// row.slice(s![..2]).materialize_into(&mut out.slice_mut(s![..;-1, 2]))?;
    /// assert_eq!(out, array![[1, 2, 2], [1, 2, 1]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    fn materialize_into(
        &self,
        out: &mut ArrayRef<Self::Elem, Self::Dim>,
    ) -> Result<(), BroadcastError>
    where
        Self::Elem: Copy + Send + Sync;

    /// Copies into memory that is not initialised yet, an arena or a memory map, and gives it back as what it then is.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `out` has another shape than the source. Nothing is then initialised.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{ArrayViewMut, array};
    /// use ndarray_broadcast::prelude::*;
    /// use std::mem::MaybeUninit;
    ///
    /// let mut arena = [MaybeUninit::<i32>::uninit(); 6];
    /// let mut out = ArrayViewMut::from_shape((2, 3), &mut arena).unwrap();
    /// let filled = array![1, 2, 3].broadcast_numpy((2, 3))?.materialize_into_uninit(&mut out)?;
    /// assert_eq!(filled, array![[1, 2, 3], [1, 2, 3]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    fn materialize_into_uninit<'o>(
        &self,
        out: &'o mut ArrayRef<MaybeUninit<Self::Elem>, Self::Dim>,
    ) -> Result<ArrayViewMut<'o, Self::Elem, Self::Dim>, BroadcastError>
    where
        Self::Elem: Copy + Send + Sync;
}

impl<A, S: Data<Elem = A>, D: Dimension> MaterializeExt for ArrayBase<S, D> {
    #[inline]
    fn materialize(&self) -> Result<Array<A, D>, BroadcastError>
    where
        A: Copy + Send + Sync,
    {
        (**self).materialize()
    }

    #[inline]
    fn materialize_into(&self, out: &mut ArrayRef<A, D>) -> Result<(), BroadcastError>
    where
        A: Copy + Send + Sync,
    {
        (**self).materialize_into(out)
    }

    #[inline]
    fn materialize_into_uninit<'o>(
        &self,
        out: &'o mut ArrayRef<MaybeUninit<A>, D>,
    ) -> Result<ArrayViewMut<'o, A, D>, BroadcastError>
    where
        A: Copy + Send + Sync,
    {
        (**self).materialize_into_uninit(out)
    }
}

impl<A, D: Dimension> MaterializeExt for ArrayRef<A, D> {
    #[inline]
    fn materialize(&self) -> Result<Array<A, D>, BroadcastError>
    where
        A: Copy + Send + Sync,
    {
        let mut out = uninit_array::<A, D>(self.raw_dim())?;
        if out.len() <= TINY {
            for (to, from) in out.iter_mut().zip(self) {
                to.write(*from);
            }
        } else {
            let nest = LoopNest::new(self.shape(), [out.strides(), self.strides()])?;
            // SAFETY: both are valid arrays of the shape that the nest walks; fresh memory overlaps nothing.
            unsafe { copy(&nest, out.as_mut_ptr().cast::<A>(), self.as_ptr(), true) };
        }
        // SAFETY: the copy has written an element for every index, so all of them.
        Ok(unsafe { out.assume_init() })
    }

    #[inline]
    fn materialize_into(&self, out: &mut ArrayRef<A, D>) -> Result<(), BroadcastError>
    where
        A: Copy + Send + Sync,
    {
        if self.shape() != out.shape() {
            return Err(wrong_shape(ArrayRole::Out, self.shape(), out.shape()));
        }
        if out.len() <= TINY {
            for (to, from) in out.iter_mut().zip(self) {
                *to = *from;
            }
            return Ok(());
        }
        let nest = LoopNest::new(self.shape(), [out.strides(), self.strides()])?;
        // SAFETY: both are valid arrays of the shape that the nest walks. `out` is borrowed mutably and the source is borrowed,
        // so they do not overlap. No index of `out` shares its element with another: safe constructors of mutable views
        // refuse strides that overlap, 0 on an axis longer than 1 among them, and unsafe ones ask their caller for the same.
        unsafe { copy(&nest, out.as_mut_ptr(), self.as_ptr(), false) };
        Ok(())
    }

    #[inline]
    fn materialize_into_uninit<'o>(
        &self,
        out: &'o mut ArrayRef<MaybeUninit<A>, D>,
    ) -> Result<ArrayViewMut<'o, A, D>, BroadcastError>
    where
        A: Copy + Send + Sync,
    {
        if self.shape() != out.shape() {
            return Err(wrong_shape(ArrayRole::Out, self.shape(), out.shape()));
        }
        let nest = LoopNest::new(self.shape(), [out.strides(), self.strides()])?;
        // SAFETY: as in `materialize_into`; a `MaybeUninit<A>` is laid out as an `A`.
        unsafe { copy(&nest, out.as_mut_ptr().cast::<A>(), self.as_ptr(), false) };
        let filled = out.raw_view_mut().cast::<A>();
        // SAFETY: the elements are those of `out`, borrowed mutably for 'o, and each has been written.
        Ok(unsafe { filled.deref_into_view_mut() })
    }
}

/// Copies every position of `nest` from `from` to `to`, which point at index 0 of every axis.
///
/// `fresh` memory has been allocated for this copy and not been touched.
///
/// # Safety
///
/// For every position, `to` plus the first offset is valid for a write of an `A`, and `from` plus the second for a read of one, both
/// aligned. No element read is one of those written, and those written are distinct.
#[inline]
unsafe fn copy<A: Copy + Send + Sync>(nest: &LoopNest<2>, to: *mut A, from: *const A, fresh: bool) {
    let len = nest.len();
    if len == 0 || size_of::<A>() == 0 {
        // Elements of size 0 are all the same.
        return;
    }
    let to = to.wrapping_offset(nest.start()[0]);
    let from = from.wrapping_offset(nest.start()[1]);
    if len * size_of::<A>() < PARALLEL_FROM {
        // SAFETY: all positions, for which the caller vouches.
        unsafe { kernel::fill(nest.axes(), to, from, 0..len) };
    } else {
        let settings = Settings::for_bytes(len * size_of::<A>(), fresh);
        // SAFETY: as above.
        unsafe { copy_large(nest.clone(), to, from, settings) };
    }
}

/// How the memory is to be treated; tests choose their own.
#[derive(Debug, Clone, Copy)]
struct Settings {
    streamed: bool,
    part_bytes: usize,
}

impl Settings {
    fn for_bytes(bytes: usize, fresh: bool) -> Self {
        // Several parts for each thread, so that one that is held up leaves work to others; a power of two, so that they begin
        // at pages.
        let part_bytes = (bytes / (4 * max_threads().max(1)))
            .clamp(PART_BYTES.start, PART_BYTES.end)
            .next_power_of_two();
        Settings {
            streamed: CAN_STREAM && !fresh && bytes >= STREAM_FROM,
            part_bytes,
        }
    }
}

/// How the elements of a nest are best made.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// As they come.
    Plain,
    /// In a block, from which they are streamed. From this axis on, out is dense.
    StreamBuilt(usize),
    /// From this axis on, `[N] -> [N, n]`, streamed from registers.
    StreamExpanded(usize),
    /// Long rows, streamed from the source.
    StreamRows,
    /// This axis replicates what is inside it, and out is dense from it on.
    Repeat(usize),
    /// The same with a period that is longer than a block.
    RepeatPieces(usize),
    /// The last two axes are a transposed matrix.
    Transpose,
}

impl Way {
    /// Chooses, and may reorder the axes.
    fn choose<A>(nest: &mut LoopNest<2>, streamed: bool) -> Self {
        let axes = nest.axes();
        let Some(inner) = axes.last() else {
            return Way::Plain;
        };
        let size = size_of::<A>();
        // Where the axes from there on are dense in out, and how many elements they have.
        let mut dense = (axes.len(), 1);
        // How to repeat, and how often.
        let mut repeat = None;
        for (place, axis) in axes.iter().enumerate().rev() {
            if axis.strides[0].unsigned_abs() != dense.1 {
                break;
            }
            let inside = dense.1 * size;
            dense = (place, dense.1 * axis.size);
            // A long row is repeated from the source just as well as from a copy of it.
            let row = place + 2 == axes.len() && inner.strides[1] == 1 && inside >= LONG_ROW;
            let goes_on = |outer: usize| axes[outer].strides[0].unsigned_abs() == dense.1;
            let long = if streamed && place.checked_sub(1).is_some_and(goes_on) {
                LONG_STREAMED_REPEAT
            } else {
                LONG_REPEAT
            };
            if axis.strides[1] == 0 && !row && dense.1 * size >= long {
                let (way, most) = if inside <= kernel::SHORT_PERIOD {
                    (Way::Repeat(place), usize::MAX)
                } else if inside <= LONGEST_PERIOD {
                    let periods = periods_in_part(nest.len() * size, inside);
                    (Way::RepeatPieces(place), periods)
                } else {
                    break;
                };
                let times = axis.size.min(most);
                if repeat.is_none_or(|(_, fewer)| fewer <= times) {
                    repeat = Some((way, times));
                }
            }
            if repeat.is_some_and(|(_, times)| streamed || times >= MANY_REPEATS) {
                break;
            }
        }
        if let Some((way, _)) = repeat {
            return way;
        }
        if let Some(place) = axes.len().checked_sub(2) {
            if streamed && kernel::can_expand::<A>(&axes[place..]) {
                return Way::StreamExpanded(place);
            }
        }
        let shortest = (axes.iter().enumerate())
            .filter(|(_, axis)| axis.strides[1] != 0)
            .min_by_key(|(_, axis)| axis.strides[1].unsigned_abs());
        if let Some((place, axis)) = shortest {
            if inner.strides[0] == 1
                && inner.strides[1] != 0
                && axis.strides[1] != inner.strides[1]
                && inner.size >= TRANSPOSED_FROM[1]
                && axis.size >= TRANSPOSED_FROM[0]
            {
                nest.move_axis(place, nest.axes().len() - 2);
                return Way::Transpose;
            }
        }
        if !streamed || dense.1 * size < LONG_ROW {
            Way::Plain
        } else if inner.strides[1] == 1 && inner.size * size >= LONG_ROW {
            Way::StreamRows
        } else {
            Way::StreamBuilt(dense.0)
        }
    }
}

/// Both operands, for several threads.
#[derive(Clone, Copy)]
struct Operands<A> {
    to: *mut A,
    from: *const A,
}

// SAFETY: threads write disjoint elements of `to`, which moves values of `A` there (`Send`), and read `from` together (`Sync`). The
// pointers are valid wherever `copy` runs, as its caller says.
unsafe impl<A: Send + Sync> Sync for Operands<A> {}

impl<A> Operands<A> {
    /// Moved by a nest's offsets.
    fn at(&self, offsets: [isize; 2]) -> (*mut A, *const A) {
        (
            self.to.wrapping_offset(offsets[0]),
            self.from.wrapping_offset(offsets[1]),
        )
    }
}

/// [`copy`] for what is worth a choice.
///
/// # Safety
///
/// As [`copy`], and `A` has a size.
unsafe fn copy_large<A: Copy + Send + Sync>(
    mut nest: LoopNest<2>,
    to: *mut A,
    from: *const A,
    settings: Settings,
) {
    let streamed = settings.streamed && kernel::fits_block::<A>();
    let way = Way::choose::<A>(&mut nest, streamed);
    let operands = Operands { to, from };
    if matches!(way, Way::Transpose) {
        // SAFETY: the caller's promise; `Way::Transpose` is chosen only where the innermost out stride is 1.
        return unsafe { copy_transposed(nest.axes(), operands, settings, streamed) };
    }
    let (axes, len) = (nest.axes(), nest.len());
    let parts = if let Way::RepeatPieces(place) = way {
        // Whole periods, so that none is made twice, and several, because each part makes its own.
        let period = kernel::elements(&axes[place + 1..]) * size_of::<A>();
        let periods = periods_in_part(len * size_of::<A>(), period);
        Parts::new(len, size_of::<A>(), 0, periods * period)
    } else {
        // Only a dense out has its positions in the order of its addresses.
        let address = kernel::dense_len(axes).map_or(0, |_| to as usize);
        Parts::new(len, size_of::<A>(), address, settings.part_bytes)
    };
    for_each_range(parts.count(), Cost::Bytes(len * size_of::<A>()), |range| {
        let operands = &operands;
        let range = parts.range(range);
        match way {
            Way::Plain | Way::Transpose => {
                // SAFETY: a part of all positions, for which the caller vouches.
                unsafe { kernel::fill(axes, operands.to, operands.from, range) }
            }
            Way::StreamRows => {
                // SAFETY: as above; the innermost strides are `[1, 1]`, or this way is not chosen.
                unsafe { kernel::stream_rows(axes, operands.to, operands.from, range) }
            }
            Way::StreamBuilt(place) => walk(
                &axes[..place],
                [0, 0],
                kernel::elements(&axes[place..]),
                range,
                |offsets, range| {
                    let (to, from) = operands.at(offsets);
                    // SAFETY: as above; the axes from `place` on are dense, and elements fit, as `streamed` says.
                    unsafe { kernel::stream_built(&axes[place..], to, from, range) };
                },
            ),
            Way::StreamExpanded(place) => walk(
                &axes[..place],
                [0, 0],
                kernel::elements(&axes[place..]),
                range,
                |offsets, range| {
                    let (to, from) = operands.at(offsets);
                    // SAFETY: as above; the last two axes can be expanded, or this way is not chosen.
                    unsafe { kernel::stream_expanded(&axes[place..], to, from, range) };
                },
            ),
            Way::Repeat(place) => walk(
                &axes[..place],
                [0, 0],
                kernel::elements(&axes[place..]),
                range,
                |offsets, range| {
                    let (to, from) = operands.at(offsets);
                    // SAFETY: as above, and axis `place` does not move the source; its period is short.
                    unsafe { kernel::repeat(&axes[place..], to, from, range, streamed) };
                },
            ),
            Way::RepeatPieces(place) => walk(
                &axes[..place],
                [0, 0],
                kernel::elements(&axes[place..]),
                range,
                |offsets, range| {
                    let (to, from) = operands.at(offsets);
                    // SAFETY: as above.
                    unsafe { kernel::repeat_pieces(&axes[place..], to, from, range, streamed) };
                },
            ),
        }
        if streamed {
            stream_fence();
        }
    });
}

/// How many repeated pieces of `period` bytes a part holds, where each part makes its own: several even if that leaves few parts, and as
/// many as make it a small part of the work.
fn periods_in_part(bytes: usize, period: usize) -> usize {
    let share = bytes / (4 * max_threads().max(1));
    (share / period).clamp(4, (2 * PART_BYTES.end / period).max(MANY_REPEATS))
}

/// A transposed matrix, or many: cut into bands of rows as wide as a cache line of the source, and those into pieces.
///
/// # Safety
///
/// As [`copy`], for the nest `axes`, whose innermost out stride is 1 and which has two axes at least.
unsafe fn copy_transposed<A: Copy + Send + Sync>(
    axes: &[Axis],
    operands: Operands<A>,
    settings: Settings,
    streamed: bool,
) {
    let [outer @ .., rows, inner] = axes else {
        return;
    };
    let size = size_of::<A>();
    let band = kernel::transposed_rows::<A>();
    // Pieces of a band, then bands of a matrix, up to the size of a part.
    let width = (settings.part_bytes / (band * size)).clamp(1, inner.size);
    let height = (settings.part_bytes / (band * width * size)).max(1) * band;
    let (pieces, bands) = (inner.size.div_ceil(width), rows.size.div_ceil(height));
    let matrices = kernel::elements(outer);
    let bytes = matrices * rows.size * inner.size * size;
    for_each_range(matrices * bands * pieces, Cost::Bytes(bytes), |range| {
        let operands = &operands;
        for part in range {
            let (rest, piece) = (part / pieces, part % pieces);
            let (matrix, band) = (rest / bands, rest % bands);
            let (row, column) = (band * height, piece * width);
            let offsets = offsets_of(outer, [0, 0], matrix);
            let at = |operand: usize| {
                offsets[operand]
                    + row as isize * rows.strides[operand]
                    + column as isize * inner.strides[operand]
            };
            let (to, from) = operands.at([at(0), at(1)]);
            let rows = Axis {
                size: height.min(rows.size - row),
                ..*rows
            };
            let inner = Axis {
                size: width.min(inner.size - column),
                ..*inner
            };
            if streamed {
                // SAFETY: a part of all positions, for which the caller vouches; elements fit, as `streamed` says.
                unsafe { kernel::stream_transposed(to, from, rows, inner) };
            } else {
                // SAFETY: as above.
                unsafe { kernel::transpose(to, from, rows, inner) };
            }
        }
        if streamed {
            stream_fence();
        }
    });
}

#[cfg(test)]
mod tests;
