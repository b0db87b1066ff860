//! broadcast_axes: a set of axes of the target is new. The input's shape equals the target without
//! them, exactly: no axis of size 1 replicates.
//!
//! Source: nGraph v0 `op::Broadcast`.

use super::alignment::{self, Aligned, Axes, FewAxes, UNKNOWN_RANK};
use super::axes::in_range;
use crate::error::{AxesFault, Mismatch, Result};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
use ndarray::{DimMax, Dimension, IntoDimension};

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
        let kept = &mut FewAxes::new();
        alignment::plan(Rule::BroadcastAxes, input, target, |ranks| {
            added(ranks, broadcast_axes, kept)
        })
    }
}

/// The target axes of the list are new. The others are written into `kept`.
#[inline(always)]
pub(super) fn added<'a>(
    [input, target]: [usize; 2],
    axes: &[usize],
    kept: &'a mut FewAxes,
) -> Aligned<'a> {
    if let Some(fault) = in_range(axes, target) {
        return Err(Mismatch::axes(axes, fault));
    }
    if target == UNKNOWN_RANK {
        return Ok((Relation::Equal, Axes::From(0)));
    }
    let added = distinct(axes);
    let is_kept = |axis: &usize| added.binary_search(axis).is_err();
    kept.extend((0..target).filter(is_kept));
    match kept.len() == input {
        true => Ok((Relation::Equal, Axes::Listed(kept))),
        false => Err(Mismatch::axes(axes, AxesFault::Length)),
    }
}

/// The axes of a list, each once, in increasing order.
#[inline(always)]
pub(super) fn distinct(axes: &[usize]) -> FewAxes {
    let mut axes = FewAxes::from_slice(axes);
    axes.sort_unstable();
    axes.dedup();
    axes
}
