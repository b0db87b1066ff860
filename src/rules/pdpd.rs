//! pdpd: B, without its trailing 1s, is aligned with A from an axis of A on. A never grows.
//!
//! Source: OpenVINO's broadcast rules, PDPD: for elementwise operations of imported PaddlePaddle
//! models. PaddlePaddle itself does something else: see `paddle`. OpenVINO's code differs from the
//! specification for trailing 1s of B past A's end and for a size of 0 in A. Here the specification
//! holds.

use super::alignment::{self, Aligned, Axes, Shapes};
use crate::error::{AxesFault, Mismatch, Result};
use crate::partial::Size;
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd), from shapes alone:
    /// `input` is the shape of B, `target` that of A.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if the axis is below -1, or if B reaches past
    /// the end of A; [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::pdpd((3, 4), (2, 3, 4, 5), 1)?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4, 5]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn pdpd<D, E>(input: D, target: E, axis: isize) -> Result<PlanTo<I, E::Dim>>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        alignment::plan_by_sizes(Rule::Pdpd, input, target, |shapes| {
            aligned_from(shapes, axis)
        })
    }
}

/// B, the first shape, is aligned with A from this axis on.
#[inline(always)]
pub(super) fn aligned_from<S: Size>(shapes: Shapes<'_, S>, axis: isize) -> Aligned<'static> {
    let [b, a] = shapes.ranks;
    let refused = |fault| Err(Mismatch::axes(&[axis], fault));
    if axis < -1 {
        return refused(AxesFault::OutOfRange(0));
    }
    let right_aligned = a.checked_sub(b).ok_or_else(|| Box::new(Mismatch::Ranks))?;
    let axis = usize::try_from(axis).unwrap_or(right_aligned);
    let last = shapes.first.iter().rposition(|size| !size.may_be(1));
    // Without the trailing axes that can be 1.
    let trimmed_rank = last.map_or(0, |last| last + 1);
    if axis.saturating_add(trimmed_rank) > a {
        return refused(AxesFault::Overhang);
    }
    // Trailing 1s feed nothing past A's end.
    Ok((Relation::Stretch, Axes::From(axis)))
}
