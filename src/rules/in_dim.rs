//! in_dim: broadcast dimensions give for each input axis the target axis that it feeds.
//!
//! Source: XLA `BroadcastInDim`, whose dimensions increase strictly, as XlaBuilder demands. The
//! permuting form is StableHLO `broadcast_in_dim`, which demands only that they are unique.

use super::axes::{increasing, mapped, unique};
use super::call::ToTarget;
use crate::error::BroadcastError;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim): that of
    /// [`explicit`](Self::explicit) but for its name.
    #[inline(always)]
    pub(crate) fn in_dim<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        mapped(
            ToTarget::new(Rule::InDim, input, target),
            broadcast_dimensions,
            increasing,
        )
    }

    /// The plan of [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting),
    /// from shapes alone.
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
    /// use ndarray_broadcast::{AxisSource, BroadcastPlan};
    ///
    /// let plan = BroadcastPlan::in_dim_permuting((1, 3), (2, 3, 2), &[2, 1])?;
    /// assert_eq!(plan.output_shape(), [2, 3, 2]);
    /// assert!(plan.axis_sources().map(AxisSource::input_axis).eq([
    ///     None,
    ///     Some(1),
    ///     Some(0)
    /// ]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn in_dim_permuting<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        mapped(
            ToTarget::new(Rule::InDimPermuting, input, target),
            broadcast_dimensions,
            unique,
        )
    }
}
