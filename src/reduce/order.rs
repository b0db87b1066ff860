//! Comparisons from which the compiler makes vector code.
//!
//! Those of `half` branch for each pair. Here halves are compared as integers, with the same
//! results but for zeros of both signs: `the_choice_between_halves_follows_their_comparison` has
//! all kinds of pairs.

use crate::engine::positions;
#[cfg(feature = "half")]
use half::{bf16, f16};
use std::any::{Any, TypeId};

macro_rules! is_one_of {
    ($T:ty: $($Type:ty)*) => {
        [$(TypeId::of::<$Type>()),*].contains(&TypeId::of::<$T>())
    };
}

/// Whether a type is of integers, or `bool`. Sums of these have the same bits in any order.
pub(super) fn is_of_integers<T: 'static>() -> bool {
    is_one_of!(T: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize bool)
}

/// Whether the choice among terms of a type has the same bits in any order, if it is
/// [`settled`]. Of equal values of other types the order decides.
pub(super) fn is_settled<T: 'static>() -> bool {
    #[cfg(feature = "half")]
    if is_one_of!(T: f16 bf16) {
        return true;
    }
    is_of_integers::<T>() || is_one_of!(T: f32 f64)
}

/// The choice among `count` terms: of several, a float that is zero loses its sign, which depends
/// on their order.
#[inline(always)]
pub(super) fn settled<T: 'static>(mut chosen: T, count: usize) -> T {
    // To add -0 changes no number.
    let zero = if count > 1 { 0. } else { -0. };
    let value: &mut dyn Any = &mut chosen;
    if let Some(value) = value.downcast_mut::<f32>() {
        *value += zero;
    } else if let Some(value) = value.downcast_mut::<f64>() {
        *value += f64::from(zero);
    }
    chosen
}

/// Whether a value is not equal to itself, as NaN.
#[inline(always)]
pub(super) fn is_nan<T: PartialEq + 'static>(value: &T) -> bool {
    match half_of(value) {
        Some((bits, infinity)) => bits & i16::MAX > infinity,
        None => positions::is_nan(value),
    }
}

/// The larger of two terms, or the smaller one if not `larger`. Of equal terms it is `a`. If one is
/// NaN, that one is chosen if `nan_wins`, otherwise the other one. Of halves, -0 is less than 0.
#[inline(always)]
pub(super) fn chosen<T>(a: T, b: T, larger: bool, nan_wins: bool) -> T
where
    T: PartialOrd + Copy + 'static,
{
    chosen_half(a, b, larger, nan_wins).unwrap_or_else(|| {
        let better = if larger { a < b } else { a > b };
        // A pair of floats can be greater than another one although it has a NaN.
        let better = better & !is_nan(&a) & !is_nan(&b);
        let nan = if nan_wins { &b } else { &a };
        // Both conditions are evaluated: compilers make one selection of them in vector code.
        if better | is_nan(nan) { b } else { a }
    })
}

/// [`chosen`] of terms that are not [unordered](is_unordered).
#[inline(always)]
pub(super) fn chosen_ordered<T>(a: T, b: T, larger: bool, nan_wins: bool) -> T
where
    T: PartialOrd + Copy + 'static,
{
    chosen_half(a, b, larger, nan_wins).unwrap_or_else(|| {
        let better = if larger { a < b } else { a > b };
        if better { b } else { a }
    })
}

/// Whether a term is NaN and its type has no order for NaN. Halves have one: see [`chosen_half`].
#[inline(always)]
pub(super) fn is_unordered<T: PartialEq + 'static>(term: &T) -> bool {
    half_of(term).is_none() & positions::is_nan(term)
}

/// [`chosen`] of two halves; `None` for other types.
///
/// It compares integers that have the order of the halves. Compilers keep the accumulator of a loop
/// as such an integer, so that a term takes five instructions.
#[inline(always)]
fn chosen_half<T: Copy + 'static>(a: T, b: T, larger: bool, nan_wins: bool) -> Option<T> {
    // The keys of NaN are the first and the last ones. On the circle of integers these are
    // neighbours: a shift makes all of them the last ones, or the first.
    let ((a, infinity), (b, _)) = (half_of(&a)?, half_of(&b)?);
    let nans = i16::MAX - infinity;
    let shift = if larger == nan_wins { -nans } else { nans };
    let [a, b] = [a, b].map(|bits| key(bits).wrapping_add(shift));
    let chosen = if larger { a.max(b) } else { a.min(b) };
    half_of_bits(key(chosen.wrapping_sub(shift)))
}

/// The bits of a half, and of the infinity of its type; `None` for other types.
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

/// An integer that orders halves as their values do, and -0 before 0. NaN is first or last, as its
/// sign says. The function is its own inverse: `key(key(bits)) == bits`.
#[inline(always)]
fn key(bits: i16) -> i16 {
    bits ^ ((bits >> 15) & i16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `larger` and `nan_wins`.
    const ARGUMENTS: [(bool, bool); 4] =
        [(true, true), (true, false), (false, true), (false, false)];

    #[test]
    fn of_equal_floats_the_first_is_chosen() {
        // As bits, as zeros are equal.
        for (a, b) in [(0_f64, -0_f64), (-0., 0.)] {
            for (larger, nan_wins) in ARGUMENTS {
                for choose in [chosen, chosen_ordered] {
                    let found = choose(a, b, larger, nan_wins);
                    assert_eq!(found.to_bits(), a.to_bits(), "{a} {b} {larger} {nan_wins}");
                }
            }
        }
    }

    #[cfg(feature = "half")]
    #[test]
    fn the_choice_between_halves_follows_their_comparison() {
        fn check<T: PartialOrd + Copy + std::fmt::Debug + 'static>(
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
            let some: Vec<T> = some.map(of_bits).collect();
            let check_pair = |a: T, b: T| {
                let (min, max) = if b < a { (b, a) } else { (a, b) };
                let (nan, other) = if is_nan(&a) { (a, b) } else { (b, a) };
                for (larger, nan_wins) in ARGUMENTS {
                    let expected = match (is_nan(&nan), larger) {
                        (false, true) => max,
                        (false, false) => min,
                        (true, _) if nan_wins => nan,
                        (true, _) => other,
                    };
                    for choose in [chosen, chosen_ordered] {
                        let found = choose(a, b, larger, nan_wins);
                        let same = found == expected || is_nan(&found) && is_nan(&expected);
                        assert!(same, "{a:?} {b:?} {larger} {nan_wins}: {found:?}");
                    }
                }
            };
            for &a in &some {
                some.iter().for_each(|&b| check_pair(a, b));
            }
            all.windows(2).for_each(|pair| check_pair(pair[0], pair[1]));
            // As bits, as zeros are equal.
            let (minus, plus) = (of_bits(1 << 15), of_bits(0));
            for (a, b, nan_wins) in [(minus, plus, true), (plus, minus, false)] {
                assert_eq!(bits_of(chosen(a, b, true, nan_wins)), 0);
                assert_eq!(bits_of(chosen(a, b, false, nan_wins)), 1 << 15);
            }
        }
        check(f16::from_bits, f16::to_bits);
        check(bf16::from_bits, bf16::to_bits);
    }
}
