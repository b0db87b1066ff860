//! expand: as numpy, but -1, which is [`KEEP`], keeps the size of an axis that the input has.
//!
//! Source: torch `Tensor.expand`.

use super::alignment::{self, Aligned, Shapes};
use super::numpy::right_aligned;
use crate::error::{Mismatch, Result};
use crate::integer::ExpandShape;
use crate::partial::{PartialSize, Size};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
use crate::shape::KEEP;
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_expand`](crate::BroadcastExt::broadcast_expand), from shapes alone.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch), also for a new axis that has no size to
    /// keep; [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow);
    /// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size below -1.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::expand((2, 1), (-1, 4))?;
    /// assert_eq!(plan.output_shape(), [2, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn expand<D, E>(input: D, size: E) -> Result<PlanTo<I, E::Dim>>
    where
        D: IntoDimension<Dim = I>,
        E: ExpandShape,
        I: DimMax<E::Dim>,
    {
        let size: E::Dim = size.expand_sizes()?;
        alignment::plan_by_sizes(Rule::Expand, input, size, kept)
    }
}

/// The sizes of the target that are [`KEEP`] become those of the input.
#[inline(always)]
pub(super) fn kept<S: Size>(shapes: Shapes<'_, S>) -> Aligned<'static> {
    let aligned = right_aligned(shapes.ranks, Relation::Stretch)?;
    let [rank, target_rank] = shapes.ranks;
    let offset = target_rank - rank;
    for (axis, size) in shapes.second.iter_mut().enumerate() {
        // Of sizes known in part, only one that is known to be `KEEP` keeps the input's.
        if (*size).into() == PartialSize::known(KEEP) {
            let Some(from) = axis.checked_sub(offset) else {
                let axis_of = |axis| offset + axis;
                return Err(Mismatch::sizes(Relation::Stretch, axis, rank, &axis_of));
            };
            *size = shapes.first[from];
        }
    }
    Ok(aligned)
}
