//! pdpd: B is laid on A from an axis of A on, without its trailing 1s; A never grows.
//!
//! Source: PaddlePaddle's elementwise operations (`axis`), as OpenVINO's broadcast rules specify them. Where OpenVINO's
//! code and the specification disagree (trailing 1s of B past A's end, a size of 0 in A) the specification holds.

use super::numpy::to_target;
use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanPair, PlanTo, rank_too_large};
use ndarray::{DimMax, Dimension};

/// The plan of B, `input`, to A's shape, `target`.
#[inline(always)]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    axis: isize,
) -> Result<PlanTo<I, E>, Refusal> {
    laid_on(input, &target, axis)
}

#[inline]
pub(crate) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
    axis: isize,
) -> Result<PlanPair<I, J>, Refusal> {
    let b = laid_on(b, &a, axis)?;
    let target = a.clone();
    Ok((to_target(Rule::Pdpd, a, target.slice())?, b))
}

#[inline(always)]
fn laid_on<I: Dimension, J: Dimension, O: Dimension>(
    b: J,
    a: &I,
    axis: isize,
) -> Result<BroadcastPlan<J, O>, Refusal> {
    if axis < -1 {
        return Err(axis_refused(&b.clone(), &a.clone(), axis));
    }
    let Some(right_aligned) = a.ndim().checked_sub(b.ndim()) else {
        return Err(rank_too_large(Rule::Pdpd, b.slice(), a.slice()));
    };
    let axis = usize::try_from(axis).unwrap_or(right_aligned);
    let mut trimmed_rank = 0;
    for (axis, &size) in b.slice().iter().enumerate() {
        if size != 1 {
            trimmed_rank = axis + 1;
        }
    }
    if axis
        .checked_add(trimmed_rank)
        .is_none_or(|end| end > a.ndim())
    {
        return Err(overhang(&b.clone(), &a.clone(), axis, trimmed_rank));
    }
    // Trailing 1s past A's end feed nothing.
    BroadcastPlan::new(Rule::Pdpd, b, a.slice(), move |i| axis.saturating_add(i))
}

#[cold]
fn axis_refused(b: &impl Dimension, a: &impl Dimension, axis: isize) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::PdpdAxis {
            input: boxed(b.slice())?,
            target: boxed(a.slice())?,
            axis,
        })
    })
}

#[cold]
fn overhang(b: &impl Dimension, a: &impl Dimension, axis: usize, trimmed_rank: usize) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::PdpdOverhang {
            input: boxed(b.slice())?,
            target: boxed(a.slice())?,
            axis,
            trimmed_rank,
        })
    })
}
