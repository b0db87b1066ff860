//! in_dim: broadcast dimensions say for each input axis which target axis it feeds.
//!
//! Source: XLA `BroadcastInDim` (strictly increasing, as XlaBuilder demands); the permuting form is StableHLO
//! `broadcast_in_dim`, which asks only that no dimension is named twice.

use super::axes::AxesCheck;
use super::explicit::mapped;
use crate::error::BroadcastError;
use crate::mode::Rule;
use crate::plan::PlanTo;
use ndarray::{DimMax, Dimension};

#[inline]
pub(crate) fn strict<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    dimensions: &[usize],
) -> Result<PlanTo<I, E>, BroadcastError> {
    let check = AxesCheck {
        rule: Rule::InDim,
        input: input.slice(),
        target: target.slice(),
        axes: dimensions,
    };
    check.one_per_input_axis()?;
    check.increasing()?;
    mapped(Rule::InDim, input, target.slice(), dimensions)
}

#[inline]
pub(crate) fn permuting<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
    dimensions: &[usize],
) -> Result<PlanTo<I, E>, BroadcastError> {
    let rule = Rule::InDimPermuting;
    let check = AxesCheck {
        rule,
        input: input.slice(),
        target: target.slice(),
        axes: dimensions,
    };
    check.one_per_input_axis()?;
    check.unique()?;
    mapped(rule, input, target.slice(), dimensions)
}
