//! Sums and means without the terms that are NaN.

use super::reduction::Reduction;
use super::summand::{Averaged, Summand};
use crate::engine::positions::is_nan;
use num_traits::Zero;

/// The sum of the terms that are not NaN; 0 if there are none.
///
/// Halves are accumulated in `f32`.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let nan = f64::NAN;
/// let x = array![[1., nan, 3.], [nan, nan, nan]];
/// assert_eq!(x.reduce_axes(1, NanSum)?, array![4., 0.]);
/// let means = x.reduce_axes(1, NanMean)?;
/// assert!(means[0] == 2. && means[1].is_nan());
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `nansum`; torch `nansum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "nansum")]
pub struct NanSum;

/// The mean of the terms that are not NaN; NaN if there are none.
///
/// Halves are accumulated in `f32`. If no term is NaN, the result has the bits of
/// [`Mean`](crate::reduction::Mean). Example: [`NanSum`]. Source: NumPy `nanmean`; torch `nanmean`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "nanmean")]
pub struct NanMean;

impl<T: Summand + PartialEq> Reduction<T> for NanSum {
    const COMMUTATIVE: bool = true;
    const QUICK: bool = true;
    const NAME: &'static str = "nansum";

    type Acc = T::Acc;
    type Out = T;

    #[inline(always)]
    fn identity(&self) -> T::Acc {
        T::Acc::zero()
    }

    #[inline(always)]
    fn lift(&self, value: T) -> T::Acc {
        if is_nan(&value) {
            T::Acc::zero()
        } else {
            value.to_acc()
        }
    }

    #[inline(always)]
    fn combine(&self, a: T::Acc, b: T::Acc) -> T::Acc {
        a + b
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc, _: usize) -> T {
        T::from_acc(acc)
    }
}

impl<T: Averaged + PartialEq> Reduction<T> for NanMean {
    const COMMUTATIVE: bool = true;
    const QUICK: bool = true;
    const NAME: &'static str = "nanmean";

    /// The sum, and how many terms it has.
    type Acc = (T::Acc, usize);
    type Out = T;

    #[inline(always)]
    fn identity(&self) -> Self::Acc {
        (T::Acc::zero(), 0)
    }

    #[inline(always)]
    fn lift(&self, value: T) -> Self::Acc {
        if is_nan(&value) {
            (T::Acc::zero(), 0)
        } else {
            (value.to_acc(), 1)
        }
    }

    #[inline(always)]
    fn combine(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc {
        (a.0 + b.0, a.1 + b.1)
    }

    fn finish(&self, (sum, count): Self::Acc, _: usize) -> T {
        // Terms that are skipped are NaN, so their type has one. The mean of no terms is NaN too.
        match count {
            0 => T::of_none().unwrap_or(T::mean(sum, 1)),
            _ => T::mean(sum, count),
        }
    }

    fn of_none(&self) -> Option<T> {
        T::of_none()
    }
}
