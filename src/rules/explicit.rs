//! explicit and in_dim: a mapping gives for each input axis the target axis that it feeds.
//!
//! Sources: OpenVINO Broadcast-1 and -3, mode `explicit`. One difference: a mapping that names an
//! axis twice is an error. OpenVINO accepts it and returns uninitialised memory. XLA
//! `BroadcastInDim`, whose dimensions increase strictly, as XlaBuilder demands. The permuting form
//! is StableHLO `broadcast_in_dim`, which demands only that they are unique.

use super::alignment::{self, Aligned, Axes};
use super::axes::{increasing, one_per_input_axis, unique};
use crate::error::{AxesFault, Mismatch, Result};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
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
    ) -> Result<PlanTo<I, E::Dim>>
    where
        I: DimMax<E::Dim>,
    {
        Self::increasing(Rule::Explicit, input, target, axes_mapping)
    }

    /// The plan of [`explicit`](Self::explicit) under the name of `rule`: this or `in_dim`.
    #[inline(always)]
    pub(crate) fn increasing<D: IntoDimension<Dim = I>, E: IntoDimension>(
        rule: Rule,
        input: D,
        target: E,
        mapping: &[usize],
    ) -> Result<PlanTo<I, E::Dim>>
    where
        I: DimMax<E::Dim>,
    {
        alignment::plan(rule, input, target, |ranks| {
            mapped(ranks, mapping, increasing)
        })
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
    ) -> Result<PlanTo<I, E::Dim>>
    where
        I: DimMax<E::Dim>,
    {
        alignment::plan(Rule::InDimPermuting, input, target, |ranks| {
            mapped(ranks, broadcast_dimensions, unique)
        })
    }
}

/// Input axis `i` feeds target axis `mapping[i]`. The mapping has one entry for each input axis,
/// each an axis of the target, in the order that `order` demands.
#[inline(always)]
pub(super) fn mapped(
    [input, target]: [usize; 2],
    mapping: &[usize],
    order: impl FnOnce(&[usize]) -> Option<AxesFault>,
) -> Aligned<'_> {
    match one_per_input_axis(mapping, input, target).or_else(|| order(mapping)) {
        Some(fault) => Err(Mismatch::axes(mapping, fault)),
        None => Ok((Relation::Stretch, Axes::Listed(mapping))),
    }
}
