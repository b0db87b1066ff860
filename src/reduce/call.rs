//! A reduction of arrays along a plan: the kernel, what becomes of the axes, and the results.

use super::reduction::Reduction;
use crate::engine::inputs::Input;
use crate::engine::kernel::BLOCK_TERMS;
use crate::engine::memory::array_of;
use crate::engine::reduce::{Add, Call};
use crate::engine::reduction::Elements;
use crate::engine::sums::{SUMMED, Terms, slab_terms};
use crate::error::{ArrayRole, Result, check_shape, too_few_terms};
use crate::plan::BroadcastPlan;
use crate::shape::Sizes;
use ndarray::{Array, ArrayRef, Dimension, Zip};
use std::ops::Range;

impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// Sets `axes` to what each output axis becomes, as in [`Call`]. Returns how many terms each
    /// element of the gradient has.
    ///
    /// In place, and without [`axis_sources`](Self::axis_sources): axes that are moved as a vector
    /// just after they have been written one by one take 10 ns.
    #[inline(always)]
    pub(super) fn becomes(&self, axes: &mut [usize]) -> usize {
        let output = self.output_shape();
        axes.fill(SUMMED);
        let fed = self.output_axes().iter().zip(self.input_shape());
        for (axis, (&fed, size)) in fed.enumerate() {
            if output.get(fed) == Some(size) {
                axes[fed] = axis;
            }
        }
        let summed = axes.iter().zip(output).filter(|&(&axis, _)| axis == SUMMED);
        summed.map(|(_, &size)| size).product()
    }

    /// How many terms each element of the gradient has.
    pub(super) fn sum_terms(&self) -> usize {
        self.becomes(self.output_dim().sizes_mut())
    }

    /// How many terms a slab of the tree has.
    pub(super) fn slab_terms(&self) -> usize {
        let mut becomes = self.output_dim();
        self.becomes(becomes.sizes_mut());
        slab_terms(becomes.sizes(), self.output_shape())
    }

    /// A reduction of an array of the plan's output shape.
    ///
    /// # Errors
    ///
    /// `WrongShape`; those of `run`.
    pub(super) fn reduce_array<T: Copy + Sync, R: Reduction<T>, X>(
        &self,
        role: ArrayRole,
        array: &ArrayRef<T, O>,
        reduction: &R,
        run: impl FnOnce(Call<'_, T, R>) -> Result<X>,
    ) -> Result<X> {
        check_shape(role, self.output_shape(), array.shape())?;
        let mut becomes = self.output_dim();
        let terms = self.becomes(becomes.sizes_mut());
        let inputs = (Input::values(array),);
        let kernel = R::kernel(Elements {
            inputs: &inputs,
            shape: array.shape(),
            reduction,
        });
        run(Call::new(&kernel, reduction, becomes.sizes(), terms))
    }

    /// Whether there are any of `terms` terms, of which the reduction may need at least some.
    ///
    /// # Errors
    ///
    /// `TooFewTerms`.
    #[inline(always)]
    pub(super) fn has_terms<T, R: Reduction<T>>(
        &self,
        terms: usize,
        reduction: &R,
    ) -> Result<bool> {
        let least = reduction.least_terms();
        match terms < least {
            true => Err(too_few_terms(self.output_shape(), R::NAME, [terms, least])),
            false => Ok(terms > 0),
        }
    }

    /// Results of no terms. Never inlined: a result may be large, and this keeps it off the stack
    /// of the caller.
    ///
    /// # Errors
    ///
    /// `TooFewTerms`, `ShapeOverflow`, `AllocationFailed`.
    #[inline(never)]
    pub(super) fn results_of_none<Out: Clone>(
        &self,
        name: &'static str,
        of_none: &dyn Fn() -> Option<Out>,
    ) -> Result<Array<Out, I>> {
        let none = of_none().ok_or_else(|| too_few_terms(self.output_shape(), name, [0, 1]))?;
        let len = self.input_shape().iter().product();
        array_of(self.input_dim(), |out| out.resize(len, none))
    }
}

impl<T, R: Reduction<T>> Call<'_, T, R> {
    /// The results of all terms, in standard layout.
    ///
    /// # Errors
    ///
    /// `TooFewTerms`, `ShapeOverflow`, `AllocationFailed`.
    #[inline(always)]
    pub(super) fn results<I: Dimension, O: Dimension>(
        &self,
        plan: &BroadcastPlan<I, O>,
    ) -> Result<Array<R::Out, I>> {
        if !plan.has_terms(self.terms, self.reduction)? {
            return plan.results_of_none(R::NAME, &|| self.reduction.of_none());
        }
        match self.decided(plan.input_dim())? {
            Some(results) => Ok(results),
            None => self.fresh_results(plan.input_dim()),
        }
    }

    /// Writes the results of all terms to an array of the plan's input shape, or adds them to what
    /// it holds.
    ///
    /// # Errors
    ///
    /// `WrongShape`, `TooFewTerms`, `AllocationFailed`; nothing has been written then.
    #[inline(always)]
    pub(super) fn results_into<I: Dimension, O: Dimension>(
        &self,
        plan: &BroadcastPlan<I, O>,
        out: &mut ArrayRef<R::Out, I>,
        add: Option<Add<R::Out>>,
    ) -> Result<()> {
        check_shape(ArrayRole::Out, plan.input_shape(), out.shape())?;
        if self.terms == 0 && add.is_some() {
            return Ok(());
        }
        let results = match (plan.has_terms(self.terms, self.reduction)?, add) {
            (true, None) => self.decided(plan.input_dim())?,
            (true, Some(_)) => None,
            (false, _) => Some(plan.results_of_none(R::NAME, &|| self.reduction.of_none())?),
        };
        match results {
            Some(results) => out.assign(&results),
            None => self.write_results(out, add)?,
        }
        Ok(())
    }

    /// The results of so many terms that further ones do not change them. `None` if looking at all
    /// of them at once is faster: if there are few, or if the memory of the first input is walked
    /// in another order.
    ///
    /// # Errors
    ///
    /// `ShapeOverflow`, `AllocationFailed`.
    #[inline(always)]
    fn decided<J: Dimension>(&self, dim: J) -> Result<Option<Array<R::Out, J>>> {
        // How many terms are looked at first. A reduction of fewer has no time to lose: 64 Ki terms
        // of one byte take 3 us.
        const FIRST: usize = 64 * BLOCK_TERMS;
        // Each further look is at this many times the terms before it.
        const GROWTH: usize = 16;
        if !R::MAY_BE_DECIDED {
            return Ok(None);
        }
        let (facts, rank, count) = (self.facts(), self.becomes.len(), self.terms);
        let summed = (0..rank).filter(|&axis| self.becomes[axis] == SUMMED);
        let strides = summed.map(|axis| facts.inputs[0].stride(axis, rank).unsigned_abs());
        // Otherwise the first terms lie anywhere in memory.
        let in_order = facts.may_move || strides.is_sorted_by(|a, b| a >= b);
        if count <= FIRST || dim.size() == 0 || !in_order {
            return Ok(None);
        }
        let look = |range: Range<usize>| {
            // The tree does not matter here.
            let slab = range.len();
            let terms = Terms {
                range,
                may_move: true,
                number: 0,
                slab,
            };
            self.accumulators(dim.clone(), terms)
        };
        let mut end = FIRST;
        let mut accs = look(0..end)?;
        while end < count && !accs.iter().all(|&acc| self.reduction.is_decided(acc)) {
            let next = end.saturating_mul(GROWTH).min(count);
            let more = look(end..next)?;
            Zip::from(&mut accs)
                .and(&more)
                .for_each(|acc, &more| *acc = self.reduction.combine(*acc, more));
            end = next;
        }
        let results = accs.iter().map(|&acc| self.reduction.finish(acc, count));
        array_of(dim, |out| out.extend(results)).map(Some)
    }
}
