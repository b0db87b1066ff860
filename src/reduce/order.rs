//! Comparisons from which the compiler makes vector code.
//!
//! Those of `half` branch for each pair. Here halves are compared as integers, with the same
//! results: `every_pair_of_halves_compares_as_by_half` has all kinds of pairs.

use crate::engine::positions;

/// `a < b`, if neither is NaN.
#[inline(always)]
pub(super) fn is_less<T: PartialOrd + 'static>(a: &T, b: &T) -> bool {
    #[cfg(feature = "half")]
    if let (Some((a, _)), Some((b, _))) = (half_of(a), half_of(b)) {
        return position(a) < position(b);
    }
    a < b
}

/// Whether a value is not equal to itself, as NaN.
#[inline(always)]
pub(super) fn is_nan<T: PartialEq + 'static>(value: &T) -> bool {
    #[cfg(feature = "half")]
    if let Some((bits, infinity)) = half_of(value) {
        return bits & i16::MAX > infinity;
    }
    positions::is_nan(value)
}

/// The bits of a half, and those of the infinity of its type.
#[cfg(feature = "half")]
#[inline(always)]
fn half_of<T: 'static>(value: &T) -> Option<(i16, i16)> {
    use half::{bf16, f16};
    use std::any::Any;
    let value: &dyn Any = value;
    if let Some(half) = value.downcast_ref::<f16>() {
        return Some((half.to_bits() as i16, 0x7c00));
    }
    (value.downcast_ref::<bf16>()).map(|half| (half.to_bits() as i16, 0x7f80))
}

/// An integer that orders halves as their values do, except NaN. -0 and 0 have the same integer.
#[cfg(feature = "half")]
#[inline(always)]
fn position(bits: i16) -> i16 {
    let sign = bits >> 15;
    ((bits & i16::MAX) ^ sign) - sign
}

#[cfg(all(test, feature = "half"))]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_pair_of_halves_compares_as_by_half() {
        fn check<T: PartialOrd + Copy + std::fmt::Debug + 'static>(of_bits: fn(u16) -> T) {
            let all: Vec<T> = (0..=u16::MAX).map(of_bits).collect();
            for value in &all {
                #[allow(clippy::eq_op)]
                let nan = value != value;
                assert_eq!(is_nan(value), nan, "{value:?}");
            }
            // Each with its neighbours, and with some of every exponent and sign.
            let some = (0..=u16::MAX).filter(|bits| bits & 0x7f <= 1 || bits & 0x7f == 0x7f);
            let some: Vec<T> = some.map(of_bits).filter(|value| !is_nan(value)).collect();
            for a in &some {
                for b in &some {
                    assert_eq!(is_less(a, b), a < b, "{a:?} {b:?}");
                }
            }
            for pair in all.windows(2).filter(|pair| !pair.iter().any(is_nan)) {
                assert_eq!(is_less(&pair[0], &pair[1]), pair[0] < pair[1]);
            }
        }
        check(f16::from_bits);
        check(bf16::from_bits);
    }
}
