//! numpy: right-aligned. To a target shape, axes of size 1 of the input replicate. Between arrays,
//! axes of size 1 of each replicate. The elementwise rule none is here, too: identical shapes, rank
//! included.
//!
//! Source: NumPy's general broadcasting rules and `broadcast_to`; OpenVINO Broadcast-1 and -3, mode
//! `numpy`; OpenVINO elementwise operations, `auto_broadcast="none"`.

use super::alignment::{Aligned, Axes, plan};
use crate::axes::{AxisList, positions};
use crate::error::{Mismatch, Result};
use crate::plan::{BroadcastPlan, PlanTo};
use crate::rule::{Relation, Rule};
use crate::shape::{Sizes, by_axis};
use ndarray::{DimMax, Dimension, IntoDimension};

impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// [`numpy`](BroadcastPlan::numpy) to a target whose dimension type is the output's.
    #[inline(always)]
    pub(crate) fn numpy_to(input: I, target: O) -> Result<Self> {
        plan(Rule::Numpy, input, target, |ranks| {
            right_aligned(ranks, Relation::Stretch)
        })
    }
}

/// # From one shape to a target
///
/// Shapes are anything that ndarray takes as a shape: tuples, arrays, slices, `Vec`, `IxDyn`. The
/// methods of [`BroadcastExt`](crate::BroadcastExt) have each rule's conditions and source.
impl<I: Dimension> BroadcastPlan<I, I> {
    /// The plan of [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy), from shapes alone.
    ///
    /// # Errors
    ///
    /// [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
    /// assert_eq!(plan.output_shape(), [2, 3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline(always)]
    pub fn numpy<D, E>(input: D, target: E) -> Result<PlanTo<I, E::Dim>>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        plan(Rule::Numpy, input, target, |ranks| {
            right_aligned(ranks, Relation::Stretch)
        })
    }

    /// The plan to this shape from the same shape with size 1 at `axes`. Its gradients and
    /// reductions are over these axes, and keep them with size 1.
    ///
    /// ```text
    /// shape         2  3  4
    /// axes          0     2
    /// ---------------------
    /// input         1  3  1
    /// ```
    ///
    /// [`remove_input_axis`](Self::remove_input_axis) gives the plan whose results do not have
    /// such an axis. `axes` is an [`AxisList`], as in
    /// [`reduce_axes`](crate::ReduceExt::reduce_axes).
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) for an axis that the shape does not have, or
    /// that is listed twice;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::reduction::Max;
    ///
    /// let logits = array![[1., 5., 2.], [4., 3., 4.]];
    /// let rows = BroadcastPlan::over_axes(logits.raw_dim(), -1)?;
    /// let max = rows.reduce(&logits, Max)?;
    /// assert_eq!(max, array![[5.], [4.]]);
    /// assert_eq!(&logits - &rows.view(&max)?, array![[-4., 0., -3.], [0., -1., 0.]]);
    /// assert_eq!(
    ///     rows.remove_input_axis(-1)?.reduce(&logits, Max)?,
    ///     array![5., 4.]
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce` with `axis` and `keepdims`; ONNX `Reduce*`.
    pub fn over_axes<D, A>(shape: D, axes: A) -> Result<BroadcastPlan<I, I>>
    where
        D: IntoDimension<Dim = I>,
        A: AxisList,
    {
        let shape = shape.into_dimension();
        let listed: I = positions("reduce", shape.sizes(), axes.list())?;
        let size_of = |axis| if listed[axis] == 0 { shape[axis] } else { 1 };
        let input = by_axis(shape.ndim(), size_of);
        BroadcastPlan::numpy_to(input, shape)
    }
}

/// Axes are aligned from the right. Under [`Relation::Equal`] both shapes must have as many axes,
/// under [`Relation::Stretch`] the first one not more than the second.
#[inline(always)]
pub(super) fn right_aligned([first, second]: [usize; 2], relation: Relation) -> Aligned<'static> {
    let fits = match relation {
        Relation::Equal => first == second,
        Relation::Stretch => first <= second,
        Relation::Common => true,
    };
    match fits {
        true => Ok((relation, Axes::From(first.abs_diff(second)))),
        false => Err(Mismatch::Ranks.into()),
    }
}
