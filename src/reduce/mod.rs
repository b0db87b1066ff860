//! Sums and other reductions over what a plan replicates: of an array, and of a map.
//!
//! In which order terms are added is said at
//! [`reduction`](crate::reduction#the-order-of-summation).
//!
//! | file | subject |
//! |---|---|
//! | `methods` | reductions of arrays, the methods |
//! | `call` | a reduction of arrays along a plan, as the engine is called |
//! | `reduction` | the reductions that are ready made |
//! | `variance`, `log_sum_exp`, `nan`, `norms`, `count` | more of them |
//! | `cloned` | sums of elements that are `Clone` and not `Copy` |
//! | `adapt` | reductions that are another one with a different result |
//! | `exp` | the exponential function of `log_sum_exp` |
//! | `summand` | in which type sums and means are accumulated |
//! | `convert` | elements as accumulators of another type |
//! | `zip` | reductions of maps, the methods of `Zip` |
//! | `part` | parts of the terms, for several workers |
//! | `accumulation` | what is known of a reduction, and its merging |
//! | `bytes` | accumulations as bytes |
//!
//! The engine folds: `engine::sums` walks, `engine::fold` combines.

#![forbid(unsafe_code)]

mod accumulation;
mod adapt;
mod bytes;
mod call;
mod cloned;
mod convert;
mod count;
mod exp;
mod log_sum_exp;
mod methods;
mod nan;
mod norms;
mod order;
mod part;
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

use crate::error::{ArrayRole, Result};
use crate::plan::BroadcastPlan;
use ndarray::{Array, ArrayRef, Dimension};

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
    pub fn gradient<A>(&self, cotangent: &ArrayRef<A, O>) -> Result<Array<A, I>>
    where
        A: Summand,
    {
        self.reduce_array(ArrayRole::Cotangent, cotangent, &Sum, |call| {
            call.results(self)
        })
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
    ) -> Result<()>
    where
        A: Summand,
    {
        self.reduce_array(ArrayRole::Cotangent, cotangent, &Sum, |call| {
            call.results_into(self, out, None)
        })
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
    ) -> Result<()>
    where
        A: Summand,
    {
        self.reduce_array(ArrayRole::Cotangent, cotangent, &Sum, |call| {
            call.results_into(self, out, Some(added))
        })
    }
}

/// A sum that is added to what its place holds.
fn added<A: Summand>(old: A, sum: A) -> A {
    A::from_acc(old.to_acc() + sum.to_acc())
}
