//! The logarithm of a sum of exponentials.

use super::exp::Exp;
use super::reduction::{Reduction, items};
use super::summand::Summand;

/// The logarithm of the sum of the exponentials of the terms: `ln(e^t[0] + e^t[1] + ...)`.
///
/// Nothing overflows: the exponentials are those of the distances to the largest term. The result
/// of no terms, and of terms that are all -infinity, is -infinity. It is infinity if a term is, and
/// NaN if a term is NaN. Halves are accumulated in `f32`.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let none = f64::NEG_INFINITY;
/// let scores = array![[1000., 1000.], [none, 3.], [none, none]];
/// let sums = scores.reduce_axes(1, LogSumExp)?;
/// assert_eq!(sums, array![1000. + 2_f64.ln(), 3., none]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// The terms of one lane pass through one exponential each, in one pass over the memory. The
/// exponential is computed by additions and multiplications and has the same bits on every target;
/// the last logarithm is that of the standard library. Source: torch `logsumexp`; ONNX
/// `ReduceLogSumExp`; SciPy `logsumexp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "logsumexp")]
#[doc(alias = "ReduceLogSumExp")]
pub struct LogSumExp;

#[diagnostic::do_not_recommend]
impl<T: Summand<Acc: Exp>> Reduction<T> for LogSumExp {
    items! {
        // A maximum and a sum: `sum * e^maximum`.
        "logsumexp": T as (T::Acc, T::Acc) => T,
        lift: |value| (value.to_acc(), num_traits::one()),
        combine: |a, b| {
            let (max, min) = if b.0 > a.0 { (b.0, a.0) } else { (a.0, b.0) };
            // That of two infinities is NaN.
            let distance = if max == min { num_traits::zero() } else { min - max };
            let factor = distance.exp_nonpositive();
            let (b_is_max, a_is_max) = (b.1 + a.1 * factor, a.1 + b.1 * factor);
            (max, if b.0 > a.0 { b_is_max } else { a_is_max })
        },
        finish: |self, (max, sum), _| T::from_acc(max + num_traits::Float::ln(sum)),
        none: Some(T::from_acc(num_traits::Float::neg_infinity())),
    }

    const SLOW: bool = true;
}
