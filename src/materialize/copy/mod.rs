//! The safe face of the kernels: it checks shapes, allocates, and passes on byte pointers.
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

use super::axes::elements;
use super::strategy::{Settings, Strategy, periods_in_chunk};
use crate::engine::chunks::Chunks;
use crate::engine::inputs::Values;
use crate::engine::machine::{array_of, uninit_array};
use crate::engine::nest::LoopNest;
use crate::engine::rows::{collect, overwrite};
use crate::engine::threads::PARALLEL_FROM;
use crate::engine::tuning::{FEW_MAPPED, copies::FEW_ELEMENTS};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use ndarray::{Array, ArrayRef, ArrayViewMut, Dimension};
use operands::{Block, Kernels, Pointers, Region};
use repeat::{copy_repeated, copy_repeated_pieces};
use std::mem::MaybeUninit;

/// What a copy of so many bytes is run by: see [`Settings::of`].
type Choose = fn(usize) -> Option<Settings>;

/// A copy of `from` in standard layout.
#[inline]
#[allow(unsafe_code)]
pub(super) fn fresh<A: Copy + Send + Sync, D: Dimension>(
    from: &ArrayRef<A, D>,
) -> Result<Array<A, D>, BroadcastError> {
    if let Some(elements) = short_slice(from) {
        return array_of(from.raw_dim(), |copy| copy.extend_from_slice(elements));
    }
    if (FEW_ELEMENTS + 1..=FEW_MAPPED).contains(&from.len()) {
        return collect(from.raw_dim(), (Values::new(from),), |(element,)| element);
    }
    let mut out = uninit_array::<A, D>(from.raw_dim())?;
    if out.len() <= FEW_ELEMENTS {
        for (to, from) in out.iter_mut().zip(from) {
            to.write(*from);
        }
    } else {
        let choose: Choose = |bytes| Settings::of(bytes, true);
        // SAFETY: `to` is a valid array of the shape of `from`, allocated with that dimension.
        unsafe { copy_to(out.as_mut_ptr().cast(), out.strides(), from, choose) }?;
    }
    // SAFETY: an element has been written for every index, so all of them.
    Ok(unsafe { out.assume_init() })
}

/// The elements in standard layout, if they are so few that one thread copies them.
#[inline]
fn short_slice<A, D: Dimension>(array: &ArrayRef<A, D>) -> Option<&[A]> {
    let elements = array.as_slice()?;
    (size_of_val(elements) < PARALLEL_FROM).then_some(elements)
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn filled<'o, A: Copy + Send + Sync, D: Dimension>(
    mut out: ArrayViewMut<'o, MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
) -> Result<ArrayViewMut<'o, A, D>, BroadcastError> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    let choose: Choose = |bytes| Settings::of(bytes, false);
    // SAFETY: `out` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    unsafe { copy_to(out.as_mut_ptr().cast(), out.strides(), from, choose) }?;
    // SAFETY: `copy_to` has returned `Ok`, thus written each element.
    Ok(unsafe { out.assume_init() })
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
    if out.len() <= FEW_MAPPED {
        return overwrite(out, (Values::new(from),), |(element,)| element);
    }
    into_by(out, from, |bytes| Settings::of(bytes, false))
}

/// [`into`] for any number of elements, as `choose` says; tests have their own.
#[allow(unsafe_code)]
fn into_by<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
    choose: Choose,
) -> Result<(), BroadcastError> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    // SAFETY: `to` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    // The copy writes nothing but elements of `from`, so all elements stay initialised.
    unsafe { copy_to(out.as_mut_ptr(), out.strides(), from, choose) }
}

/// Copies every element of `from` to the array at `to`.
///
/// # Safety
///
/// With `strides`, `to` is a valid array of the shape of `from` that this call alone may access. No
/// two of its indices share an element.
#[allow(unsafe_code)]
unsafe fn copy_to<A: Copy + Send + Sync, D: Dimension>(
    to: *mut A,
    strides: &[isize],
    from: &ArrayRef<A, D>,
    choose: Choose,
) -> Result<(), BroadcastError> {
    let (pointers, strides) = ((to.cast(), from.as_ptr().cast()), [strides, from.strides()]);
    // SAFETY: contract of `copy_to`; `from` is borrowed, and its elements are `Copy`, `Send` and
    // `Sync`, of the size in their kernels. What `to` alone may access does not overlap it.
    unsafe { copy(from.shape(), strides, pointers, Kernels::of::<A>(), choose) }
}

/// Copies every element of an array. Errors come before the first write. Not generic, so that it is
/// compiled once.
///
/// # Safety
///
/// Elements are `Copy`, `Send` and `Sync`, of the size in `kernels`. With `strides[0]`, the first
/// pointer is a valid array of `shape` that this call may write. With `strides[1]`, the second is a
/// valid array of `shape` that this call may read. The two do not overlap. No two indices of the
/// first share an element: constructors of mutable views refuse such strides or demand their
/// absence.
#[inline(never)]
#[allow(unsafe_code)]
unsafe fn copy(
    shape: &[usize],
    strides: [&[isize]; 2],
    pointers: Pointers,
    kernels: &'static Kernels,
    choose: Choose,
) -> Result<(), BroadcastError> {
    let mut nest = LoopNest::new(shape, strides)?;
    let bytes = nest.len() * kernels.size;
    if bytes == 0 {
        return Ok(());
    }
    let large = choose(bytes).map(|mut settings| {
        settings.streamed &= Block::fits(kernels.size);
        let strategy = Strategy::choose(&mut nest, kernels.size, settings.streamed);
        (strategy, settings)
    });
    // SAFETY: the nest walks each index of two valid arrays once, and `kernels` has the layout of
    // their elements: contract of `copy`.
    let region = unsafe { Region::new(&nest, pointers, kernels) };
    match large {
        Some((strategy, settings)) => copy_large(region, strategy, settings),
        None => fill::fill(region),
    }
    Ok(())
}

/// Copies a whole region by a strategy, in chunks.
fn copy_large(region: Region, strategy: Strategy, settings: Settings) {
    let chunks = match strategy {
        Strategy::Transpose => return transpose::copy_transposed(region, settings),
        Strategy::RepeatPieces(place) => {
            // Whole periods, so that none is built twice.
            let size = region.kernels().size;
            let period = elements(&region.axes()[place + 1..]) * size;
            let chunk_bytes = period * periods_in_chunk(region.bytes(), period);
            Chunks::new(elements(region.axes()), size, 0, chunk_bytes)
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
