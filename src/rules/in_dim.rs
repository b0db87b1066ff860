//! in_dim: broadcast dimensions say for each input axis which target axis it feeds.
//!
//! Source: XLA `BroadcastInDim` (strictly increasing, as XlaBuilder demands); the permuting form is StableHLO
//! `broadcast_in_dim`, which asks only that no dimension is named twice.

use super::axes::{increasing, one_per_input_axis, unique};
use crate::error::Refusal;
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanTo};
use ndarray::{DimMax, Dimension};

#[inline(always)]
pub(crate) fn strict<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    dimensions: &[usize],
) -> Result<PlanTo<I, E>, Refusal> {
    one_per_input_axis(dimensions, input.ndim(), target.ndim())
        .and_then(|()| increasing(dimensions))
        .map_err(|fault| fault.refuse(Rule::InDim, &input, &target, dimensions))?;
    BroadcastPlan::new(Rule::InDim, input, target.slice(), |axis| dimensions[axis])
}

#[inline(always)]
pub(crate) fn permuting<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    dimensions: &[usize],
) -> Result<PlanTo<I, E>, Refusal> {
    let rule = Rule::InDimPermuting;
    one_per_input_axis(dimensions, input.ndim(), target.ndim())
        .and_then(|()| unique(dimensions))
        .map_err(|fault| fault.refuse(rule, &input, &target, dimensions))?;
    BroadcastPlan::new(rule, input, target.slice(), |axis| dimensions[axis])
}
