//! Plans as values: two in a row, axes in another order, axes of size 1 inserted and removed.

use super::BroadcastPlan;
use crate::axes::{AxisList, invalid_axes, positions};
use crate::error::{ArrayRole, AxesFault, BroadcastError, check_shape};
use crate::integer::{ShapeInteger, axis_of};
use crate::partial::PartialShape;
use crate::rule::Rule;
use crate::shape::{Sizes, by_axis};
use ndarray::Dimension;
use std::cmp::Ordering;

/// # Chain and reorder
///
/// The result of each method is a plan like any other. Its [`rule`](Self::rule) is
/// [`Composed`](Rule::Composed). [The guide](crate::guide::plans) has more examples.
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The plan that does what this plan and then `second` do.
    ///
    /// ```text
    /// first          [C] -> [C, 1]
    /// second      [C, 1] -> [N, C, W]
    /// composed       [C] -> [N, C, W]
    /// ```
    ///
    /// `second.view(first.view(x))` and `first.then(&second).view(x)` are the same view. Its
    /// gradient is that of `first`, of the gradient of `second`.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the output shape of this plan is not
    /// the input shape of `second`.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let first = BroadcastPlan::explicit(3, (3, 1), &[0])?;
    /// let second = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
    /// let plan = first.then(&second)?;
    /// assert_eq!(
    ///     plan.to_string(),
    ///     "\
    /// [3] -> [2, 3, 4] (composed)
    ///   input       3
    ///   output   2  3  4
    ///            +     +
    ///   + added",
    /// );
    /// assert!(first.then(&BroadcastPlan::numpy((1, 3), (2, 3))?).is_err());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the composition of maps; XLA folds chains of `broadcast_in_dim` in this way.
    #[inline]
    pub fn then<P: Dimension>(
        &self,
        second: &BroadcastPlan<O, P>,
    ) -> Result<BroadcastPlan<I, P>, BroadcastError> {
        let (expected, found) = (second.input_shape(), self.output_shape());
        check_shape(ArrayRole::FirstOutput, expected, found)?;
        let (fed, then_fed) = (self.output_axes(), second.output_axes());
        Ok(composed(self.input_dim(), second.output_dim(), |axis| {
            then_fed.get(fed[axis]).copied()
        }))
    }

    /// The plan whose output has its axes in another order: axis `i` is axis `axes[i]` of this
    /// plan's output, as in ndarray's `permuted_axes`. Negative axes count from the end.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if `axes` does not name every output
    /// axis once.
    ///
    /// ```
    /// use ndarray::{array, s};
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy(3, (2, 3))?;
    /// let permuted = plan.permuted(&[1, 0])?;
    /// assert_eq!(permuted.view(&array![1, 2, 3])?, array![[1, 1], [2, 2], [3, 3]]);
    /// assert_eq!(plan.permuted(&[-1, 0])?, permuted);
    /// assert_eq!(
    ///     plan.permuted(&[1, 1]).unwrap_err().to_string(),
    ///     "\
    /// cannot reorder the axes of [2, 3]
    ///   shape   2  3
    ///   axes    1  1
    ///              ^ axis 1 is listed twice",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: ndarray `permuted_axes`, NumPy `transpose`.
    #[doc(alias = "rearrange")]
    #[doc(alias = "permute")]
    #[inline]
    pub fn permuted<T: ShapeInteger>(&self, axes: &[T]) -> Result<Self, BroadcastError> {
        let (fed, [positions, output]) = (self.output_axes(), reordered(&self.output, axes)?);
        Ok(composed(self.input_dim(), output, |axis| {
            let position = positions.sizes().get(fed[axis])?;
            Some(position - 1)
        }))
    }

    /// The plan whose input has its axes in another order: axis `i` is axis `axes[i]` of this
    /// plan's input. For an array whose axes were permuted, it gives the same output.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if `axes` does not name every input
    /// axis once.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let x = array![[1, 2, 3], [4, 5, 6]];
    /// let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3))?;
    /// let of_transposed = plan.permuted_input(&[1, 0])?;
    /// assert_eq!(of_transposed.view(&x.t())?, plan.view(&x)?);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: as [`permuted`](Self::permuted).
    #[inline]
    pub fn permuted_input<T: ShapeInteger>(&self, axes: &[T]) -> Result<Self, BroadcastError> {
        let (fed, [_, input]) = (self.output_axes(), reordered(&self.input, axes)?);
        Ok(composed(input, self.output_dim(), |axis| {
            axis_of(axes[axis], fed.len()).map(|old| fed[old])
        }))
    }

    /// The plan whose output has a new axis of size 1 at this position of its shape. Negative
    /// positions count from the end: -1 is a new last axis.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if there is no such position.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy(3, (2, 3))?;
    /// assert_eq!(plan.insert_axis(1)?.output_shape(), [2, 1, 3]);
    /// assert_eq!(plan.insert_axis(-1)?.output_shape(), [2, 3, 1]);
    /// assert_eq!(plan.insert_axis(1)?.remove_axis(1)?.output_shape(), [2, 3]);
    /// assert_eq!(plan.insert_input_axis(1)?.input_shape(), [3, 1]);
    /// assert_eq!(plan.insert_input_axis(1)?.remove_input_axis(1)?.input_shape(), [3]);
    /// assert_eq!(
    ///     plan.remove_axis(0).unwrap_err().to_string(),
    ///     "\
    /// cannot remove axis 0 of [2, 3]
    ///   shape   2  3
    ///   axes    0
    ///           ^ the size of this axis is not 1",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: ndarray `insert_axis`, NumPy `expand_dims`.
    #[inline]
    pub fn insert_axis<T: ShapeInteger>(
        &self,
        axis: T,
    ) -> Result<BroadcastPlan<I, O::Larger>, BroadcastError> {
        let (fed, (output, axis)) = (self.output_axes(), with_one_at(&self.output, axis)?);
        Ok(composed(self.input_dim(), output, |i| {
            Some(fed[i] + usize::from(fed[i] >= axis))
        }))
    }

    /// The plan whose output lacks this axis, which must have size 1. Example:
    /// [`insert_axis`](Self::insert_axis).
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if there is no such axis, or its size is not
    /// 1.
    ///
    /// Source: ndarray `remove_axis`, NumPy `squeeze`.
    #[inline]
    pub fn remove_axis<T: ShapeInteger>(
        &self,
        axis: T,
    ) -> Result<BroadcastPlan<I, O::Smaller>, BroadcastError> {
        let (fed, (output, axis)) = (self.output_axes(), without_one_at(&self.output, axis)?);
        Ok(composed(self.input_dim(), output, |i| {
            (fed[i] != axis).then(|| fed[i] - usize::from(fed[i] > axis))
        }))
    }

    /// The plan whose input has a further axis of size 1 at this position, which is dropped.
    /// Example: [`insert_axis`](Self::insert_axis).
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if there is no such position.
    #[inline]
    pub fn insert_input_axis<T: ShapeInteger>(
        &self,
        axis: T,
    ) -> Result<BroadcastPlan<I::Larger, O>, BroadcastError> {
        let (fed, (input, axis)) = (self.output_axes(), with_one_at(&self.input, axis)?);
        Ok(composed(input, self.output_dim(), |i| {
            (i != axis).then(|| fed[i - usize::from(i > axis)])
        }))
    }

    /// The plan whose input lacks this axis, which must have size 1. The output axis that it fed is
    /// added then. Example: [`insert_axis`](Self::insert_axis).
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if there is no such axis, or its size is not
    /// 1.
    #[inline]
    pub fn remove_input_axis<T: ShapeInteger>(
        &self,
        axis: T,
    ) -> Result<BroadcastPlan<I::Smaller, O>, BroadcastError> {
        let (fed, (input, axis)) = (self.output_axes(), without_one_at(&self.input, axis)?);
        Ok(composed(input, self.output_dim(), |i| {
            Some(fed[i + usize::from(i >= axis)])
        }))
    }
}

/// The plan to this shape from the shape without `axes`.
///
/// # Errors
///
/// `InvalidAxes`.
pub(crate) fn without_axes<A: AxisList, D: Dimension>(
    shape: D,
    axes: &A,
) -> Result<BroadcastPlan<A::Remaining<D>, D>, BroadcastError> {
    let (rank, known) = (shape.ndim(), || PartialShape::known(shape.clone()));
    let listed: D = positions("reduce", rank, axes.list(), known)?;
    let kept = || (0..rank).filter(|&axis| listed.sizes()[axis] == 0);
    let mut output_axes = A::Remaining::<D>::zeros(kept().count());
    for (output_axis, axis) in output_axes.sizes_mut().iter_mut().zip(kept()) {
        *output_axis = axis;
    }
    let (sizes, fed) = (shape.sizes(), output_axes.sizes());
    let input = by_axis(fed.len(), |axis| sizes[fed[axis]]);
    let rule = Rule::Composed;
    Ok(BroadcastPlan::from_parts(rule, input, shape, output_axes))
}

/// The plan in which input axis `i` feeds output axis `output_axis_of(i)`, or none. It is made of
/// other plans: an axis of another size than 1 has this size in all of them.
#[inline(always)]
fn composed<I: Dimension, O: Dimension>(
    input: I,
    output: O,
    output_axis_of: impl Fn(usize) -> Option<usize>,
) -> BroadcastPlan<I, O> {
    let none = output.ndim();
    let output_axes = by_axis(input.ndim(), |axis| output_axis_of(axis).unwrap_or(none));
    BroadcastPlan::from_parts(Rule::Composed, input, output, output_axes)
}

/// The [`positions`] of a shape's axes in the list, and the shape with axis `axes[i]` as axis `i`.
///
/// # Errors
///
/// `InvalidAxes` if `axes` does not name each axis once.
#[inline(always)]
fn reordered<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axes: &[T],
) -> Result<[D; 2], BroadcastError> {
    let (rank, known) = (shape.ndim(), || PartialShape::known(shape.clone()));
    if axes.len() != rank {
        return Err(invalid_axes("reorder", known(), axes, AxesFault::Length));
    }
    let positions: D = positions("reorder", rank, axes, known)?;
    let size_of = |axis: usize| shape.sizes()[axis_of(axes[axis], rank).unwrap_or(axis)];
    Ok([positions, by_axis(rank, size_of)])
}

/// The shape with an axis of size 1 at this position, and the position.
#[inline(always)]
fn with_one_at<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axis: T,
) -> Result<(D::Larger, usize), BroadcastError> {
    let (sizes, rank) = (shape.sizes(), shape.ndim() + 1);
    let Some(at) = axis_of(axis, rank) else {
        let (shape, fault) = (PartialShape::known(shape.clone()), AxesFault::OutOfRange(0));
        return Err(invalid_axes("insert", shape, &[axis], fault));
    };
    let size_of = |axis: usize| match axis.cmp(&at) {
        Ordering::Less => sizes[axis],
        Ordering::Equal => 1,
        Ordering::Greater => sizes[axis - 1],
    };
    Ok((by_axis(rank, size_of), at))
}

/// The shape without this axis, which must have size 1, and the axis, counted from the front.
#[inline(always)]
fn without_one_at<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axis: T,
) -> Result<(D::Smaller, usize), BroadcastError> {
    let sizes = shape.sizes();
    let fault = match axis_of(axis, sizes.len()) {
        Some(at) if sizes[at] == 1 => {
            let size_of = |axis| sizes[axis + usize::from(axis >= at)];
            return Ok((by_axis(sizes.len() - 1, size_of), at));
        }
        Some(_) => AxesFault::NotOne(0),
        None => AxesFault::OutOfRange(0),
    };
    let shape = PartialShape::known(shape.clone());
    Err(invalid_axes("remove", shape, &[axis], fault))
}
