//! Reductions of arrays, along a plan, to a shape and over axes.

use super::cloned::sum_cloned;
use super::reduction::Reduction;
use crate::axes::AxisList;
use crate::error::{ArrayRole, Result};
use crate::operand::Operand;
use crate::plan::{BroadcastPlan, without_axes};
use ndarray::{Array, ArrayRef, Dimension, IntoDimension};
use num_traits::Zero;

/// # Reduce what the plan replicates
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// A reduction of an array of the plan's output shape over the axes that the plan replicates:
    /// [`gradient`](Self::gradient) with another operation than the sum.
    ///
    /// ```text
    /// input            3  1
    /// array         2  3  4
    ///               +     *
    /// ---------------------
    /// result           3  1
    /// ```
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the array does not have the plan's output
    /// shape; [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the reduction has no
    /// result for so few terms; [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::reduction::{ArgMax, Max};
    ///
    /// let plan = BroadcastPlan::explicit(2, (2, 3), &[0])?;
    /// let logits = array![[1., 5., 2.], [4., 3., 4.]];
    /// assert_eq!(plan.reduce(&logits, Max)?, array![5., 4.]);
    /// assert_eq!(plan.reduce(&logits, ArgMax)?, array![1, 0]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce`; ONNX `Reduce*`.
    pub fn reduce<T, R>(&self, array: &ArrayRef<T, O>, reduction: R) -> Result<Array<R::Out, I>>
    where
        T: Copy + Sync,
        R: Reduction<T>,
    {
        self.reduce_array(ArrayRole::Reduced, array, &reduction, |call| {
            call.results(self)
        })
    }

    /// [`reduce`](Self::reduce) into an existing array or view of any layout, whose contents it
    /// replaces.
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Self::reduce), and [`WrongShape`](crate::ErrorKind::WrongShape) if `out`
    /// does not have the plan's input shape. Nothing has been written then.
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::reduction::Min;
    ///
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let mut min = array![0, 0];
    /// plan.reduce_into(&array![[1, 5], [4, 3]], Min, &mut min)?;
    /// assert_eq!(min, array![1, 3]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn reduce_into<T, R>(
        &self,
        array: &ArrayRef<T, O>,
        reduction: R,
        out: &mut ArrayRef<R::Out, I>,
    ) -> Result<()>
    where
        T: Copy + Sync,
        R: Reduction<T>,
    {
        self.reduce_array(ArrayRole::Reduced, array, &reduction, |call| {
            call.results_into(self, out, None)
        })
    }
}

/// Reductions of an array over the axes that a broadcast to its shape would replicate.
///
/// For every `ArrayBase` (owned arrays, views, `ArcArray`, `CowArray`) and for `ArrayRef`. Along a
/// plan of any rule: [`BroadcastPlan::reduce`]; of a map: [`Zip::reduce`](crate::Zip::reduce). The
/// private supertrait is [explained here](crate::BroadcastExt#reading-the-signatures).
pub trait ReduceExt: Operand {
    /// Reduces to `shape`, by NumPy's rule. With [`Sum`](crate::reduction::Sum) it is the gradient
    /// of [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy) from `shape` to the shape of
    /// `self`.
    ///
    /// ```text
    /// self      2  3  4
    /// shape        3  1
    ///           -------
    /// result       3  1
    /// ```
    ///
    /// Leading axes that `shape` does not have are reduced and gone; axes that it has as 1 are
    /// reduced and kept.
    ///
    /// # Errors
    ///
    /// [`RankMismatch`](crate::ErrorKind::RankMismatch) if `shape` has more axes than `self`;
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch) if its sizes do not broadcast to the
    /// shape of `self`; [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the reduction has no
    /// result for so few terms;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let logits = array![[1., 5., 2.], [4., 3., 4.]];
    /// let max = logits.reduce_to_shape((2, 1), Max)?;
    /// assert_eq!(max, array![[5.], [4.]]);
    /// assert_eq!(logits.reduce_to_shape(3, Mean)?, array![2.5, 4., 3.]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce` with `keepdims`; ONNX `Reduce*`.
    #[doc(alias = "sum_to_size")]
    #[doc(alias = "unbroadcast")]
    #[doc(alias = "reduce_sum")]
    #[doc(alias = "sum_axis")]
    #[doc(alias = "ReduceSum")]
    #[doc(alias = "amax")]
    #[doc(alias = "ReduceMax")]
    #[doc(alias = "ReduceMean")]
    fn reduce_to_shape<E, R>(&self, shape: E, reduction: R) -> Result<Array<R::Out, E::Dim>>
    where
        E: IntoDimension,
        Self::Elem: Copy + Sync,
        R: Reduction<Self::Elem>,
    {
        let (array, shape) = (self.as_array(), shape.into_dimension());
        plan_to_shape(shape, array.raw_dim())?.reduce(array, reduction)
    }

    /// Reduces over `axes`, which the result does not have.
    ///
    /// ```text
    /// self      2  3  4
    /// axes      0     2
    ///           -------
    /// result       3
    /// ```
    ///
    /// `axes` is one axis, an array, a slice or a `Vec`, of any integer type: an
    /// [`AxisList`]. Negative axes count from the end. The order of the list does not matter. The
    /// rank of the result is static for one axis and for an array of axes.
    /// [`reduce_axes_keepdims`](Self::reduce_axes_keepdims) keeps the axes, with size 1.
    ///
    /// # Errors
    ///
    /// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) for an axis that the array does not have, or
    /// that is listed twice; [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the reduction has no
    /// result for so few terms;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let x = array![[1., 5., 3.], [4., 2., 3.]];
    /// assert_eq!(x.reduce_axes(-1, Mean)?, array![3., 3.]);
    /// assert_eq!(x.reduce_axes([0, 1], Sum)?.into_scalar(), 18.);
    /// assert_eq!(
    ///     x.reduce_axes([1, -1], Sum).unwrap_err().to_string(),
    ///     "\
    /// cannot reduce axis -1 of [2, 3]
    ///   shape   2   3
    ///   axes    1  -1
    ///               ^ axis -1 is listed twice",
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce` with `axis`; ONNX `Reduce*` with `keepdims=0`.
    fn reduce_axes<A, R>(
        &self,
        axes: A,
        reduction: R,
    ) -> Result<Array<R::Out, A::Remaining<Self::Dim>>>
    where
        A: AxisList,
        Self::Elem: Copy + Sync,
        R: Reduction<Self::Elem>,
    {
        let array = self.as_array();
        without_axes(array.raw_dim(), &axes)?.reduce(array, reduction)
    }

    /// Reduces over `axes`. Each of them keeps size 1, so that the result broadcasts to the shape
    /// of `self`.
    ///
    /// ```text
    /// self      2  3  4
    /// axes      0     2
    ///           -------
    /// result    1  3  1
    /// ```
    ///
    /// `axes` is as in [`reduce_axes`](Self::reduce_axes). [`BroadcastPlan::over_axes`] is the
    /// plan: it writes into existing arrays, and replicates the result again.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_axes`](Self::reduce_axes).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let x = array![[1., 5., 3.], [4., 2., 3.]];
    /// let mean = x.reduce_axes_keepdims(-1, Mean)?;
    /// assert_eq!(mean, array![[3.], [3.]]);
    /// assert_eq!(&x - &mean, array![[-2., 2., 0.], [1., -1., 0.]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce` with `axis` and `keepdims=True`; ONNX `Reduce*` with
    /// `keepdims=1`.
    #[doc(alias = "keepdims")]
    fn reduce_axes_keepdims<A, R>(&self, axes: A, reduction: R) -> Result<Array<R::Out, Self::Dim>>
    where
        A: AxisList,
        Self::Elem: Copy + Sync,
        R: Reduction<Self::Elem>,
    {
        let array = self.as_array();
        BroadcastPlan::over_axes(array.raw_dim(), axes)?.reduce(array, reduction)
    }

    /// [`BroadcastPlan::gradient`] of `self`, for elements that are `Clone` and not `Copy`, such as
    /// integers of any size.
    ///
    /// Each term is cloned once. The terms of a result are added one after the other, in order, on
    /// the calling thread.
    ///
    /// # Errors
    ///
    /// Those of [`BroadcastPlan::gradient`].
    ///
    /// # Panics
    ///
    /// Only if `clone` or the addition does.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::prelude::*;
    /// use num_traits::Zero;
    ///
    /// /// Decimal digits, the last first.
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Digits(Vec<u8>);
    ///
    /// impl std::ops::Add for Digits {
    ///     type Output = Digits;
    ///
    ///     fn add(self, other: Digits) -> Digits {
    ///         let digit = |digits: &Digits, i| *digits.0.get(i).unwrap_or(&0);
    ///         let (mut sum, mut carry) = (Vec::new(), 0);
    ///         for i in 0..self.0.len().max(other.0.len()) {
    ///             carry += digit(&self, i) + digit(&other, i);
    ///             sum.push(carry % 10);
    ///             carry /= 10;
    ///         }
    ///         sum.extend((carry > 0).then_some(carry));
    ///         Digits(sum)
    ///     }
    /// }
    ///
    /// impl Zero for Digits {
    ///     fn zero() -> Digits {
    ///         Digits(vec![])
    ///     }
    ///     fn is_zero(&self) -> bool {
    ///         self.0.iter().all(|&digit| digit == 0)
    ///     }
    /// }
    ///
    /// let large = Array2::from_elem((1000, 2), Digits(vec![9; 30]));
    /// let plan = BroadcastPlan::numpy(2, (1000, 2))?;
    /// // 1000 times 10^30 - 1.
    /// let sum = Digits([vec![0; 3], vec![9; 30]].concat());
    /// assert_eq!(large.sum_cloned(&plan)?, array![sum.clone(), sum]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `sum` of `object` arrays.
    fn sum_cloned<I: Dimension>(
        &self,
        plan: &BroadcastPlan<I, Self::Dim>,
    ) -> Result<Array<Self::Elem, I>>
    where
        Self::Elem: Clone + Zero,
    {
        sum_cloned(plan, self.as_array())
    }

    /// [`reduce_to_shape`](Self::reduce_to_shape) with `Sum`, for elements that are `Clone` and not
    /// `Copy`: [`sum_cloned`](Self::sum_cloned) has an example of such elements.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_to_shape`](Self::reduce_to_shape).
    ///
    /// # Panics
    ///
    /// Only if `clone` or the addition does.
    fn sum_to_shape_cloned<E>(&self, shape: E) -> Result<Array<Self::Elem, E::Dim>>
    where
        E: IntoDimension,
        Self::Elem: Clone + Zero,
    {
        let (array, shape) = (self.as_array(), shape.into_dimension());
        sum_cloned(&plan_to_shape(shape, array.raw_dim())?, array)
    }
}

impl<T: Operand + ?Sized> ReduceExt for T {}

/// The plan from the result of a reduction to the array.
#[inline]
fn plan_to_shape<I: Dimension, O: Dimension>(result: I, array: O) -> Result<BroadcastPlan<I, O>> {
    let roles = [ArrayRole::Result, ArrayRole::Receiver];
    BroadcastPlan::numpy_to(result, array).map_err(|error| error.renamed(|at| roles[at]))
}
