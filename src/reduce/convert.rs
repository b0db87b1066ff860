//! Conversion of elements to accumulators of another type.

use num_traits::AsPrimitive;
#[cfg(feature = "half")]
use std::any::Any;

/// `value as A`.
///
/// `f16` is converted to `f32` and `f64` by operations of which compilers make vector code. Those
/// of the crate `half` branch on each element.
#[inline(always)]
pub(super) fn convert<T: AsPrimitive<A>, A: Copy + 'static>(value: T) -> A {
    #[cfg(feature = "half")]
    if let Some(half) = (&value as &dyn Any).downcast_ref::<half::f16>() {
        let single = single(half.to_bits());
        let (single, double): (&dyn Any, &dyn Any) = (&single, &f64::from(single));
        if let Some(&wide) = single.downcast_ref().or(double.downcast_ref()) {
            return wide;
        }
    }
    value.as_()
}

/// The `f32` that equals the `f16` with these bits.
#[cfg(feature = "half")]
#[inline(always)]
fn single(bits: u16) -> f32 {
    let [sign, rest] = [0x8000, 0x7fff].map(|mask| u32::from(bits & mask));
    // The exponent of an `f16` has a bias of 15, that of an `f32` one of 127. The product is exact,
    // also of a subnormal number.
    let scaled = f32::from_bits(rest << 13) * f32::from_bits((127 + 127 - 15) << 23);
    let finite = rest < 0x7c00;
    let magnitude = if finite {
        scaled.to_bits()
    } else {
        0x7f80_0000 | rest << 13
    };
    f32::from_bits(sign << 16 | magnitude)
}

#[cfg(all(test, feature = "half"))]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn every_f16_is_converted_as_by_the_crate_half() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let (single, double): (f32, f64) = (convert(half), convert(half));
            assert!(double == half.to_f64() || half.is_nan() && double.is_nan());
            if half.is_nan() {
                assert!(single.is_nan(), "{bits:#x}");
            } else {
                assert_eq!(single.to_bits(), half.to_f32().to_bits(), "{bits:#x}");
            }
            let integer: i32 = convert(half);
            assert_eq!(integer, half.to_f32() as i32);
        }
    }
}
