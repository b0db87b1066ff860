//! broadcast_axes: a set of axes of the target is new. The input's shape equals the target without
//! them, exactly: no axis of size 1 replicates.
//!
//! Source: nGraph v0 `op::Broadcast`.

use super::axes::{in_range, invalid_axes, membership_table};
use crate::error::{BroadcastError, ErrorKind, size_mismatch, with_copies};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_axes`](crate::BroadcastExt::broadcast_axes), from shapes alone.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes),
    /// [`BroadcastAxesRank`](crate::ErrorKind::BroadcastAxesRank),
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
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        I: DimMax<E::Dim>,
    {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        let rule = Rule::BroadcastAxes;
        in_range(broadcast_axes, target.ndim()).map_err(|fault| {
            let (input, target) = (input.clone(), target.clone());
            invalid_axes(rule, [input.sizes(), target.sizes(), broadcast_axes], fault)
        })?;
        let table = membership_table(broadcast_axes, target.ndim());
        let is_kept = |axis: &usize| match &table {
            Some(is_added) => !is_added[*axis],
            None => !broadcast_axes.iter().any(|added| added == axis),
        };
        let kept = || (0..target.ndim()).filter(is_kept);
        if kept().count() != input.ndim() {
            let (input, target) = (input.clone(), target.clone());
            let lists = [input.sizes(), target.sizes(), broadcast_axes];
            return Err(with_copies(lists, |[input, target, axes]| {
                ErrorKind::BroadcastAxesRank {
                    input,
                    target,
                    axes,
                }
            }));
        }
        let mut output_axes = input.clone();
        for (output_axis, axis) in output_axes.sizes_mut().iter_mut().zip(kept()) {
            *output_axis = axis;
        }
        let output_axis_of = |axis| output_axes[axis];
        // Stricter than `BroadcastPlan::new`: a 1 stays a 1.
        let differs = |&axis: &usize| input[axis] != target[output_axes[axis]];
        if let Some(axis) = (0..input.ndim()).find(differs) {
            let (input, target) = (input.clone(), target.clone());
            let shapes = [input.sizes(), target.sizes()];
            return Err(size_mismatch(rule, shapes, axis, &output_axis_of));
        }
        BroadcastPlan::new(rule, input, target.sizes(), output_axis_of)
    }
}
