//! The door to the driver of reductions: what is safe for every argument.

use super::kernel::{Facts, Kernel};
use super::memory::uninit_array;
use super::reduction::Reduction;
use super::sums::{Target, Terms, reduce};
use crate::error::Result;
use ndarray::{Array, ArrayRef, Dimension};
use std::marker::PhantomData;

/// A reduction of some arrays: the kernel, and what the driver is told besides.
pub(crate) struct Call<'c, T, R> {
    pub(crate) reduction: &'c R,
    /// Its accumulators are of type `R::Acc`. It writes results of type `R::Out`, or adds them to
    /// those that places hold.
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
        kernel: &'c impl Kernel<Acc = R::Acc, Out = R::Out>,
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
        assert!(!self.facts().adds);
        // SAFETY: results are of this type, and are not added.
        unsafe { self.fresh(dim, None) }
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
        unsafe { self.fresh(dim, Some(terms)) }
    }

    /// Writes the results of all terms, of which there is one at least, to an existing array, or
    /// adds them to what it holds.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`; nothing has been written then.
    pub(crate) fn write_results<J: Dimension>(&self, out: &mut ArrayRef<R::Out, J>) -> Result<()> {
        // SAFETY: results are of this type, and those of the array are initialised.
        unsafe { self.write(out, None) }
    }

    /// # Safety
    ///
    /// As for [`write`](Self::write). Results are not added.
    unsafe fn fresh<B, J: Dimension>(&self, dim: J, some: Option<Terms>) -> Result<Array<B, J>> {
        let mut out = uninit_array::<B, J>(dim)?;
        // SAFETY: the contract of this function; a `MaybeUninit` has the size of its element.
        unsafe { self.write(&mut out, some)? };
        // SAFETY: `write` has written all of them.
        Ok(unsafe { out.assume_init() })
    }

    /// Writes the results of all terms to `out`, or the accumulators of some.
    ///
    /// # Safety
    ///
    /// Places of type `B` can hold results, or accumulators of `some` terms. If results are added,
    /// those of `out` are initialised.
    unsafe fn write<B, J: Dimension>(
        &self,
        out: &mut ArrayRef<B, J>,
        some: Option<Terms>,
    ) -> Result<()> {
        let target = Target {
            first: out.as_mut_ptr().cast(),
            shape: out.shape(),
            strides: out.strides(),
            size: size_of::<B>(),
            unfinished: some.is_some(),
        };
        let (range, number) = (0..self.terms, 0);
        let terms = some.unwrap_or(Terms { range, number });
        // SAFETY: the contract of this function, and the places of an array that is borrowed
        // mutably.
        let written = unsafe { reduce(self.kernel, self.becomes, &target, terms)? };
        assert_eq!(written, out.len(), "results are missing");
        Ok(())
    }
}
