//! explicit: a mapping gives for each input axis the target axis that it feeds.
//!
//! Source: OpenVINO Broadcast-1 and -3, mode `explicit`. One difference: a mapping that names an
//! axis twice is an error. OpenVINO accepts it and returns uninitialised memory.

use super::axes::{increasing, mapped};
use super::call::ToTarget;
use crate::error::BroadcastError;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit), from shapes
    /// alone.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::explicit(3, (2, 3, 4, 5), &[1])?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4, 5]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn explicit<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        axes_mapping: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        mapped(
            ToTarget::new(Rule::Explicit, input, target),
            axes_mapping,
            increasing,
        )
    }
}
