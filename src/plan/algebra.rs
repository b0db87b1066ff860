//! Plans as values: two in a row, axes in another order, axes of size 1 inserted and removed.

use super::BroadcastPlan;
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
        let none = &output.ndim();
        let output_axis_of = |axis: usize| *then_fed.get(fed[axis]).unwrap_or(none);
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
        self.then(&reordering(&self.output, axes)?)
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
        reordering(&self.input, axes)?.inverse()?.then(self)
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
        self.then(&inserting(&self.output, axis)?)
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
        self.then(&removing(&self.output, axis)?)
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
        inserting(&self.input, axis)?.inverse()?.then(self)
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
        removing(&self.input, axis)?.inverse()?.then(self)
    }

    /// The plan from the output to the input, of a plan that stretches no axis and whose axes of
    /// other sizes than 1 all feed one, and are fed.
    fn inverse(&self) -> Result<BroadcastPlan<O, I>> {
        let (input, output) = (self.output_dim(), self.input_dim());
        let mut sources = input.clone();
        for (axis, source) in sources.sizes_mut().iter_mut().zip(self.mapping()) {
            *axis = source.unwrap_or(output.ndim());
        }
        let sources = sources.sizes();
        BroadcastPlan::new(Rule::Composed, input, output, |axis| sources[axis])
    }
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
    let (rank, sizes) = (shape.ndim(), shape.sizes());
    let listed: D = positions("reduce", sizes, axes.list())?;
    let kept = (0..rank).filter(|&axis| listed.sizes()[axis] == 0);
    let kept: SmallVec<[usize; 6]> = kept.collect();
    let input = by_axis(kept.len(), |axis| sizes[kept[axis]]);
    BroadcastPlan::new(Rule::Composed, input, shape, |axis| kept[axis])
}

/// The plan in which axis `i` of the shape feeds axis `output_axis_of(i)` of an output of this
/// rank, or none. Other axes of the output have size 1.
#[inline(always)]
fn moved<D: Dimension, O: Dimension>(
    shape: &D,
    rank: usize,
    output_axis_of: impl Fn(usize) -> Option<usize>,
) -> Result<BroadcastPlan<D, O>> {
    let output_axis_of = |axis| output_axis_of(axis).unwrap_or(rank);
    let mut output: O = by_axis(rank, |_| 1);
    let sizes = output.sizes_mut();
    for (axis, &size) in shape.sizes().iter().enumerate() {
        if let Some(fed) = sizes.get_mut(output_axis_of(axis)) {
            *fed = size;
        }
    }
    BroadcastPlan::new(Rule::Composed, shape.clone(), output, output_axis_of)
}

/// The plan to the shape with axis `axes[i]` as axis `i`.
///
/// # Errors
///
/// `InvalidAxes` if `axes` does not name each axis once.
fn reordering<D: Dimension, T: ShapeInteger>(shape: &D, axes: &[T]) -> Result<BroadcastPlan<D, D>> {
    let (rank, sizes) = (shape.ndim(), shape.sizes());
    if axes.len() != rank {
        return Err(invalid_axes("reorder", sizes, axes, AxesFault::Length));
    }
    let positions: D = positions("reorder", sizes, axes)?;
    let positions = positions.sizes();
    moved(shape, rank, |axis| Some(positions[axis] - 1))
}

/// The plan to the shape with an axis of size 1 at this position.
fn inserting<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axis: T,
) -> Result<BroadcastPlan<D, D::Larger>> {
    let rank = shape.ndim() + 1;
    let at = place("insert", shape.sizes(), axis, rank)?;
    moved(shape, rank, |i| Some(i + usize::from(i >= at)))
}

/// The plan to the shape without this axis, which must have size 1.
fn removing<D: Dimension, T: ShapeInteger>(
    shape: &D,
    axis: T,
) -> Result<BroadcastPlan<D, D::Smaller>> {
    let (rank, sizes) = (shape.ndim(), shape.sizes());
    let at = place("remove", sizes, axis, rank)?;
    let output_axis_of = |i| (i != at).then(|| i - usize::from(i > at));
    match sizes[at] {
        1 => moved(shape, rank - 1, output_axis_of),
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
