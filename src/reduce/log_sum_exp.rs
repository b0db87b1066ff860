//! The logarithm of a sum of exponentials.

use super::exp::Exp;
use super::reduction::Reduction;
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

impl<T: Summand<Acc: Exp>> Reduction<T> for LogSumExp {
    const COMMUTATIVE: bool = true;
    const NAME: &'static str = "logsumexp";
    const SLOW: bool = true;

    /// A maximum and a sum: `sum * e^maximum`.
    type Acc = (T::Acc, T::Acc);
    type Out = T;

    #[inline(always)]
    fn lift(&self, value: T) -> Self::Acc {
        (value.to_acc(), num_traits::one())
    }

    #[inline(always)]
    fn combine(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let ((max, of_max), (min, of_min)) = if b.0 > a.0 { (b, a) } else { (a, b) };
        // That of two infinities is NaN.
        let distance = if max == min {
            num_traits::zero()
        } else {
            min - max
        };
        (max, of_max + of_min * distance.exp_nonpositive())
    }

    #[inline(always)]
    fn finish(&self, (max, sum): Self::Acc, _: usize) -> T {
        T::from_acc(max + num_traits::Float::ln(sum))
    }

    fn of_none(&self) -> Option<T> {
        Some(T::from_acc(num_traits::Float::neg_infinity()))
    }
}
