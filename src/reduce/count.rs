//! The number of terms that are not zero.

use super::reduction::{Reduction, items};

/// How many terms are not zero, or `true`.
///
/// Zero is the `Default` of the terms' type. NaN is not zero.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let flags = array![[true, false, true], [false, false, false]];
/// assert_eq!(flags.reduce_axes(1, Count)?, array![2, 0]);
/// let x = array![0., -0., 1., f64::NAN];
/// let count = x.reduce_to_shape((), Count.in_type::<i64>())?;
/// assert_eq!(count.into_scalar(), 2_i64);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `count_nonzero`; torch `count_nonzero`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "count_nonzero")]
pub struct Count;

impl<T: Copy + Default + PartialEq> Reduction<T> for Count {
    items! {
        "count": T as usize => usize,
        lift: |value| usize::from(value != T::default()),
        // Counts that are read from bytes may be any numbers.
        combine: |a, b| a.wrapping_add(b),
        finish: |self, count, _| count,
        none: Some(0),
    }

    fn is_exact(&self) -> bool {
        true
    }
}
