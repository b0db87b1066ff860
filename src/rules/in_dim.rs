//! in_dim: broadcast dimensions give for each input axis the target axis that it feeds.
//!
//! Source: XLA `BroadcastInDim`, whose dimensions increase strictly, as XlaBuilder demands. The
//! permuting form is StableHLO `broadcast_in_dim`, which demands only that they are unique.

use super::axes::{increasing, unique};
use crate::error::BroadcastError;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim), on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline(always)]
    pub fn in_dim<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let (rule, mapping) = (Rule::InDim, broadcast_dimensions);
        BroadcastPlan::by_mapping(rule, input, &target, mapping, increasing)
    }

    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting), on shapes
    /// alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline(always)]
    pub fn in_dim_permuting<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let (rule, mapping) = (Rule::InDimPermuting, broadcast_dimensions);
        BroadcastPlan::by_mapping(rule, input, &target, mapping, unique)
    }
}
