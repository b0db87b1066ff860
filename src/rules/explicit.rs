//! explicit: a mapping says for each input axis which target axis it feeds.
//!
//! Source: OpenVINO Broadcast-1 and -3, mode `explicit`, with one difference: a mapping that names an axis twice is
//! refused, where OpenVINO lets it through and returns memory that nothing was written to.

use super::axes::AxesCheck;
use crate::error::BroadcastError;
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanTo};
use ndarray::{DimMax, Dimension};

#[inline]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    axes_mapping: &[usize],
) -> Result<PlanTo<I, E>, BroadcastError> {
    let check = AxesCheck {
        rule: Rule::Explicit,
        input: input.slice(),
        target: target.slice(),
        axes: axes_mapping,
    };
    check.one_per_input_axis()?;
    check.increasing()?;
    mapped(Rule::Explicit, input, target.slice(), axes_mapping)
}

/// Feeds target axis `mapping[i]` from input axis `i`; the mapping is known to be one to one and in range.
#[inline]
pub(crate) fn mapped<I: Dimension, O: Dimension>(
    rule: Rule,
    input: I,
    target: &[usize],
    mapping: &[usize],
) -> Result<BroadcastPlan<I, O>, BroadcastError> {
    let mut plan = BroadcastPlan::unfed(rule, input, target.len(), |axis| target[axis]);
    for (input_axis, &output_axis) in mapping.iter().enumerate() {
        if !plan.feed(input_axis, output_axis) {
            return Err(plan.size_mismatch(target, input_axis, |axis| mapping[axis]));
        }
    }
    plan.checked()
}
