//! expand: numpy, except that [`KEEP`] (torch's -1) keeps the size of an axis that the input has.
//!
//! Source: torch `Tensor.expand`.

use super::numpy::to_target;
use crate::KEEP;
use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use crate::plan::{PlanTo, rank_too_large};
use ndarray::{DimMax, Dimension};

#[inline(always)]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    size: E,
) -> Result<PlanTo<I, E>, Refusal> {
    let Some(offset) = size.ndim().checked_sub(input.ndim()) else {
        return Err(rank_too_large(Rule::Expand, input.slice(), size.slice()));
    };
    let mut target = size.clone();
    for (axis, entry) in target.slice_mut().iter_mut().enumerate() {
        if *entry == KEEP {
            match axis.checked_sub(offset) {
                Some(axis) => *entry = input[axis],
                None => return Err(keep_on_new_axis(input.slice(), size.slice(), axis)),
            }
        }
    }
    to_target(Rule::Expand, input, target.slice())
}

#[cold]
fn keep_on_new_axis(input: &[usize], target: &[usize], axis: usize) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::KeepOnNewAxis {
            input: boxed(input)?,
            target: boxed(target)?,
            axis,
        })
    })
}
