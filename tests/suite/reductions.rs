//! Reductions, of arrays and of maps, against NumPy's recorded answers, against an oracle index by
//! index, and against the gradient of the mapped array.

use crate::common::split_mix;
use ndarray::{
    Array1, Array2, ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder, Slice,
    array,
};
use ndarray_broadcast::distributed::Accumulation;
use ndarray_broadcast::error::ArrayRole;
use ndarray_broadcast::infer::PartialShape;
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::Reduction;
use serde_json::Value;
use std::convert::identity;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pseudo-random values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A multiple of 2^-20 in -1..1.
    fn float(&mut self) -> f32 {
        (self.next() >> 43) as f32 / (1 << 20) as f32 - 1.0
    }

    /// An array of the shape whose axes lie in any order in memory, some of them with gaps or
    /// backwards.
    fn laid_out<T: Clone>(
        &mut self,
        shape: &[usize],
        mut value: impl FnMut(&mut Self) -> T,
    ) -> ArrayD<T> {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for i in (1..shape.len()).rev() {
            order.swap(i, self.below(i + 1));
        }
        let steps: Vec<isize> = shape
            .iter()
            .map(|_| [1, 1, -1, 2, -3][self.below(5)])
            .collect();
        let sizes: Vec<usize> = order
            .iter()
            .map(|&axis| shape[axis] * steps[axis].unsigned_abs())
            .collect();
        let memory = ArrayD::from_shape_simple_fn(sizes, || value(self));
        let mut back = vec![0; shape.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(place, &axis)| back[axis] = place);
        let mut array = memory.permuted_axes(back);
        array.slice_each_axis_inplace(|axis| Slice::new(0, None, steps[axis.axis.0]));
        array
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) => text.parse().unwrap(),
        value => value.as_f64().unwrap(),
    }
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(number).collect()
}

fn sizes(values: &Value) -> Vec<usize> {
    let values = values.as_array().unwrap().iter();
    values
        .map(|value| value.as_u64().unwrap() as usize)
        .collect()
}

/// The result as numbers; `None` if the reduction is refused because there are no terms. To a shape
/// and over axes it is the same.
fn answer<T: Copy + Sync, R: Reduction<T> + Copy>(
    terms: &ArrayD<T>,
    to: &[usize],
    reduction: R,
    number: impl Fn(R::Out) -> f64,
) -> Option<Vec<f64>> {
    let axes: Vec<usize> = (0..to.len()).filter(|&axis| to[axis] == 1).collect();
    let over_axes = terms.reduce_axes_keepdims(&axes, reduction);
    match terms.reduce_to_shape(IxDyn(to), reduction) {
        Ok(result) => {
            let numbers: Vec<_> = result.iter().map(|&out| number(out)).collect();
            for result in [result, over_axes.unwrap()] {
                assert_eq!(result.shape(), to);
                let bits = result.iter().map(|&out| number(out).to_bits());
                assert!(bits.eq(numbers.iter().map(|number| number.to_bits())));
            }
            Some(numbers)
        }
        Err(error) => {
            assert!(
                matches!(error.kind(), ErrorKind::TooFewTerms { .. }),
                "{error}"
            );
            assert_eq!(over_axes.map(drop), Err(error));
            None
        }
    }
}

macro_rules! answer_in {
    ($T:ty, $operation:expr, $terms:expr, $to:expr; $($name:literal $reduction:expr),*) => {{
        let terms = $terms.mapv(|value| value as $T);
        match $operation {
            "argmax" => answer(&terms, $to, ArgMax, |index| index as f64),
            "argmin" => answer(&terms, $to, ArgMin, |index| index as f64),
            $($name => answer(&terms, $to, $reduction, |value| value as f64),)*
            other => panic!("{other}"),
        }
    }};
}

#[test]
fn reductions_agree_with_numpy() {
    let file: Value = serde_json::from_str(include_str!("../data/reductions/numpy.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 600);
    for case in cases {
        let (operation, kind) = (case[0].as_str().unwrap(), case[1].as_str().unwrap());
        let (shape, axes) = (sizes(&case[2]), sizes(&case[3]));
        let terms = ArrayD::from_shape_vec(shape.clone(), numbers(&case[4])).unwrap();
        let mut to = shape.clone();
        axes.iter().for_each(|&axis| to[axis] = 1);
        let found = match kind {
            "float64" => {
                answer_in!(f64, operation, terms, &to; "sum" Sum, "product" Product, "max" Max,
                "min" Min, "nanmax" NanMax, "nanmin" NanMin, "mean" Mean)
            }
            "int64" => {
                answer_in!(i64, operation, terms, &to; "sum" Sum, "product" Product, "max" Max,
                "min" Min)
            }
            _ => {
                let terms = terms.mapv(|value| value != 0.);
                let number = |value| f64::from(u8::from(value));
                match operation {
                    "all" => answer(&terms, &to, All, number),
                    _ => answer(&terms, &to, Any, number),
                }
            }
        };
        let expected = case[5].is_array().then(|| numbers(&case[5]));
        let equal = |a: &[f64], b: &[f64]| {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
        };
        let agree = match (&found, &expected) {
            (Some(found), Some(expected)) => equal(found, expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(agree, "{case}\nfound {found:?}");
    }
}

fn plan(shape: &[usize], reduced: &[usize]) -> BroadcastPlan {
    let kept: Vec<usize> = (0..shape.len())
        .filter(|axis| !reduced.contains(axis))
        .collect();
    let input: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    BroadcastPlan::explicit(IxDyn(&input), IxDyn(shape), &kept).unwrap()
}

/// The terms of each result, in order.
fn terms_of<T: Copy>(terms: &ArrayViewD<'_, T>, reduced: &[usize]) -> Vec<Vec<T>> {
    let kept: Vec<usize> = (0..terms.ndim())
        .filter(|axis| !reduced.contains(axis))
        .collect();
    let order: Vec<usize> = kept.iter().chain(reduced).copied().collect();
    let count = kept.iter().map(|&axis| terms.shape()[axis]).product();
    let all: Vec<T> = terms.view().permuted_axes(order).iter().copied().collect();
    match all.len() {
        0 => vec![vec![]; count],
        len => all.chunks(len / count).map(<[T]>::to_vec).collect(),
    }
}

/// Shapes around the sizes where the strategy changes, with the axes to reduce.
const CASES: &[(&[usize], &[usize])] = &[
    (&[], &[]),
    (&[5], &[0]),
    (&[3000], &[0]),
    (&[4, 5], &[]),
    (&[130, 3], &[0]),
    (&[3, 130], &[1]),
    (&[2, 1100], &[1]),
    (&[1100, 2], &[0]),
    (&[300, 40], &[0]),
    (&[40, 300], &[1]),
    (&[700, 9], &[1]),
    (&[9, 2, 70, 2], &[0, 2]),
    (&[9, 2, 70, 2], &[1, 3]),
    (&[2, 300, 2, 2], &[1]),
    (&[4, 250, 3], &[0]),
    (&[5, 6, 7, 8, 3], &[1, 4]),
    (&[2, 3, 2, 3, 2, 3, 2, 3, 2, 3], &[0, 3, 5, 8]),
    (&[3, 0, 2], &[1]),
];

#[test]
fn every_layout_is_reduced_as_index_by_index() {
    let mut random = Random(1);
    for &(shape, reduced) in CASES {
        for _ in 0..4 {
            let a = random.laid_out(shape, |random| {
                [f32::NAN, -2., 1., 3., 0.5][random.below(5)]
            });
            let plan = plan(shape, reduced);
            let lists = terms_of(&a.view(), reduced);
            if lists.iter().any(Vec::is_empty) {
                assert!(plan.reduce(&a, ArgMax).is_err());
                assert!(
                    plan.reduce(&a, Mean)
                        .unwrap()
                        .iter()
                        .all(|mean| mean.is_nan())
                );
                continue;
            }
            let first = |better: fn(f32, f32) -> bool| {
                let position = move |list: &Vec<f32>| {
                    let nan = list.iter().position(|value| value.is_nan());
                    let others =
                        (1..list.len()).fold(0, |best, i| match better(list[i], list[best]) {
                            true => i,
                            false => best,
                        });
                    nan.unwrap_or(others)
                };
                lists.iter().map(position).collect::<Vec<_>>()
            };
            let (largest, smallest) = (first(|a, b| a > b), first(|a, b| a < b));
            let what = || format!("{shape:?} {:?} {reduced:?}", a.strides());
            assert!(
                plan.reduce(&a, ArgMax).unwrap().iter().eq(&largest),
                "{}",
                what()
            );
            assert!(
                plan.reduce(&a, ArgMin).unwrap().iter().eq(&smallest),
                "{}",
                what()
            );
            let chosen = |places: &[usize]| -> Vec<f32> {
                lists
                    .iter()
                    .zip(places)
                    .map(|(list, &place)| list[place])
                    .collect()
            };
            let same = |found: ArrayD<f32>, expected: &[f32]| {
                let mut pairs = found.iter().zip(expected);
                found.len() == expected.len()
                    && pairs.all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
            };
            assert!(
                same(plan.reduce(&a, Max).unwrap(), &chosen(&largest)),
                "{}",
                what()
            );
            let mut out = ArrayD::zeros(plan.input_dim());
            plan.reduce_into(&a, Min, &mut out).unwrap();
            assert!(same(out, &chosen(&smallest)), "{}", what());
            let without: Vec<f32> = (lists.iter())
                .map(|list| list.iter().copied().fold(f32::NAN, f32::max))
                .collect();
            assert!(
                same(plan.reduce(&a, NanMax).unwrap(), &without),
                "{}",
                what()
            );
            let any: Vec<bool> = lists.iter().map(|list| list.contains(&3.)).collect();
            assert!(
                zip(&a)
                    .reduce(&plan, Any, |a| a == 3.)
                    .unwrap()
                    .iter()
                    .eq(&any),
                "{}",
                what()
            );
            let sums: Vec<i64> = (lists.iter())
                .map(|list| list.iter().map(|&value| (value * 2.) as i64).sum())
                .collect();
            let of_bytes = zip(&a).reduce(&plan, Sum.in_type::<i64, i64>(), |a| (a * 2.) as i8);
            assert!(of_bytes.unwrap().iter().eq(&sums), "{}", what());
        }
    }
}

/// Exact reductions combine terms in the order of memory.
#[test]
fn exact_reductions_are_the_same_in_every_layout() {
    let larger: &[(&[usize], &[usize])] = &[
        (&[300, 700], &[0, 1]),
        (&[40, 50, 60], &[0, 1, 2]),
        (&[17, 3, 5000], &[0, 2]),
        (&[20, 300, 30], &[1, 2]),
        (&[7, 9, 11, 200], &[0, 2, 3]),
    ];
    let mut random = Random(7);
    for &(shape, reduced) in CASES.iter().chain(larger) {
        for _ in 0..4 {
            let a = random.laid_out(shape, |random| random.next() as u8);
            let b = random.laid_out(shape, |random| random.next() as i32 >> 8);
            let plan = plan(shape, reduced);
            let expected = |of: &dyn Fn(&[(u8, i32)]) -> i64| -> Vec<i64> {
                let both = ndarray::Zip::from(&a).and(&b).map_collect(|&a, &b| (a, b));
                let lists = terms_of(&both.view(), reduced);
                lists.iter().map(|list| of(list)).collect()
            };
            let check = |found: ArrayD<i64>, of: &dyn Fn(&[(u8, i32)]) -> i64| {
                let what = || format!("{shape:?} {:?} {:?} {reduced:?}", a.strides(), b.strides());
                assert!(found.iter().eq(&expected(of)), "{}", what());
            };
            let largest = |list: &[(u8, i32)]| list.iter().map(|x| x.0).max().unwrap_or(0).into();
            check(
                plan.reduce(&a, Max.or(0)).unwrap().mapv(i64::from),
                &largest,
            );
            let sum = |list: &[(u8, i32)]| list.iter().map(|x| i64::from(x.0)).sum();
            check(plan.reduce(&a, Sum.in_type::<i64, i64>()).unwrap(), &sum);
            let sum = |list: &[(u8, i32)]| {
                let sum = list.iter().fold(0, |sum: i32, x| sum.wrapping_add(x.1));
                i64::from(sum)
            };
            let wrapping = zip(&b).reduce(&plan, Sum, std::num::Wrapping);
            check(wrapping.unwrap().mapv(|sum| i64::from(sum.0)), &sum);
            let products = zip((&a, &b)).reduce(&plan, Sum, |(a, b)| i64::from(a) * i64::from(b));
            let of = |x: &(u8, i32)| i64::from(x.0) * i64::from(x.1);
            check(products.unwrap(), &|list| list.iter().map(of).sum());
            let count = plan.reduce(&a, Count.in_type::<i64>()).unwrap();
            check(count, &|list| {
                list.iter().filter(|x| x.0 != 0).count() as i64
            });
            let any = zip(&b).reduce(&plan, Any, |b| b >> 8 == 5);
            let of = |list: &[(u8, i32)]| list.iter().any(|x| x.1 >> 8 == 5).into();
            check(any.unwrap().mapv(i64::from), &of);
            let all = plan.reduce(&a.mapv(|a| a < 255), All).unwrap();
            let of = |list: &[(u8, i32)]| list.iter().all(|x| x.0 < 255).into();
            check(all.mapv(i64::from), &of);
        }
    }
}

/// The terms of a result that are nearer than the columns, and those that are further, around the
/// numbers of them where memory is walked in another way.
#[test]
fn exact_reductions_are_the_same_for_any_number_of_near_terms() {
    let mut random = Random(3);
    let nears = [1, 2, 31, 32, 511, 512].into_iter();
    for (near, far) in nears.flat_map(|near| [2, 63, 64, 300].map(|far| (near, far))) {
        // The fewer the terms, the more often all of them are zeros.
        let values = [-0., 0., -1., -2.5];
        let memory = ArrayD::from_shape_simple_fn(vec![far, 3, near], || {
            values[random.below(if near > 2 { 2 } else { 4 })]
        });
        for (order, backwards) in [([0, 1, 2], false), ([2, 1, 0], false), ([2, 1, 0], true)] {
            let mut a = memory.view().permuted_axes(&order[..]);
            if backwards {
                a.invert_axis(Axis(0));
            }
            let plan = plan(a.shape(), &[0, 2]);
            let what = format!("{near} {far} {order:?} {backwards}");
            let lists = terms_of(&a, &[0, 2]);
            let largest = |list: &Vec<f32>| list.iter().copied().fold(f32::MIN, f32::max) + 0.;
            let largest: Vec<u32> = lists.iter().map(|list| largest(list).to_bits()).collect();
            let found = plan.reduce(&a, Max).unwrap().mapv(f32::to_bits);
            assert!(found.iter().eq(&largest), "{what}");
            let sums = |list: &Vec<f32>| list.iter().map(|&x| x as i64).sum();
            let sums: Vec<i64> = lists.iter().map(sums).collect();
            let found = zip(&a).reduce(&plan, Sum, |x| x as i64).unwrap();
            assert!(found.iter().eq(&sums), "{what}");
        }
    }
}

/// Which of several zeros comes first in memory depends on the layout.
#[test]
fn a_maximum_or_minimum_that_is_zero_is_positive_zero() {
    fn check(reduction: impl Reduction<f32, Out = f32> + Reduction<f64, Out = f64> + Copy) {
        let single = |zeros: &[f32]| {
            let zeros = Array1::from(zeros.to_vec());
            let found = zeros.reduce_to_shape((), reduction).unwrap();
            found.into_scalar().to_bits()
        };
        let double = |zeros: &[f32]| {
            let zeros = Array1::from_iter(zeros.iter().map(|&zero| f64::from(zero)));
            let found = zeros.reduce_to_shape((), reduction).unwrap();
            found.into_scalar().to_bits()
        };
        for zeros in [[0., -0.], [-0., 0.], [-0., -0.]] {
            assert_eq!((single(&zeros), double(&zeros)), (0, 0), "{zeros:?}");
        }
        let one = (single(&[-0.]), double(&[-0.]));
        assert_eq!(one, ((-0_f32).to_bits(), (-0_f64).to_bits()));
    }
    check(Max);
    check(Min);
    check(NanMax);
    check(NanMin);
}

/// An associative operation that is not commutative: `x * scale + shift`, one after the other, in
/// wrapping integers.
#[cfg(feature = "rayon")]
fn compose((a, b): (u32, u32), (c, d): (u32, u32)) -> (u32, u32) {
    let shift = b.wrapping_mul(c).wrapping_add(d);
    (a.wrapping_mul(c), shift)
}

#[cfg(feature = "rayon")]
#[test]
fn the_number_of_threads_does_not_change_results() {
    let pools = [1, 2, 3, 16].map(crate::pool::pool);
    let mut random = Random(23);
    for (turn, (shape, reduced)) in [
        (&[300_000][..], &[0][..]),
        (&[300, 1000], &[0]),
        (&[300, 1000], &[1]),
        (&[3, 100_000], &[1]),
        (&[100_000, 3], &[0]),
        (&[20, 30, 500], &[0, 2]),
    ]
    .into_iter()
    .enumerate()
    {
        // A NaN is in some of the results, and terms are equal.
        let a = random.laid_out(shape, |random| match random.below(200_000) {
            0 => f32::NAN,
            n => (n % 1000) as f32 - 300.7,
        });
        let plan = plan(shape, reduced);
        let results = || {
            let folded = zip(&a).reduce(&plan, Fold::new((1, 0), compose), |a| {
                (a.to_bits() | 1, a.to_bits())
            });
            let bits = |array: ArrayD<f32>| array.mapv(f32::to_bits);
            let wide = plan.reduce(&a, Sum.in_type::<f64, f64>()).unwrap();
            (
                [
                    bits(plan.reduce(&a, Max).unwrap()),
                    bits(plan.reduce(&a, NanMin).unwrap()),
                    bits(plan.reduce(&a, Mean).unwrap()),
                    bits(zip(&a).reduce(&plan, Product, |a| 1. + a / 1e6).unwrap()),
                ],
                plan.reduce(&a, ArgMax).unwrap(),
                zip(&a).reduce(&plan, ArgMin, identity).unwrap(),
                wide.mapv(f64::to_bits),
                folded.unwrap(),
            )
        };
        let expected = pools[0].install(results);
        for (i, pool) in pools[1..].iter().enumerate() {
            // Each pool by turns. Chance decides which thread takes what: `ALL_CASES` tries all
            // pools twice.
            let tries = match crate::all_cases() {
                true => 2,
                false => usize::from(i == turn % 3),
            };
            for _ in 0..tries {
                assert!(pool.install(results) == expected, "{shape:?} {reduced:?}");
            }
        }
    }
}

/// The position of the first of equal terms, of an array and of a map, fresh and into an array with
/// gaps.
#[test]
fn positions_are_those_of_the_first_of_equal_terms() {
    fn check<T>(random: &mut Random, value: fn(usize) -> T)
    where
        T: Copy + PartialOrd + Send + Sync + Default + std::fmt::Debug + 'static,
    {
        let large: &[(&[usize], &[usize])] = &[
            (&[70_000], &[0]),
            (&[300, 250], &[0]),
            (&[300, 250], &[1]),
            (&[20, 30, 100], &[0, 2]),
            (&[500, 7], &[1]),
            (&[500, 8], &[1]),
        ];
        for &(shape, reduced) in CASES.iter().chain(large) {
            // The more values there are, the fewer terms are equal.
            for values in [1, 3, 100_000] {
                let a = random.laid_out(shape, |random| value(random.below(values)));
                let lists = terms_of(&a.view(), reduced);
                if lists.iter().any(Vec::is_empty) {
                    continue;
                }
                let first = |better: fn(&T, &T) -> bool| -> Vec<usize> {
                    let position = |list: &Vec<T>| {
                        (0..list.len()).fold(0, |best, i| match better(&list[i], &list[best]) {
                            true => i,
                            false => best,
                        })
                    };
                    lists.iter().map(position).collect()
                };
                let (largest, smallest) = (first(T::gt), first(T::lt));
                let plan = plan(shape, reduced);
                let what = format!("{shape:?} {:?} {reduced:?}, {values} values", a.strides());
                let found = plan.reduce(&a, ArgMax).unwrap();
                assert!(found.iter().eq(&largest), "{what}");
                let found = zip(&a).reduce(&plan, ArgMax, identity).unwrap();
                assert!(found.iter().eq(&largest), "of a map, {what}");
                let mut out = random.laid_out(plan.input_shape(), |_| 0);
                plan.reduce_into(&a, ArgMin, &mut out).unwrap();
                assert!(out.iter().eq(&smallest), "into, {what}");
                zip(&a)
                    .reduce_into(&plan, ArgMax, &mut out, identity)
                    .unwrap();
                assert!(out.iter().eq(&largest), "of a map, into, {what}");
            }
        }
    }
    let mut random = Random(11);
    check(&mut random, |n| n as u8);
    check(&mut random, |n| n as i64 - 2);
    // Zeros of both signs are equal.
    check(&mut random, |n| [-0.0, 0.0, n as f32][n % 3]);
}

/// A pair with a NaN is not equal to itself, and yet less or more than other pairs.
#[test]
fn maxima_and_positions_treat_a_pair_with_a_nan_as_nan() {
    let nan = (1., f64::NAN);
    for len in [3, 20, 40, 130, 1100] {
        for place in [0, 1, 2, len / 2, len - 1] {
            for other in [(0., 0.), (3., 0.)] {
                let mut a = Array2::from_elem((2, len), other);
                a[[1, place]] = nan;
                let is_nan = |pair: &(f64, f64)| pair.1.is_nan();
                let what = format!("{other:?}, a NaN at {place} of {len}");
                for wins in [
                    a.reduce_to_shape((2, 1), Max).unwrap(),
                    a.reduce_to_shape((2, 1), Min).unwrap(),
                ] {
                    assert_eq!(wins[[0, 0]], other, "{what}");
                    assert!(is_nan(&wins[[1, 0]]), "{what}");
                }
                for left_out in [
                    a.reduce_to_shape((2, 1), NanMax).unwrap(),
                    a.reduce_to_shape((2, 1), NanMin).unwrap(),
                ] {
                    assert!(left_out.iter().all(|pair| *pair == other), "{what}");
                }
                for position in [
                    a.reduce_to_shape((2, 1), ArgMax).unwrap(),
                    a.reduce_to_shape((2, 1), ArgMin).unwrap(),
                ] {
                    assert_eq!(position, array![[0], [place]], "{what}");
                }
            }
        }
    }
}

/// NaN wins, or is left out, wherever it is among the terms. So do the largest and smallest terms.
#[test]
fn every_place_of_a_nan_and_of_the_chosen_term_counts() {
    for len in [
        1, 15, 16, 17, 32, 33, 127, 128, 129, 255, 257, 1023, 1025, 1400,
    ] {
        let plan = plan(&[9, len], &[1]);
        let mut a = ArrayD::<f32>::zeros(vec![9, len]);
        // Steps that reach every lane. Only `ALL_CASES` finds a fault of few places in long rows.
        let step = match len {
            0..=33 => 1,
            34..=300 => 3,
            _ => 31,
        };
        let wanted = |place: &usize| place % step == len % step || place + 1 == len;
        for place in (0..len).filter(|place| crate::all_cases() || wanted(place)) {
            let row = place % 9;
            let of = |a: &ArrayD<f32>| {
                let all = [
                    plan.reduce(a, Max),
                    plan.reduce(a, Min),
                    plan.reduce(a, NanMax),
                    plan.reduce(a, NanMin),
                ];
                all.map(|result| {
                    let result = result.unwrap();
                    for (other, &value) in result.iter().enumerate() {
                        assert!(other == row || value == 0., "{other}, not {row}");
                    }
                    result[[row]]
                })
            };
            let one = len == 1;
            a[[row, place]] = 2.;
            let low = if one { 2. } else { 0. };
            assert_eq!(of(&a), [2., low, 2., low], "{place} of {len}");
            a[[row, place]] = -2.;
            let high = if one { -2. } else { 0. };
            assert_eq!(of(&a), [high, -2., high, -2.], "{place} of {len}");
            a[[row, place]] = f32::NAN;
            let [max, min, others @ ..] = of(&a);
            assert!(max.is_nan() && min.is_nan(), "{place} of {len}");
            if one {
                assert!(others.iter().all(|value| value.is_nan()));
            } else {
                assert_eq!(others, [0., 0.], "{place} of {len}");
            }
            a[[row, place]] = 0.;
        }
    }
}

/// Also if there are no results, as in NumPy.
#[test]
fn a_choice_among_no_terms_is_refused_whatever_the_shape() {
    fn check(reduction: impl Reduction<f64> + Copy) {
        for (shape, axis) in [
            ([7, 0, 0], 2),
            ([7, 0, 0], 1),
            ([0, 0, 3], 0),
            ([7, 3, 0], 2),
        ] {
            let (x, plan) = (ArrayD::<f64>::zeros(&shape[..]), plan(&shape, &[axis]));
            let fresh = plan.reduce(&x, reduction).map(drop).unwrap_err();
            assert!(matches!(
                fresh.kind(),
                ErrorKind::TooFewTerms { terms: 0, .. }
            ));
            let merged = Accumulation::<f64, _>::new(&plan, reduction);
            assert_eq!(merged.finish(&plan).map(drop), Err(fresh));
            assert!(plan.reduce(&x, Sum).unwrap().iter().all(|&sum| sum == 0.));
        }
        let x = ArrayD::<f64>::zeros(vec![7, 0, 3]);
        assert_eq!(x.reduce_axes(2, reduction).unwrap().shape(), [7, 0]);
    }
    check(Max);
    check(NanMin);
    check(ArgMax);
    check(LastArgMin);
}

/// Points that are compared axis by axis. Most pairs of them are in no order, though none of them
/// is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point(i32, i32);

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        let order = self.0.cmp(&other.0);
        (order == self.1.cmp(&other.1)).then_some(order)
    }
}

/// If no term is the largest, equal arrays still have the same result.
#[test]
fn terms_that_cannot_be_compared_give_the_same_result_in_every_layout() {
    let mut random = Random(7);
    let lens = [5, 16, 40, 128, 300, 2000];
    let shapes = (1..=3).flat_map(|kept| lens.map(|len| (kept, len)));
    for (kept, len) in shapes {
        let plan = plan(&[kept, len], &[1]);
        let a = ArrayD::from_shape_simple_fn(vec![kept, len], || {
            Point(random.below(40) as i32, random.below(40) as i32)
        });
        let mut columns = ArrayD::from_elem(vec![len, kept], Point(0, 0));
        columns.assign(&a.t());
        let mut reversed = a.clone();
        reversed.invert_axis(Axis(1));
        reversed = reversed.as_standard_layout().into_owned();
        reversed.invert_axis(Axis(1));
        let mut gaps = ArrayD::from_elem(vec![kept, 2 * len], Point(0, 0));
        gaps.slice_axis_inplace(Axis(1), Slice::new(0, None, 2));
        gaps.assign(&a);
        let pairs = a.map(|&point| (point, 0_u8));
        let largest = plan.reduce(&a, Max).unwrap();
        for layout in [columns.t().view(), reversed.view(), gaps.view()] {
            assert_eq!(plan.reduce(&layout, Max), plan.reduce(&a, Max), "{len}");
            assert_eq!(plan.reduce(&layout, Min), plan.reduce(&a, Min), "{len}");
            let positions = plan.reduce(&layout, ArgMax).unwrap();
            for ((list, &position), max) in (a.outer_iter().zip(&positions)).zip(&largest) {
                let first = list.iter().position(|point| point == max);
                assert_eq!(first, Some(position), "{len}");
            }
        }
        let mapped = zip(&pairs).reduce(&plan, Max, |(point, _)| point);
        assert_eq!(mapped, Ok(largest), "{len}");
    }
}

/// The sum of a map has the bits of the gradient of the mapped array, whatever the layouts.
#[test]
fn sums_of_maps_have_the_bits_of_the_gradient_of_the_map() {
    let mut random = Random(2);
    let large: &[(&[usize], &[usize])] = &[
        (&[300_000], &[0]),
        (&[3, 100_001], &[1]),
        (&[100_001, 3], &[0]),
        (&[600, 500], &[0]),
        (&[600, 500], &[1]),
        (&[40, 30, 100], &[0, 2]),
        (&[9, 4, 700, 2], &[0, 2]),
        (&[9, 4, 700, 2], &[1, 3]),
        // Lines of memory along another axis in each array.
        (&[30, 300, 40], &[0, 1]),
        (&[7, 600, 33], &[1]),
        (&[16, 20, 30, 12], &[1]),
        // 16384 terms, which are computed into an array first, and more.
        (&[256, 64], &[0]),
        (&[256, 64], &[1]),
        (&[257, 64], &[0]),
        (&[257, 64], &[1]),
        (&[64, 256], &[0]),
    ];
    for &(shape, reduced) in CASES.iter().chain(large) {
        // Layouts are random: only repeats in `.ci/long-checks checked` find a fault of few of
        // them.
        for _ in 0..crate::cases(8) {
            let plan = plan(shape, reduced);
            let (a, b) = (
                random.laid_out(shape, Random::float),
                random.laid_out(shape, Random::float),
            );
            let last: Vec<usize> = shape.last().copied().into_iter().collect();
            let c = random.laid_out(&last, Random::float);
            let stretched: Vec<usize> = shape
                .iter()
                .map(|&size| if random.below(2) == 0 { 1 } else { size })
                .collect();
            let d = random.laid_out(&stretched, |random| f64::from(random.float()));
            let what = || format!("{shape:?} {:?} {:?} {reduced:?}", a.strides(), b.strides());

            let product = zip((&a, &b)).map_collect(|(a, b)| a * b).unwrap();
            let expected = plan.gradient(&product).unwrap();
            let f = |(a, b): (f32, f32)| a * b;
            assert_eq!(
                zip((&a, &b)).reduce(&plan, Sum, f).unwrap(),
                expected,
                "{}",
                what()
            );
            let mut out = random.laid_out(plan.input_shape(), Random::float);
            let added = &out + &expected;
            zip((&a, &b))
                .reduce_accumulate(&plan, Sum, &mut out, f)
                .unwrap();
            assert_eq!(out, added, "{}", what());
            zip((&a, &b)).reduce_into(&plan, Sum, &mut out, f).unwrap();
            assert_eq!(out, expected, "{}", what());

            let of_three = |a: f32, b: f32, c: f32| (a - c) * b;
            let mut three = product;
            three.assign(&a);
            three.zip_mut_with(&c.broadcast(shape).unwrap(), |a, c| *a -= c);
            three.zip_mut_with(&b, |a, b| *a *= b);
            let expected = plan.gradient(&three).unwrap();
            let found = zip((&a, &b, &c)).reduce(&plan, Sum, |(a, b, c)| of_three(a, b, c));
            assert_eq!(found.unwrap(), expected, "{}", what());

            let mut six = three.mapv(f64::from);
            six.zip_mut_with(&d.broadcast(shape).unwrap(), |a, d| *a *= d);
            six.zip_mut_with(&c.broadcast(shape).unwrap(), |a, &c| *a -= f64::from(c));
            six.zip_mut_with(&b, |a, &b| *a *= f64::from(b));
            let expected = plan.gradient(&six).unwrap();
            let found = zip((&a, &b, &c, &d, &c, &b)).reduce(&plan, Sum, |(a, b, c, d, e, f)| {
                (f64::from(of_three(a, b, c)) * d - f64::from(e)) * f64::from(f)
            });
            assert_eq!(found.unwrap(), expected, "{}", what());
        }
    }
}

/// The operation of a fold need not be commutative: the terms stay in order.
/// The stride of an axis of size 1 is not used.
#[test]
fn every_stride_of_an_axis_of_size_1_is_accepted() {
    let smallest = 1_usize << (usize::BITS - 1);
    for len in [1, 5, 127, 128, 1024, 1025, 20_000] {
        let data: Vec<f32> = (0..len).map(|i| (i % 97) as f32).collect();
        let plain = ArrayView2::from_shape((1, len), &data).unwrap();
        let row = BroadcastPlan::numpy((1, 1), (1, len)).unwrap();
        let column = BroadcastPlan::numpy((1, 1), (len, 1)).unwrap();
        for stride in [smallest, smallest + 1, smallest - 1, usize::MAX, 0] {
            let strided = (1, len).strides((stride, 1));
            let terms = ArrayView2::from_shape(strided, &data).unwrap();
            for (terms, plain, plan) in [
                (terms, plain, &row),
                (terms.reversed_axes(), plain.reversed_axes(), &column),
            ] {
                let case = format!("{len} {stride}");
                let (mut into, mut added) = (array![[5.]], array![[5.]]);
                let sum = plan.gradient(&plain).unwrap();
                assert_eq!(plan.gradient(&terms).unwrap(), sum, "{case}");
                plan.gradient_into(&terms, &mut into).unwrap();
                assert_eq!(into, sum, "{case}");
                plan.gradient_accumulate(&terms, &mut added).unwrap();
                assert_eq!(added, &sum + 5., "{case}");
                let of = zip(&terms).reduce(plan, Sum, |a| a).unwrap();
                assert_eq!(of, sum, "{case}");
                let last = Fold::new(0., |_, b| b);
                assert_eq!(
                    plan.reduce(&terms, last).unwrap()[[0, 0]],
                    data[len - 1],
                    "{case}"
                );
                assert_eq!(
                    plan.reduce(&terms, ArgMax).unwrap()[[0, 0]],
                    96.min(len - 1),
                    "{case}"
                );
                assert_eq!(terms.materialize().unwrap(), plain, "{case}");
            }
        }
    }
}

#[test]
fn a_fold_keeps_the_order_of_terms() {
    let letters = |len: usize| (0..len).map(|i| (i % 251) as u64 + 1);
    // Polynomials modulo a prime: the value, and the power of the base that it moves others by.
    const PRIME: u64 = 1_000_000_007;
    let joined = Fold::new((0, 1), |a: (u64, u64), b: (u64, u64)| {
        ((a.0 * b.1 + b.0) % PRIME, a.1 * b.1 % PRIME)
    });
    for len in [1, 2, 17, 1024, 5000, 300_000] {
        let expected = letters(len).fold(0, |sum, letter| (sum * 263 + letter) % PRIME);
        let column = Array1::from_iter(letters(len)).insert_axis(Axis(1));
        let plan = BroadcastPlan::numpy(3, (len, 3)).unwrap();
        let found = zip(&column)
            .reduce(&plan, joined, |letter| (letter, 263))
            .unwrap();
        assert!(found.iter().all(|&(value, _)| value == expected), "{len}");
        let plan = BroadcastPlan::numpy((3, 1), (3, len)).unwrap();
        let found = zip(&column.t())
            .reduce(&plan, joined, |letter| (letter, 263))
            .unwrap();
        assert!(found.iter().all(|&(value, _)| value == expected), "{len}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_and_writes_nothing() {
    let plan = BroadcastPlan::numpy(3, (2, 3)).unwrap();
    let (y, x) = (Array2::<f32>::ones((2, 3)), Array2::<f32>::ones((2, 2)));
    let mut out = Array1::from_elem(3, 7.);
    let f = |(a, b): (f32, f32)| a * b;
    let error = zip((&y, &x))
        .reduce_into(&plan, Sum, &mut out, f)
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::SizeMismatch { shapes, .. } if shapes[0] == PartialShape::known((2, 2)))
    );
    let three = Array2::<f32>::ones((2, 3)).insert_axis(Axis(0));
    let error = zip((&y, &three)).reduce(&plan, Sum, f).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::RankMismatch { .. }));
    let role = |error: BroadcastError| match error.kind() {
        ErrorKind::WrongShape { role, .. } => *role,
        kind => panic!("{kind:?}"),
    };
    let mut short = Array1::from_elem(2, 7.);
    assert_eq!(
        role(
            zip((&y, &y))
                .reduce_into(&plan, Sum, &mut short, f)
                .unwrap_err()
        ),
        ArrayRole::Out
    );
    assert_eq!(
        role(
            zip((&y, &y))
                .reduce_accumulate(&plan, Sum, &mut short, f)
                .unwrap_err()
        ),
        ArrayRole::Out
    );
    assert_eq!(
        role(plan.reduce_into(&y, Max, &mut short).unwrap_err()),
        ArrayRole::Out
    );
    assert_eq!(role(plan.reduce(&x, Max).unwrap_err()), ArrayRole::Reduced);
    let none = BroadcastPlan::numpy(3, (0, 3)).unwrap();
    let empty = Array2::<f32>::ones((0, 3));
    let error = none.reduce_into(&empty, Max, &mut out).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot reduce [0, 3] by max: there are no terms; a reduction with or(value) has a result \
         for none"
    );
    // The crate does not know whether a reduction of its user has a method `or`.
    struct Softmax;
    impl Reduction<f32> for Softmax {
        type Acc = f32;
        type Out = f32;
        const NAME: &'static str = "softmax";
        fn lift(&self, value: f32) -> f32 {
            value
        }
        fn combine(&self, a: f32, b: f32) -> f32 {
            a.max(b)
        }
        fn finish(&self, acc: f32, _: usize) -> f32 {
            acc
        }
        fn of_none(&self) -> Option<f32> {
            None
        }
    }
    let error = none.reduce(&empty, Softmax).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot reduce [0, 3] by softmax: there are no terms"
    );
    assert_eq!(out, array![7., 7., 7.]);
    zip(&empty)
        .reduce_accumulate(&none, Sum, &mut out, |a| a)
        .unwrap();
    assert_eq!(out, array![7., 7., 7.]);
    zip(&empty)
        .reduce_into(&none, Sum, &mut out, |a| a)
        .unwrap();
    assert_eq!(out, array![0., 0., 0.]);
}

// With 32 bits, memory may hold whatever the sizes allow.
#[cfg(target_pointer_width = "64")]
#[test]
fn results_too_large_for_memory_are_errors() {
    let one = ndarray::arr0(1_u8);
    for (size, kind) in [
        (1_usize << 58, "AllocationFailed"),
        (1 << 61, "ShapeOverflow"),
    ] {
        let view = one.broadcast_numpy((2, size)).unwrap();
        let error = view
            .reduce_to_shape(size, Sum.in_type::<f64, f64>())
            .unwrap_err();
        assert!(format!("{:?}", error.kind()).starts_with(kind), "{error}");
    }
}

/// The closure panics at each of its calls in turn. Each element of `out` is old or complete.
#[test]
fn a_panic_at_any_call_reaches_the_caller_and_leaves_complete_results() {
    for (shape, reduced, stride) in [
        (&[3, 5][..], &[0][..], 1),
        (&[3, 5], &[1], 1),
        (&[2, 3, 4], &[0, 2], 1),
        (&[300, 1000], &[0], 29_989),
        (&[1000, 300], &[1], 29_989),
        (&[300_000], &[0], 29_989),
    ] {
        let x = ArrayD::from_shape_fn(shape, |index| index.slice().iter().sum::<usize>() as i64);
        let plan = plan(shape, reduced);
        let expected = plan.gradient(&x).unwrap();
        for at in (0..x.len()).step_by(stride) {
            let calls = AtomicUsize::new(0);
            let f = |x: i64| {
                if calls.fetch_add(1, Ordering::Relaxed) == at {
                    std::panic::resume_unwind(Box::new(at));
                }
                x
            };
            let mut out = ArrayD::from_elem(plan.input_dim(), -1);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                zip(&x).reduce_into(&plan, Sum, &mut out, f)
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&at));
            assert!(
                out.iter()
                    .zip(&expected)
                    .all(|(found, sum)| *found == -1 || found == sum)
            );
            calls.store(0, Ordering::Relaxed);
            catch_unwind(AssertUnwindSafe(|| zip(&x).reduce(&plan, Sum, f))).unwrap_err();
        }
        assert_eq!(zip(&x).reduce(&plan, Sum, |x| x).unwrap(), expected);
    }
}
