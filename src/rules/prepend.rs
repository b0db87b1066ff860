//! prepend: new axes in front of the input's axes.
//!
//! Source: `XlaBuilder::Broadcast(operand, broadcast_sizes)`.

use crate::error::Result;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::by_axis;
use ndarray::{DimAdd, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend), from shapes
    /// alone.
    ///
    /// # Errors
    ///
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::prepend(4, (2, 3))?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn prepend<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        sizes: E,
    ) -> Result<BroadcastPlan<I, <E::Dim as DimAdd<I>>::Output>>
    where
        E::Dim: DimAdd<I>,
    {
        let (input, sizes) = (input.into_dimension(), sizes.into_dimension());
        let (new, rank) = (sizes.ndim(), input.ndim());
        let output: <E::Dim as DimAdd<I>>::Output = by_axis(new + rank, |axis| match axis < new {
            true => sizes[axis],
            false => input[axis - new],
        });
        BroadcastPlan::new(Rule::Prepend, input, output, |axis| new + axis)
    }
}
