//! The safe face of the kernels: it checks shapes, allocates, and passes on byte pointers.
//!
//! Kernels are compiled in this crate for elements of 1, 2, 4, 8 and 16 bytes, whatever their type.
//! For elements of other sizes they are compiled where they are used.

mod blocks;
mod dispatch;
mod expand;
mod fill;
mod operands;
mod plane;
mod repeat;
mod rows;
mod splat;
#[cfg(test)]
mod tests;
mod transpose;

use crate::engine::memory::uninit_array;
use crate::engine::nest::LoopNest;
use crate::engine::tuning::copies::FEW_ELEMENTS;
use crate::error::{ArrayRole, BroadcastError, wrong_shape};
use ndarray::{Array, ArrayRef, ArrayViewMut, Dimension};
use operands::{Byte, Kernels, Operands};
use std::mem::MaybeUninit;

/// A copy of `from` in standard layout.
#[inline]
pub(super) fn fresh<A: Copy + Send + Sync, D: Dimension>(
    from: &ArrayRef<A, D>,
) -> Result<Array<A, D>, BroadcastError> {
    let mut out = uninit_array::<A, D>(from.raw_dim())?;
    if out.len() <= FEW_ELEMENTS {
        for (to, from) in out.iter_mut().zip(from) {
            to.write(*from);
        }
    } else {
        let (to, strides) = (out.as_mut_ptr().cast(), [out.strides(), from.strides()]);
        let kernels = Kernels::of::<A>();
        // SAFETY: `to` and `out.strides()` are those of a valid array of the shape of `from`: it was
        // allocated with that dimension.
        unsafe {
            copy(
                from.shape(),
                strides,
                to,
                from.as_ptr().cast(),
                kernels,
                true,
            )
        }?;
    }
    // SAFETY: an element has been written for every index, so all of them.
    Ok(unsafe { out.assume_init() })
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
#[inline]
pub(super) fn into_uninit<'o, A: Copy + Send + Sync, D: Dimension>(
    out: &'o mut ArrayRef<MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
) -> Result<ArrayViewMut<'o, A, D>, BroadcastError> {
    check_shapes(from.shape(), out.shape())?;
    let (to, strides) = (out.as_mut_ptr().cast(), [out.strides(), from.strides()]);
    let kernels = Kernels::of::<A>();
    // SAFETY: `to` and `out.strides()` are those of a valid array of the shape of `from`:
    // `check_shapes`. It is borrowed mutably.
    unsafe {
        copy(
            from.shape(),
            strides,
            to,
            from.as_ptr().cast(),
            kernels,
            false,
        )
    }?;
    let filled = out.raw_view_mut().cast::<A>();
    // SAFETY: the elements are those of `out`, which is borrowed mutably for 'o, and `copy` has
    // returned `Ok`, thus written each of them.
    Ok(unsafe { filled.deref_into_view_mut() })
}

/// Copies `from` into `out`.
#[inline]
pub(super) fn into<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
) -> Result<(), BroadcastError> {
    check_shapes(from.shape(), out.shape())?;
    if out.len() <= FEW_ELEMENTS {
        for (to, from) in out.iter_mut().zip(from) {
            *to = *from;
        }
        return Ok(());
    }
    let (to, strides) = (out.as_mut_ptr().cast(), [out.strides(), from.strides()]);
    let kernels = Kernels::of::<A>();
    // SAFETY: `to` and `out.strides()` are those of a valid array of the shape of `from`:
    // `check_shapes`. It is borrowed mutably. The copy writes nothing but elements of `from`, so all
    // elements stay initialised.
    unsafe {
        copy(
            from.shape(),
            strides,
            to,
            from.as_ptr().cast(),
            kernels,
            false,
        )
    }
}

#[inline]
fn check_shapes(from: &[usize], out: &[usize]) -> Result<(), BroadcastError> {
    match from == out {
        true => Ok(()),
        false => Err(wrong_shape(ArrayRole::Out, from, out)),
    }
}

/// Copies every element of an array. Errors come before the first write. Not generic, so that it is
/// compiled once.
///
/// # Safety
///
/// Elements are `Copy`, `Send` and `Sync`, of the size in `kernels`. With `strides[0]`, `to` is
/// a valid array of `shape` that this call may write. With `strides[1]`, `from` is a valid array of
/// `shape` that this call may read. The two do not overlap. No two indices of `to` share an
/// element: constructors of mutable views refuse such strides or demand their absence.
#[inline(never)]
unsafe fn copy(
    shape: &[usize],
    strides: [&[isize]; 2],
    to: *mut Byte,
    from: *const Byte,
    kernels: &'static Kernels,
    fresh: bool,
) -> Result<(), BroadcastError> {
    let mut nest = LoopNest::new(shape, strides)?;
    if nest.len() > 0 && kernels.size > 0 {
        // SAFETY: the nest walks each index of two valid arrays once, and `kernels` has the layout
        // of their elements: contract of `copy`.
        let operands = unsafe { Operands::new(&mut nest, to, from, kernels) };
        dispatch::copy(operands, fresh);
    }
    Ok(())
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
