//! Sums and means without the terms that are NaN.

use super::order::is_nan;
use super::reduction::{Reduction, items};
use super::summand::{Averaged, Summand};
use crate::engine::kernel::LANES;
use crate::engine::reduction::Lanes;
use num_traits::Zero;
use std::array;

/// The sum of the terms, where NaN counts as 0.
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

impl<T: Summand + PartialEq + 'static> Reduction<T> for NanSum {
    items! {
        "nansum": T as T::Acc => T,
        lift: |value| if is_nan(&value) { T::Acc::zero() } else { value.to_acc() },
        combine: |a, b| a + b,
        finish: |self, sum, _| T::from_acc(sum),
        none: Some(T::from_acc(T::Acc::zero())),
    }
}

impl<T: Averaged + PartialEq + 'static> Reduction<T> for NanMean {
    items! {
        // The sum, and how many terms it does not have.
        "nanmean": T as (T::Acc, usize) => T,
        lift: |value| if is_nan(&value) { (T::Acc::zero(), 1) } else { (value.to_acc(), 0) },
        // Counts that are read from bytes may be any numbers.
        combine: |a, b| (a.0 + b.0, a.1.wrapping_add(b.1)),
        // The NaN of `of_none` has the same bits on every target, that of 0 / 0 has not.
        finish: |self, (sum, skipped), count| match count.saturating_sub(skipped) {
            0 => T::of_none().unwrap_or_else(|| T::mean(sum, 0)),
            count => T::mean(sum, count),
        },
        none: T::of_none(),
    }

    // Pairs of numbers of one width are vector code without it.
    const FOLDS_LANES: bool = size_of::<T::Acc>() < size_of::<usize>();

    #[inline(always)]
    fn fold_lanes(&self, _: Lanes, term: impl Fn(usize, usize) -> Self::Acc) -> [Self::Acc; LANES] {
        // Counts are as wide as `f32`, and in an array of their own. So compilers make vector code.
        let (mut sums, mut skipped) = ([T::Acc::zero(); LANES], [0_u32; LANES]);
        for k in 0..LANES {
            for j in 0..LANES {
                let (sum, skip) = term(k, j);
                sums[j] = if k == 0 { sum } else { sums[j] + sum };
                skipped[j] += skip as u32;
            }
        }
        array::from_fn(|j| (sums[j], skipped[j] as usize))
    }
}
