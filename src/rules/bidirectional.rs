//! bidirectional: right-aligned. Axes of size 1 replicate on either side, so the output may be
//! larger than the target.
//!
//! Source: OpenVINO Broadcast-3, mode `bidirectional`; ONNX Expand-13.

use crate::error::{BroadcastError, size_mismatch};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use crate::shape::{Sizes, merge, padded_to};
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
    pub fn bidirectional<D, E>(input: D, target: E) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let rule = Rule::Bidirectional;
        let rank = input.ndim().max(target.ndim());
        let mut output: <I as DimMax<E::Dim>>::Output = padded_to(rank, input.sizes());
        if let Err(axis) = merge(output.sizes_mut(), target.sizes()) {
            let offset = rank - input.ndim();
            let (input, target) = (input.clone(), target.clone());
            let shapes = [input.sizes(), target.sizes()];
            let output_axis_of = |axis| offset + axis;
            return Err(size_mismatch(rule, shapes, axis - offset, &output_axis_of));
        }
        BroadcastPlan::right_aligned(rule, input, output.sizes())
    }
}
