//! expand: as numpy, but [`KEEP`] (torch's -1) keeps the size of an axis that the input has.
//!
//! Source: torch `Tensor.expand`.

use crate::error::{BroadcastError, ErrorKind, rank_too_large, with_copies};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::Rule;
use crate::shape::{KEEP, Sizes};
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_expand`](crate::BroadcastExt::broadcast_expand), from shapes alone.
    ///
    /// # Errors
    ///
    /// [`KeepOnNewAxis`](crate::ErrorKind::KeepOnNewAxis),
    /// [`RankTooLarge`](crate::ErrorKind::RankTooLarge),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastPlan, KEEP};
    ///
    /// let plan = BroadcastPlan::expand((2, 1), (KEEP, 4))?;
    /// assert_eq!(plan.output_shape(), [2, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn expand<D, E>(input: D, size: E) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        let (input, size) = (input.into_dimension(), size.into_dimension());
        let Some(offset) = size.ndim().checked_sub(input.ndim()) else {
            return Err(rank_too_large(Rule::Expand, input.sizes(), size.sizes()));
        };
        let mut target = size.clone();
        for (axis, entry) in target.sizes_mut().iter_mut().enumerate() {
            if *entry != KEEP {
                continue;
            }
            let Some(input_axis) = axis.checked_sub(offset) else {
                return Err(with_copies(
                    [input.sizes(), size.sizes()],
                    |[input, target]| ErrorKind::KeepOnNewAxis {
                        input,
                        target,
                        axis,
                    },
                ));
            };
            *entry = input[input_axis];
        }
        BroadcastPlan::right_aligned(Rule::Expand, input, target.sizes())
    }
}
