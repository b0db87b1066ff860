//! explicit: a mapping says for each input axis which target axis it feeds.
//!
//! Source: OpenVINO Broadcast-1 and -3, mode `explicit`, with one difference: a mapping that names an axis twice is
//! refused, where OpenVINO lets it through and returns memory that nothing was written to.

use super::axes::{increasing, one_per_input_axis};
use crate::error::Refusal;
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanTo};
use ndarray::{DimMax, Dimension};

#[inline(always)]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    axes_mapping: &[usize],
) -> Result<PlanTo<I, E>, Refusal> {
    one_per_input_axis(axes_mapping, input.ndim(), target.ndim())
        .and_then(|()| increasing(axes_mapping))
        .map_err(|fault| fault.refuse(Rule::Explicit, &input, &target, axes_mapping))?;
    BroadcastPlan::new(Rule::Explicit, input, target.slice(), |axis| {
        axes_mapping[axis]
    })
}
