//! The safe face of the kernels: it checks shapes, allocates, and passes on byte pointers.
//!
//! Kernels are compiled in this crate for elements of 1, 2, 4, 8 and 16 bytes, whatever their type. For
//! elements of other sizes they are compiled where they are used.

mod blocks;
mod dispatch;
mod expand;
mod fill;
mod operands;
#[cfg(test)]
mod oracle;
mod repeat;
mod rows;
mod splat;
mod transpose;

use crate::engine::memory::uninit_array;
use crate::engine::nest::LoopNest;
use crate::engine::tuning::copies::FEW_ELEMENTS;
use crate::error::{ArrayRole, BroadcastError, wrong_shape_error};
use ndarray::{Array, ArrayRef, ArrayViewMut, Dimension};
use operands::Operands;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A copy of `from` in standard layout.
#[inline]
pub(super) fn fresh<A: Copy + Send + Sync, D: Dimension>(
    from: &ArrayRef<A, D>,
) -> Result<Array<A, D>, BroadcastError> {
    let mut out = uninit_array::<A, D>(from.raw_dim())?;
    initialise(&mut out, from, true)?;
    // SAFETY: `initialise` has returned `Ok`, thus written every element.
    Ok(unsafe { out.assume_init() })
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
#[inline]
pub(super) fn into_uninit<'o, A: Copy + Send + Sync, D: Dimension>(
    out: &'o mut ArrayRef<MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
) -> Result<ArrayViewMut<'o, A, D>, BroadcastError> {
    initialise(out, from, false)?;
    let filled = out.raw_view_mut().cast::<A>();
    // SAFETY: the elements are those of `out`, which is borrowed mutably for 'o, and `initialise` has returned
    // `Ok`, thus written each of them.
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
    let to = out.as_mut_ptr().cast();
    // SAFETY: `to` and `out.strides()` are those of a valid array of the shape of `from`, borrowed mutably. The
    // copy writes nothing but elements of `from`, so all elements stay initialised.
    unsafe {
        copy::<A>(
            from.shape(),
            [out.strides(), from.strides()],
            to,
            from.as_ptr(),
            false,
        )
    }
}

/// Writes every element of `out`, or returns an error. `fresh` memory has been allocated for this copy.
#[inline]
fn initialise<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
    fresh: bool,
) -> Result<(), BroadcastError> {
    check_shapes(from.shape(), out.shape())?;
    if out.len() <= FEW_ELEMENTS {
        for (to, from) in out.iter_mut().zip(from) {
            to.write(*from);
        }
        return Ok(());
    }
    let to = out.as_mut_ptr();
    // SAFETY: `to` and `out.strides()` are those of a valid array of the shape of `from`, borrowed mutably.
    unsafe {
        copy::<A>(
            from.shape(),
            [out.strides(), from.strides()],
            to,
            from.as_ptr(),
            fresh,
        )
    }
}

#[inline]
fn check_shapes(from: &[usize], out: &[usize]) -> Result<(), BroadcastError> {
    match from == out {
        true => Ok(()),
        false => Err(wrong_shape_error(ArrayRole::Out, from, out)),
    }
}

/// Copies every element of an array. Errors come before the first write.
///
/// # Safety
///
/// With `strides[0]`, `to` is a valid array of `shape` that this call may write. With `strides[1]`, `from` is a
/// valid array of `shape` that this call may read. The two do not overlap. No two indices of `to` share an
/// element: constructors of mutable views refuse such strides or demand their absence.
#[inline]
unsafe fn copy<A: Copy + Send + Sync>(
    shape: &[usize],
    strides: [&[isize]; 2],
    to: *mut MaybeUninit<A>,
    from: *const A,
    fresh: bool,
) -> Result<(), BroadcastError> {
    let request = Request {
        shape,
        strides,
        to: to.cast(),
        from: from.cast(),
        element_size: size_of::<A>(),
        fresh,
    };
    // SAFETY: both arrays are valid as `run` asks: contract of `copy`. `element_size` is that of an `A`.
    unsafe { Kernels::<A>::RUN(request) }
}

/// A copy whose elements are known by their size.
struct Request<'a> {
    shape: &'a [usize],
    strides: [&'a [isize]; 2],
    to: *mut u8,
    from: *const u8,
    element_size: usize,
    fresh: bool,
}

struct Kernels<A>(PhantomData<A>);

impl<A: Copy + Send + Sync> Kernels<A> {
    /// [`run_units`] or [`run`]. In a constant, so that only the one that is needed is compiled for `A`.
    const RUN: unsafe fn(Request) -> Result<(), BroadcastError> = match size_of::<A>() {
        1 | 2 | 4 | 8 | 16 => run_units,
        _ => run::<A>,
    };
}

/// [`run`] for elements of 1, 2, 4, 8 or 16 bytes. Not generic, so that it is compiled once.
///
/// # Safety
///
/// As [`run`], for arrays of elements of `element_size` bytes.
#[inline(never)]
unsafe fn run_units(request: Request) -> Result<(), BroadcastError> {
    let run = match request.element_size {
        1 => run::<[u8; 1]>,
        2 => run::<[u8; 2]>,
        4 => run::<[u8; 4]>,
        8 => run::<[u8; 8]>,
        16 => run::<[u8; 16]>,
        _ => unreachable!("`Kernels::RUN` calls this for no other size"),
    };
    // SAFETY: the arrays are valid for elements of this size: contract of `run_units`. Bytes are aligned
    // anywhere, and as `MaybeUninit` they may be padding.
    unsafe { run(request) }
}

/// Copies every element.
///
/// # Safety
///
/// With its strides, `to` is a valid array of `MaybeUninit<T>` and `from` is one to be read; no other thread
/// writes to either, they do not overlap, and no two indices of `to` share an element.
unsafe fn run<T: Copy + Send + Sync>(request: Request) -> Result<(), BroadcastError> {
    let mut nest = LoopNest::new(request.shape, request.strides)?;
    if nest.len() > 0 && size_of::<T>() > 0 {
        let (to, from) = (request.to.cast(), request.from.cast());
        // SAFETY: the nest walks each index of two valid arrays once: contract of `run`.
        let operands = unsafe { Operands::<T>::new(&mut nest, to, from) };
        dispatch::copy(operands, request.fresh);
    }
    Ok(())
}
