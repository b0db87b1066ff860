//! Sums of the types of the crate `half` in another type.

use ndarray::Array1;
use ndarray_broadcast::prelude::*;

/// The sum and the mean of 10^7 terms of one sign, within 0.51 units in the last place of the exact
/// ones.
#[test]
fn half_precision_sums_in_single_precision_are_correct_to_half_a_unit() {
    use half::{bf16, f16};

    fn check<T>(from: impl Fn(f32) -> T, exact: impl Fn(T) -> f64, unit: impl Fn(f64) -> f64)
    where
        T: num_traits::AsPrimitive<f32> + Send + Sync,
        f32: num_traits::AsPrimitive<T>,
    {
        // Spread over 0..0.001, the same on every machine.
        let term = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43;
        for len in [100_000, 10_000_000] {
            let terms = Array1::from_shape_fn(len, |i| from(term(i) as f32 / 2_097_152e3));
            let sum: f64 = terms.iter().map(|&term| exact(term)).sum();
            let found = terms.reduce_to_shape((), Sum.in_type::<f32, T>()).unwrap();
            assert!(
                (exact(found.into_scalar()) - sum).abs() <= 0.51 * unit(sum),
                "{len}"
            );
            let mean = sum / len as f64;
            let found = terms.reduce_to_shape((), Mean.in_type::<f32, T>()).unwrap();
            assert!(
                (exact(found.into_scalar()) - mean).abs() <= 0.51 * unit(mean),
                "{len}"
            );
        }
    }

    let unit = |digits: i32| move |value: f64| 2_f64.powi(value.log2().floor() as i32 - digits);
    check(f16::from_f32, f64::from, unit(10));
    check(bf16::from_f32, f64::from, unit(7));
    let tenths = Array1::from_elem(100_000, bf16::from_f32(0.1));
    let sum = tenths
        .reduce_to_shape((), Sum.in_type::<f32, f32>())
        .unwrap();
    assert_eq!(sum.into_scalar(), 100_000. * f32::from(bf16::from_f32(0.1)));
}

/// From 65520 terms on, their number is infinite as `f16`.
#[test]
fn means_of_more_terms_than_the_largest_f16_are_finite() {
    use half::f16;

    for count in [65_503, 65_519, 65_520, 70_000, 131_072, 1_000_000] {
        let terms = Array1::from_elem(count, f16::from_f32(0.03125));
        let near = |mean: f16| assert!((mean.to_f32() - 0.03125).abs() < 1e-4, "{count}: {mean}");
        near(terms.reduce_to_shape((), Mean).unwrap().into_scalar());
        let mean = terms.reduce_to_shape((), Mean.in_type::<f16, f16>());
        near(mean.unwrap().into_scalar());
    }
}
