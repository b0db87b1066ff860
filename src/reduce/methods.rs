//! Reductions of arrays and of maps, along a plan and to a shape.

use super::few;
use super::operands::Operands;
use super::operands::sealed::Elements;
use super::reduction::sealed::Use;
use super::reduction::{First, Reduction, Sum, is_nan};
use crate::engine::memory::array_of;
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::operand::Operand;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use ndarray::{Array, ArrayRef, Dimension, IntoDimension};
use num_traits::Zero;

/// # Map and reduce in one pass
///
/// The gradient of `y = x * scale` with respect to `scale` is the sum of `dy * x`. These methods
/// reduce what a closure returns for the elements of one to four arrays, over the axes that the
/// plan replicates. Only the terms of a small sum may be computed into an array first: see [scratch
/// memory](crate::GradientExt#scratch-memory). The result is, bit for bit, that of
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
        A: Copy + Zero + Send + Sync,
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
        A: Copy + Zero + Send + Sync,
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
        A: Copy + Zero + Send + Sync,
        F: for<'e> Fn(<X as Elements<'e>>::Refs) -> A + Sync,
    {
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        if self.maps_few::<A>() {
            let terms = arrays.map(self, f)?;
            self.reduce_few_into(&terms, &Sum, false, out, |old, sum| old + sum);
            return Ok(());
        }
        arrays.reduce_into(self, &Sum, f, out, true, |old, sum| old + sum)
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
    /// use ndarray_broadcast::{BroadcastPlan, Max};
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
        let plan = self;
        reduction.with(Map { plan, arrays, f })
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
    /// use ndarray_broadcast::{BroadcastPlan, Mean};
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
        let map = Map {
            plan: self,
            arrays,
            f,
        };
        reduction.with(MapToExisting { map, out })
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
    /// use ndarray_broadcast::{ArgMax, BroadcastPlan, Max};
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
        reduction.with(ToFresh { plan: self, array })
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
    /// use ndarray_broadcast::{BroadcastPlan, Min};
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
        let plan = self;
        reduction.with(ToExisting { plan, array, out })
    }
}

impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// Whether all terms of a map are computed into an array first, which [`few`] then reduces.
    fn maps_few<T>(&self) -> bool {
        few::is_few_in_standard_layout::<T>(self.output_shape(), self.input_axes())
    }

    /// Whether the same is done with accumulators that are told the numbers of their terms.
    fn numbers_few<T, R: Reduction<T>>(&self) -> bool {
        let results = self.input_shape().iter().product();
        R::COMMUTATIVE && few::has_few::<R::Acc>(self.output_shape(), results)
    }

    /// The elements of the array in memory, if [`few`] reduces accumulators of them, which are told
    /// the numbers of their terms.
    fn few_to_lift<'a, T, R: Reduction<T>>(&self, array: &'a ArrayRef<T, O>) -> Option<&'a [T]> {
        let results = self.input_shape().iter().product();
        match R::COMMUTATIVE {
            true => few::few_to_lift::<R::Acc, _, _>(array, results),
            false => None,
        }
    }

    /// The terms that `choice` chooses, if their positions are looked for.
    fn chosen<T, C>(
        &self,
        array: &ArrayRef<T, O>,
        choice: &C,
    ) -> Result<Option<Array<T, I>>, BroadcastError>
    where
        T: Copy + Send + Sync,
        C: Reduction<T, Acc = T, Out = T>,
    {
        let results = self.input_shape().iter().product();
        match First::looks_for(results, array.len()) {
            true => self.reduce_in_place(array, choice).map(Some),
            false => Ok(None),
        }
    }
}

/// The operands and the closure of a map, and its plan. By itself it is reduced to a fresh array.
struct Map<'a, X, F, I: Dimension, O: Dimension> {
    plan: &'a BroadcastPlan<I, O>,
    arrays: X,
    f: F,
}

impl<T, X, F, I, O, R> Use<T, R> for Map<'_, X, F, I, O>
where
    I: Dimension,
    O: Dimension,
    X: Operands<O>,
    F: for<'e> Fn(<X as Elements<'e>>::Refs) -> T + Sync,
    R: Reduction<T>,
{
    type Output = Result<Array<R::Out, I>, BroadcastError>;

    fn in_tables(self, reduction: &R) -> Self::Output {
        let Map { plan, arrays, f } = self;
        if plan.numbers_few::<T, R>() {
            let accs = arrays.map(plan, |refs| reduction.lift(f(refs)))?;
            return plan.reduce_few(&accs, reduction, true);
        }
        arrays.reduce_fresh(plan, reduction, f)
    }

    fn in_place(self, reduction: &R) -> Self::Output
    where
        T: Copy + Send + Sync,
        R: Reduction<T, Acc = T, Out = T>,
    {
        if self.plan.maps_few::<T>() {
            let terms = self.arrays.map(self.plan, self.f)?;
            return self.plan.reduce_few(&terms, reduction, false);
        }
        // Not `in_tables`: where `maps_few` is false, so is `numbers_few`.
        self.arrays.reduce_fresh(self.plan, reduction, self.f)
    }
}

/// A reduction of a map to an existing array of the plan's input shape.
struct MapToExisting<'a, 'o, X, F, B, I: Dimension, O: Dimension> {
    map: Map<'a, X, F, I, O>,
    out: &'o mut ArrayRef<B, I>,
}

impl<T, X, F, I, O, R> Use<T, R> for MapToExisting<'_, '_, X, F, R::Out, I, O>
where
    I: Dimension,
    O: Dimension,
    X: Operands<O>,
    F: for<'e> Fn(<X as Elements<'e>>::Refs) -> T + Sync,
    R: Reduction<T>,
{
    type Output = Result<(), BroadcastError>;

    fn in_tables(self, reduction: &R) -> Self::Output {
        let Map { plan, arrays, f } = self.map;
        if plan.numbers_few::<T, R>() {
            let accs = arrays.map(plan, |refs| reduction.lift(f(refs)))?;
            plan.reduce_few_into(&accs, reduction, true, self.out, |_, result| result);
            return Ok(());
        }
        arrays.reduce_into(plan, reduction, f, self.out, false, |_, result| result)
    }

    fn in_place(self, reduction: &R) -> Self::Output
    where
        T: Copy + Send + Sync,
        R: Reduction<T, Acc = T, Out = T>,
    {
        let Map { plan, arrays, f } = self.map;
        if plan.maps_few::<T>() {
            let terms = arrays.map(plan, f)?;
            plan.reduce_few_into(&terms, reduction, false, self.out, |_, result| result);
            return Ok(());
        }
        // Not `in_tables`: where `maps_few` is false, so is `numbers_few`.
        arrays.reduce_into(plan, reduction, f, self.out, false, |_, result| result)
    }
}

/// A reduction of an array to a fresh one.
struct ToFresh<'a, T, I: Dimension, O: Dimension> {
    plan: &'a BroadcastPlan<I, O>,
    array: &'a ArrayRef<T, O>,
}

impl<T, I, O, R> Use<T, R> for ToFresh<'_, T, I, O>
where
    T: Copy + Sync,
    I: Dimension,
    O: Dimension,
    R: Reduction<T>,
{
    type Output = Result<Array<R::Out, I>, BroadcastError>;

    fn in_tables(self, reduction: &R) -> Self::Output {
        let (plan, array) = (self.plan, self.array);
        if let Some(elements) = plan.few_to_lift::<T, R>(array) {
            let to = plan.input_axes();
            return array_of(plan.input_dim(), |vec| {
                few::reduce_lifted(array, elements, to, reduction, |results, count| {
                    vec.extend(results.iter().map(|&acc| reduction.finish(acc, count)));
                });
            });
        }
        let (arrays, f) = ((array,), |(&value,): (&T,)| value);
        Map { plan, arrays, f }.in_tables(reduction)
    }

    fn in_place(self, reduction: &R) -> Self::Output
    where
        T: Copy + Send + Sync,
        R: Reduction<T, Acc = T, Out = T>,
    {
        self.plan.reduce_in_place(self.array, reduction)
    }

    fn by_choice<C>(self, reduction: &R, choice: &C) -> Self::Output
    where
        T: PartialEq + Send,
        R: Reduction<T, Out = usize>,
        C: Reduction<T, Acc = T, Out = T>,
    {
        let Some(chosen) = self.plan.chosen(self.array, choice)? else {
            return self.in_tables(reduction);
        };
        let chosen = self.plan.view(&chosen)?;
        let (plan, arrays, f) = (self.plan, (self.array, &chosen), is_chosen::<T>);
        Map { plan, arrays, f }.in_tables(&First)
    }
}

/// Whether a term is equal to the chosen one, or NaN. If a term is NaN, so is the chosen one.
#[inline(always)]
fn is_chosen<T: PartialEq>((term, chosen): (&T, &T)) -> bool {
    (term == chosen) | is_nan(term)
}

/// A reduction of an array to an existing one of the plan's input shape.
struct ToExisting<'a, 'o, T, B, I: Dimension, O: Dimension> {
    plan: &'a BroadcastPlan<I, O>,
    array: &'a ArrayRef<T, O>,
    out: &'o mut ArrayRef<B, I>,
}

impl<T, I, O, R> Use<T, R> for ToExisting<'_, '_, T, R::Out, I, O>
where
    T: Copy + Sync,
    I: Dimension,
    O: Dimension,
    R: Reduction<T>,
{
    type Output = Result<(), BroadcastError>;

    fn in_tables(self, reduction: &R) -> Self::Output {
        let (plan, array, out) = (self.plan, self.array, self.out);
        if let Some(elements) = plan.few_to_lift::<T, R>(array) {
            let to = plan.input_axes();
            few::reduce_lifted(array, elements, to, reduction, |results, count| {
                for (place, &acc) in out.iter_mut().zip(results) {
                    *place = reduction.finish(acc, count);
                }
            });
            return Ok(());
        }
        let (arrays, f) = ((array,), |(&value,): (&T,)| value);
        let map = Map { plan, arrays, f };
        MapToExisting { map, out }.in_tables(reduction)
    }

    fn in_place(self, reduction: &R) -> Self::Output
    where
        T: Copy + Send + Sync,
        R: Reduction<T, Acc = T, Out = T>,
    {
        self.plan
            .reduce_in_place_into(self.array, reduction, self.out, false)
    }

    fn by_choice<C>(self, reduction: &R, choice: &C) -> Self::Output
    where
        T: PartialEq + Send,
        R: Reduction<T, Out = usize>,
        C: Reduction<T, Acc = T, Out = T>,
    {
        let Some(chosen) = self.plan.chosen(self.array, choice)? else {
            return self.in_tables(reduction);
        };
        let chosen = self.plan.view(&chosen)?;
        let (plan, arrays, f) = (self.plan, (self.array, &chosen), is_chosen::<T>);
        let (map, out) = (Map { plan, arrays, f }, self.out);
        MapToExisting { map, out }.in_tables(&First)
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
    /// use ndarray_broadcast::{Max, Mean};
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
    /// use ndarray_broadcast::{Mean, Sum};
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
