//! The exponential function of numbers that are not positive.
//!
//! That of the standard library is a call for each number, and its last bit depends on the target.
//! This one consists of additions and multiplications, of which compilers make vector code. Its
//! bits are the same on every target.

/// A float with this function. Example: [`LogSumExp`](crate::reduction::LogSumExp).
pub trait Exp: num_traits::Float + Send + Sync + 'static {
    /// `e^x` for `x <= 0`, within 2 units in the last place where it is a normal number; 0 below.
    /// NaN for NaN. Example: [`LogSumExp`](crate::reduction::LogSumExp).
    fn exp_nonpositive(self) -> Self;
}

/// `x = k ln 2 + r` with an integer `k` and `|r| <= ln 2 / 2`. Then `e^x = 2^k e^r`. `e^r` is its
/// Taylor series, and `2^k` has `k` in its exponent. Adding 1.5 * 2^(number of mantissa bits)
/// rounds to an integer, which is in the low bits then. `ln 2` is the sum of a number with few
/// digits, of which `k` times is exact, and a small one.
macro_rules! exp {
    ($Float:ident, $Bits:ident, $mantissa:literal, $bias:literal, $least:literal,
     $high:literal, $low:literal, [$last:literal $(, $divisor:literal)*]) => {
        impl Exp for $Float {
            #[inline(always)]
            fn exp_nonpositive(self) -> Self {
                const ROUND: $Float = 1.5 * (1_u64 << $mantissa) as $Float;
                // The least `x` whose result is normal. NaN stays NaN.
                let x = if self < $least { $least } else { self };
                let shifted = x * std::$Float::consts::LOG2_E + ROUND;
                let k = shifted - ROUND;
                let r = (x - k * $high) - k * $low;
                let series = 1. / $last;
                $(let series = series * r + 1. / $divisor;)*
                let exponent = shifted.to_bits().wrapping_add($bias) << $mantissa;
                let result = series * $Float::from_bits(exponent);
                if self < $least { 0. } else { result }
            }
        }
    };
}

exp!(
    f32,
    u32,
    23,
    127,
    -87.3,
    0.693_359_4,
    -2.121_944_4e-4,
    [5040., 720., 120., 24., 6., 2., 1., 1.]
);
exp!(
    f64,
    u64,
    52,
    1023,
    -708.3,
    0.693_147_180_369_123_8,
    1.908_214_929_270_587_7e-10,
    [
        87_178_291_200.,
        6_227_020_800.,
        479_001_600.,
        39_916_800.,
        3_628_800.,
        362_880.,
        40_320.,
        5040.,
        720.,
        120.,
        24.,
        6.,
        2.,
        1.,
        1.
    ]
);

#[cfg(test)]
mod tests {
    use super::Exp;

    #[test]
    fn results_are_within_two_units_of_those_of_the_standard_library() {
        for i in 0..2_000_000_u32 {
            let x = -f64::from(i) * (88.0 / 2e6);
            let (single, exact) = (x as f32, f64::from(x as f32).exp());
            let found = f64::from(single.exp_nonpositive());
            let near = (found - exact).abs() <= 2. * f64::from(f32::EPSILON) * exact;
            assert!(
                near || single < -87.3 && found == 0.,
                "{single}: {found} {exact}"
            );
            let x = x * 8.;
            let (found, exact) = (x.exp_nonpositive(), x.exp());
            let near = (found - exact).abs() <= 3. * f64::EPSILON * exact;
            assert!(near || x < -708.3 && found == 0., "{x}: {found} {exact}");
        }
    }

    #[test]
    fn zero_infinity_and_nan_are_exact() {
        assert_eq!((0_f32.exp_nonpositive(), 0_f64.exp_nonpositive()), (1., 1.));
        assert_eq!((-0_f32).exp_nonpositive(), 1.);
        assert_eq!(f32::NEG_INFINITY.exp_nonpositive(), 0.);
        assert_eq!(f64::NEG_INFINITY.exp_nonpositive(), 0.);
        assert_eq!(f32::MIN.exp_nonpositive(), 0.);
        assert!(f32::NAN.exp_nonpositive().is_nan() && f64::NAN.exp_nonpositive().is_nan());
    }
}
