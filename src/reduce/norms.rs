//! Sums of magnitudes and of squares.

use super::reduction::{Reduction, items};
use super::summand::Summand;
use num_traits::{Float, Num, Signed, Zero};

/// The sum of the magnitudes: the norm of order 1.
///
/// Halves are accumulated in `f32`. Of unsigned integers, take [`Sum`](crate::reduction::Sum).
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let x = array![[3., -4.], [0., 1.]];
/// assert_eq!(x.reduce_axes(1, L1)?, array![7., 1.]);
/// assert_eq!(x.reduce_axes(1, L2)?, array![5., 1.]);
/// assert_eq!(x.reduce_axes(1, SumSquare)?, array![25., 1.]);
/// assert_eq!(array![0.5, 0.5].reduce_axes(0, LogSum)?.into_scalar(), 0.);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `linalg.norm` with `ord=1`; ONNX `ReduceL1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "ReduceL1")]
pub struct L1;

/// The square root of the sum of the squares: the norm of order 2, of floats.
///
/// Halves are accumulated in `f32`. Squares can overflow, and those of small numbers can be 0.
/// Example: [`L1`]. Source: NumPy `linalg.norm`; ONNX `ReduceL2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "ReduceL2")]
#[doc(alias = "norm")]
pub struct L2;

/// The sum of the squares.
///
/// Halves are accumulated in `f32`. Example: [`L1`]. Source: ONNX `ReduceSumSquare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "ReduceSumSquare")]
pub struct SumSquare;

/// The natural logarithm of the sum, of floats. -infinity of no terms.
///
/// Halves are accumulated in `f32`. Example: [`L1`]. Source: ONNX `ReduceLogSum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "ReduceLogSum")]
pub struct LogSum;

/// Implements [`Reduction`] for the sum of a function of the terms.
macro_rules! sums {
    ($($name:ident: $text:literal, $bound:ident, |$x:ident| $term:expr, |$sum:ident| $result:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Summand<Acc: $bound>> Reduction<T> for $name {
            items! {
                $text: T as T::Acc => T,
                lift: |value| {
                    let $x = value.to_acc();
                    $term
                },
                combine: |a, b| a + b,
                finish: |self, $sum, _| T::from_acc($result),
                none: {
                    let $sum = T::Acc::zero();
                    Some(T::from_acc($result))
                },
            }

            fn is_exact(&self) -> bool {
                T::IS_EXACT
            }
        }
    )*};
}

sums! {
    L1: "l1", Signed, |x| x.abs(), |sum| sum;
    L2: "l2", Float, |x| x * x, |sum| sum.sqrt();
    SumSquare: "sumsquare", Num, |x| x * x, |sum| sum;
    LogSum: "logsum", Float, |x| x, |sum| sum.ln();
}
