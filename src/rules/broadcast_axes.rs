//! broadcast_axes: a set of target axes is added; the input is the target without them, exactly.
//!
//! Source: nGraph v0 `op::Broadcast`. No size-1 axis replicates here: the input's shape equals what is left of the
//! target's.

use super::axes::in_range;
use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanTo, size_mismatch};
use ndarray::{DimMax, Dimension};

#[inline(always)]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    broadcast_axes: &[usize],
) -> Result<PlanTo<I, E>, Refusal> {
    let rule = Rule::BroadcastAxes;
    in_range(broadcast_axes, target.ndim())
        .map_err(|fault| fault.refuse(rule, &input, &target, broadcast_axes))?;
    let kept =
        || (0..target.ndim()).filter(|axis| !broadcast_axes.iter().any(|added| added == axis));
    if kept().count() != input.ndim() {
        return Err(rank_differs(&input, &target, broadcast_axes));
    }
    let mut columns = input.clone();
    for (column, axis) in columns.slice_mut().iter_mut().zip(kept()) {
        *column = axis;
    }
    // Stricter than a plan is: a 1 stays a 1.
    if let Some(axis) = (0..input.ndim()).find(|&axis| input[axis] != target[columns[axis]]) {
        let (input, target) = (input.clone(), target.clone());
        return Err(size_mismatch(
            rule,
            input.slice(),
            target.slice(),
            axis,
            |axis| columns[axis],
        ));
    }
    BroadcastPlan::new(rule, input, target.slice(), |axis| columns[axis])
}

#[cold]
fn rank_differs(input: &impl Dimension, target: &impl Dimension, axes: &[usize]) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::BroadcastAxesRank {
            input: boxed(input.slice())?,
            target: boxed(target.slice())?,
            axes: boxed(axes)?,
        })
    })
}
