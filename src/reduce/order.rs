//! Comparisons from which the compiler makes vector code.
//!
//! Those of `half` branch for each pair. Here halves are compared as integers, with the same
//! results but for zeros of both signs: `every_pair_of_halves_compares_as_by_half` has all kinds of
//! pairs.

use crate::engine::positions;
#[cfg(feature = "half")]
use half::{bf16, f16};
#[cfg(feature = "half")]
use std::any::Any;

/// `a < b`, if neither is NaN. Of halves, -0 is less than 0.
#[inline(always)]
pub(super) fn is_less<T: PartialOrd + 'static>(a: &T, b: &T) -> bool {
    #[cfg(feature = "half")]
    if let (Some((a, _)), Some((b, _))) = (half_of(a), half_of(b)) {
        return key(a) < key(b);
    }
    a < b
}

/// The larger of two values that are not NaN, or the first of equal ones.
#[inline(always)]
pub(super) fn larger<T: PartialOrd + Copy + 'static>(a: T, b: T) -> T {
    choose(a, b, i16::max, a < b)
}

/// The smaller of two values that are not NaN, or the first of equal ones.
#[inline(always)]
pub(super) fn smaller<T: PartialOrd + Copy + 'static>(a: T, b: T) -> T {
    choose(a, b, i16::min, b < a)
}

/// Chooses between halves by their [keys](key). Then the compiler keeps an accumulator as its key
/// from one comparison to the next, and a term takes four instructions instead of eight.
#[inline(always)]
fn choose<T: Copy + 'static>(a: T, b: T, of_keys: fn(i16, i16) -> i16, second: bool) -> T {
    #[cfg(feature = "half")]
    if let (Some((a, _)), Some((b, _))) = (half_of(&a), half_of(&b)) {
        let bits = key(of_keys(key(a), key(b))) as u16;
        let (f, bf): (&dyn Any, &dyn Any) = (&f16::from_bits(bits), &bf16::from_bits(bits));
        if let Some(&half) = f.downcast_ref().or(bf.downcast_ref()) {
            return half;
        }
    }
    if second { b } else { a }
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
    let value: &dyn Any = value;
    if let Some(half) = value.downcast_ref::<f16>() {
        return Some((half.to_bits() as i16, 0x7c00));
    }
    (value.downcast_ref::<bf16>()).map(|half| (half.to_bits() as i16, 0x7f80))
}

/// An integer that orders halves as their values do, except NaN, and -0 before 0. Of an integer it
/// gives the half's bits back.
#[cfg(feature = "half")]
#[inline(always)]
fn key(bits: i16) -> i16 {
    bits ^ bits >> 15 & i16::MAX
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
            for (a, b) in [(minus, plus), (plus, minus)] {
                assert_eq!(bits_of(larger(a, b)), 0);
                assert_eq!(bits_of(smaller(a, b)), 1 << 15);
            }
        }
        check(f16::from_bits, f16::to_bits);
        check(bf16::from_bits, bf16::to_bits);
    }
}
