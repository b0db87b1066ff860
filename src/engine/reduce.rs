//! The door to the driver of reductions: what is safe for every argument.

use super::fold::{Kernel, Map};
use super::inputs::Inputs;
use super::memory::uninit_array;
use super::positions::Positions;
use super::reduction::Reduction;
use super::sums::{Target, Terms, reduce};
use super::threads::Cost;
use crate::error::BroadcastError;
use ndarray::{Array, ArrayRef, Dimension};

/// What accumulators and results are.
pub(crate) trait Value: Copy + Send + Sync {}

impl<T: Copy + Send + Sync> Value for T {}

/// A kernel and the types of its accumulators and results.
///
/// # Safety
///
/// The kernel's accumulators are of type `Acc`, and it writes results of type `Out`. `kernel`
/// returns this kernel.
pub(crate) unsafe trait Typing: Kernel {
    type Acc: Value;
    type Out: Value;

    fn kernel(&self) -> &dyn Kernel;

    /// Whether results are added to what the places hold.
    fn adds(&self) -> bool;

    /// What is known about the time of a call that reads this many bytes.
    fn cost(&self) -> fn(usize) -> Cost;
}

// SAFETY: a map's accumulators and results are those of its reduction.
unsafe impl<I, T, R, F> Typing for Map<'_, I, T, R, F>
where
    I: Inputs,
    R: Reduction<T>,
    F: Fn(I::Items) -> T + Sync,
{
    type Acc = R::Acc;
    type Out = R::Out;

    fn kernel(&self) -> &dyn Kernel {
        self
    }

    fn adds(&self) -> bool {
        self.add.is_some()
    }

    fn cost(&self) -> fn(usize) -> Cost {
        match self.plain && R::QUICK {
            true => Cost::Bytes,
            false => |bytes| Cost::Closure { bytes },
        }
    }
}

// SAFETY: the accumulators are pairs, and the results are the reduction's.
unsafe impl<I, T, R, C, F, const LAST: bool> Typing for Positions<'_, I, T, R, C, F, LAST>
where
    I: Inputs,
    T: Copy + PartialOrd + Send + Sync,
    R: Reduction<T, Acc = (T, usize)>,
    C: Reduction<T, Acc = T>,
    F: Fn(I::Items) -> T + Sync,
{
    type Acc = (T, usize);
    type Out = R::Out;

    fn kernel(&self) -> &dyn Kernel {
        self
    }

    fn adds(&self) -> bool {
        false
    }

    fn cost(&self) -> fn(usize) -> Cost {
        Cost::Bytes
    }
}

/// All of `count` terms.
fn all(count: usize) -> Terms {
    Terms {
        range: 0..count,
        number: 0,
    }
}

/// A fresh array of results of all `count` terms, one at least, in standard layout. `becomes` is as
/// for [`reduce`].
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
pub(crate) fn fresh<Acc: Value, Out: Value, J: Dimension>(
    kernel: &dyn Typing<Acc = Acc, Out = Out>,
    becomes: &[usize],
    dim: J,
    count: usize,
) -> Result<Array<Out, J>, BroadcastError> {
    assert!(!kernel.adds());
    let mut out = uninit_array::<Out, J>(dim)?;
    let first = out.as_mut_ptr().cast();
    // SAFETY: the places of a fresh array of results.
    unsafe { write(kernel, becomes, first, &out, all(count), false)? };
    // SAFETY: `write` has written all results.
    Ok(unsafe { out.assume_init() })
}

/// A fresh array of the accumulators of some terms, of which there is one at least.
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
pub(crate) fn accumulators<Acc: Value, Out: Value, J: Dimension>(
    kernel: &dyn Typing<Acc = Acc, Out = Out>,
    becomes: &[usize],
    dim: J,
    terms: Terms,
) -> Result<Array<Acc, J>, BroadcastError> {
    let mut out = uninit_array::<Acc, J>(dim)?;
    let first = out.as_mut_ptr().cast();
    // SAFETY: the places of a fresh array of accumulators.
    unsafe { write(kernel, becomes, first, &out, terms, true)? };
    // SAFETY: `write` has written all accumulators.
    Ok(unsafe { out.assume_init() })
}

/// Writes results of all `count` terms, one at least, to an existing array, or adds them to what it
/// holds.
///
/// # Errors
///
/// `AllocationFailed`; nothing has been written then.
pub(crate) fn into<Acc: Value, Out: Value, J: Dimension>(
    kernel: &dyn Typing<Acc = Acc, Out = Out>,
    becomes: &[usize],
    out: &mut ArrayRef<Out, J>,
    count: usize,
) -> Result<(), BroadcastError> {
    let first = out.as_mut_ptr().cast();
    // SAFETY: the places of an array of results, which is borrowed mutably and initialised.
    unsafe { write(kernel, becomes, first, out, all(count), false) }
}

/// Writes all results, or accumulators, to the places of `out`, the first of which is `first`.
///
/// # Safety
///
/// The places are writable, and of the kernel's type of results, or of accumulators if they are
/// `unfinished`. If results are added, they are initialised.
unsafe fn write<Acc: Value, Out: Value, B, J: Dimension>(
    kernel: &dyn Typing<Acc = Acc, Out = Out>,
    becomes: &[usize],
    first: *mut u8,
    out: &ArrayRef<B, J>,
    terms: Terms,
    unfinished: bool,
) -> Result<(), BroadcastError> {
    let (shape, strides, size) = (out.shape(), out.strides(), size_of::<B>());
    if out.is_empty() {
        return Ok(());
    }
    let target = Target {
        first,
        shape,
        strides,
        size,
        unfinished,
    };
    // SAFETY: the contract of this function.
    let written = unsafe { reduce(kernel.kernel(), becomes, &target, terms, kernel.cost())? };
    assert_eq!(written, out.len(), "results are missing");
    Ok(())
}
