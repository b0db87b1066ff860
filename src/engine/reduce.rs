//! The door to the driver of reductions: what is safe for every argument.

use super::fold::{Facts, Kernel, Map};
use super::inputs::Inputs;
use super::memory::uninit_array;
use super::positions::Positions;
use super::reduction::Reduction;
use super::sums::{Target, Terms, reduce};
use crate::error::Result;
use ndarray::{Array, ArrayRef, Dimension};
use std::marker::PhantomData;

/// A kernel whose accumulators are of type `Acc`, and which writes results of type `Out`, or adds
/// them to those that places hold.
pub(crate) struct Typed<'k, Acc, Out> {
    kernel: &'k dyn Kernel,
    /// Pointers, which fix the lifetimes inside both types. Otherwise the compiler could shorten
    /// those of `Out`, and the kernel would keep references longer than they are valid.
    types: PhantomData<(*mut Acc, *mut Out)>,
}

impl<I, T, R, F> Map<'_, I, T, R, F>
where
    I: Inputs,
    R: Reduction<T>,
    F: Fn(I::Items) -> T + Sync,
{
    pub(crate) fn typed(&self) -> Typed<'_, R::Acc, R::Out> {
        let (kernel, types) = (self, PhantomData);
        Typed { kernel, types }
    }
}

impl<T, R, C, F, const LAST: bool> Positions<'_, T, R, C, F, LAST>
where
    T: Copy + PartialOrd + Sync,
    R: Reduction<T, Acc = (T, usize)>,
    C: Reduction<T, Acc = T>,
    F: Fn(T) -> T + Sync,
{
    pub(crate) fn typed(&self) -> Typed<'_, R::Acc, R::Out> {
        let (kernel, types) = (self, PhantomData);
        Typed { kernel, types }
    }
}

/// All of `count` terms.
fn all(count: usize) -> Terms {
    Terms {
        range: 0..count,
        number: 0,
    }
}

impl<Acc: Copy, Out: Copy> Typed<'_, Acc, Out> {
    pub(crate) fn facts(&self) -> Facts<'_> {
        self.kernel.facts()
    }

    /// A fresh array of results of all `count` terms, one at least, in standard layout. `becomes`
    /// is as for [`reduce`].
    ///
    /// # Errors
    ///
    /// `ShapeOverflow`, `AllocationFailed`.
    pub(crate) fn results<J: Dimension>(
        &self,
        becomes: &[usize],
        dim: J,
        count: usize,
    ) -> Result<Array<Out, J>> {
        assert!(!self.facts().adds);
        // SAFETY: results are of this type, and are not added.
        unsafe { self.fresh(becomes, dim, all(count), false) }
    }

    /// A fresh array of the accumulators of some terms, of which there is one at least.
    ///
    /// # Errors
    ///
    /// `ShapeOverflow`, `AllocationFailed`.
    pub(crate) fn accumulators<J: Dimension>(
        &self,
        becomes: &[usize],
        dim: J,
        terms: Terms,
    ) -> Result<Array<Acc, J>> {
        // SAFETY: accumulators are of this type.
        unsafe { self.fresh(becomes, dim, terms, true) }
    }

    /// Writes results of all `count` terms, one at least, to an existing array, or adds them to
    /// what it holds.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`; nothing has been written then.
    pub(crate) fn results_into<J: Dimension>(
        &self,
        becomes: &[usize],
        out: &mut ArrayRef<Out, J>,
        count: usize,
    ) -> Result<()> {
        let first = out.as_mut_ptr().cast();
        // SAFETY: the places of an array of results, which is borrowed mutably and initialised.
        unsafe { write(self.kernel, becomes, first, out, all(count), false) }
    }

    /// # Safety
    ///
    /// `B` is the type of results, which are not added, or of accumulators if they are
    /// `unfinished`.
    unsafe fn fresh<B, J: Dimension>(
        &self,
        becomes: &[usize],
        dim: J,
        terms: Terms,
        unfinished: bool,
    ) -> Result<Array<B, J>> {
        let mut out = uninit_array::<B, J>(dim)?;
        let first = out.as_mut_ptr().cast();
        // SAFETY: the places of a fresh array of such elements.
        unsafe { write(self.kernel, becomes, first, &out, terms, unfinished)? };
        // SAFETY: `write` has written all of them.
        Ok(unsafe { out.assume_init() })
    }
}

/// Writes all results, or accumulators, to the places of `out`, the first of which is `first`.
///
/// # Safety
///
/// The places are writable, and of the kernel's type of results, or of accumulators if they are
/// `unfinished`. If results are added, they are initialised.
unsafe fn write<B, J: Dimension>(
    kernel: &dyn Kernel,
    becomes: &[usize],
    first: *mut u8,
    out: &ArrayRef<B, J>,
    terms: Terms,
    unfinished: bool,
) -> Result<()> {
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
    let written = unsafe { reduce(kernel, becomes, &target, terms)? };
    assert_eq!(written, out.len(), "results are missing");
    Ok(())
}
