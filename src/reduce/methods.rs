//! Reductions of arrays and of maps, along a plan and to a shape.

use super::operands::Operands;
use super::operands::sealed::Elements;
use super::reduction::{Reduction, Sum};
use super::summand::Summand;
use super::{Existing, Fresh, added};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::operand::Operand;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use ndarray::{Array, ArrayRef, Dimension, IntoDimension};

/// # Map and reduce in one pass
///
/// The gradient of `y = x * scale` with respect to `scale` is the sum of `dy * x`. These methods
/// reduce what a closure returns for the elements of one to four arrays, over the axes that the
/// plan replicates. No array of the terms is made. The result is, bit for bit, that of
/// [`gradient`](Self::gradient) or [`reduce`](Self::reduce) of the array of all terms.
///
/// Each array has the plan's output shape, or broadcasts to it by NumPy's rule.
///
/// The closure is called once for each term, in no particular order, and with the feature `rayon`
/// from several threads at a time. If it panics, the panic reaches the caller after the other
/// threads have stopped. `out` may be written in part then: each element has its old value or its
/// result.
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The gradient of what the plan replicates, if the cotangent is `f` of these arrays.
    ///
    /// ```text
    /// input            3  1
    /// arrays        2  3  4
    ///                  3  1   (any that broadcast to the output)
    ///               +     *
    /// ---------------------
    /// gradient         3  1
    /// ```
    ///
    /// # Errors
    ///
    /// [`RankTooLarge`](crate::ErrorKind::RankTooLarge),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch) if an array does not broadcast to the
    /// plan's output shape; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if `f` or the addition does, as that of integers where overflow checks are on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// // y = x * scale, [N, C] * [C].
    /// let (x, dy) = (array![[1., 2.], [3., 4.]], array![[10., 20.], [30., 40.]]);
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let d_scale = plan.gradient_of((&dy, &x), |(dy, x)| dy * x)?;
    /// assert_eq!(d_scale, array![100., 200.]);
    /// assert_eq!(d_scale, plan.gradient(&(&dy * &x))?);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the chain rule; [`gradient`](Self::gradient) of the product.
    #[doc(alias = "einsum")]
    pub fn gradient_of<X, A, F>(&self, arrays: X, f: F) -> Result<Array<A, I>, BroadcastError>
    where
        X: Operands<O>,
        A: Summand,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> A + Sync,
    {
        self.reduce_of(arrays, Sum, f)
    }

    /// [`gradient_of`](Self::gradient_of) into an existing array or view of any layout, whose
    /// contents it replaces.
    ///
    /// # Errors
    ///
    /// Those of [`gradient_of`](Self::gradient_of), and
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `out` does not have the plan's input
    /// shape. Nothing has been written then.
    ///
    /// # Panics
    ///
    /// Only if `f` or the addition does, as that of integers where overflow checks are on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let (x, dy) = (array![[1., 2.], [3., 4.]], array![[10., 20.], [30., 40.]]);
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let mut d_scale = array![5., 5.];
    /// plan.gradient_of_into((&dy, &x), |(dy, x)| dy * x, &mut d_scale)?;
    /// assert_eq!(d_scale, array![100., 200.]);
    /// plan.gradient_of_accumulate((&dy, &x), |(dy, x)| dy * x, &mut d_scale)?;
    /// assert_eq!(d_scale, array![200., 400.]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn gradient_of_into<X, A, F>(
        &self,
        arrays: X,
        f: F,
        out: &mut ArrayRef<A, I>,
    ) -> Result<(), BroadcastError>
    where
        X: Operands<O>,
        A: Summand,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> A + Sync,
    {
        self.reduce_of_into(arrays, Sum, f, out)
    }

    /// [`gradient_of`](Self::gradient_of) added to what an existing array or view of any layout
    /// holds. Example: [`gradient_of_into`](Self::gradient_of_into).
    ///
    /// Each element of `out` is added to once, when its sum is complete. A sum of no terms leaves
    /// it as it is, -0.0 included.
    ///
    /// # Errors
    ///
    /// Those of [`gradient_of_into`](Self::gradient_of_into).
    ///
    /// # Panics
    ///
    /// Only if `f` or the addition does, as that of integers where overflow checks are on.
    pub fn gradient_of_accumulate<X, A, F>(
        &self,
        arrays: X,
        f: F,
        out: &mut ArrayRef<A, I>,
    ) -> Result<(), BroadcastError>
    where
        X: Operands<O>,
        A: Summand,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> A + Sync,
    {
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        arrays.reduce(self, &Sum, &f, Some(added), Existing(out))
    }

    /// A reduction of `f` of these arrays over the axes that the plan replicates.
    ///
    /// Shapes are those of [`gradient_of`](Self::gradient_of). `reduction` is one of
    /// [those that are ready made](Reduction), or your own.
    ///
    /// # Errors
    ///
    /// Those of [`gradient_of`](Self::gradient_of), and
    /// [`EmptyReduction`](crate::ErrorKind::EmptyReduction) if there are no terms and the reduction
    /// has no result for that.
    ///
    /// # Panics
    ///
    /// Only if `f` or the reduction's own operation does, as sums of integers where overflow checks
    /// are on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::reduction::Max;
    ///
    /// // The largest difference between two arrays, for each row.
    /// let (a, b) = (array![[1_f32, 2.], [3., 4.]], array![2., 2.]);
    /// let plan = BroadcastPlan::numpy((2, 1), (2, 2))?;
    /// let largest = plan.reduce_of((&a, &b), Max, |(a, b)| (a - b).abs())?;
    /// assert_eq!(largest, array![[1.], [2.]]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce` of a universal function's result.
    pub fn reduce_of<X, T, R, F>(
        &self,
        arrays: X,
        reduction: R,
        f: F,
    ) -> Result<Array<R::Out, I>, BroadcastError>
    where
        X: Operands<O>,
        R: Reduction<T>,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> T + Sync,
    {
        arrays.reduce(self, &reduction, &f, None, Fresh(self.input_dim()))
    }

    /// [`reduce_of`](Self::reduce_of) into an existing array or view of any layout, whose contents
    /// it replaces.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_of`](Self::reduce_of), and
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `out` does not have the plan's input
    /// shape. Nothing has been written then.
    ///
    /// # Panics
    ///
    /// Only if `f` or the reduction's own operation does, as sums of integers where overflow checks
    /// are on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{arr1, array};
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::reduction::Mean;
    ///
    /// let pixels = array![[0_u8, 255], [255, 255]];
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let mut means = arr1(&[0_f32; 2]);
    /// plan.reduce_of_into((&pixels,), Mean, |(&p,)| f32::from(p) / 255., &mut means)?;
    /// assert_eq!(means, array![0.5, 1.]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn reduce_of_into<X, T, R, F>(
        &self,
        arrays: X,
        reduction: R,
        f: F,
        out: &mut ArrayRef<R::Out, I>,
    ) -> Result<(), BroadcastError>
    where
        X: Operands<O>,
        R: Reduction<T>,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> T + Sync,
    {
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        arrays.reduce(self, &reduction, &f, None, Existing(out))
    }

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
    /// shape; [`EmptyReduction`](crate::ErrorKind::EmptyReduction) if there are no terms and the
    /// reduction has no result for that; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
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
    pub fn reduce<T, R>(
        &self,
        array: &ArrayRef<T, O>,
        reduction: R,
    ) -> Result<Array<R::Out, I>, BroadcastError>
    where
        T: Copy + Sync,
        R: Reduction<T>,
    {
        check_shape(ArrayRole::Reduced, self.output_shape(), array.shape())?;
        self.reduce_array(array, &reduction, None, Fresh(self.input_dim()))
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
    ) -> Result<(), BroadcastError>
    where
        T: Copy + Sync,
        R: Reduction<T>,
    {
        check_shape(ArrayRole::Reduced, self.output_shape(), array.shape())?;
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        self.reduce_array(array, &reduction, None, Existing(out))
    }
}

/// Reductions of an array over the axes that a broadcast to its shape would replicate.
///
/// For every `ArrayBase` (owned arrays, views, `ArcArray`, `CowArray`) and for `ArrayRef`. Along a
/// plan of any rule: [`BroadcastPlan::reduce`]; of a map: [`BroadcastPlan::reduce_of`].
pub trait ReduceExt: Operand {
    /// Reduces to `shape`, by NumPy's rule, as [`sum_to_shape`](crate::GradientExt::sum_to_shape)
    /// sums.
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
    /// [`ReduceMismatch`](crate::ErrorKind::ReduceMismatch) if `shape` does not broadcast to the
    /// shape of `self`; [`EmptyReduction`](crate::ErrorKind::EmptyReduction) if there are no terms
    /// and the reduction has no result for that;
    /// [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
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
    #[doc(alias = "amax")]
    #[doc(alias = "ReduceMax")]
    #[doc(alias = "ReduceMean")]
    fn reduce_to_shape<E, R>(
        &self,
        shape: E,
        reduction: R,
    ) -> Result<Array<R::Out, E::Dim>, BroadcastError>
    where
        E: IntoDimension,
        Self::Elem: Copy + Sync,
        R: Reduction<Self::Elem>,
    {
        let (array, shape) = (self.as_array(), shape.into_dimension());
        BroadcastPlan::right_aligned(Rule::Numpy, shape, array.shape())
            .map_err(|error| error.of_reduction("reduce"))?
            .reduce(array, reduction)
    }

    /// Reduces over the set `axes`. Each reduced axis keeps size 1.
    ///
    /// ```text
    /// self      2  3  4
    /// axes      0     2
    ///           -------
    /// result    1  3  1
    /// ```
    ///
    /// [`BroadcastPlan::over_axes`] is the plan: it removes axes, writes into existing arrays, and
    /// replicates the result again.
    ///
    /// # Errors
    ///
    /// [`InvalidAxis`](crate::ErrorKind::InvalidAxis) for an axis that the array does not have;
    /// those of [`reduce_to_shape`](Self::reduce_to_shape) but `ReduceMismatch`.
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Axis, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let x = array![[1., 5., 3.], [4., 2., 3.]];
    /// assert_eq!(x.reduce_axes(&[1], Mean)?, array![[3.], [3.]]);
    /// assert_eq!(x.reduce_axes(&[0, 1], Sum)?, array![[18.]]);
    /// let columns = x.reduce_axes(&[0], Sum)?.index_axis_move(Axis(0), 0);
    /// assert_eq!(columns, array![5., 7., 6.]);
    /// assert_eq!(
    ///     x.reduce_axes(&[2], Sum).unwrap_err().to_string(),
    ///     "\
    /// cannot reduce axis 2 of [2, 3]
    ///   shape   2  3
    ///   its axes are 0 to 1",
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's `ufunc.reduce` with `axis` and `keepdims`; ONNX `Reduce*`.
    #[doc(alias = "keepdims")]
    fn reduce_axes<R>(
        &self,
        axes: &[usize],
        reduction: R,
    ) -> Result<Array<R::Out, Self::Dim>, BroadcastError>
    where
        Self::Elem: Copy + Sync,
        R: Reduction<Self::Elem>,
    {
        let array = self.as_array();
        BroadcastPlan::over_axes(array.raw_dim(), axes)?.reduce(array, reduction)
    }
}

impl<T: Operand + ?Sized> ReduceExt for T {}
