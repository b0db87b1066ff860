//! broadcast_axes: a set of target axes is added; the input is the target without them, exactly.
//!
//! Source: nGraph v0 `op::Broadcast`. No size-1 axis replicates here: the input's shape equals what is left of the
//! target's.

use super::axes::AxesCheck;
use crate::error::{BroadcastError, boxed, either};
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanTo};
use ndarray::{DimMax, Dimension};

pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    broadcast_axes: &[usize],
) -> Result<PlanTo<I, E>, BroadcastError> {
    let rule = Rule::BroadcastAxes;
    let target = target.slice();
    if let Some(position) = broadcast_axes.iter().position(|&axis| axis >= target.len()) {
        let check = AxesCheck {
            rule,
            input: input.slice(),
            target,
            axes: broadcast_axes,
        };
        return Err(check.out_of_range(position));
    }
    let kept = || (0..target.len()).filter(|axis| !broadcast_axes.contains(axis));
    if kept().count() != input.ndim() {
        return Err(either((|| {
            Ok(BroadcastError::BroadcastAxesRank {
                input: boxed(input.slice())?,
                target: boxed(target)?,
                axes: boxed(broadcast_axes)?,
            })
        })()));
    }
    let mut plan = BroadcastPlan::unfed(rule, input, target.len(), |axis| target[axis]);
    for (input_axis, output_axis) in kept().enumerate() {
        plan.feed(input_axis, output_axis);
        if plan.input_shape()[input_axis] != target[output_axis] {
            return Err(
                plan.size_mismatch(target, input_axis, |axis| kept().nth(axis).unwrap_or(axis))
            );
        }
    }
    plan.checked()
}
