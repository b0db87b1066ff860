//! pdpd: B is laid on A from an axis of A on, without its trailing 1s; A never grows.
//!
//! Source: PaddlePaddle's elementwise operations (`axis`), as OpenVINO's broadcast rules specify them. Where OpenVINO's
//! code and the specification disagree (trailing 1s of B past A's end, a size of 0 in A) the specification holds.

use super::numpy::to_target;
use crate::error::{BroadcastError, boxed, either};
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanPair, PlanTo, rank_too_large};
use ndarray::{DimMax, Dimension};

/// The plan of B, `input`, to A's shape, `target`.
#[inline]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    axis: isize,
) -> Result<PlanTo<I, E>, BroadcastError> {
    laid_on(input, target.slice(), axis)
}

#[inline]
pub(crate) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
    axis: isize,
) -> Result<PlanPair<I, J>, BroadcastError> {
    let b = laid_on(b, a.slice(), axis)?;
    let target = a.clone();
    Ok((to_target(Rule::Pdpd, a, target.slice())?, b))
}

fn laid_on<J: Dimension, O: Dimension>(
    b: J,
    a: &[usize],
    axis: isize,
) -> Result<BroadcastPlan<J, O>, BroadcastError> {
    let shape = b.slice();
    if axis < -1 {
        return Err(either((|| {
            Ok(BroadcastError::PdpdAxis {
                input: boxed(shape)?,
                target: boxed(a)?,
                axis,
            })
        })()));
    }
    let Some(right_aligned) = a.len().checked_sub(shape.len()) else {
        return Err(rank_too_large(Rule::Pdpd, shape, a));
    };
    let axis = usize::try_from(axis).unwrap_or(right_aligned);
    let trimmed_rank = shape
        .iter()
        .rposition(|&size| size != 1)
        .map_or(0, |last| last + 1);
    if axis
        .checked_add(trimmed_rank)
        .is_none_or(|end| end > a.len())
    {
        return Err(either((|| {
            Ok(BroadcastError::PdpdOverhang {
                input: boxed(shape)?,
                target: boxed(a)?,
                axis,
                trimmed_rank,
            })
        })()));
    }
    let rank = shape.len();
    let mut plan = BroadcastPlan::unfed(Rule::Pdpd, b, a.len(), |axis| a[axis]);
    // Trailing 1s past A's end feed nothing.
    for i in 0..rank.min(a.len().saturating_sub(axis)) {
        if !plan.feed(i, axis + i) {
            return Err(plan.size_mismatch(a, i, |i| axis + i));
        }
    }
    plan.checked()
}
