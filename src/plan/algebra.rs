//! Plans as values: two in a row, axes in another order, axes of size 1 inserted and removed.

use super::{BroadcastPlan, NONE};
use crate::axes::{AxisList, invalid_axes, positions};
use crate::error::{ArrayRole, AxesFault, Result, check_shape};
use crate::integer::{ShapeInteger, axis_of};
use crate::rule::Rule;
use crate::shape::{Sizes, by_axis};
use ndarray::Dimension;
use smallvec::SmallVec;

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
    pub fn then<P: Dimension>(&self, second: &BroadcastPlan<O, P>) -> Result<BroadcastPlan<I, P>> {
        let (expected, found) = (second.input_shape(), self.output_shape());
        check_shape(ArrayRole::FirstOutput, expected, found)?;
        let (fed, then_fed) = (self.output_axes(), second.output_axes());
        let (input, output) = (self.input_dim(), second.output_dim());
        let output_axis_of = |axis: usize| *then_fed.get(fed[axis]).unwrap_or(&NONE);
        BroadcastPlan::new(Rule::Composed, input, output, output_axis_of)
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
    pub fn permuted<T: ShapeInteger>(&self, axes: &[T]) -> Result<Self> {
        self.with_output(reordered(&self.output, axes)?)
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
    pub fn permuted_input<T: ShapeInteger>(&self, axes: &[T]) -> Result<Self> {
        reordered(&self.input, axes)?.then(self)
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
    pub fn insert_axis<T: ShapeInteger>(&self, axis: T) -> Result<BroadcastPlan<I, O::Larger>> {
        self.with_output(with_new_axis(&self.output, axis)?)
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
    pub fn remove_axis<T: ShapeInteger>(&self, axis: T) -> Result<BroadcastPlan<I, O::Smaller>> {
        self.with_output(without_axis(&self.output, axis)?)
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
    ) -> Result<BroadcastPlan<I::Larger, O>> {
        with_new_axis(&self.input, axis)?.then(self)
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
    ) -> Result<BroadcastPlan<I::Smaller, O>> {
        without_axis(&self.input, axis)?.then(self)
    }

    /// The plan to the shape that `axes` is a plan from: to axes of this plan's output.
    #[inline(always)]
    fn with_output<P: Dimension>(&self, axes: BroadcastPlan<P, O>) -> Result<BroadcastPlan<I, P>> {
        let (fed, places) = (self.output_axes(), axes.fed_by());
        let output_axis_of = |axis: usize| *places.sizes().get(fed[axis]).unwrap_or(&NONE);
        let (input, output) = (self.input_dim(), axes.input);
        BroadcastPlan::new(Rule::Composed, input, output, output_axis_of)
    }
}

/// The plan to this shape from the shape of this rank whose axis `i` is axis `axis_at(i)` of it.
#[inline(always)]
fn from_axes<I: Dimension, D: Dimension>(
    shape: D,
    rank: usize,
    axis_at: impl Fn(usize) -> usize,
) -> Result<BroadcastPlan<I, D>> {
    let input = by_axis(rank, |axis| *shape.sizes().get(axis_at(axis)).unwrap_or(&1));
    BroadcastPlan::new(Rule::Composed, input, shape, axis_at)
}

/// The plan to this shape from the shape without `axes`.
///
/// # Errors
///
/// `InvalidAxes`, `ShapeOverflow`.
pub(crate) fn without_axes<A: AxisList, D: Dimension>(
    shape: D,
    axes: &A,
) -> Result<BroadcastPlan<A::Remaining<D>, D>> {
    let listed: D = positions("reduce", shape.sizes(), axes.list())?;
    let kept = (0..shape.ndim()).filter(|&axis| listed.sizes()[axis] == 0);
    let kept: SmallVec<[usize; 6]> = kept.collect();
    from_axes(shape, kept.len(), |axis| kept[axis])
}

/// The plan to this shape from the one whose axis `i` is axis `axes[i]` of it.
///
/// # Errors
///
/// `InvalidAxes` if `axes` does not name each axis once.
fn reordered<D: Dimension, T: ShapeInteger>(shape: &D, axes: &[T]) -> Result<BroadcastPlan<D, D>> {
    let (rank, sizes) = (shape.ndim(), shape.sizes());
    if axes.len() != rank {
        return Err(invalid_axes("reorder", sizes, axes, AxesFault::Length));
    }
    let _: D = positions("reorder", sizes, axes)?;
    let axis_at = |at: usize| axis_of(axes[at].widen(), rank).unwrap_or(NONE);
    from_axes(shape.clone(), rank, axis_at)
}

/// The plan to this shape from the one with a new axis at this position.
fn with_new_axis<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axis: T,
) -> Result<BroadcastPlan<D::Larger, D>> {
    let rank = shape.ndim() + 1;
    let new = place("insert", shape.sizes(), axis, rank)?;
    from_axes(shape.clone(), rank, |at| match at {
        at if at == new => NONE,
        at => at - usize::from(at > new),
    })
}

/// The plan to this shape from the one without this axis, which must have size 1.
fn without_axis<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axis: T,
) -> Result<BroadcastPlan<D::Smaller, D>> {
    let (rank, sizes) = (shape.ndim(), shape.sizes());
    let gone = place("remove", sizes, axis, rank)?;
    match sizes[gone] {
        1 => from_axes(shape.clone(), rank - 1, |at| at + usize::from(at >= gone)),
        _ => Err(invalid_axes("remove", sizes, &[axis], AxesFault::NotOne(0))),
    }
}

/// Which of `count` places an integer names, for this operation on a shape.
fn place<T: ShapeInteger>(
    operation: &'static str,
    shape: &[usize],
    axis: T,
    count: usize,
) -> Result<usize> {
    let fault = AxesFault::OutOfRange(0);
    axis_of(axis.widen(), count).ok_or_else(|| invalid_axes(operation, shape, &[axis], fault))
}
