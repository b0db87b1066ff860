//! explicit: a mapping gives for each input axis the target axis that it feeds.
//!
//! Source: OpenVINO Broadcast-1 and -3, mode `explicit`. One difference: a mapping that names an
//! axis twice is an error. OpenVINO accepts it and returns uninitialised memory.

use super::axes::{increasing, one_per_input_axis};
use crate::error::BroadcastError;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit), on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline(always)]
    pub fn explicit<D, E>(
        input: D,
        target: E,
        axes_mapping: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let rule = Rule::Explicit;
        one_per_input_axis(axes_mapping, input.ndim(), target.ndim())
            .and_then(|()| increasing(axes_mapping))
            .map_err(|fault| fault.error(rule, &input, &target, axes_mapping))?;
        BroadcastPlan::new(rule, input, target.sizes(), |axis| axes_mapping[axis])
    }
}
