//! Sums and other reductions over what a plan replicates: of an array, and of a map.
//!
//! In which order terms are added is said at [`GradientExt`].
//!
//! | file | subject |
//! |---|---|
//! | `methods` | reductions of arrays and maps, the methods |
//! | `reduction` | what a reduction does with its terms |
//! | `operands` | the tuples of arrays of a map |
//! | `part` | parts of the terms, for several workers |
//! | `partial` | what is known of a reduction, and its merging |
//! | `ranges` | boxes of an array |
//! | `bytes` | partial reductions as bytes |
//! | `terms` | which terms of an array are reduced, and their numbers |
//! | `tree` | which terms of a block are combined with which |
//! | `nodes` | which sums of blocks are combined with which |
//! | `runs` | sums of terms that are side by side |
//! | `driver` | sums of terms that are read where they lie |
//! | `few` | reductions of few elements |
//! | `tables` | reductions of terms that are computed into tables first |

#![forbid(unsafe_code)]

mod bytes;
mod driver;
mod few;
mod methods;
mod nodes;
mod operands;
mod part;
mod partial;
mod ranges;
mod reduction;
mod runs;
mod tables;
mod terms;
#[cfg(test)]
mod tests;
mod tree;

pub use bytes::AccumulatorBytes;
pub use methods::ReduceExt;
pub use operands::Operands;
pub use part::Part;
pub use partial::{PartialReduction, PartialSum};
pub use reduction::{
    All, Any, ArgMax, ArgMin, Fold, Max, Mean, MeanIn, Min, NanMax, NanMin, Product, Reduction,
    Sum, SumIn,
};

use crate::engine::inputs::{Inputs, Source};
use crate::engine::memory::array_of;
use crate::engine::rows::update;
use crate::engine::sums::{Sums, Target, fresh_sums};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::materialize::MaterializeExt;
use crate::operand::Operand;
use crate::plan::{AxisSource, BroadcastPlan};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{Array, ArrayRef, ArrayView, Axis, Dimension, IntoDimension, IxDyn};
use num_traits::Zero;

/// # The gradient
///
/// `y = plan.view(&x)` is a linear map, and `dx = plan.gradient(&dy)` is its transpose:
/// `<plan.view(x), dy> == <x, dx>`. Axes that the plan added are summed and removed. Axes that it
/// stretched are summed and have size 1 again. Axes that it permuted are back in their place. Each
/// plan of a [`pair`](BroadcastPlan::pair) gives the gradient of its operand.
///
/// The element type needs zero and addition: floats, integers, complex numbers. Sums of floats are
/// accurate and reproducible: they are pairwise, and [the same bit for
/// bit](GradientExt#the-order-of-summation) on any number of threads, with or without the feature
/// `rayon`, and for any memory layout of the cotangent. The bytes of the cotangent decide whether
/// several threads work. Beside the result, a call may allocate [scratch
/// memory](GradientExt#scratch-memory).
///
/// # Panics
///
/// Only if the elements' own `+` does: integers, on overflow, where overflow checks are on (as in
/// debug builds). Where they are off, it wraps. `out` may be written in part then.
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The gradient with respect to the input, of the input's shape and rank, from the one with
    /// respect to the output.
    ///
    /// ```text
    /// input            3  1
    /// output        2  3  4
    ///               +     *
    /// ---------------------
    /// cotangent     2  3  4
    /// gradient         3  1
    /// ```
    ///
    /// The result has standard layout. An empty sum is zero.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the cotangent does not have the plan's
    /// output shape; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::explicit(2, (2, 3), &[0])?;
    /// let cotangent = array![[1., 2., 3.], [4., 5., 6.]];
    /// assert_eq!(plan.gradient(&cotangent)?, array![6., 15.]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the transpose rule of XLA's `broadcast_in_dim` in JAX; nGraph `Broadcast`'s adjoint,
    /// a `Sum` over the broadcast axes.
    #[doc(alias = "backward")]
    #[doc(alias = "vjp")]
    #[doc(alias = "transpose")]
    #[doc(alias = "adjoint")]
    pub fn gradient<A>(&self, cotangent: &ArrayRef<A, O>) -> Result<Array<A, I>, BroadcastError>
    where
        A: Copy + Zero + Send + Sync,
    {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        self.reduce_in_place(cotangent, &Sum)
    }

    /// [`gradient`](Self::gradient) into an existing array or view of any layout, whose contents it
    /// replaces.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if the cotangent does not have the plan's
    /// output shape, or if `out` does not have its input shape;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). Nothing has been written then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{array, s};
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy(3, (2, 3))?;
    /// let mut out = array![0, 0, 0, 0, 0, 0];
    /// plan.gradient_into(
    ///     &array![[1, 2, 3], [4, 5, 6]],
    ///     &mut out.slice_mut(s![..;2]),
    /// )?;
    /// assert_eq!(out, array![5, 0, 7, 0, 9, 0]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn gradient_into<A>(
        &self,
        cotangent: &ArrayRef<A, O>,
        out: &mut ArrayRef<A, I>,
    ) -> Result<(), BroadcastError>
    where
        A: Copy + Zero + Send + Sync,
    {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        self.reduce_in_place_into(cotangent, &Sum, out, false)
    }

    /// [`gradient`](Self::gradient) added to what an existing array or view of any layout holds:
    /// `out += gradient`.
    ///
    /// Each element of `out` is added to once, when its sum is complete. A sum of no terms adds
    /// nothing: an element that is -0.0 stays so, where `+= 0.0` would give 0.0.
    ///
    /// # Errors
    ///
    /// Those of [`gradient_into`](Self::gradient_into).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
    ///
    /// let (_, bias) = BroadcastPlan::pair((2, 3), 3, &ElementwiseRule::Numpy)?;
    /// let mut gradient = array![10., 20., 30.];
    /// bias.gradient_accumulate(&array![[1., 2., 3.], [4., 5., 6.]], &mut gradient)?;
    /// assert_eq!(gradient, array![15., 27., 39.]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn gradient_accumulate<A>(
        &self,
        cotangent: &ArrayRef<A, O>,
        out: &mut ArrayRef<A, I>,
    ) -> Result<(), BroadcastError>
    where
        A: Copy + Zero + Send + Sync,
    {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        self.reduce_in_place_into(cotangent, &Sum, out, true)
    }

    /// A reduction whose terms are read where they lie, of an array of the plan's output shape.
    fn reduce_in_place<A, R>(
        &self,
        array: &ArrayRef<A, O>,
        reduction: &R,
    ) -> Result<Array<A, I>, BroadcastError>
    where
        A: Copy + Send + Sync,
        R: Reduction<A, Acc = A, Out = A>,
    {
        if self.reduces_few(array) {
            return self.reduce_few(array, reduction, false);
        }
        if let Some(terms) = self.unreplicated(array) {
            return terms.materialize();
        }
        let inputs = (Source::of(array),);
        self.fresh_sums(inputs, |sums| driver::reduce(sums, reduction))
    }

    /// The same into an array of the plan's input shape. With `adds`, the results are combined with
    /// what it holds.
    fn reduce_in_place_into<A, R>(
        &self,
        array: &ArrayRef<A, O>,
        reduction: &R,
        out: &mut ArrayRef<A, I>,
        adds: bool,
    ) -> Result<(), BroadcastError>
    where
        A: Copy + Send + Sync,
        R: Reduction<A, Acc = A, Out = A>,
    {
        let put = |old, new| match adds {
            true => reduction.combine(old, new),
            false => new,
        };
        if self.reduces_few(array) {
            self.reduce_few_into(array, reduction, false, out, put);
            return Ok(());
        }
        match self.unreplicated(array) {
            Some(terms) if adds => update(out, (Source::of(&terms),), |old, (&new,)| {
                *old = reduction.combine(*old, new);
            }),
            Some(terms) => terms.materialize_into(out),
            None => {
                let inputs = (Source::of(array),);
                let mut sums = self.sums(inputs, existing(out, adds))?;
                driver::reduce(&mut sums, reduction)
            }
        }
    }

    /// Sums of what is computed of inputs of the plan's output shape.
    fn sums<'t, B, X, const N: usize>(
        &self,
        inputs: X,
        target: Target<'t, B, I>,
    ) -> Result<Sums<'t, X, B, N>, BroadcastError>
    where
        B: Copy + Send + Sync,
        X: Inputs<N>,
    {
        Sums::new::<O, I>(inputs, self.kept_axes(), target)
    }

    /// The same in a fresh array, which `sum` computes.
    fn fresh_sums<B, X, const N: usize>(
        &self,
        inputs: X,
        sum: impl FnOnce(&mut Sums<'_, X, B, N>) -> Result<(), BroadcastError>,
    ) -> Result<Array<B, I>, BroadcastError>
    where
        B: Copy + Send + Sync,
        X: Inputs<N>,
    {
        fresh_sums::<O, _, _, _, N>(inputs, self.kept_axes(), self.input_dim(), sum)
    }

    /// A reduction of accumulators that [`few`] reduces. If they are `numbered`, they are told the
    /// numbers of their terms.
    fn reduce_few<T, R: Reduction<T>>(
        &self,
        accs: &ArrayRef<R::Acc, O>,
        reduction: &R,
        numbered: bool,
    ) -> Result<Array<R::Out, I>, BroadcastError> {
        array_of(self.input_dim(), |vec| {
            few::reduce(
                accs,
                self.input_axes(),
                reduction,
                numbered,
                |results, count| {
                    vec.extend(results.iter().map(|&acc| reduction.finish(acc, count)));
                },
            );
        })
    }

    /// The same into an array of the plan's input shape. `put` makes its new elements of the old
    /// ones and the results.
    fn reduce_few_into<T, R: Reduction<T>>(
        &self,
        accs: &ArrayRef<R::Acc, O>,
        reduction: &R,
        numbered: bool,
        out: &mut ArrayRef<R::Out, I>,
        put: impl Fn(R::Out, R::Out) -> R::Out,
    ) {
        few::reduce(
            accs,
            self.input_axes(),
            reduction,
            numbered,
            |results, count| {
                for (place, &acc) in out.iter_mut().zip(results) {
                    *place = put(*place, reduction.finish(acc, count));
                }
            },
        );
    }

    /// Whether [`few`] reduces the array to the plan's input shape.
    fn reduces_few<A>(&self, array: &ArrayRef<A, O>) -> bool {
        few::is_few(array, self.input_axes())
    }

    /// A view of the output's shape with the input's axes, if the plan only adds axes of size 1, so
    /// that each sum is one term. `None` for more than [`MANY_AXES`].
    fn unreplicated<'a, A>(&self, array: &'a ArrayRef<A, O>) -> Option<ArrayView<'a, A, I>> {
        let (shape, output_axes) = (self.output_shape(), self.output_axes());
        if shape.len().max(output_axes.len()) > MANY_AXES {
            return None;
        }
        let mut axes = output_axes.iter().zip(self.input_shape());
        if axes.any(|(&axis, size)| shape.get(axis).is_some_and(|to| to != size)) {
            return None;
        }
        // For each output axis 1 if an input axis becomes it.
        let mut is_kept = O::zeros(shape.len());
        let is_kept = is_kept.sizes_mut();
        for &axis in output_axes {
            if let Some(is_kept) = is_kept.get_mut(axis) {
                *is_kept = 1;
            }
        }
        let dropped = || (0..shape.len()).filter(|&axis| is_kept[axis] == 0);
        if dropped().any(|axis| shape[axis] != 1) {
            return None;
        }
        // The axes that are kept, in the order of the input, and then those that are dropped.
        let kept = output_axes.iter().copied();
        let kept = kept.filter(|&axis| axis < shape.len());
        let mut order = IxDyn::zeros(shape.len());
        for (place, axis) in order.slice_mut().iter_mut().zip(kept.chain(dropped())) {
            *place = axis;
        }
        let mut view = array.view().into_dyn().permuted_axes(order);
        for _ in dropped() {
            let last = view.ndim() - 1;
            view = view.index_axis_move(Axis(last), 0);
        }
        // An input axis that no output axis comes from has size 1.
        for (axis, &to) in output_axes.iter().enumerate() {
            if to >= shape.len() {
                view = view.insert_axis(Axis(axis));
            }
        }
        view.into_dimensionality().ok()
    }

    /// The input's shape, and the output axis that each of its axes feeds.
    fn input_axes(&self) -> (&[usize], &[usize]) {
        (self.input_shape(), self.output_axes())
    }

    /// For each output axis the input axis that it keeps; `None` for axes that are summed.
    fn kept_axes(&self) -> impl Iterator<Item = Option<usize>> {
        self.axis_sources().map(|source| match source {
            AxisSource::Kept(axis) => Some(axis),
            _ => None,
        })
    }
}

/// Views of more axes than this are not reshaped. Axes are removed one by one, and each removal
/// takes time linear in the rank.
const MANY_AXES: usize = 32;

/// The target of sums that replace what an array holds, or are added to it.
fn existing<B, I: Dimension>(out: &mut ArrayRef<B, I>, adds: bool) -> Target<'_, B, I> {
    match adds {
        true => Target::Add(out),
        false => Target::Put(out),
    }
}

/// Sums of an array over the axes that a broadcast to its shape would replicate.
///
/// For every `ArrayBase` (owned arrays, views, `ArcArray`, `CowArray`) and for `ArrayRef`.
/// [`sum_to_shape`](Self::sum_to_shape) is the gradient by NumPy's rule. The gradient of any rule
/// is that of its plan: [`BroadcastPlan::gradient`],
/// [`gradient_into`](BroadcastPlan::gradient_into) and
/// [`gradient_accumulate`](BroadcastPlan::gradient_accumulate). All of them add in the order that
/// is written down here.
///
/// # The order of summation
///
/// Floating-point addition is not associative, so a sum depends on the order of its additions. Here
/// the order is a fixed tree over the terms of one element of the gradient. The tree depends on the
/// number of terms alone: not on the number of threads, on the feature `rayon`, on the machine's
/// vectors, or on where the terms lie in memory. Arrays that are equal have gradients that are
/// equal bit for bit.
///
/// The terms `t[0], t[1], ..., t[n - 1]` are in the order of their indices in the cotangent, the
/// last summed axis fastest.
///
/// 1. The terms are cut into blocks of 1024. The last block may be shorter.
/// 2. In a block, term `i` belongs to lane `i % 16`. As long as 128 terms are left, each lane adds
///    its next 8 terms as a balanced tree, `((a + b) + (c + d)) + ((e + f) + (g + h))`. These sums,
///    and then the terms that are left, are added to the lane one by one. The first of them is the
///    lane's initial value.
/// 3. The lanes are added by halves: lane `l + 8` to lane `l`, then `l + 4`, `l + 2`, `l + 1`.
///    Lanes without a term are left out.
/// 4. Neighbouring blocks are added in pairs, then neighbouring results in pairs, and so on. A
///    result without a neighbour goes to the next round as it is. So of `k` blocks, the largest
///    power of two that is less than `k` are summed on the left, and the others on the right.
///
/// The sum of one term is that term, -0.0 included. The sum of no terms is zero. No term passes
/// through more than `log2(n) + 13` additions, so the error is at most about that many half units
/// in the last place of the sum of the absolute values. Which NaN a sum gives, by its sign and
/// payload, is not part of the promise.
///
/// Integers are summed with their own `+`. Where overflow checks are on, as they are in debug
/// builds, a sum that overflows panics; so may a sum whose total fits, if a part of it does not.
/// Where they are off, sums wrap, and the total is right modulo 2^bits.
///
/// # Scratch memory
///
/// Beside its result, a sum allocates some ten to some hundred KiB for each thread, or some
/// thousand elements if these take more, and at most one element for each 1024 terms.
///
/// Small sums mostly need no such memory: those of up to 1024 elements, and those of up to 16384
/// elements that lie in memory in the order in which they are summed.
///
/// [`gradient_of`](BroadcastPlan::gradient_of) and [`reduce_of`](BroadcastPlan::reduce_of) may
/// first compute the terms of a small sum into an array: at most 16384 terms.
pub trait GradientExt: Operand {
    /// Sums to `shape`: the gradient of [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy)
    /// from `shape` to the shape of `self`.
    ///
    /// ```text
    /// self      2  3  4
    /// shape        3  1
    ///           -------
    /// result       3  1
    /// ```
    ///
    /// `shape` is right-aligned with the array's. Leading axes that it does not have are summed and
    /// gone; axes that it has as 1 are summed and kept. The result has standard layout and the rank
    /// of `shape`. [`reduce_axes`](crate::ReduceExt::reduce_axes) takes a list of axes instead.
    ///
    /// # Errors
    ///
    /// [`ReduceMismatch`](crate::ErrorKind::ReduceMismatch) if `shape` does not broadcast to the
    /// shape of `self`; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Panics
    ///
    /// Only if the addition does, as that of integers where overflow checks are on.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let cotangent = array![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(cotangent.sum_to_shape(3)?, array![5, 7, 9]);
    /// assert_eq!(cotangent.sum_to_shape((2, 1))?, array![[6], [15]]);
    /// assert_eq!(cotangent.sum_to_shape(())?.into_scalar(), 21);
    /// assert_eq!(
    ///     cotangent.sum_to_shape(2).unwrap_err().to_string(),
    ///     "\
    /// cannot sum [2, 3] to [2] (numpy)
    ///   self     2  3
    ///   result      2
    ///               ^ 2 is neither 3 nor 1",
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: torch `Tensor.sum_to_size`; the rule is NumPy's `broadcast_to`.
    #[doc(alias = "sum_to_size")]
    #[doc(alias = "unbroadcast")]
    #[doc(alias = "reduce_sum")]
    #[doc(alias = "sum_axis")]
    #[doc(alias = "ReduceSum")]
    fn sum_to_shape<E>(&self, shape: E) -> Result<Array<Self::Elem, E::Dim>, BroadcastError>
    where
        E: IntoDimension,
        Self::Elem: Copy + Zero + Send + Sync,
    {
        let (array, shape) = (self.as_array(), shape.into_dimension());
        BroadcastPlan::right_aligned(Rule::Numpy, shape, array.shape())
            .map_err(|error| error.of_reduction("sum"))?
            .gradient(array)
    }
}

impl<T: Operand + ?Sized> GradientExt for T {}
