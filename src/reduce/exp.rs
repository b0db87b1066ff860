//! The exponential function of numbers that are not positive.
//!
//! That of the standard library is a call for each number, and its last bit depends on the target.
//! This one consists of additions and multiplications, of which compilers make vector code. Its
//! bits are the same on every target.

/// A float with this function. Example: [`LogSumExp`](crate::reduction::LogSumExp).
pub trait Exp: num_traits::Float + Send + Sync + 'static {
    /// `e^x` for `x <= 0`, within 2 units in the last place where it is a normal number; below, a
    /// number less than twice the least normal one. NaN for NaN. Example:
    /// [`LogSumExp`](crate::reduction::LogSumExp).
    fn exp_nonpositive(self) -> Self;
}

/// `x = k ln 2 + r` with an integer `k` and `|r| <= ln 2 / 2`. Then `e^x = 2^k e^r`. `e^r` is a
/// polynomial, and `2^k` has `k` in its exponent. The polynomial is 1 at 0, and its largest
/// relative error is the least for its degree, by the algorithm of Remez: 3.1e-9 and 1.8e-17. Its
/// even and odd powers are two sums, which a processor computes at the same time.
/// Adding 1.5 * 2^(number of mantissa bits) rounds to an integer, which is in the low bits then.
/// `ln 2` is the sum of a number with few digits, of which `k` times is exact, and a small one.
macro_rules! exp {
    ($Float:ident, $least:literal, $high:literal, $low:literal,
     [$even:literal $(, $evens:literal)*], [$odd:literal $(, $odds:literal)*]) => {
        impl Exp for $Float {
            #[inline(always)]
            fn exp_nonpositive(self) -> Self {
                const MANTISSA_BITS: u32 = $Float::MANTISSA_DIGITS - 1;
                const ROUND: $Float = 1.5 * (1_u64 << MANTISSA_BITS) as $Float;
                // The least `x` whose result is normal. NaN stays NaN.
                let x = if self < $least { $least } else { self };
                let shifted = x * std::$Float::consts::LOG2_E + ROUND;
                let k = shifted - ROUND;
                let r = (x - k * $high) - k * $low;
                let square = r * r;
                let (even, odd) = ($even, $odd);
                $(let even = even * square + $evens;)*
                $(let odd = odd * square + $odds;)*
                let series = odd * r + even;
                let bias = ($Float::MAX_EXP - 1) as _;
                let exponent = shifted.to_bits().wrapping_add(bias) << MANTISSA_BITS;
                series * $Float::from_bits(exponent)
            }
        }
    };
}

exp!(
    f32,
    -87.3,
    0.693_359_4,
    -2.121_944_4e-4,
    [0.001_381_459_5, 0.041_668_39, 0.499_999_94, 1.],
    [0.008_368_717, 0.166_665_21, 1.]
);
exp!(
    f64,
    -708.3,
    0.693_147_180_369_123_8,
    1.908_214_929_270_587_7e-10,
    [
        2.762_630_997_871_526e-7,
        2.480_150_447_900_997_3e-5,
        0.001_388_888_893_236_578_7,
        0.041_666_666_666_573_565,
        0.500_000_000_000_000_6,
        1.
    ],
    [
        2.298_119_721_237_786_4e-8,
        2.756_425_663_103_728_5e-6,
        0.000_198_412_614_877_805_73,
        0.008_333_333_337_718_171,
        0.166_666_666_666_572_95,
        1.000_000_000_000_000_7
    ]
);

#[cfg(test)]
mod tests {
    use super::Exp;

    #[test]
    fn results_are_within_two_units_of_those_of_the_standard_library() {
        const LEAST: f64 = 2. * f32::MIN_POSITIVE as f64;
        for i in 0..2_000_000_u32 {
            let x = -f64::from(i) * (88.0 / 2e6);
            let (single, exact) = (x as f32, f64::from(x as f32).exp());
            let found = f64::from(single.exp_nonpositive());
            let near = (found - exact).abs() <= 2. * f64::from(f32::EPSILON) * exact;
            assert!(
                near || single < -87.3 && found < LEAST,
                "{single}: {found} {exact}"
            );
            let x = x * 8.;
            let (found, exact) = (x.exp_nonpositive(), x.exp());
            let near = (found - exact).abs() <= 3. * f64::EPSILON * exact;
            assert!(
                near || x < -708.3 && found < 2. * f64::MIN_POSITIVE,
                "{x}: {found} {exact}"
            );
        }
    }

    #[test]
    fn zero_is_exact_infinity_is_small_and_nan_stays() {
        assert_eq!((0_f32.exp_nonpositive(), 0_f64.exp_nonpositive()), (1., 1.));
        assert_eq!((-0_f32).exp_nonpositive(), 1.);
        let least = f32::MIN_POSITIVE..2. * f32::MIN_POSITIVE;
        assert!(
            [f32::NEG_INFINITY, f32::MIN]
                .iter()
                .all(|x| least.contains(&x.exp_nonpositive()))
        );
        let least = f64::MIN_POSITIVE..2. * f64::MIN_POSITIVE;
        assert!(
            [f64::NEG_INFINITY, f64::MIN]
                .iter()
                .all(|x| least.contains(&x.exp_nonpositive()))
        );
        assert!(f32::NAN.exp_nonpositive().is_nan() && f64::NAN.exp_nonpositive().is_nan());
    }
}
