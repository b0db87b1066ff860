//! prepend: new axes in front of the input's.
//!
//! Source: `XlaBuilder::Broadcast(operand, broadcast_sizes)`.

use crate::error::BroadcastError;
use crate::mode::Rule;
use crate::plan::BroadcastPlan;
use ndarray::{DimAdd, Dimension};

#[inline]
pub(crate) fn plan<I: Dimension, E: Dimension + DimAdd<I>>(
    input: I,
    sizes: E,
) -> Result<BroadcastPlan<I, <E as DimAdd<I>>::Output>, BroadcastError> {
    let (new, rank) = (sizes.ndim(), input.ndim());
    let shape = input.clone();
    let size = |axis: usize| {
        axis.checked_sub(new)
            .map_or_else(|| sizes[axis], |axis| shape[axis])
    };
    let mut plan = BroadcastPlan::unfed(Rule::Prepend, input, new + rank, size);
    for axis in 0..rank {
        plan.feed(axis, new + axis);
    }
    plan.checked()
}
