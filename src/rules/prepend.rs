//! prepend: new axes in front of the input's.
//!
//! Source: `XlaBuilder::Broadcast(operand, broadcast_sizes)`.

use crate::error::Refusal;
use crate::mode::Rule;
use crate::plan::BroadcastPlan;
use ndarray::{DimAdd, Dimension};

#[inline(always)]
pub(crate) fn plan<I: Dimension, E: Dimension + DimAdd<I>>(
    input: I,
    sizes: E,
) -> Result<BroadcastPlan<I, <E as DimAdd<I>>::Output>, Refusal> {
    let (new, rank) = (sizes.ndim(), input.ndim());
    let mut output = <E as DimAdd<I>>::Output::zeros(new + rank);
    let (front, back) = output.slice_mut().split_at_mut(new);
    front.copy_from_slice(sizes.slice());
    back.copy_from_slice(input.slice());
    BroadcastPlan::new(Rule::Prepend, input, output.slice(), |axis| new + axis)
}
