//! The exponential function of numbers that are not positive.
//!
//! That of the standard library is a call for each number, and its last bit depends on the target.
//! This one consists of additions and multiplications, of which compilers make vector code. Its
//! bits are the same on every target.

/// A float with this function. Example: [`LogSumExp`](crate::reduction::LogSumExp).
pub trait Exp: num_traits::Float + Send + Sync + 'static {
    /// `e^x` for `x <= 0`. Its relative error is at most `(2 - x) * EPSILON` down to -87.3 in `f32`
    /// and -708.3 in `f64`; below, it is less than twice the least normal number. NaN for NaN.
    /// Added to 1, its error is at most two units in the last place of the sum. Example:
    /// [`LogSumExp`](crate::reduction::LogSumExp).
    fn exp_nonpositive(self) -> Self;
}

/// `x = (k + r) ln 2` with an integer `k` and `|r| <= 1 / 2`. Then `e^x = 2^k 2^r`. `2^r` is a
/// polynomial, and `2^k` has `k` in its exponent. The polynomial is 1 at 0. Its largest relative
/// error is the least for its degree, by the algorithm of Lawson: 2.0e-9 for `f32` and 3.4e-18 for
/// `f64`. After its coefficients are rounded, the error is 1.6e-8 and 2.9e-17, and the coefficient
/// of `r` is `ln 2`. Its even and odd powers are two sums, which a processor computes at the same
/// time.
/// Adding 1.5 * 2^(number of mantissa bits) rounds to an integer, which is in the low bits then.
macro_rules! exp {
    ($Float:ident, $least:literal,
     [$even:literal $(, $evens:expr)*], [$odd:literal $(, $odds:expr)*]) => {
        impl Exp for $Float {
            #[inline(always)]
            fn exp_nonpositive(self) -> Self {
                const MANTISSA_BITS: u32 = $Float::MANTISSA_DIGITS - 1;
                // With the bias of exponents, so that the low bits are those of `2^k`.
                const ROUND: $Float =
                    1.5 * (1_u64 << MANTISSA_BITS) as $Float + ($Float::MAX_EXP - 1) as $Float;
                // The least `x` whose result is normal. NaN stays NaN.
                let x = if self < $least { $least } else { self };
                let scaled = x * std::$Float::consts::LOG2_E;
                let shifted = scaled + ROUND;
                let r = scaled - (shifted - ROUND);
                let square = r * r;
                let (even, odd) = ($even, $odd);
                $(let even = even * square + $evens;)*
                $(let odd = odd * square + $odds;)*
                let series = odd * r + even;
                series * $Float::from_bits(shifted.to_bits() << MANTISSA_BITS)
            }
        }
    };
}

exp!(
    f32,
    -87.3,
    [0.000_153_533_6, 0.009_618_437, 0.240_226_48, 1.],
    [0.001_339_887_5, 0.055_503_324, std::f32::consts::LN_2]
);
exp!(
    f64,
    -708.3,
    [
        7.073_783_293_389_572e-9,
        1.321_543_528_201_642_7e-6,
        0.000_154_035_304_571_127_6,
        0.009_618_129_107_594_12,
        0.240_226_506_959_101_3,
        1.
    ],
    [
        4.434_770_725_838_83e-10,
        1.017_819_957_592_827_2e-7,
        1.525_273_349_311_675_2e-5,
        0.001_333_355_814_677_463_3,
        0.055_504_108_664_820_08,
        std::f64::consts::LN_2
    ]
);

#[cfg(test)]
mod tests {
    use super::Exp;

    #[test]
    fn results_are_near_those_of_the_standard_library() {
        const LEAST: f64 = 2. * f32::MIN_POSITIVE as f64;
        for i in 0..2_000_000_u32 {
            let x = -f64::from(i) * (88.0 / 2e6);
            let (single, exact) = (x as f32, f64::from(x as f32).exp());
            let found = f64::from(single.exp_nonpositive());
            let near = (found - exact).abs() <= (2. - x) * f64::from(f32::EPSILON) * exact;
            assert!(
                near || single < -87.3 && found < LEAST,
                "{single}: {found} {exact}"
            );
            let (sum, unit) = ((1. + found) as f32, f64::from(f32::EPSILON));
            assert!(
                (f64::from(sum) - (1. + exact)).abs() <= 2. * unit,
                "{single}"
            );
            // The exponential of the standard library has an error, too.
            let x = x * 8.;
            let (found, exact) = (x.exp_nonpositive(), x.exp());
            let near = (found - exact).abs() <= (3. - x) * f64::EPSILON * exact;
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
