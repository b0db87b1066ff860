//! numpy: right-aligned. To a target shape only the input's 1s replicate; between arrays the 1s of each.
//!
//! Source: NumPy's general broadcasting rules and `broadcast_to`; OpenVINO Broadcast-1 and -3, mode `numpy`.

use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanPair, PlanTo, rank_too_large};
use ndarray::{DimMax, Dimension};

#[inline(always)]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
) -> Result<PlanTo<I, E>, Refusal> {
    to_target(Rule::Numpy, input, target.slice())
}

/// The rule to a target given as a slice, for the rules that end as this one.
#[inline(always)]
pub(crate) fn to_target<I: Dimension, O: Dimension>(
    rule: Rule,
    input: I,
    target: &[usize],
) -> Result<BroadcastPlan<I, O>, Refusal> {
    let Some(offset) = target.len().checked_sub(input.ndim()) else {
        return Err(rank_too_large(rule, input.slice(), target));
    };
    BroadcastPlan::new(rule, input, target, move |axis| offset + axis)
}

/// The size that two axes have in common: equal, or either is 1. The one that is not 1, never the larger: 1 with 0 is 0.
#[inline(always)]
pub(crate) fn common(a: usize, b: usize) -> Option<usize> {
    if a == b || b == 1 {
        Some(a)
    } else if a == 1 {
        Some(b)
    } else {
        None
    }
}

/// A right-aligned shape as if 1s stood in front of it, up to `rank` axes.
#[inline(always)]
pub(crate) fn padded(shape: &[usize], rank: usize, axis: usize) -> usize {
    match axis.checked_sub(rank - shape.len()) {
        Some(axis) => shape[axis],
        None => 1,
    }
}

#[inline]
pub(crate) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
) -> Result<PlanPair<I, J>, Refusal> {
    let rank = a.ndim().max(b.ndim());
    let mut shape = <I as DimMax<J>>::Output::zeros(rank);
    for axis in 0..rank {
        match common(padded(a.slice(), rank, axis), padded(b.slice(), rank, axis)) {
            Some(size) => shape.slice_mut()[axis] = size,
            None => return Err(operand_mismatch([0, 1], a.slice(), b.slice(), axis)),
        }
    }
    let shape = shape.slice();
    Ok((
        to_target(Rule::Elementwise, a, shape)?,
        to_target(Rule::Elementwise, b, shape)?,
    ))
}

/// The error for two right-aligned shapes that disagree on an axis, counted in the longer one.
#[cold]
pub(crate) fn operand_mismatch(
    operands: [usize; 2],
    a: &[usize],
    b: &[usize],
    axis: usize,
) -> Refusal {
    let short = if a.len() <= b.len() { a } else { b };
    let offset = a.len().max(b.len()) - short.len();
    refusal(|| {
        let mut mapping = boxed(short)?;
        mapping
            .iter_mut()
            .enumerate()
            .for_each(|(axis, entry)| *entry = offset + axis);
        Ok(BroadcastError::OperandMismatch {
            rule: Rule::Elementwise,
            operands,
            shapes: [boxed(a)?, boxed(b)?],
            mapping,
            axis,
        })
    })
}
