//! expand: as numpy, but -1, which is [`KEEP`], keeps the size of an axis that the input has.
//!
//! Source: torch `Tensor.expand`.

use super::call::{Call, ToTarget};
use super::numpy::right_aligned;
use crate::error::Result;
use crate::integer::ExpandShape;
use crate::partial::PartialSize;
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
        kept(ToTarget::new(Rule::Expand, input, size))
    }
}

/// The sizes of the target that are [`KEEP`] become those of the input.
#[inline(always)]
pub(super) fn kept<C: Call>(mut call: C) -> Result<C::Output> {
    let [input, target] = call.ranks();
    let Some(offset) = target.checked_sub(input) else {
        return Err(call.refused().ranks());
    };
    for axis in 0..call.target_mut().len() {
        // Of sizes known in part, only one that is known to be `KEEP` keeps the input's.
        let [input, target] = call.sizes();
        if target[axis].into() != PartialSize::known(KEEP) {
            continue;
        }
        let Some(from) = axis.checked_sub(offset) else {
            let refused = call.refused();
            return Err(refused.sizes(Relation::Stretch, axis, &|axis| offset + axis));
        };
        let size = input[from];
        call.target_mut()[axis] = size;
    }
    right_aligned(call, Relation::Stretch)
}
