//! The door to the driver of reductions: what is safe for every argument.

use super::kernel::{Facts, Finish, Kernel};
use super::memory::uninit_array;
use super::pack::Operand;
use super::reduction::Reduction;
use super::sums::{Terms, reduce, slab_terms};
use crate::error::Result;
use ndarray::{Array, ArrayRef, Dimension};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

/// A reduction of some arrays: the kernel, and what the driver is told besides.
pub(crate) struct Call<'c, T, R> {
    pub(crate) reduction: &'c R,
    /// Its accumulators are of type `R::Acc`.
    kernel: &'c dyn Kernel,
    /// What each axis of the arrays becomes, as for [`reduce`].
    pub(crate) becomes: &'c [usize],
    /// How many terms each result has.
    pub(crate) terms: usize,
    /// Pointers, which fix the lifetimes inside both types. Otherwise the compiler could shorten
    /// those of `R::Out`, and the kernel would keep references longer than they are valid.
    types: PhantomData<(*mut T, *mut R)>,
}

impl<'c, T, R: Reduction<T>> Call<'c, T, R> {
    pub(crate) fn new(
        kernel: &'c impl Kernel<Acc = R::Acc>,
        reduction: &'c R,
        becomes: &'c [usize],
        terms: usize,
    ) -> Self {
        Call {
            reduction,
            kernel,
            becomes,
            terms,
            types: PhantomData,
        }
    }

    pub(crate) fn facts(&self) -> Facts<'_> {
        self.kernel.facts()
    }

    /// A fresh array of the results of all terms, of which there is one at least, in standard
    /// layout.
    ///
    /// # Errors
    ///
    /// `ShapeOverflow`, `AllocationFailed`.
    pub(crate) fn fresh_results<J: Dimension>(&self, dim: J) -> Result<Array<R::Out, J>> {
        let (terms, results) = (self.all(), self.finish(None));
        // SAFETY: results are of this type, and are not added.
        unsafe { fresh(self.kernel, self.becomes, terms, Some(&results), dim) }
    }

    /// A fresh array of the accumulators of some terms, of which there is one at least.
    ///
    /// # Errors
    ///
    /// `ShapeOverflow`, `AllocationFailed`.
    pub(crate) fn accumulators<J: Dimension>(
        &self,
        dim: J,
        terms: Terms,
    ) -> Result<Array<R::Acc, J>> {
        // SAFETY: accumulators are of this type.
        unsafe { fresh(self.kernel, self.becomes, terms, None, dim) }
    }

    /// Writes the results of all terms, of which there is one at least, to an existing array, or
    /// adds them to what it holds.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`; nothing has been written then.
    pub(crate) fn write_results<J: Dimension>(
        &self,
        out: &mut ArrayRef<R::Out, J>,
        add: Option<Add<R::Out>>,
    ) -> Result<()> {
        let (terms, results) = (self.all(), self.finish(add));
        // SAFETY: results are of this type, and those of the array are initialised.
        unsafe { write(self.kernel, self.becomes, terms, Some(&results), out) }
    }

    fn all(&self) -> Terms {
        Terms {
            range: 0..self.terms,
            may_move: true,
            number: 0,
            slab: slab_terms(self.becomes, self.facts().shape),
        }
    }

    fn finish(&self, add: Option<Add<R::Out>>) -> Results<'_, T, R> {
        Results {
            reduction: self.reduction,
            terms: self.terms,
            add,
        }
    }
}

/// [`write`] to a fresh array. It is one function for all reductions to results of a type.
///
/// # Safety
///
/// As there. Results are not added.
#[inline(never)]
unsafe fn fresh<B, J: Dimension>(
    kernel: &dyn Kernel,
    becomes: &[usize],
    terms: Terms,
    finish: Option<&dyn Finish>,
    dim: J,
) -> Result<Array<B, J>> {
    let mut out = uninit_array::<B, J>(dim)?;
    // SAFETY: the contract of this function; a `MaybeUninit` has the size of its element.
    unsafe { write(kernel, becomes, terms, finish, &mut out)? };
    // SAFETY: `reduce` has written all of them.
    Ok(unsafe { out.assume_init() })
}

/// Writes what `finish` makes of all terms to `out`, or else the accumulators of some.
///
/// # Safety
///
/// Places of type `B` can hold what `finish` writes, which is made for the kernel's accumulators,
/// or these. If results are added, those of `out` are initialised.
unsafe fn write<B, J: Dimension>(
    kernel: &dyn Kernel,
    becomes: &[usize],
    terms: Terms,
    finish: Option<&dyn Finish>,
    out: &mut ArrayRef<B, J>,
) -> Result<()> {
    let target = Operand::of(out.as_mut_ptr(), out);
    // SAFETY: the contract of this function, and the places of an array that is borrowed mutably.
    unsafe { reduce(kernel, becomes, &target, finish, terms) }
}

/// Combines what a place holds with a result.
pub(crate) type Add<Out> = fn(Out, Out) -> Out;

/// Results of type `R::Out`, of accumulators of type `R::Acc`.
struct Results<'r, T, R: Reduction<T>> {
    reduction: &'r R,
    /// How many terms each result has.
    terms: usize,
    /// Combines what a place holds with its result; `None` replaces it.
    add: Option<Add<R::Out>>,
}

// SAFETY: what is read and written is of the types that are named above.
unsafe impl<T, R: Reduction<T>> Finish for Results<'_, T, R> {
    unsafe fn finish(
        &self,
        accs: *const u8,
        step: usize,
        count: usize,
        to: *mut u8,
        stride: isize,
    ) {
        let accs = accs.cast::<R::Acc>();
        if self.add.is_none() && step == 1 && stride == size_of::<R::Out>() as isize {
            // SAFETY: there are `count` accumulators side by side.
            let accs = unsafe { slice::from_raw_parts(accs, count) };
            // SAFETY: there are `count` places side by side. A loop with known strides is
            // vectorised.
            let to = unsafe { slice::from_raw_parts_mut(to.cast::<MaybeUninit<R::Out>>(), count) };
            for (place, &acc) in to.iter_mut().zip(accs) {
                place.write(self.reduction.finish(acc, self.terms));
            }
            return;
        }
        for i in 0..count {
            // SAFETY: one of `count` accumulators.
            let acc = unsafe { *accs.wrapping_add(i * step) };
            let mut result = self.reduction.finish(acc, self.terms);
            let place = to.wrapping_byte_offset(stride.wrapping_mul(i as isize));
            let place = place.cast::<R::Out>();
            if let Some(add) = self.add {
                // SAFETY: one of `count` places, which are initialised if results are added.
                result = add(unsafe { *place }, result);
            }
            // SAFETY: one of `count` places.
            unsafe { place.write(result) };
        }
    }
}
