//! Plans as values: two in a row, axes in another order, axes of size 1 inserted and removed.

use super::BroadcastPlan;
use crate::error::{AxesFault, BroadcastError, invalid_axis, not_a_permutation, plans_do_not_meet};
use crate::rule::Rule;
use crate::shape::{Sizes, dimension};
use ndarray::Dimension;

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
    /// [`PlansDoNotMeet`](crate::ErrorKind::PlansDoNotMeet) if the output shape of this plan is not
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
    /// Source: the composition of maps; XLA folds chains of `broadcast_in_dim` so.
    #[inline]
    pub fn then<P: Dimension>(
        &self,
        second: &BroadcastPlan<O, P>,
    ) -> Result<BroadcastPlan<I, P>, BroadcastError> {
        if self.output_shape() != second.input_shape() {
            return Err(plans_do_not_meet(self.output_shape(), second.input_shape()));
        }
        let (fed, output) = (self.output_axes(), second.output_shape());
        BroadcastPlan::new(Rule::Composed, self.input_dim(), output, |axis| {
            entry(second.output_axes(), fed[axis], output.len())
        })
    }

    /// The plan whose output has its axes in another order: axis `i` is axis `axes[i]` of this
    /// plan's output, as in ndarray's `permuted_axes`.
    ///
    /// # Errors
    ///
    /// [`NotAPermutation`](crate::ErrorKind::NotAPermutation) if `axes` does not name every output
    /// axis once.
    ///
    /// ```
    /// use ndarray::{array, s};
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy(3, (2, 3))?;
    /// let permuted = plan.permuted(&[1, 0])?;
    /// assert_eq!(permuted.view(&array![1, 2, 3])?, array![[1, 1], [2, 2], [3, 3]]);
    /// assert_eq!(
    ///     plan.permuted(&[1, 1]).unwrap_err().to_string(),
    ///     "\
    /// cannot reorder the axes of [2, 3]
    ///   shape   2  3
    ///   axes    1  1
    ///              ^ axis 1 is there already: each axis stands in the list once",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: ndarray `permuted_axes`, NumPy `transpose`.
    #[inline]
    pub fn permuted(&self, axes: &[usize]) -> Result<Self, BroadcastError> {
        let position_of = positions(&self.output, axes)?;
        let mut output = self.output.clone();
        for (size, &axis) in output.sizes_mut().iter_mut().zip(axes) {
            *size = self.output[axis];
        }
        BroadcastPlan::new(Rule::Composed, self.input_dim(), output.sizes(), |axis| {
            entry(position_of.sizes(), self.output_axes[axis], axes.len())
        })
    }

    /// The plan whose input has its axes in another order: axis `i` is axis `axes[i]` of this
    /// plan's input. For an array whose axes were permuted, it gives the same output.
    ///
    /// # Errors
    ///
    /// [`NotAPermutation`](crate::ErrorKind::NotAPermutation) if `axes` does not name every input
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
    pub fn permuted_input(&self, axes: &[usize]) -> Result<Self, BroadcastError> {
        positions(&self.input, axes)?;
        let mut input = self.input.clone();
        for (size, &axis) in input.sizes_mut().iter_mut().zip(axes) {
            *size = self.input[axis];
        }
        BroadcastPlan::new(Rule::Composed, input, self.output_shape(), |axis| {
            self.output_axes[axes[axis]]
        })
    }

    /// The plan whose output has a new axis of size 1 at this position.
    ///
    /// # Errors
    ///
    /// [`InvalidAxis`](crate::ErrorKind::InvalidAxis) if the position is past the end.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy(3, (2, 3))?;
    /// assert_eq!(plan.insert_axis(1)?.output_shape(), [2, 1, 3]);
    /// assert_eq!(plan.insert_axis(1)?.remove_axis(1)?.output_shape(), [2, 3]);
    /// assert_eq!(plan.insert_input_axis(1)?.input_shape(), [3, 1]);
    /// assert_eq!(plan.insert_input_axis(1)?.remove_input_axis(1)?.input_shape(), [3]);
    /// assert_eq!(
    ///     plan.remove_axis(0).unwrap_err().to_string(),
    ///     "\
    /// cannot remove axis 0 of [2, 3]
    ///   shape   2  3
    ///           ^ 2 is not 1",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: ndarray `insert_axis`, NumPy `expand_dims`.
    #[inline]
    pub fn insert_axis(&self, axis: usize) -> Result<BroadcastPlan<I, O::Larger>, BroadcastError> {
        let output: O::Larger = with_one_at(&self.output, axis)?;
        BroadcastPlan::new(Rule::Composed, self.input_dim(), output.sizes(), |i| {
            let fed = self.output_axes[i];
            fed + usize::from(fed >= axis)
        })
    }

    /// The plan whose output lacks this axis, which must have size 1. Example:
    /// [`insert_axis`](Self::insert_axis).
    ///
    /// # Errors
    ///
    /// [`InvalidAxis`](crate::ErrorKind::InvalidAxis) if there is no such axis, or its size is not
    /// 1.
    ///
    /// Source: ndarray `remove_axis`, NumPy `squeeze`.
    #[inline]
    pub fn remove_axis(&self, axis: usize) -> Result<BroadcastPlan<I, O::Smaller>, BroadcastError> {
        let output: O::Smaller = without_one_at(&self.output, axis)?;
        let rank = output.ndim();
        BroadcastPlan::new(
            Rule::Composed,
            self.input_dim(),
            output.sizes(),
            |i| match self.output_axes[i] {
                fed if fed == axis => rank,
                fed => fed - usize::from(fed > axis),
            },
        )
    }

    /// The plan whose input has a further axis of size 1 at this position, which is dropped.
    /// Example: [`insert_axis`](Self::insert_axis).
    ///
    /// # Errors
    ///
    /// [`InvalidAxis`](crate::ErrorKind::InvalidAxis) if the position is past the end.
    #[inline]
    pub fn insert_input_axis(
        &self,
        axis: usize,
    ) -> Result<BroadcastPlan<I::Larger, O>, BroadcastError> {
        let input: I::Larger = with_one_at(&self.input, axis)?;
        let output = self.output_shape();
        BroadcastPlan::new(Rule::Composed, input, output, |i| match i == axis {
            true => output.len(),
            false => self.output_axes[i - usize::from(i > axis)],
        })
    }

    /// The plan whose input lacks this axis, which must have size 1. The output axis that it fed is
    /// added then. Example: [`insert_axis`](Self::insert_axis).
    ///
    /// # Errors
    ///
    /// [`InvalidAxis`](crate::ErrorKind::InvalidAxis) if there is no such axis, or its size is not
    /// 1.
    #[inline]
    pub fn remove_input_axis(
        &self,
        axis: usize,
    ) -> Result<BroadcastPlan<I::Smaller, O>, BroadcastError> {
        let input: I::Smaller = without_one_at(&self.input, axis)?;
        BroadcastPlan::new(Rule::Composed, input, self.output_shape(), |i| {
            self.output_axes[i + usize::from(i >= axis)]
        })
    }
}

/// The entry of a list, or `end` past its end.
#[inline(always)]
fn entry(list: &[usize], position: usize, end: usize) -> usize {
    list.get(position).copied().unwrap_or(end)
}

/// For each axis of a shape its position in `axes`.
///
/// # Errors
///
/// `NotAPermutation` if `axes` does not name each axis once.
#[inline(always)]
fn positions<D: Dimension>(shape: &D, axes: &[usize]) -> Result<D, BroadcastError> {
    const NONE: usize = usize::MAX;
    let refused = |fault| Err(not_a_permutation(shape.clone().sizes(), axes, fault));
    if axes.len() != shape.ndim() {
        return refused(AxesFault::Length);
    }
    let mut positions = shape.clone();
    positions.sizes_mut().fill(NONE);
    for (at, &axis) in axes.iter().enumerate() {
        match positions.sizes_mut().get_mut(axis) {
            Some(position) if *position == NONE => *position = at,
            Some(_) => return refused(AxesFault::Repeated(at)),
            None => return refused(AxesFault::OutOfRange(at)),
        }
    }
    Ok(positions)
}

/// The shape with an axis of size 1 at this position.
#[inline(always)]
fn with_one_at<D: Dimension>(shape: &D, axis: usize) -> Result<D::Larger, BroadcastError> {
    if axis > shape.ndim() {
        return Err(invalid_axis(shape.clone().sizes(), axis, true));
    }
    let mut larger = D::Larger::zeros(shape.ndim() + 1);
    let (front, back) = shape.sizes().split_at(axis);
    let sizes = larger.sizes_mut();
    sizes[..axis].copy_from_slice(front);
    sizes[axis] = 1;
    sizes[axis + 1..].copy_from_slice(back);
    Ok(larger)
}

/// The shape without this axis, which must have size 1.
#[inline(always)]
fn without_one_at<D: Dimension>(shape: &D, axis: usize) -> Result<D::Smaller, BroadcastError> {
    let sizes = shape.sizes();
    if sizes.get(axis) != Some(&1) {
        return Err(invalid_axis(shape.clone().sizes(), axis, false));
    }
    let mut smaller: D::Smaller = dimension(&sizes[1..]);
    smaller.sizes_mut()[..axis].copy_from_slice(&sizes[..axis]);
    Ok(smaller)
}
