//! Variances, norms, logarithms of sums, counts, positions and reductions without NaN: of every
//! type and layout against an oracle, term by term; the parts of each, merged in any order.

use half::{bf16, f16};
use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, Slice, array, s};
use ndarray_broadcast::distributed::{Accumulation, AccumulatorBytes, Part, Tile};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::{Averaged, Reduction};
use std::convert::identity;
use std::fmt::Debug;

/// What equal results have in common: their bits, but for NaN.
trait Bits: Copy + Debug + Send + Sync {
    fn bits(self) -> u128;
}

macro_rules! bits {
    ($($T:ty: |$x:ident| $bits:expr;)*) => {$(
        impl Bits for $T {
            fn bits(self) -> u128 {
                let $x = self;
                $bits
            }
        }
    )*};
}

bits! {
    f32: |x| if x.is_nan() { u128::MAX } else { x.to_bits().into() };
    f64: |x| if x.is_nan() { u128::MAX } else { x.to_bits().into() };
    f16: |x| if x.is_nan() { u128::MAX } else { x.to_bits().into() };
    bf16: |x| if x.is_nan() { u128::MAX } else { x.to_bits().into() };
    u8: |x| x.into();
    i8: |x| x as u128;
    i32: |x| x as u128;
    u64: |x| x.into();
    i64: |x| x as u128;
    usize: |x| x as u128;
    bool: |x| x.into();
}

fn bits<T: Bits>(results: &ArrayD<T>) -> Vec<u128> {
    results.iter().map(|&result| result.bits()).collect()
}

/// The same elements in C order, in Fortran order, backwards in memory, and with gaps.
fn layouts<T: Copy>(terms: &ArrayD<T>) -> Vec<ArrayD<T>> {
    let mut all = vec![terms.clone()];
    all.push(terms.t().as_standard_layout().reversed_axes().into_owned());
    let Some(&first) = terms.first() else {
        return all;
    };
    let mut reversed = terms.clone();
    let wide: Vec<usize> = terms.shape().iter().map(|size| 2 * size).collect();
    let mut strided = ArrayD::from_elem(wide, first);
    for axis in 0..terms.ndim() {
        reversed.invert_axis(Axis(axis));
        strided.slice_axis_inplace(Axis(axis), Slice::new(0, None, 2));
    }
    reversed.assign(terms);
    strided.assign(terms);
    all.extend([reversed, strided]);
    all
}

/// Compares with `expected`, which gets the terms of each result in order, and returns `None` for
/// an error.
///
/// Tests are compiled without optimisation, and this one for each type and reduction: what does not
/// need both is in functions of its own.
fn check<T, R>(
    value: impl Fn(usize) -> T,
    reduction: R,
    expected: impl Fn(&[T]) -> Option<R::Out>,
    close: impl Fn(R::Out, R::Out) -> bool,
) where
    T: Copy + Send + Sync + Debug,
    R: Reduction<T, Out: Bits, Acc: AccumulatorBytes> + Copy,
{
    let reduce = |terms: &ArrayD<T>, axes: &Axes| reduce_in_every_way(terms, axes, reduction);
    for axes in every_axes() {
        check_layouts(&axes, &value, &reduce, &expected, &close);
    }
    check_parts(&value, reduction);
}

/// The axes of a reduction.
struct Axes {
    shape: &'static [usize],
    /// Bit `i` is set if axis `i` is reduced.
    set: usize,
    reduced: Vec<usize>,
    /// The others, then those that are reduced: the terms of a result are beside each other.
    order: Vec<usize>,
    /// The number of terms of a result.
    count: usize,
    plan: BroadcastPlan,
    what: String,
}

fn every_axes() -> Vec<Axes> {
    let mut all = vec![];
    for shape in [
        &[][..],
        &[1],
        &[6],
        &[0, 3],
        &[3, 0],
        &[7, 5],
        &[19, 300],
        &[300, 17],
        &[2, 3, 70],
        &[2300, 2],
        &[2, 2300],
    ] {
        for set in 0..1 << shape.len() {
            let (reduced, kept): (Vec<usize>, Vec<usize>) =
                (0..shape.len()).partition(|axis| set >> axis & 1 == 1);
            let len: usize = shape.iter().product();
            let results: usize = kept.iter().map(|&axis| shape[axis]).product();
            all.push(Axes {
                shape,
                set,
                order: kept.iter().chain(&reduced).copied().collect(),
                count: len / results.max(1),
                plan: BroadcastPlan::over_axes(IxDyn(shape), &reduced).unwrap(),
                what: format!("{shape:?} over {reduced:?}"),
                reduced,
            });
        }
    }
    all
}

/// A new array of the results, one by way of a map, and one that was there.
fn reduce_in_every_way<T, R>(
    terms: &ArrayD<T>,
    axes: &Axes,
    reduction: R,
) -> Result<[ArrayD<R::Out>; 3], BroadcastError>
where
    T: Copy + Send + Sync,
    R: Reduction<T, Out: Bits> + Copy,
{
    let found = terms.reduce_axes_keepdims(&axes.reduced, reduction);
    let mapped = zip(terms).reduce(&axes.plan, reduction, identity);
    assert_eq!(found.as_ref().err(), mapped.as_ref().err());
    let (found, mapped) = (found?, mapped?);
    let mut out = found.clone();
    axes.plan.reduce_into(terms, reduction, &mut out).unwrap();
    Ok([found, mapped, out])
}

type Reduce<'a, T, Out> =
    dyn Fn(&ArrayD<T>, &Axes) -> Result<[ArrayD<Out>; 3], BroadcastError> + 'a;

/// Many terms in C order and in one of the other layouts, by turns: only `ALL_CASES` finds a fault
/// of one shape and set of axes in another layout alone.
fn check_layouts<T: Copy, Out: Bits>(
    axes: &Axes,
    value: &dyn Fn(usize) -> T,
    reduce: &Reduce<'_, T, Out>,
    expected: &dyn Fn(&[T]) -> Option<Out>,
    close: &dyn Fn(Out, Out) -> bool,
) {
    let (len, what) = (axes.shape.iter().product(), &axes.what);
    let terms = ArrayD::from_shape_vec(axes.shape, (0..len).map(value).collect()).unwrap();
    let sorted = terms.view().permuted_axes(&axes.order[..]);
    let sorted: Vec<T> = sorted.iter().copied().collect();
    let mut layouts = layouts(&terms);
    if len > 1000 && !crate::all_cases() {
        layouts.swap(1, 1 + (axes.set + axes.shape.len()) % 3);
        layouts.truncate(2);
    }
    let mut first: Option<Vec<u128>> = None;
    for terms in layouts {
        let Ok([found, mapped, out]) = reduce(&terms, axes) else {
            assert!(
                expected(&sorted[..axes.count]).is_none(),
                "an error, {what}"
            );
            continue;
        };
        let found_bits = bits(&found);
        assert_eq!(found_bits, bits(&out), "into, {what}");
        assert_eq!(found_bits, bits(&mapped), "a map, {what}");
        if let Some(first) = &first {
            assert_eq!(first, &found_bits, "another layout, {what}");
            continue;
        }
        for (i, &found) in found.iter().enumerate() {
            let terms = &sorted[i * axes.count..(i + 1) * axes.count];
            let expected = expected(terms).expect("a result, not an error");
            let same = found.bits() == expected.bits() || close(found, expected);
            assert!(same, "{found:?} {expected:?}, {i}, {what}");
        }
        first = Some(found_bits);
    }
}

/// Parts that are sent as bytes and merged in several orders have the bits of one call.
fn check_parts<T, R>(value: &dyn Fn(usize) -> T, reduction: R)
where
    T: Copy + Send + Sync,
    R: Reduction<T, Out: Bits, Acc: AccumulatorBytes> + Copy,
{
    let terms = (0..10_000).map(value).collect();
    let terms = ArrayD::from_shape_vec(&[5000, 2][..], terms).unwrap();
    let (plan, mut parts) = parts();
    let whole = bits(&plan.reduce(&terms, reduction).unwrap());
    for turn in 0..parts.len() {
        let mut merged = Accumulation::new(&plan, reduction);
        for part in &parts {
            let terms = part.tile().output().of(&terms).unwrap();
            let bytes = part.reduce(&terms, reduction).unwrap().to_bytes();
            let part = Accumulation::from_bytes(&bytes, reduction).unwrap();
            merged.merge(part).unwrap();
        }
        let merged = bits(&merged.finish(&plan).unwrap());
        assert_eq!(merged, whole, "parts, turn {turn}");
        parts.rotate_left(1);
    }
}

fn parts() -> (BroadcastPlan, [Part; 4]) {
    let plan = BroadcastPlan::over_axes(IxDyn(&[5000, 2]), &[0]).unwrap();
    let part = |rows| Part::new(&plan, &Tile::new(&plan, &[rows, 0..2]).unwrap()).unwrap();
    let parts = [4096..5000, 0..1024, 2048..4096, 1024..2048].map(part);
    (plan, parts)
}

/// A float type: the nearest of an `f64`, and its value.
trait Float: Bits + PartialOrd {
    const DIGITS: i32;
    fn of(value: f64) -> Self;
    fn value(self) -> f64;

    /// Whether the two differ by at most so many units in the last place.
    fn within(self, units: f64, other: Self) -> bool {
        let (a, b) = (self.value(), other.value());
        let unit = 2_f64.powi(b.abs().max(1e-300).log2().floor() as i32 + 1 - Self::DIGITS);
        (a - b).abs() <= units * unit
    }
}

macro_rules! float {
    ($($T:ty, $digits:literal, |$x:ident| $of:expr;)*) => {$(
        impl Float for $T {
            const DIGITS: i32 = $digits;
            fn of($x: f64) -> Self {
                $of
            }
            fn value(self) -> f64 {
                self.into()
            }
        }
    )*};
}

float! {
    f32, 24, |x| x as f32;
    f64, 53, |x| x;
    f16, 11, |x| f16::from_f32(x as f32);
    bf16, 8, |x| bf16::from_f32(x as f32);
}

/// Multiples of 1/8 in -6..6, which every type has exactly.
fn eighths(i: usize) -> f64 {
    (i * 37 % 97) as f64 / 8. - 6.
}

/// The exact variance of multiples of 1/8, rounded to `f64`.
fn variance(terms: impl Iterator<Item = f64> + Clone, ddof: usize) -> Option<f64> {
    let count = terms.clone().count();
    let eighths = terms.map(|term| (term * 8.) as i128);
    let (sum, squares) = (
        eighths.clone().sum::<i128>(),
        eighths.map(|x| x * x).sum::<i128>(),
    );
    let distances = count as i128 * squares - sum * sum;
    let divisor = count as f64 * (count.checked_sub(ddof)? as f64) * 64.;
    (count > ddof).then(|| distances as f64 / divisor)
}

#[test]
fn variances_are_exact_to_a_unit() {
    fn of<F: Float + num_traits::AsPrimitive<f64>>()
    where
        Var: Reduction<F, Out = F, Acc: AccumulatorBytes>,
        Std: Reduction<F, Out = F, Acc: AccumulatorBytes>,
    {
        for ddof in [0, 1, 5] {
            let exact = |terms: &[F]| variance(terms.iter().map(|term| term.value()), ddof);
            let var = |terms: &[F]| exact(terms).map(F::of);
            let std = |terms: &[F]| exact(terms).map(|variance| F::of(variance.sqrt()));
            let (value, near) = (|i| F::of(eighths(i)), |a: F, b| a.within(4., b));
            check(value, Var::new().ddof(ddof), var, near);
            check(value, Std::new().ddof(ddof), std, near);
        }
    }
    of::<f32>();
    of::<f64>();
    of::<f16>();
    of::<bf16>();
    let of_bytes = |terms: &[u8]| variance(terms.iter().map(|&term| term.into()), 0);
    let near = |a: f64, b: f64| a.within(4., b);
    check(
        |i| (i * 37 % 251) as u8,
        Var::new().in_type::<f64>(),
        of_bytes,
        near,
    );
}

/// Means of 10^4 and, for `f64`, 10^8 times the deviation, of 10^6 terms, and with `ALL_CASES` of
/// 10^7.
#[test]
fn variances_far_from_zero_are_within_four_units() {
    let noise = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as f64 / 8.;
    for len in [
        1000,
        if crate::all_cases() {
            10_000_000
        } else {
            1_000_000
        },
    ] {
        let near = Array1::from_shape_fn(len, |i| 2e4 + noise(i)).insert_axis(Axis(1));
        let exact = variance(near.iter().map(|x| x - 2e4), 0).unwrap();
        let single = near.mapv(|x| x as f32);
        let found = single.reduce_axes_keepdims([0], Var::new()).unwrap()[[0, 0]];
        assert!(found.within(1., exact as f32), "{found} {exact}");
        let found = near.reduce_axes_keepdims([0], Var::new()).unwrap()[[0, 0]];
        assert!(found.within(4., exact), "{found} {exact}");
        let far = near.mapv(|x| x - 2e4 + 2f64.powi(28));
        let found = far.reduce_axes_keepdims([0], Var::new()).unwrap()[[0, 0]];
        assert!(found.within(64., exact), "{found} {exact}");
    }
    // The first term is far from all others.
    let mut terms = Array1::from_shape_fn(100_000, noise);
    terms[0] = 1e6;
    let exact = variance(terms.iter().copied(), 0).unwrap();
    let found = terms.reduce_to_shape((), Var::new()).unwrap().into_scalar();
    assert!(found.within(256., exact), "{found} {exact}");
}

#[test]
fn the_variance_of_equal_terms_is_zero_and_of_infinite_ones_nan() {
    for value in [100_f32, -100., 0.1, 1e30, f32::MIN_POSITIVE / 8.] {
        for count in [1, 2, 17, 1000, 1_000_000] {
            let columns = Array2::from_elem((count, 2), value);
            for axis in [0, 1] {
                let var = columns.reduce_axes_keepdims([axis], Var::new()).unwrap();
                assert!(var.iter().all(|&var| var.bits() == 0), "{value} {count}");
            }
        }
    }
    for terms in [
        &[f64::INFINITY][..],
        &[1., f64::NEG_INFINITY],
        &[f64::NAN, 1., 2.],
    ] {
        for len in [terms.len(), 20, 600] {
            let terms = Array1::from_iter((0..len).map(|i| terms[i % terms.len()]));
            let var = terms.reduce_to_shape((), Var::new()).unwrap();
            assert!(var.into_scalar().is_nan(), "{terms}");
        }
    }
}

/// The variance is finite if only the square of the sum of the distances overflows, and infinite if
/// the sum of their squares does.
#[test]
fn the_variance_of_huge_terms_is_finite_unless_the_sum_of_squares_overflows() {
    for len in [2, 17, 256, 257, 3000] {
        let first = |first: f64, other: f64| {
            Array1::from_shape_fn(len, |i| if i == 0 { first } else { other })
        };
        let check = |terms: Array1<f64>, expected: f64| {
            for terms in [terms.view(), terms.slice(s![..;-1])] {
                let var = terms.reduce_to_shape((), Var::new()).unwrap().into_scalar();
                let is_near = (var / expected - 1.).abs() < 1e-12 || var == expected;
                assert!(is_near, "{len} {var} {expected}");
            }
        };
        let share = 1. / len as f64;
        check(first(0., 1e152), 1e304 * share * (1. - share));
        check(first(1e200, -1e200), f64::INFINITY);
        check(first(0., 1e200), f64::INFINITY);
    }
}

/// The squares of these terms are so small that they are rounded to 0 or to the least number above
/// it. The square of their sum is not, and it is subtracted.
#[test]
fn the_variance_of_tiny_terms_is_not_negative() {
    for (count, tiny, period) in [(20, 8e-163, 7), (20, 4e-163, 21), (33, 4e-163, 7)] {
        let terms = Array1::from_shape_fn(count, |i| if i % period == 0 { 0. } else { tiny });
        let of_sample = |ddof| terms.reduce_to_shape((), Std::new().ddof(ddof)).unwrap();
        let std: f64 = of_sample(count - 1).into_scalar();
        assert!(std >= 0., "{count} {std}");
    }
}

#[test]
fn too_few_terms_for_a_variance_are_an_error() {
    let x = array![[1_f32, 2.], [3., 4.]];
    let error = x.reduce_axes_keepdims([1], Var::new().ddof(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot reduce [2, 2] by var: it needs 3 terms, and there are 2"
    );
    let error = x.reduce_axes_keepdims([1], Std::new().ddof(usize::MAX));
    assert!(matches!(
        error.unwrap_err().kind(),
        ErrorKind::TooFewTerms {
            terms: 2,
            least: usize::MAX,
            ..
        }
    ));
    // A part may have fewer terms than that. No result needs no terms.
    let terms = Array1::from_shape_fn(1025, |i| i as f64);
    let plan = BroadcastPlan::numpy(1, 1025).unwrap();
    let (var, mut parts) = (
        Var::new().ddof(1),
        Accumulation::new(&plan, Var::new().ddof(1)),
    );
    for range in [1024..1025, 0..1024] {
        let part = Part::new(
            &plan,
            &Tile::new(&plan, std::slice::from_ref(&range)).unwrap(),
        )
        .unwrap();
        parts
            .merge(part.reduce(&terms.slice(ndarray::s![range]), var).unwrap())
            .unwrap();
    }
    assert_eq!(
        parts.finish(&plan).unwrap(),
        plan.reduce(&terms, var).unwrap()
    );
    let few = BroadcastPlan::numpy(1, 0).unwrap();
    let none = Accumulation::<f64, _>::new(&few, var)
        .finish(&few)
        .unwrap_err();
    assert!(matches!(
        none.kind(),
        ErrorKind::TooFewTerms {
            terms: 0,
            least: 2,
            ..
        }
    ));
    for terms in 0..5 {
        let empty = ArrayD::<f32>::zeros(vec![7, 0, terms]);
        let results = empty.reduce_axes(2, Var::new().ddof(2));
        assert_eq!(results.is_ok(), terms > 2, "{terms} terms");
    }
    assert!(
        Array2::<f32>::zeros((0, 3))
            .reduce_axes_keepdims([1], Var::new())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn logarithms_of_sums_of_exponentials_are_near_the_exact_ones() {
    fn of<F: Float>()
    where
        LogSumExp: Reduction<F, Out = F, Acc: AccumulatorBytes>,
    {
        // The result may be the difference of two larger numbers.
        let near = |a: F, b: F| {
            let size = b.value().abs().max(8.);
            (a.value() - b.value()).abs() <= 4. * 2_f64.powi(-F::DIGITS) * size
        };
        let exact = |terms: &[F]| {
            let terms = terms.iter().map(|term| term.value());
            let max = terms.clone().fold(f64::NEG_INFINITY, f64::max);
            // With the error of each addition, which is exact.
            let sum = terms.map(|term| (term - max).exp());
            let (sum, lost) = sum.fold((0_f64, 0_f64), |(sum, lost), term| {
                let next = sum + term;
                let rounded = next - sum;
                (next, lost + (sum - (next - rounded)) + (term - rounded))
            });
            let sum = sum + lost;
            Some(F::of(if max.is_infinite() {
                max
            } else {
                max + sum.ln()
            }))
        };
        check(|i| F::of(eighths(i)), LogSumExp, exact, near);
        check(|i| F::of(1000. + 50. * eighths(i)), LogSumExp, exact, near);
        check(|_| F::of(f64::NEG_INFINITY), LogSumExp, exact, |_, _| false);
        let rarely = |at| {
            move |i| match i % 7 {
                3 => F::of(at),
                _ => F::of(eighths(i)),
            }
        };
        check(rarely(f64::NEG_INFINITY), LogSumExp, exact, near);
        check(rarely(f64::INFINITY), LogSumExp, exact, near);
        let or_nan = |terms: &[F]| {
            let nan = terms.iter().any(|term| term.value().is_nan());
            if nan {
                Some(F::of(f64::NAN))
            } else {
                exact(terms)
            }
        };
        check(rarely(f64::NAN), LogSumExp, or_nan, near);
    }
    of::<f32>();
    of::<f64>();
    of::<f16>();
    of::<bf16>();
}

#[test]
fn norms_and_sums_without_nan_are_those_of_the_terms() {
    fn of<F: Float + Averaged>()
    where
        L1: Reduction<F, Out = F, Acc: AccumulatorBytes>,
        L2: Reduction<F, Out = F, Acc: AccumulatorBytes>,
        SumSquare: Reduction<F, Out = F, Acc: AccumulatorBytes>,
        LogSum: Reduction<F, Out = F, Acc: AccumulatorBytes>,
        NanSum: Reduction<F, Out = F, Acc: AccumulatorBytes>,
        NanMean: Reduction<F, Out = F, Acc: AccumulatorBytes>,
    {
        // All sums are exact in `f32`.
        fn sum<F: Float>(f: impl Fn(f64) -> f64) -> impl Fn(&[F]) -> f64 {
            move |terms| terms.iter().map(|term| f(term.value())).sum()
        }
        let value = |i| F::of(eighths(i));
        let near = |a: F, b| a.within(1., b);
        check(value, L1, |terms| Some(F::of(sum(f64::abs)(terms))), near);
        check(
            value,
            SumSquare,
            |terms| Some(F::of(sum(|x| x * x)(terms))),
            near,
        );
        check(
            value,
            L2,
            |terms| Some(F::of(sum(|x| x * x)(terms).sqrt())),
            near,
        );
        let positive = |i| F::of(eighths(i) + 7.);
        check(
            positive,
            LogSum,
            |terms| Some(F::of(sum(|x| x)(terms).ln())),
            near,
        );
        let with_nan = |i: usize| F::of(if i % 10 == 3 { f64::NAN } else { eighths(i) });
        let no_nan = |x: f64| if x.is_nan() { 0. } else { x };
        // A sum of no terms is 0.0, and a mean NaN.
        check(
            with_nan,
            NanSum,
            |terms| Some(F::of(sum(no_nan)(terms))),
            |a, b| a.within(1., b) || a.value() == 0. && b.value() == 0.,
        );
        let mean = |terms: &[F]| {
            let count = terms.iter().filter(|term| !term.value().is_nan()).count();
            Some(F::of(sum(no_nan)(terms) / count as f64))
        };
        check(with_nan, NanMean, mean, |a, b| {
            a.within(1., b) || a.value() == 0. && b.value() == 0.
        });
    }
    of::<f32>();
    of::<f64>();
    of::<f16>();
    of::<bf16>();
    let value = |i: usize| (i * 37 % 97) as i32 - 40;
    check(
        value,
        L1,
        |terms| Some(terms.iter().map(|x| x.abs()).sum()),
        |_, _| false,
    );
    check(
        value,
        SumSquare,
        |terms| Some(terms.iter().map(|x| x * x).sum()),
        |_, _| false,
    );
}

/// A tenth of 4350 rows is NaN.
#[test]
fn the_mean_of_many_halves_without_nan_is_that_of_the_others() {
    let value = |i| {
        if i % 10 == 0 {
            f16::NAN
        } else {
            f16::from_f32(272.25)
        }
    };
    let rows = Array2::from_shape_fn((4350, 2), |(i, _)| value(i));
    let mean = rows.reduce_axes_keepdims([0], NanMean).unwrap();
    assert_eq!(mean, array![[f16::from_f32(272.25), f16::from_f32(272.25)]]);
}

/// The mean of no terms is an error for this type. That of terms which are all NaN is not.
#[test]
fn the_mean_of_nan_alone_is_nan_for_a_type_of_the_caller() {
    #[derive(Clone, Copy, PartialEq)]
    struct Celsius(f64);

    impl Averaged for Celsius {
        type Acc = f64;

        fn to_acc(self) -> f64 {
            self.0
        }

        fn mean(sum: f64, count: usize) -> Self {
            Celsius(sum / count as f64)
        }

        fn of_none() -> Option<Self> {
            None
        }
    }

    let days = array![[f64::NAN, f64::NAN], [f64::NAN, 8.]].mapv(Celsius);
    let means = days.reduce_axes(1, NanMean).unwrap();
    assert!(means[0].0.is_nan());
    assert_eq!(means[1].0, 8.);
    assert!(
        days.reduce_axes_keepdims([0_usize; 0], NanMean).unwrap()[[0, 0]]
            .0
            .is_nan()
    );
    assert!(
        Array1::<f64>::zeros(0)
            .mapv(Celsius)
            .reduce_axes(0, NanMean)
            .is_err()
    );
}

#[test]
fn means_of_integers_are_exact_and_round_towards_zero() {
    macro_rules! mean {
        ($($T:ty)*) => {$(
            let mean = |terms: &[$T]| {
                let sum: i128 = terms.iter().map(|&term| i128::from(term)).sum();
                (!terms.is_empty()).then(|| (sum / terms.len() as i128) as $T)
            };
            let value = |i: usize| <$T>::MAX - (i * 37 % 97) as $T;
            check(value, Mean, mean, |_, _| false);
        )*};
    }
    mean!(u8 i8 i32 u64 i64);
    let value = |i: usize| i64::MIN + (i % 5) as i64;
    let mean = |terms: &[i64]| {
        let sum: i128 = terms.iter().map(|&term| i128::from(term)).sum();
        (!terms.is_empty()).then(|| (sum / terms.len() as i128) as i64)
    };
    check(value, Mean, mean, |_, _| false);
    let large = Array1::from_elem(999, 132_542_363_533_234_561_u64);
    let mean = large.reduce_to_shape((), Mean).unwrap().into_scalar();
    assert_eq!(mean, 132_542_363_533_234_561);
    let complex = array![
        num_complex::Complex::new(1_f64, 2.),
        num_complex::Complex::new(2., 5.)
    ];
    let mean = complex.reduce_to_shape((), Mean).unwrap().into_scalar();
    assert_eq!(mean, num_complex::Complex::new(1.5, 3.5));
    let none = complex.slice(ndarray::s![..0]);
    let mean = none.reduce_to_shape((), Mean).unwrap().into_scalar();
    assert!(mean.re.is_nan() && mean.im.is_nan());
}

#[test]
fn counts_are_those_of_the_terms_that_are_not_zero() {
    let count = |terms: &[bool]| Some(terms.iter().filter(|&&term| term).count());
    check(|i| i % 3 == 1, Count, count, |_, _| false);
    let count = |terms: &[u8]| Some(terms.iter().filter(|&&term| term != 0).count() as i64);
    check(
        |i| (i % 300) as u8,
        Count.in_type::<i64>(),
        count,
        |_, _| false,
    );
    let value = |i| [0., -0., 1., f32::NAN, -1e-45][i % 5];
    let count = |terms: &[f32]| Some(terms.iter().filter(|&&term| term != 0.).count());
    check(value, Count, count, |_, _| false);
}

#[test]
fn positions_are_those_of_the_last_or_the_first_of_ties() {
    /// The last position at which `better` holds, compared with the best before it.
    fn last<T: Copy + PartialOrd>(terms: &[T], better: fn(T, T) -> bool) -> Option<usize> {
        let nan = |term: T| term.partial_cmp(&term).is_none();
        let mut best = 0;
        for (i, &term) in terms.iter().enumerate() {
            if nan(term) || (!nan(terms[best]) && better(term, terms[best])) {
                best = i;
            }
        }
        (!terms.is_empty()).then_some(best)
    }
    let never = |_, _| false;
    let value = |i: usize| (i * 37 % 11) as i32;
    check(value, LastArgMax, |terms| last(terms, |a, b| a >= b), never);
    check(value, LastArgMin, |terms| last(terms, |a, b| a <= b), never);
    let value = |i: usize| {
        if i % 131 == 3 {
            f32::NAN
        } else {
            (i % 7) as f32
        }
    };
    check(value, LastArgMax, |terms| last(terms, |a, b| a >= b), never);
    check(value, LastArgMin, |terms| last(terms, |a, b| a <= b), never);
    // In another type, the first of ties is found as fast as in `usize`, in the same way.
    let first = |terms: &[f32]| {
        let (max, mut best) = (terms.iter().copied().fold(f32::MIN, f32::max), None);
        for (i, &term) in terms.iter().enumerate().rev() {
            best = if term == max { Some(i as i64) } else { best };
        }
        best
    };
    let value = |i: usize| (i * 37 % 11) as f32;
    check(value, ArgMax.in_type::<i64>(), first, |_, _| false);
}

/// An array of digits, axes, and the count of digits that are not 0, the last position of the
/// largest, of the smallest, and of the smallest if 9 is not a number.
struct Digits {
    digits: ArrayD<u8>,
    axes: Vec<usize>,
    expected: [ArrayD<usize>; 4],
}

fn digits() -> Vec<Digits> {
    fn last(terms: &[u8], digit: u8) -> Option<usize> {
        terms.iter().rposition(|&term| term == digit)
    }
    let mut all = Vec::new();
    for shape in [&[5][..], &[7, 5], &[300, 17], &[17, 300], &[2, 3, 700]] {
        let digit = |i: usize| {
            if i % 131 == 3 {
                9
            } else {
                (i * 37 % 97 % 9) as u8
            }
        };
        let len = shape.iter().product();
        let digits = ArrayD::from_shape_vec(shape, (0..len).map(digit).collect()).unwrap();
        for set in 1..1 << shape.len() {
            let axes: Vec<usize> = (0..shape.len())
                .filter(|axis| set >> axis & 1 == 1)
                .collect();
            let terms = |index: &IxDyn| {
                let mut terms = digits.view();
                for axis in (0..shape.len()).filter(|axis| !axes.contains(axis)) {
                    terms.collapse_axis(Axis(axis), index[axis]);
                }
                terms.iter().copied().collect::<Vec<u8>>()
            };
            let mut results = shape.to_vec();
            axes.iter().for_each(|&axis| results[axis] = 1);
            let of = |result: fn(&[u8]) -> usize| {
                ArrayD::from_shape_fn(&results[..], |index| result(&terms(&index)))
            };
            all.push(Digits {
                expected: [
                    of(|terms| terms.iter().filter(|&&term| term != 0).count()),
                    of(|terms| last(terms, *terms.iter().max().unwrap()).unwrap()),
                    of(|terms| last(terms, *terms.iter().min().unwrap()).unwrap()),
                    of(|terms| {
                        last(terms, 9)
                            .or(last(terms, *terms.iter().min().unwrap()))
                            .unwrap()
                    }),
                ],
                digits: digits.clone(),
                axes,
            });
        }
    }
    all
}

/// Positions are usize whatever the terms are, so what is expected is computed once.
#[test]
fn counts_and_last_positions_are_the_same_in_every_type_and_layout() {
    fn same<T: Copy + Send + Sync, R: Reduction<T, Out = usize> + Copy>(
        all: &[Digits],
        of: fn(u8) -> T,
        reduction: R,
        expected: usize,
    ) {
        for case in all {
            for terms in layouts(&case.digits.mapv(of)) {
                let found = terms.reduce_axes_keepdims(&case.axes, reduction).unwrap();
                assert_eq!(
                    found,
                    case.expected[expected],
                    "{}",
                    std::any::type_name::<(T, R)>()
                );
            }
        }
    }
    let all = digits();
    macro_rules! every {
        ($($T:ty: $smallest:literal, $of:expr;)*) => {$(
            same::<$T, _>(&all, $of, Count, 0);
            same::<$T, _>(&all, $of, LastArgMax, 1);
            same::<$T, _>(&all, $of, LastArgMin, $smallest);
        )*};
    }
    every! {
        u8: 2, |digit| digit;
        u16: 2, u16::from;
        u32: 2, u32::from;
        u64: 2, u64::from;
        usize: 2, usize::from;
        i8: 2, |digit| digit as i8;
        i16: 2, i16::from;
        i32: 2, i32::from;
        i64: 2, i64::from;
        isize: 2, isize::from;
        f32: 3, |digit| if digit == 9 { f32::NAN } else { digit.into() };
        f64: 3, |digit| if digit == 9 { f64::NAN } else { digit.into() };
        f16: 3, |digit| if digit == 9 { f16::NAN } else { digit.into() };
        bf16: 3, |digit| if digit == 9 { bf16::NAN } else { digit.into() };
    }
    same::<bool, _>(&all, |digit| digit != 0, Count, 0);
    same::<num_complex::Complex<f32>, _>(
        &all,
        |digit| num_complex::Complex::new(0., digit.into()),
        Count,
        0,
    );
}

#[test]
fn values_for_no_terms_and_other_results_leave_all_else_as_it_is() {
    let value = |i: usize| eighths(i) as f32;
    let max = |terms: &[f32]| Some(terms.iter().copied().fold(f32::MIN, f32::max));
    check(value, Max.or(f32::MIN), max, |_, _| false);
    let min = |terms: &[f32]| Some(terms.iter().copied().fold(7., f32::min));
    check(value, NanMin.or(7.), min, |_, _| false);
    let position = |terms: &[u8]| Some(terms.iter().rposition(|&x| x == 0).unwrap_or(99));
    check(|_| 0_u8, LastArgMin.or(99), position, |_, _| false);
    let position = |terms: &[f32]| {
        let first = |max: f32| terms.iter().position(|&term| term == max);
        first(max(terms).unwrap()).map(|position| position + 1)
    };
    check(
        value,
        Then::new(ArgMax, |position: usize| position + 1),
        position,
        |_, _| false,
    );
    check(
        |i| i % 3 == 1,
        Then::new(Any, |any: bool| !any),
        |terms: &[bool]| Some(!terms.contains(&true)),
        |_, _| false,
    );
}

/// `true` and `false` at the ends, in the middle and nowhere, of terms on both sides of the number
/// that is looked at first.
#[test]
fn any_and_all_of_many_terms_are_found_wherever_they_are() {
    let first = 64 * 1024;
    // Only `ALL_CASES` has rows of more than a few chunks.
    let long = if crate::all_cases() { 40 } else { 8 };
    for len in [first - 1, first, first + 1, long * first + 7] {
        let places = [0, 1, first / 2, first, 3 * first, len - 1];
        let places = places.iter().filter(|&&place| place < len);
        for place in places.map(Some).chain([None]) {
            let mut terms = Array2::from_elem((len, 2), false);
            if let Some(&place) = place {
                terms[[place, 1]] = true;
            }
            let any = [false, place.is_some()];
            let found = terms.reduce_axes_keepdims([0], Any).unwrap();
            assert_eq!(found, array![any], "{len} {place:?}");
            let turned = terms.t().as_standard_layout().into_owned();
            let all = BroadcastPlan::over_axes((2, len), [1]).unwrap();
            let found = zip(&turned).reduce(&all, All, |term| !term).unwrap();
            assert_eq!(found, array![[!any[0]], [!any[1]]], "{len} {place:?}");
            let mut out = array![[true, true]];
            let columns = BroadcastPlan::over_axes((len, 2), [0]).unwrap();
            columns.reduce_into(&terms, Any, &mut out).unwrap();
            assert_eq!(out, array![any], "{len} {place:?}");
        }
    }
}

/// Elements of which every addition is written down.
#[test]
fn sums_of_clones_have_every_term_once_and_in_order() {
    #[derive(Clone, Debug, PartialEq)]
    struct Text(String);
    impl std::ops::Add for Text {
        type Output = Text;
        fn add(self, other: Text) -> Text {
            Text(self.0 + &other.0)
        }
    }
    impl num_traits::Zero for Text {
        fn zero() -> Text {
            Text(String::new())
        }
        fn is_zero(&self) -> bool {
            self.0.is_empty()
        }
    }
    for shape in [&[][..], &[3], &[2, 3], &[2, 0, 3], &[0, 2], &[2, 3, 4]] {
        let len: usize = shape.iter().product();
        let numbers = ArrayD::from_shape_vec(shape, (0..len).collect()).unwrap();
        for set in 0..1 << shape.len() {
            let kept: Vec<usize> = (0..shape.len())
                .filter(|axis| set >> axis & 1 == 1)
                .collect();
            let input: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
            let plan = BroadcastPlan::explicit(IxDyn(&input), IxDyn(shape), &kept).unwrap();
            let mut expected = ArrayD::from_elem(input, Text(String::new()));
            for (index, number) in numbers.indexed_iter() {
                let place: Vec<usize> = kept.iter().map(|&axis| index[axis]).collect();
                expected[&place[..]].0 += &format!("{number},");
            }
            for numbers in layouts(&numbers) {
                let texts = numbers.map(|number| Text(format!("{number},")));
                assert_eq!(
                    texts.sum_cloned(&plan).unwrap(),
                    expected,
                    "{shape:?} {kept:?}"
                );
            }
        }
    }
    let texts = array![["a", "b"], ["c", "d"]].map(|&text: &&str| Text(text.into()));
    let columns = texts.sum_to_shape_cloned(2).unwrap();
    assert_eq!(columns, array![Text("ac".into()), Text("bd".into())]);
    assert!(texts.sum_to_shape_cloned(3).is_err());
}

#[test]
fn a_product_of_lanes_can_be_nan_where_that_in_order_is_zero() {
    let mut terms = Array1::from_elem(40, 1_f64);
    (terms[0], terms[1], terms[17]) = (0., 1e200, 1e200);
    let product = terms.reduce_to_shape((), Product).unwrap().into_scalar();
    assert!(product.is_nan());
    let in_order = Fold::new(1., |a, b| a * b);
    assert_eq!(
        terms.reduce_to_shape((), in_order).unwrap().into_scalar(),
        0.
    );
}

/// After the first terms have decided, no other is read.
#[test]
fn any_and_all_do_not_read_what_cannot_change_them() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    let terms = Array1::from_elem(2_000_000, true);
    let plan = BroadcastPlan::numpy(1, terms.len()).unwrap();
    for (any, expected) in [(true, true), (false, false)] {
        let calls = AtomicUsize::new(0);
        let count = |term: bool| {
            calls.fetch_add(1, Relaxed);
            term == any
        };
        let found = match any {
            true => zip(&terms).reduce(&plan, Any, count),
            false => zip(&terms).reduce(&plan, All, count),
        };
        assert_eq!(found.unwrap(), array![expected]);
        assert!(calls.load(Relaxed) < 100_000);
    }
}

#[test]
fn results_that_the_first_terms_decide_are_added() {
    let terms = Array1::from_elem(100_000, true);
    let plan = BroadcastPlan::numpy((), terms.len()).unwrap();
    let mut out = ndarray::arr0(10);
    let any = Then::new(Any, i32::from);
    zip(&terms)
        .reduce_accumulate(&plan, any, &mut out, identity)
        .unwrap();
    assert_eq!(out.into_scalar(), 11);
}
