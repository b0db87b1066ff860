//! Sums and other reductions over what a plan replicates: of an array, and of a map.
//!
//! In which order terms are added is said at
//! [`reduction`](crate::reduction#the-order-of-summation).
//!
//! | file | subject |
//! |---|---|
//! | `methods` | reductions of arrays, the methods |
//! | `reduction` | the reductions that are ready made |
//! | `variance`, `log_sum_exp`, `nan`, `norms`, `count` | more of them |
//! | `cloned` | sums of elements that are `Clone` and not `Copy` |
//! | `adapt` | reductions that are another one with a different result |
//! | `decided` | reductions that end when no term can change the results |
//! | `exp` | the exponential function of `log_sum_exp` |
//! | `summand` | in which type sums and means are accumulated |
//! | `convert` | elements as accumulators of another type |
//! | `zip` | reductions of maps, the methods of `Zip` |
//! | `part` | parts of the terms, for several workers |
//! | `accumulation` | what is known of a reduction, and its merging |
//! | `ranges` | boxes of an array |
//! | `bytes` | accumulations as bytes |
//!
//! The engine folds: `engine::sums` walks, `engine::fold` combines.

#![forbid(unsafe_code)]

mod accumulation;
mod adapt;
mod bytes;
mod cloned;
mod convert;
mod count;
mod decided;
mod exp;
mod log_sum_exp;
mod methods;
mod nan;
mod norms;
mod order;
mod part;
mod ranges;
mod reduction;
mod summand;
#[cfg(test)]
mod tests;
mod variance;
mod zip;

pub use accumulation::{Accumulation, sum_blocks};
pub use adapt::{InType, Or, Then};
pub use bytes::AccumulatorBytes;
pub use count::Count;
pub use log_sum_exp::LogSumExp;
pub use methods::ReduceExt;
pub use nan::{NanMean, NanSum};
pub use norms::{L1, L2, LogSum, SumSquare};
pub use part::Part;
pub use reduction::{
    All, Any, ArgMax, ArgMin, Fold, LastArgMax, LastArgMin, Max, Mean, MeanIn, Min, NanMax, NanMin,
    Product, Reduction, Sum, SumIn, SumInOwnType,
};
pub use summand::{Averaged, Summand};
pub use variance::{Std, Var, VarIn};

use crate::engine::fold::{Add, Arrays, Map, Typed};
use crate::engine::memory::array_of;
use crate::engine::positions::Positions;
use crate::engine::reduce::{Typing, Value, accumulators, fresh, into};
use crate::engine::sums::{SUMMED, Terms};
use crate::error::{ArrayRole, BroadcastError, check_shape, too_few_terms};
use crate::plan::{AxisSource, BroadcastPlan};
use crate::shape::Sizes;
use decided::decided;
use ndarray::{Array, ArrayRef, Dimension};
use reduction::sealed::Use;
use std::marker::PhantomData;

/// # The gradient
///
/// `y = plan.view(&x)` is a linear map, and `dx = plan.gradient(&dy)` is its transpose:
/// `<plan.view(x), dy> == <x, dx>`. Axes that the plan added are summed and removed. Axes that it
/// stretched are summed and have size 1 again. Axes that it permuted are back in their place. Each
/// plan of a [`pair`](BroadcastPlan::pair) gives the gradient of its operand.
///
/// The element type needs zero and addition: floats, integers, complex numbers. Sums of floats are
/// accurate and reproducible: they are pairwise, and [the same bit for
/// bit](crate::reduction#the-order-of-summation) on any number of threads, with or without the
/// feature `rayon`, and for any memory layout of the cotangent. The bytes of the cotangent decide
/// whether several threads work. Beside the result, a call may allocate [scratch
/// memory](crate::reduction#scratch-memory).
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
    /// output shape; [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
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
        A: Summand,
    {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        self.reduce_array(cotangent, &Sum, None, Fresh(self.input_dim()))
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
        A: Summand,
    {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        self.reduce_array(cotangent, &Sum, None, Existing(out))
    }

    /// [`gradient`](Self::gradient) added to what an existing array or view of any layout holds:
    /// `out += gradient`.
    ///
    /// Each element of `out` is added to once, when its sum is complete and rounded to its type. A
    /// sum of no terms adds nothing: an element that is -0.0 stays so, where `+= 0.0` would give
    /// 0.0.
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
        A: Summand,
    {
        check_shape(ArrayRole::Cotangent, self.output_shape(), cotangent.shape())?;
        check_shape(ArrayRole::Out, self.input_shape(), out.shape())?;
        self.reduce_array(cotangent, &Sum, Some(added), Existing(out))
    }

    /// A reduction of an array of the plan's output shape. `add` is as in [`Map`].
    fn reduce_array<T, R, D>(
        &self,
        array: &ArrayRef<T, O>,
        reduction: &R,
        add: Option<Add<R::Out>>,
        to: D,
    ) -> Result<D::Result, BroadcastError>
    where
        T: Copy + Sync,
        R: Reduction<T>,
        D: Destination<R::Acc, R::Out>,
    {
        self.check_terms::<D, _, _, _, _>(reduction)?;
        let mut becomes = O::zeros(array.ndim());
        self.becomes(becomes.sizes_mut());
        // In the order of memory, a part of the terms is a part of the memory.
        let (strides, reversed) = (array.strides(), R::MAY_BE_DECIDED && R::COMMUTATIVE);
        let view;
        let arrays = if reversed && strides.first() < strides.last() {
            becomes.sizes_mut().reverse();
            view = array.view().reversed_axes();
            (&*view,).typed()
        } else {
            (array,).typed()
        };
        reduction.with(Plain {
            arrays,
            becomes: becomes.sizes(),
            add,
            to,
        })
    }

    /// That each result has as many terms as the reduction needs.
    fn check_terms<D, Acc, Out, T, R>(&self, reduction: &R) -> Result<(), BroadcastError>
    where
        Acc: Value,
        Out: Value,
        D: Destination<Acc, Out>,
        R: Reduction<T>,
    {
        let (terms, least) = (self.sum_terms(), reduction.least_terms());
        match D::FINISHES && terms < least && !self.input_shape().contains(&0) {
            true => Err(too_few_terms(self.output_shape(), R::NAME, [terms, least])),
            false => Ok(()),
        }
    }

    /// Sets `axes` to the input axis that each output axis keeps, or [`SUMMED`].
    fn becomes(&self, axes: &mut [usize]) {
        for (axis, source) in axes.iter_mut().zip(self.axis_sources()) {
            *axis = match source {
                AxisSource::Kept(axis) => axis,
                _ => SUMMED,
            };
        }
    }
}

/// A sum that is added to what its place holds.
fn added<A: Summand>(old: A, sum: A) -> A {
    A::from_acc(old.to_acc() + sum.to_acc())
}

/// What becomes of the results of a reduction, or of its accumulators.
pub(crate) trait Destination<Acc: Value, Out: Value>: Sized {
    type Result;
    type Dim: Dimension;

    /// Whether it takes results of all terms.
    const FINISHES: bool;

    fn dim(&self) -> Self::Dim;

    /// Takes the results of all accumulators.
    fn take(
        self,
        accs: &Array<Acc, Self::Dim>,
        finish: impl Fn(Acc) -> Out,
    ) -> Result<Self::Result, BroadcastError>;

    /// [`put`](Self::put), of no more terms than decide the results.
    fn put_decided<T, R>(
        self,
        kernel: &dyn Typing<Acc = Acc, Out = Out>,
        reduction: &R,
        becomes: &[usize],
    ) -> Result<Self::Result, BroadcastError>
    where
        R: Reduction<T, Acc = Acc, Out = Out>,
    {
        if R::MAY_BE_DECIDED && Self::FINISHES {
            let combine = |a, b| reduction.combine(a, b);
            let is_decided = |acc| reduction.is_decided(acc);
            if let Some((accs, terms)) = decided(kernel, becomes, self.dim(), combine, is_decided)?
            {
                return self.take(&accs, |acc| reduction.finish(acc, terms));
            }
        }
        self.put(kernel, becomes)
    }

    /// Reduces. `becomes` is as for [`fresh`].
    fn put(
        self,
        kernel: &dyn Typing<Acc = Acc, Out = Out>,
        becomes: &[usize],
    ) -> Result<Self::Result, BroadcastError>;
}

/// A fresh array of results, in standard layout.
struct Fresh<I>(I);

impl<Acc: Value, Out: Value, I: Dimension> Destination<Acc, Out> for Fresh<I> {
    type Result = Array<Out, I>;
    type Dim = I;

    const FINISHES: bool = true;

    fn dim(&self) -> I {
        self.0.clone()
    }

    fn take(
        self,
        accs: &Array<Acc, I>,
        finish: impl Fn(Acc) -> Out,
    ) -> Result<Array<Out, I>, BroadcastError> {
        array_of(self.0, |out| {
            out.extend(accs.iter().map(|&acc| finish(acc)))
        })
    }

    fn put(
        self,
        kernel: &dyn Typing<Acc = Acc, Out = Out>,
        becomes: &[usize],
    ) -> Result<Array<Out, I>, BroadcastError> {
        fresh(kernel, becomes, self.0)
    }
}

/// An array of results that exists.
struct Existing<'o, Out, I: Dimension>(&'o mut ArrayRef<Out, I>);

impl<Acc: Value, Out: Value, I: Dimension> Destination<Acc, Out> for Existing<'_, Out, I> {
    type Result = ();
    type Dim = I;

    const FINISHES: bool = true;

    fn dim(&self) -> I {
        self.0.raw_dim()
    }

    fn take(self, accs: &Array<Acc, I>, finish: impl Fn(Acc) -> Out) -> Result<(), BroadcastError> {
        self.0
            .zip_mut_with(accs, |place, &acc| *place = finish(acc));
        Ok(())
    }

    fn put(
        self,
        kernel: &dyn Typing<Acc = Acc, Out = Out>,
        becomes: &[usize],
    ) -> Result<(), BroadcastError> {
        into(kernel, becomes, self.0)
    }
}

/// A fresh array of the accumulators of some terms.
struct Accumulators<I>(I, Terms);

impl<Acc: Value, Out: Value, I: Dimension> Destination<Acc, Out> for Accumulators<I> {
    type Result = Array<Acc, I>;
    type Dim = I;

    const FINISHES: bool = false;

    fn dim(&self) -> I {
        self.0.clone()
    }

    fn take(
        self,
        accs: &Array<Acc, I>,
        _: impl Fn(Acc) -> Out,
    ) -> Result<Array<Acc, I>, BroadcastError> {
        Ok(accs.clone())
    }

    fn put(
        self,
        kernel: &dyn Typing<Acc = Acc, Out = Out>,
        becomes: &[usize],
    ) -> Result<Array<Acc, I>, BroadcastError> {
        accumulators(kernel, becomes, self.0, self.1)
    }
}

/// A reduction of the elements of an array themselves.
struct Plain<'a, T, B, D> {
    arrays: Typed<'a, (T,)>,
    becomes: &'a [usize],
    add: Option<Add<B>>,
    to: D,
}

/// The term of an element. A function, so that kernels are compiled once for each element type and
/// reduction.
#[inline(always)]
fn element<T: Copy>((&element,): (&T,)) -> T {
    element
}

impl<'a, T, R, D> Use<T, R> for Plain<'a, T, R::Out, D>
where
    T: Copy + Sync,
    R: Reduction<T>,
    D: Destination<R::Acc, R::Out>,
{
    type Output = Result<D::Result, BroadcastError>;

    fn terms(self, reduction: &R) -> Self::Output {
        let Plain {
            arrays,
            becomes,
            add,
            to,
        } = self;
        let (f, plain, term) = (&element::<T>, true, PhantomData);
        let map = Map {
            arrays,
            reduction,
            f,
            add,
            plain,
            term,
        };
        to.put_decided(&map, reduction, becomes)
    }

    fn positions<C, const LAST: bool>(self, reduction: &R, choice: &C) -> Self::Output
    where
        T: PartialOrd + Send,
        R: Reduction<T, Acc = (T, usize)>,
        C: Reduction<T, Acc = T>,
    {
        let Plain {
            arrays,
            becomes,
            to,
            ..
        } = self;
        let (f, plain, term, add) = (&element::<T>, true, PhantomData, None);
        let choice = Map {
            arrays,
            reduction: choice,
            f,
            add,
            plain,
            term,
        };
        let positions = Positions::<_, _, _, _, LAST> { reduction, choice };
        to.put(&positions, becomes)
    }
}
