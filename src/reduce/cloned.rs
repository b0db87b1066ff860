//! Sums of elements that are `Clone` and not `Copy`.

use crate::engine::memory::array_of;
use crate::error::{ArrayRole, Result, check_shape};
use crate::plan::BroadcastPlan;
use crate::shape::Sizes;
use ndarray::{Array, ArrayRef, Dimension, IxDyn};
use num_traits::Zero;

/// The gradient of elements that are `Clone`.
///
/// # Errors
///
/// `WrongShape`, `ShapeOverflow`, `AllocationFailed`.
pub(super) fn sum_cloned<A: Clone + Zero, I: Dimension, O: Dimension>(
    plan: &BroadcastPlan<I, O>,
    cotangent: &ArrayRef<A, O>,
) -> Result<Array<A, I>> {
    check_shape(ArrayRole::Cotangent, plan.output_shape(), cotangent.shape())?;
    // The axes of the results, in their order, then those of the terms.
    let mut axes: Vec<usize> = (0..cotangent.ndim()).collect();
    let mut becomes = plan.output_dim();
    let count = plan.becomes(becomes.sizes_mut());
    axes.sort_by_key(|&axis| becomes[axis]);
    let terms = cotangent.view().into_dyn().permuted_axes(IxDyn(&axes));
    let mut terms = terms.iter().cloned();
    let len = plan.input_shape().iter().product();
    array_of(plan.input_dim(), |sums| {
        sums.extend((0..len).map(|_| {
            let sum = terms.by_ref().take(count).reduce(|sum, term| sum + term);
            sum.unwrap_or_else(A::zero)
        }));
    })
}
