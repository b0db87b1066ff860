//! in_dim: broadcast dimensions give for each input axis the target axis that it feeds.
//!
//! Source: XLA `BroadcastInDim`, whose dimensions increase strictly, as XlaBuilder demands. The
//! permuting form is StableHLO `broadcast_in_dim`, which demands only that they are unique.

use super::axes::{increasing, one_per_input_axis, unique};
use crate::error::BroadcastError;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim), on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline(always)]
    pub fn in_dim<D, E>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let rule = Rule::InDim;
        one_per_input_axis(broadcast_dimensions, input.ndim(), target.ndim())
            .and_then(|()| increasing(broadcast_dimensions))
            .map_err(|fault| fault.error(rule, &input, &target, broadcast_dimensions))?;
        BroadcastPlan::new(rule, input, target.sizes(), |axis| {
            broadcast_dimensions[axis]
        })
    }

    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting), on shapes
    /// alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline(always)]
    pub fn in_dim_permuting<D, E>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let rule = Rule::InDimPermuting;
        one_per_input_axis(broadcast_dimensions, input.ndim(), target.ndim())
            .and_then(|()| unique(broadcast_dimensions))
            .map_err(|fault| fault.error(rule, &input, &target, broadcast_dimensions))?;
        BroadcastPlan::new(rule, input, target.sizes(), |axis| {
            broadcast_dimensions[axis]
        })
    }
}
