//! The safe interface of the kernels: it checks shapes, allocates, and chooses what copies.
//!
//! Kernels are compiled in this crate for elements of 1, 2, 4, 8 and 16 bytes, whatever their type.
//! For elements of other sizes they are compiled where they are used.

mod blocks;
mod expand;
mod fill;
mod interleave;
#[allow(unsafe_code)]
mod operands;
mod plane;
mod repeat;
mod rows;
mod splat;
#[cfg(test)]
mod tests;
mod transpose;

use super::axes::positions;
use super::strategy::{Settings, Strategy, periods_in_chunk};
use crate::engine::chunks::Chunks;
use crate::engine::memory::{array_of, uninit_array};
use crate::engine::threads::PARALLEL_FROM;
use crate::engine::tuning::{BLOCK, FEW_ELEMENTS, FEW_MAPPED, LARGE_ELEMENT, LONG_ROW};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Dimension};
use operands::{Choose, Kernels, Region};
use repeat::{copy_repeated, copy_repeated_pieces};
use std::iter::repeat_n;
use std::mem::MaybeUninit;

/// A copy of `from` in standard layout.
// Always inlined, as is `materialize`. Then the shape and the strides of a small broadcast array
// stay in registers: 4 by 4 `f32` of a row take 35 ns, and 48 ns if they go through memory (an
// Intel Xeon).
#[inline(always)]
pub(super) fn fresh<A: Copy + Send + Sync, D: Dimension>(
    from: &ArrayRef<A, D>,
) -> Result<Array<A, D>, BroadcastError> {
    let slice = short_slice(from);
    if slice.is_some() || is_few(from) || has_few_long_rows(from) {
        return array_of(from.raw_dim(), |copy| match slice {
            Some(elements) => copy.extend_from_slice(elements),
            None => extend_by_rows(copy, from.view()),
        });
    }
    fresh_by_kernels(from.view())
}

/// [`fresh`] for any number of elements.
#[inline(never)]
fn fresh_by_kernels<A: Copy + Send + Sync, D: Dimension>(
    from: ArrayView<A, D>,
) -> Result<Array<A, D>, BroadcastError> {
    let out = uninit_array::<A, D>(from.raw_dim())?;
    operands::initialised(out, &from, (|bytes| Settings::of(bytes, true), run))
}

/// Whether an array has so few elements that building a loop nest takes longer than copying them.
/// Not of large ones: copies by value have some of them on the stack.
#[inline]
fn is_few<A, D: Dimension>(array: &ArrayRef<A, D>) -> bool {
    size_of::<A>() < LARGE_ELEMENT && array.len() <= FEW_MAPPED
}

/// Whether an array has few long rows, each of neighbours or of one repeated element, and so is
/// copied row by row without a loop nest: see [`FEW_ELEMENTS`].
#[inline]
fn has_few_long_rows<A, D: Dimension>(array: &ArrayRef<A, D>) -> bool {
    let long = |&size: &usize| size >= LONG_ROW;
    let plain = |stride| [0, 1].contains(stride);
    size_of::<A>() < LARGE_ELEMENT
        && array.len() <= FEW_ELEMENTS
        && array.len() * size_of::<A>() <= BLOCK
        && array.shape().last().is_some_and(long)
        && array.strides().last().is_some_and(plain)
}

/// Appends the elements of `from` in the order of the axes.
#[inline(never)]
fn extend_by_rows<A: Copy, D: Dimension>(copy: &mut Vec<A>, from: ArrayView<A, D>) {
    // Going from one row to the next takes as long as two or three elements.
    if from.shape().last().is_some_and(|&size| size < 4) {
        return from.iter().for_each(|&element| copy.push(element));
    }
    for row in from.rows() {
        match (row.as_slice(), row.strides()) {
            (Some(row), _) => copy.extend_from_slice(row),
            (None, [0]) => copy.extend(repeat_n(row[0], row.len())),
            (None, _) => copy.extend((0..row.len()).map(|index| row[index])),
        }
    }
}

/// The elements in standard layout, if they are so few that one thread copies them.
#[inline]
fn short_slice<A, D: Dimension>(array: &ArrayRef<A, D>) -> Option<&[A]> {
    let elements = array.as_slice()?;
    (size_of_val(elements) < PARALLEL_FROM).then_some(elements)
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
#[inline]
pub(crate) fn copy_into_uninit<'o, A: Copy + Send + Sync, D: Dimension>(
    out: ArrayViewMut<'o, MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
) -> Result<ArrayViewMut<'o, A, D>, BroadcastError> {
    operands::copy_into_uninit(out, from, (|bytes| Settings::of(bytes, false), run))
}

/// Copies `from` into `out`.
#[inline]
pub(super) fn into<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
) -> Result<(), BroadcastError> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    if let (Some(from), Some(to)) = (short_slice(from), out.as_slice_mut()) {
        to.copy_from_slice(from);
        return Ok(());
    }
    let long_rows = has_few_long_rows(from) && has_few_long_rows(out);
    if is_few(from) || long_rows && from.strides().last() == Some(&1) {
        out.assign(from);
        return Ok(());
    }
    if long_rows {
        let rows = out.rows_mut().into_iter().zip(from.rows());
        rows.for_each(|(mut to, row)| to.fill(row[0]));
        return Ok(());
    }
    into_by(out, from, |bytes| Settings::of(bytes, false))
}

/// [`into`] for any number of elements, as `choose` says; tests have their own.
fn into_by<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
    choose: Choose,
) -> Result<(), BroadcastError> {
    operands::replaced(out, from, (choose, run))
}

/// Copies a region, in chunks by a strategy if it is large.
fn run(region: Region, large: Option<(Strategy, Settings)>) {
    match large {
        Some((strategy, settings)) => copy_large(region, strategy, settings),
        None => fill::fill(region),
    }
}

/// Copies a whole region by a strategy, in chunks.
fn copy_large(region: Region, strategy: Strategy, settings: Settings) {
    let chunks = match strategy {
        Strategy::Transpose => return transpose::copy_transposed(region, settings),
        Strategy::RepeatPieces(place) => {
            // Whole periods, so that none is built twice.
            let size = region.kernels().size;
            let period = positions(&region.axes()[place + 1..]) * size;
            let chunk_bytes = period * periods_in_chunk(region.bytes(), period);
            Chunks::new(positions(region.axes()), size, 0, chunk_bytes)
        }
        _ => region.chunks(settings.chunk_bytes),
    };
    region.for_each_chunk(chunks, settings.streamed, |region, streamer| {
        match (strategy, streamer) {
            (Strategy::Repeat(place), _) => {
                region.for_each_inner(place, |region| copy_repeated(region, streamer));
            }
            (Strategy::RepeatPieces(place), _) => {
                region.for_each_inner(place, |region| copy_repeated_pieces(region, streamer));
            }
            (Strategy::StreamBlocks(place), Some(streamer)) => {
                region.for_each_inner(place, |region| blocks::stream_blocks(region, streamer));
            }
            (Strategy::StreamExpanded, Some(streamer)) => {
                let copy = region.kernels().copy;
                region.for_each_plane(|plane| expand::stream_expanded(plane, copy, streamer));
            }
            (Strategy::StreamRows, Some(streamer)) => region.for_each_plane(|plane| {
                plane.for_each_row(|to, from| streamer.copy(from, to));
            }),
            _ => fill::fill(region),
        }
    });
}

/// The kernels of elements of 1, 2, 4, 8 and 16 bytes. In a static, which is compiled once, in this
/// crate.
static OF_BYTES: [Kernels; 5] = [
    Kernels::new::<u8>(),
    Kernels::new::<u16>(),
    Kernels::new::<u32>(),
    Kernels::new::<u64>(),
    Kernels::new::<u128>(),
];

impl Kernels {
    const fn new<T: Copy>() -> Self {
        Kernels {
            size: size_of::<T>(),
            copy: plane::copy_plane::<T>,
            transpose: transpose::transpose::<T>,
        }
    }

    /// The kernels for elements of type `A`. Chosen in a constant, so that only those needed are
    /// compiled for `A`.
    const fn of<A: Copy>() -> &'static Self {
        const {
            match size_of::<A>() {
                1 => &OF_BYTES[0],
                2 => &OF_BYTES[1],
                4 => &OF_BYTES[2],
                8 => &OF_BYTES[3],
                16 => &OF_BYTES[4],
                _ => &const { Kernels::new::<A>() },
            }
        }
    }
}
