//! Reductions of maps: methods of [`Zip`].

use super::accumulation::Accumulation;
use super::added;
use super::part::Part;
use super::reduction::Reduction;
use super::summand::Summand;
use crate::elementwise::{Zip, ZipValues, ZipViews};
use crate::engine::fold::Map;
use crate::engine::reduce::Call;
use crate::error::Result;
use crate::plan::BroadcastPlan;
use crate::shape::Sizes;
use ndarray::{Array, ArrayRef, Dimension};

/// # Map and reduce in one pass
///
/// The gradient of `y = x * scale` with respect to `scale` is the sum of `dy * x`. These methods
/// reduce what a closure returns for the elements of one to six arrays, over the axes that a plan
/// replicates. No array of the terms is made. The result is, bit for bit, that of
/// [`BroadcastPlan::reduce`] of the array of all terms.
///
/// ```text
/// plan's input            3  1
/// plan's output        2  3  4
/// arrays               2  3  4
///                         3  1   (any that broadcast to the output)
/// ----------------------------
/// result                  3  1
/// ```
///
/// Each array has the plan's output shape, or broadcasts to it by NumPy's rule. If the closure
/// panics, `out` may be written in part: each element has its old value or its result.
impl<V: ZipViews + ZipValues> Zip<V> {
    /// A reduction of `f` of the arrays over the axes that the plan replicates.
    ///
    /// # Errors
    ///
    /// [`RankMismatch`](crate::ErrorKind::RankMismatch),
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch) if an array does not broadcast to the
    /// plan's output shape; [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the reduction has no
    /// result for so few terms;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
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
    /// use ndarray_broadcast::prelude::*;
    ///
    /// // y = x * scale, [N, C] * [C].
    /// let (x, dy) = (array![[1., 2.], [3., 4.]], array![[10., 20.], [30., 40.]]);
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let d_scale = zip((&dy, &x)).reduce(&plan, Sum, |(dy, x)| dy * x)?;
    /// assert_eq!(d_scale, array![100., 200.]);
    /// assert_eq!(d_scale, plan.gradient(&(&dy * &x))?);
    ///
    /// // The largest difference between two arrays, for each row.
    /// let (a, b) = (array![[1_f32, 2.], [3., 4.]], array![2., 2.]);
    /// let rows = BroadcastPlan::numpy((2, 1), (2, 2))?;
    /// let largest = zip((&a, &b)).reduce(&rows, Max, |(a, b)| (a - b).abs())?;
    /// assert_eq!(largest, array![[1.], [2.]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: the chain rule; NumPy's `ufunc.reduce` of a universal function's result.
    #[doc(alias = "einsum")]
    pub fn reduce<I: Dimension, O: Dimension, T, R, F>(
        &self,
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        f: F,
    ) -> Result<Array<R::Out, I>>
    where
        R: Reduction<T>,
        F: Fn(V::Values) -> T + Sync,
    {
        self.reduced(plan, &reduction, &f, |call| call.results(plan))
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
    /// As [`reduce`](Self::reduce).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{arr1, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let pixels = array![[0_u8, 255], [255, 255]];
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let mut means = arr1(&[0_f32; 2]);
    /// zip(&pixels).reduce_into(&plan, Mean, &mut means, |p| f32::from(p) / 255.)?;
    /// assert_eq!(means, array![0.5, 1.]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    pub fn reduce_into<I: Dimension, O: Dimension, T, R, F>(
        &self,
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        out: &mut ArrayRef<R::Out, I>,
        f: F,
    ) -> Result<()>
    where
        R: Reduction<T>,
        F: Fn(V::Values) -> T + Sync,
    {
        self.reduced(plan, &reduction, &f, |call| {
            call.results_into(plan, out, None)
        })
    }

    /// [`reduce`](Self::reduce) added to what an existing array or view of any layout holds.
    ///
    /// Each element of `out` is added to once, when its result is complete. A reduction of no terms
    /// leaves it as it is, -0.0 included.
    ///
    /// # Errors
    ///
    /// Those of [`reduce_into`](Self::reduce_into); of too few terms only if there are any.
    ///
    /// # Panics
    ///
    /// As [`reduce`](Self::reduce); and if the addition to `out` does.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (x, dy) = (array![[1., 2.], [3., 4.]], array![[10., 20.], [30., 40.]]);
    /// let plan = BroadcastPlan::numpy(2, (2, 2))?;
    /// let mut d_scale = array![5., 5.];
    /// zip((&dy, &x))
    ///     .reduce_accumulate(&plan, Sum, &mut d_scale, |(dy, x)| dy * x)?;
    /// assert_eq!(d_scale, array![105., 205.]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    pub fn reduce_accumulate<I: Dimension, O: Dimension, T, R, F>(
        &self,
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        out: &mut ArrayRef<R::Out, I>,
        f: F,
    ) -> Result<()>
    where
        R: Reduction<T, Out: Summand>,
        F: Fn(V::Values) -> T + Sync,
    {
        self.reduced(plan, &reduction, &f, |call| {
            call.results_into(plan, out, Some(added))
        })
    }

    /// [`reduce`](Self::reduce) of the terms of one part. The arrays broadcast to the shape of the
    /// output of the part's [tile](Part::tile).
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Self::reduce) but `TooFewTerms`.
    ///
    /// # Panics
    ///
    /// As [`reduce`](Self::reduce).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_broadcast::prelude::*;
    /// use ndarray_broadcast::distributed::{Part, Tile};
    ///
    /// let x = Array2::from_shape_fn((2048, 3), |(i, j)| (i * j) as f64);
    /// let dy = x.mapv(f64::sin);
    /// let plan = BroadcastPlan::numpy(3, (2048, 3))?;
    /// let half = |rows| {
    ///     let part = Part::new(&plan, &Tile::new(&plan, &[rows, 0..3])?)?;
    ///     let tile = part.tile().output();
    ///     zip((tile.of(&dy)?, tile.of(&x)?))
    ///         .reduce_part(&part, Sum, |(dy, x)| dy * x)
    /// };
    /// let mut sum = half(1024..2048)?;
    /// sum.merge(half(0..1024)?)?;
    /// assert_eq!(
    ///     sum.finish(&plan)?,
    ///     zip((&dy, &x)).reduce(&plan, Sum, |(dy, x)| dy * x)?
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    pub fn reduce_part<I: Dimension, O: Dimension, T, R, F>(
        &self,
        part: &Part<I, O>,
        reduction: R,
        f: F,
    ) -> Result<Accumulation<T, R>>
    where
        R: Reduction<T>,
        F: Fn(V::Values) -> T + Sync,
    {
        let tile = part.tile().plan();
        let pieces = self.reduced(tile, &reduction, &f, |call| part.pieces(&call))?;
        Ok(Accumulation::of(&part.plan, reduction, pieces))
    }

    /// Reduces `f` of the arrays as `run` says.
    fn reduced<I: Dimension, O: Dimension, T, R: Reduction<T>, X>(
        &self,
        plan: &BroadcastPlan<I, O>,
        reduction: &R,
        f: &(impl Fn(V::Values) -> T + Sync),
        run: impl FnOnce(Call<'_, T, R>) -> Result<X>,
    ) -> Result<X> {
        self.views.check(plan.output_shape())?;
        let (inputs, mut becomes) = (self.views.values(), plan.output_dim());
        let terms = plan.becomes(becomes.sizes_mut());
        let map = Map::new(&inputs, plan.output_shape(), reduction, f, false);
        run(Call::new(&map, reduction, becomes.sizes(), terms))
    }
}
