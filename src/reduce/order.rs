//! Comparisons from which the compiler makes vector code.
//!
//! Those of `half` branch for each pair. Here halves are compared as integers, with the same
//! results but for zeros of both signs: `every_pair_of_halves_compares_as_by_half` has all kinds of
//! pairs.

use crate::engine::positions;
#[cfg(feature = "half")]
use half::{bf16, f16};
use std::any::Any;

/// `a < b`, if neither is NaN. Of halves, -0 is less than 0.
#[inline(always)]
pub(super) fn is_less<T: PartialOrd + 'static>(a: &T, b: &T) -> bool {
    match (half_of(a), half_of(b)) {
        (Some((a, _)), Some((b, _))) => key(a) < key(b),
        _ => a < b,
    }
}

/// The larger of two values that are not NaN. Of equal ones, the first; of halves, -0 is less than
/// 0.
#[inline(always)]
pub(super) fn larger<T: PartialOrd + Copy + 'static>(a: T, b: T) -> T {
    by_keys(&a, &b, i16::max).unwrap_or_else(|| if a < b { b } else { a })
}

/// The smaller of two values that are not NaN. Of equal ones, the first; of halves, -0 is less than
/// 0.
#[inline(always)]
pub(super) fn smaller<T: PartialOrd + Copy + 'static>(a: T, b: T) -> T {
    by_keys(&a, &b, i16::min).unwrap_or_else(|| if b < a { b } else { a })
}

/// Whether a value is not equal to itself, as NaN.
#[inline(always)]
pub(super) fn is_nan<T: PartialEq + 'static>(value: &T) -> bool {
    match half_of(value) {
        Some((bits, infinity)) => bits & i16::MAX > infinity,
        None => positions::is_nan(value),
    }
}

/// The half that is chosen by [keys](key); `None` for other types. Compilers keep the accumulator
/// of a loop as its key, so that a term takes four instructions.
#[inline(always)]
fn by_keys<T: Copy + 'static>(a: &T, b: &T, choose: fn(i16, i16) -> i16) -> Option<T> {
    let key_of = |value| half_of(value).map(|(bits, _)| key(bits));
    half_of_bits(key(choose(key_of(a)?, key_of(b)?)))
}

/// The bits of a half, and those of the infinity of its type; `None` for other types.
#[inline(always)]
fn half_of<T: 'static>(value: &T) -> Option<(i16, i16)> {
    let value: &dyn Any = value;
    #[cfg(feature = "half")]
    if let Some(half) = value.downcast_ref::<f16>() {
        return Some((half.to_bits() as i16, 0x7c00));
    }
    #[cfg(feature = "half")]
    if let Some(half) = value.downcast_ref::<bf16>() {
        return Some((half.to_bits() as i16, 0x7f80));
    }
    let _ = value;
    None
}

/// The half of these bits; `None` for other types.
#[inline(always)]
fn half_of_bits<T: Copy + 'static>(bits: i16) -> Option<T> {
    #[cfg(feature = "half")]
    for half in [
        &f16::from_bits(bits as u16) as &dyn Any,
        &bf16::from_bits(bits as u16),
    ] {
        if let Some(&half) = half.downcast_ref() {
            return Some(half);
        }
    }
    let _ = bits;
    None
}

/// An integer that orders halves as their values do, except NaN, and -0 before 0. It is its own
/// inverse: `key(key(bits)) == bits`.
#[inline(always)]
fn key(bits: i16) -> i16 {
    bits ^ ((bits >> 15) & i16::MAX)
}

#[cfg(all(test, feature = "half"))]
mod tests {
    use super::*;
    use std::fmt::Debug;

    #[test]
    fn every_pair_of_halves_compares_as_by_half() {
        fn check<T: PartialOrd + Copy + Debug + 'static>(
            of_bits: fn(u16) -> T,
            bits_of: fn(T) -> u16,
        ) {
            let all: Vec<T> = (0..=u16::MAX).map(of_bits).collect();
            for value in &all {
                #[allow(clippy::eq_op)]
                let nan = value != value;
                assert_eq!(is_nan(value), nan, "{value:?}");
            }
            // Each with its neighbours, and with some of every exponent and sign.
            let some = (0..=u16::MAX).filter(|bits| bits & 0x7f <= 1 || bits & 0x7f == 0x7f);
            let some: Vec<T> = some.map(of_bits).filter(|value| !is_nan(value)).collect();
            let check_pair = |a: T, b: T| {
                let (min, max) = if b < a { (b, a) } else { (a, b) };
                let found = (smaller(a, b), larger(a, b));
                assert_eq!(found, (min, max), "{a:?} {b:?}");
                let zeros = a == b && a == of_bits(0);
                assert!(zeros || is_less(&a, &b) == (a < b), "{a:?} {b:?}");
            };
            for &a in &some {
                some.iter().for_each(|&b| check_pair(a, b));
            }
            for pair in all.windows(2).filter(|pair| !pair.iter().any(is_nan)) {
                check_pair(pair[0], pair[1]);
            }
            // As bits, as zeros are equal.
            let (minus, plus) = (of_bits(1 << 15), of_bits(0));
            assert!(is_less(&minus, &plus) && !is_less(&plus, &minus));
            for (a, b) in [(minus, plus), (plus, minus)] {
                assert_eq!(bits_of(larger(a, b)), 0);
                assert_eq!(bits_of(smaller(a, b)), 1 << 15);
            }
        }
        check(f16::from_bits, f16::to_bits);
        check(bf16::from_bits, bf16::to_bits);
    }
}
