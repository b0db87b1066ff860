//! broadcast_axes: a set of axes of the target is new. The input's shape equals the target without
//! them, exactly: no axis of size 1 replicates.
//!
//! Source: nGraph v0 `op::Broadcast`.

use super::axes::in_range;
use super::call::{Call, ToTarget, UNKNOWN_RANK};
use crate::error::{AxesFault, Result};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
use ndarray::{DimMax, Dimension, IntoDimension};
use smallvec::SmallVec;

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_axes`](crate::BroadcastExt::broadcast_axes), from shapes alone.
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
    /// let plan = BroadcastPlan::with_broadcast_axes(3, (2, 3, 4), &[0, 2])?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn with_broadcast_axes<D: IntoDimension<Dim = I>, E: IntoDimension>(
        input: D,
        target: E,
        broadcast_axes: &[usize],
    ) -> Result<PlanTo<I, E::Dim>>
    where
        I: DimMax<E::Dim>,
    {
        let call = ToTarget::new(Rule::BroadcastAxes, input, target);
        added(call, broadcast_axes)
    }
}

/// The target axes of the list are new.
#[inline(always)]
pub(super) fn added<C: Call>(call: C, axes: &[usize]) -> Result<C::Output> {
    let [input, target] = call.ranks();
    if let Some(fault) = in_range(axes, target) {
        return Err(call.refused().axes(axes, fault));
    }
    if target == UNKNOWN_RANK {
        return call.related(Relation::Equal, |axis| axis);
    }
    let added = distinct(axes);
    let is_kept = |axis: &usize| added.binary_search(axis).is_err();
    let kept: Axes = (0..target).filter(is_kept).collect();
    if kept.len() != input {
        return Err(call.refused().axes(axes, AxesFault::Length));
    }
    call.related(Relation::Equal, |axis| kept[axis])
}

/// Static ranks are at most 6.
type Axes = SmallVec<[usize; 6]>;

/// The axes of a list, each once, in increasing order.
#[inline(always)]
pub(super) fn distinct(axes: &[usize]) -> Axes {
    let mut axes = Axes::from_slice(axes);
    axes.sort_unstable();
    axes.dedup();
    axes
}
