//! Sums of the types of the crate `half`: in `f32`, and in another type.

use half::{bf16, f16};
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, Slice, arr1};
use ndarray_broadcast::distributed::{Accumulation, Part, Tile};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::{Averaged, Reduction, Summand};
use std::fmt::Debug;

/// A half, and the `f32` it equals.
trait Half:
    Summand<Acc = f32> + Averaged<Acc = f32> + PartialEq + Debug + num_traits::Zero + 'static
{
    fn of(value: f32) -> Self;
    fn single(self) -> f32;
}

impl Half for f16 {
    fn of(value: f32) -> Self {
        f16::from_f32(value)
    }
    fn single(self) -> f32 {
        self.to_f32()
    }
}

impl Half for bf16 {
    fn of(value: f32) -> Self {
        bf16::from_f32(value)
    }
    fn single(self) -> f32 {
        self.to_f32()
    }
}

/// The halves of a type as arrays of every layout: `check` gets each with the same values in `f32`.
fn in_every_layout<H: Half>(check: impl Fn(&ArrayD<H>, &ArrayD<f32>, &[usize])) {
    for shape in [
        &[][..],
        &[1],
        &[0, 3],
        &[3, 0],
        &[7, 5],
        &[300, 4],
        &[4, 300],
        &[3, 5, 70],
    ] {
        let len: usize = shape.iter().product();
        let values = (0..len).map(|i| (i * 37 % 113) as f32 / 8. - 5.);
        let singles = ArrayD::from_shape_vec(shape, values.collect()).unwrap();
        let mut layouts = vec![singles.clone()];
        layouts.push(
            singles
                .t()
                .as_standard_layout()
                .reversed_axes()
                .into_owned(),
        );
        let mut reversed = singles.clone();
        let mut strided = ArrayD::zeros(shape.iter().map(|size| 2 * size).collect::<Vec<_>>());
        for axis in 0..shape.len() {
            reversed.invert_axis(Axis(axis));
            strided.slice_axis_inplace(Axis(axis), Slice::new(0, None, 2));
        }
        strided.assign(&singles);
        layouts.extend([reversed, strided]);
        for singles in layouts {
            // `map` keeps the layout; `mapv_into` would not change the type.
            let halves = singles.map(|&value| H::of(value));
            let singles = halves.map(|&value| value.single());
            for set in 0..1 << shape.len() {
                let axes: Vec<usize> = (0..shape.len())
                    .filter(|axis| set >> axis & 1 == 1)
                    .collect();
                check(&halves, &singles, &axes);
            }
        }
    }
}

/// The result of `f32`, rounded once.
#[track_caller]
fn same<H: Half>(found: &ArrayD<H>, single: &ArrayD<f32>) {
    for (&found, &single) in found.iter().zip(single) {
        let both_nan = found.single().is_nan() && single.is_nan();
        assert!(both_nan || found == H::of(single), "{found:?} {single}");
    }
    assert_eq!(found.shape(), single.shape());
}

fn check_halves<H: Half>() {
    in_every_layout::<H>(|halves, singles, axes| {
        same(
            &halves.reduce_axes_keepdims(axes, Sum).unwrap(),
            &singles.reduce_axes_keepdims(axes, Sum).unwrap(),
        );
        same(
            &halves.reduce_axes_keepdims(axes, Mean).unwrap(),
            &singles.reduce_axes_keepdims(axes, Mean).unwrap(),
        );
        let near_one = |value: f32| H::of(1. + value / 1024.);
        let (halves_near_one, singles_near_one) = (
            singles.map(|&value| near_one(value)),
            singles.map(|&value| near_one(value).single()),
        );
        same(
            &halves_near_one.reduce_axes_keepdims(axes, Product).unwrap(),
            &singles_near_one
                .reduce_axes_keepdims(axes, Product)
                .unwrap(),
        );
        let plan = BroadcastPlan::over_axes(IxDyn(halves.shape()), axes).unwrap();
        let gradient = plan.gradient(halves).unwrap();
        same(&gradient, &plan.gradient(singles).unwrap());
        let squares =
            zip((halves, halves)).reduce(&plan, Sum, |(a, b)| H::of(a.single() * b.single() / 16.));
        let of_singles = zip(singles).reduce(&plan, Sum, |a| H::of(a * a / 16.).single());
        same(&squares.unwrap(), &of_singles.unwrap());
        let mut added = gradient.mapv(|_| H::of(2.));
        plan.gradient_accumulate(halves, &mut added).unwrap();
        let none = halves.is_empty();
        let twice = gradient.mapv(|sum| if none { 2. } else { 2. + sum.single() });
        same(&added, &twice);
    });
}

#[test]
fn sums_means_and_products_of_halves_are_those_of_f32_rounded_once() {
    check_halves::<f16>();
    check_halves::<bf16>();
}

#[test]
fn parts_of_halves_have_the_bits_of_one_call() {
    fn check<R: Reduction<bf16, Acc = f32, Out = bf16> + Copy>(reduction: R) {
        let terms = Array2::from_shape_fn((5000, 3), |(i, j)| bf16::of((i * 3 + j) as f32 / 77.));
        let plan = BroadcastPlan::numpy(3, (5000, 3)).unwrap();
        let mut merged = Accumulation::new(&plan, reduction);
        for rows in [4096..5000, 0..1024, 2048..4096, 1024..2048] {
            let part = Part::new(&plan, &Tile::new(&plan, &[rows, 0..3]).unwrap()).unwrap();
            let terms = part.tile().output().of(&terms).unwrap();
            let bytes = part.reduce(&terms, reduction).unwrap().to_bytes();
            merged
                .merge(Accumulation::from_bytes(&bytes, reduction).unwrap())
                .unwrap();
        }
        assert_eq!(
            merged.finish(&plan).unwrap(),
            plan.reduce(&terms, reduction).unwrap()
        );
    }
    check(Sum);
    check(Mean);
}

/// Sums that overflow `f16`, or stand still in `bf16`.
#[test]
fn long_means_of_halves_are_exact() {
    let mean = |value, count| Array1::from_elem(count, f16::of(value)).reduce_to_shape((), Mean);
    assert_eq!(mean(255., 300).unwrap().into_scalar(), f16::of(255.));
    let threes = Array1::from_elem(1000, bf16::of(3.));
    assert_eq!(
        threes.reduce_to_shape((), Mean).unwrap().into_scalar(),
        bf16::of(3.)
    );
    let own = Mean.in_type::<f16, f16>();
    let infinite = Array1::from_elem(300, f16::of(255.)).reduce_to_shape((), own);
    assert_eq!(infinite.unwrap().into_scalar(), f16::INFINITY);
    let own = Array1::from_elem(300, f16::of(255.)).reduce_to_shape((), Sum.in_own_type());
    assert_eq!(own.unwrap().into_scalar(), f16::INFINITY);
}

/// The statistics of the recipe of the cookbook, of rows around 40.
#[test]
fn layer_norm_of_halves_around_40_has_their_mean_and_variance() {
    fn check<H: Half + num_traits::Num>() {
        let row = arr1(&[38., 39., 40., 41., 42.].map(H::of));
        let x = Array2::from_shape_fn((2, 4000), |(_, j)| row[j % 5]);
        let rows = BroadcastPlan::numpy((2, 1), (2, 4000)).unwrap();
        let mean = rows.reduce(&x, Mean).unwrap();
        let square = |a: H| a * a;
        let variance = zip((&x, &mean))
            .reduce(&rows, Mean, |(x, mean)| square(x - mean))
            .unwrap();
        assert!(mean.iter().all(|&mean| mean == H::of(40.)));
        assert!(variance.iter().all(|&variance| variance == H::of(2.)));
    }
    check::<f16>();
    check::<bf16>();
}

/// The sum and the mean of 10^6 terms of one sign, and with `ALL_CASES` of 10^7, within 0.51 units in the last place of the exact
/// ones.
#[test]
fn half_precision_sums_in_single_precision_are_correct_to_half_a_unit() {
    fn check<T>(from: impl Fn(f32) -> T, exact: impl Fn(T) -> f64, unit: impl Fn(f64) -> f64)
    where
        T: num_traits::AsPrimitive<f32> + Send + Sync,
        f32: num_traits::AsPrimitive<T>,
    {
        // Spread over 0..0.001, the same on every machine.
        let term = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43;
        for len in [
            100_000,
            if crate::all_cases() {
                10_000_000
            } else {
                1_000_000
            },
        ] {
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
    for count in [65_503, 65_519, 65_520, 70_000, 131_072, 1_000_000] {
        let terms = Array1::from_elem(count, f16::from_f32(0.03125));
        let near = |mean: f16| assert!((mean.to_f32() - 0.03125).abs() < 1e-4, "{count}: {mean}");
        near(terms.reduce_to_shape((), Mean).unwrap().into_scalar());
        let mean = terms.reduce_to_shape((), Mean.in_type::<f16, f16>());
        near(mean.unwrap().into_scalar());
    }
}
