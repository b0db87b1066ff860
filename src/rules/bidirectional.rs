//! bidirectional: right-aligned. Axes of size 1 replicate on either side, so the output may be
//! larger than the target.
//!
//! Source: OpenVINO Broadcast-3, mode `bidirectional`; ONNX Expand-13.

use super::alignment;
use super::numpy::right_aligned;
use crate::error::Result;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional), from
    /// shapes alone.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::bidirectional((3, 1), (1, 4))?;
    /// assert_eq!(plan.output_shape(), [3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn bidirectional<D, E>(input: D, target: E) -> Result<PlanTo<I, E::Dim>>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        alignment::plan(Rule::Bidirectional, input, target, |ranks| {
            right_aligned(ranks, Relation::Common)
        })
    }
}
