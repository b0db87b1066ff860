//! Sums of floats equal the documented tree of additions bit for bit, for any layout, number of
//! threads and features. Their error stays within the documented bound.

use ndarray::{Array0, Array1, Array2, ArrayD, ArrayView, Axis, IxDyn, Slice, s};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::{Reduction, Summand};

/// Pseudo-random numbers in (-1, 1) of many magnitudes, the same on every machine.
fn values(len: usize) -> Vec<f32> {
    let mut state = 0x1234_5678_u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let fraction = (state >> 8) as f32 / (1 << 23) as f32 - 1.0;
        fraction / (1_u32 << (state >> 29)) as f32
    };
    let mut values = Vec::with_capacity(len);
    while values.len() < len {
        values.push(next());
    }
    values
}

/// The sum by the documented tree with slabs of so many terms, one addition at a time.
fn tree<A: Copy + std::ops::Add<Output = A>>(terms: &[A], slab: usize) -> A {
    let of_slab = |terms: &[A]| {
        let leaves: Vec<A> = terms.chunks(256).map(leaf).collect();
        neighbours(&leaves)
    };
    let slabs: Vec<A> = terms.chunks(slab).map(of_slab).collect();
    neighbours(&slabs)
}

/// How many terms a slab has: of as few of the last summed axes as have 1024 terms, or of all.
fn slab_of(summed_sizes: &[usize]) -> usize {
    let from = |axis: usize| summed_sizes[axis..].iter().product();
    let mut slabs = (0..summed_sizes.len()).rev().map(from);
    slabs.find(|&slab| slab >= 1024).unwrap_or(from(0))
}

/// The balanced tree over a list of sums.
fn neighbours<A: Copy + std::ops::Add<Output = A>>(blocks: &[A]) -> A {
    match blocks {
        [only] => *only,
        _ => {
            let mut left = 1;
            while 2 * left < blocks.len() {
                left *= 2;
            }
            neighbours(&blocks[..left]) + neighbours(&blocks[left..])
        }
    }
}

/// The sum of a leaf of at most 256 terms, in 16 lanes.
fn leaf<A: Copy + std::ops::Add<Output = A>>(terms: &[A]) -> A {
    let mut lanes: Vec<Option<A>> = (0..16)
        .map(|lane| {
            let own = terms.iter().skip(lane).step_by(16);
            own.copied().reduce(|a, b| a + b)
        })
        .collect();
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            if let Some(other) = lanes[lane + half].take() {
                lanes[lane] = lanes[lane].map(|own| own + other);
            }
        }
    }
    lanes[0].expect("a leaf has at least one term")
}

/// A plan whose gradient sums over these axes and keeps the others in order.
fn plan(shape: &[usize], summed: &[usize]) -> BroadcastPlan {
    let kept: Vec<usize> = (0..shape.len())
        .filter(|axis| !summed.contains(axis))
        .collect();
    let input: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    BroadcastPlan::explicit(IxDyn(&input), IxDyn(shape), &kept).unwrap()
}

/// The gradient by definition: each element is the tree over its terms in index order.
fn expected(plan: &BroadcastPlan, cotangent: &ArrayD<f32>) -> ArrayD<f32> {
    // The axes that are kept, then those that are summed, so that the terms of an element follow
    // each other.
    let mapping: Vec<_> = plan.axis_sources().map(AxisSource::input_axis).collect();
    let (mut kept, summed): (Vec<usize>, Vec<usize>) =
        (0..mapping.len()).partition(|&axis| mapping[axis].is_some());
    kept.sort_by_key(|&axis| mapping[axis]);
    let sizes: Vec<usize> = summed.iter().map(|&axis| cotangent.shape()[axis]).collect();
    let slab = slab_of(&sizes);
    let terms = cotangent.view().permuted_axes([kept, summed].concat());
    let terms: Vec<f32> = terms
        .as_standard_layout()
        .into_owned()
        .into_raw_vec_and_offset()
        .0;
    let count: usize = plan.input_shape().iter().product();
    let columns = terms.chunks(terms.len() / count);
    let sums = columns.map(|terms| tree(terms, slab)).collect();
    ArrayD::from_shape_vec(plan.input_shape(), sums).unwrap()
}

fn same_bits(a: &ArrayD<f32>, b: &ArrayD<f32>) -> bool {
    a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// A copy of an array with this order of axes in memory and these slice steps, and the order.
fn laid_out(array: &ArrayD<f32>, order: &[usize], steps: &[isize]) -> (ArrayD<f32>, Vec<usize>) {
    let mut shape = vec![0; array.ndim()];
    for (axis, &at) in order.iter().enumerate() {
        shape[at] = array.shape()[axis] * steps[axis].unsigned_abs();
    }
    let mut backing = ArrayD::from_elem(shape, f32::NAN);
    cut(backing.view_mut(), order, steps).assign(array);
    (backing, order.to_vec())
}

fn cut<'a>(
    view: ndarray::ArrayViewMutD<'a, f32>,
    order: &[usize],
    steps: &[isize],
) -> ndarray::ArrayViewMutD<'a, f32> {
    let mut view = view.permuted_axes(order.to_vec());
    for (axis, &step) in steps.iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
    }
    view
}

/// Shapes and summed axes. The sizes lie around lanes (16), leaves (256), blocks (1024) and the
/// size from which sums run in parallel.
fn cases() -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut cases = vec![];
    let around = [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 127, 128, 129, 143, 144, 145, 255, 257,
        1023, 1024, 1025, 1039, 1151, 1153, 2047, 2048, 2049, 3000, 5121,
    ];
    for n in around {
        cases.push((vec![n], vec![0]));
        for width in [1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65] {
            cases.push((vec![n, width], vec![0]));
            cases.push((vec![width, n], vec![1]));
        }
        cases.push((vec![3, n, 5], vec![1]));
        cases.push((vec![n, 3, 2], vec![0, 2]));
        cases.push((vec![2, 3, n], vec![0, 2]));
    }
    for (shape, summed) in [
        (&[140_000][..], &[0][..]),
        (&[1_100_001], &[0]),
        (&[70_000, 3], &[0]),
        (&[70_000, 3], &[1]),
        (&[70_000, 9], &[1]),
        (&[9000, 70], &[0]),
        (&[1030, 700], &[0]),
        (&[20, 30_000], &[0]),
        (&[700, 1030], &[1]),
        (&[5, 60_000], &[1]),
        (&[4, 3, 90, 130], &[0, 2, 3]),
        (&[5, 3, 1030], &[0, 2]),
        (&[5, 1030, 3], &[0, 1]),
        (&[3, 5, 1024], &[0, 1, 2]),
        (&[3, 2, 7, 2048], &[0, 1, 3]),
        (&[300, 1025], &[0, 1]),
        (&[9, 4, 33, 3, 35], &[0, 2, 4]),
        (&[700, 3, 28, 28], &[0, 2, 3]),
        (&[30, 33, 7, 7], &[0, 2, 3]),
        (&[40, 513, 9], &[1]),
        (&[33, 130, 40], &[0, 2]),
        (&[33, 130, 40], &[0, 1]),
        (&[12, 11, 10, 9, 8], &[1, 3]),
        (&[12, 11, 10, 9, 8], &[0, 2, 4]),
        (&[50, 60, 70], &[]),
    ] {
        cases.push((shape.to_vec(), summed.to_vec()));
    }
    cases
}

#[test]
fn sums_equal_the_documented_tree_for_every_case() {
    for (shape, summed) in cases() {
        let len = shape.iter().product();
        let cotangent = ArrayD::from_shape_vec(shape.clone(), values(len)).unwrap();
        let plan = plan(&shape, &summed);
        let gradient = plan.gradient(&cotangent).unwrap();
        assert!(
            same_bits(&gradient, &expected(&plan, &cotangent)),
            "{shape:?} summed over {summed:?}"
        );
    }
}

#[test]
fn layouts_do_not_change_the_bits() {
    for (number, (shape, summed)) in cases().into_iter().enumerate() {
        let rank = shape.len();
        let len: usize = shape.iter().product();
        if len > 700_000 {
            continue;
        }
        let cotangent = ArrayD::from_shape_vec(shape.clone(), values(len)).unwrap();
        let plan = plan(&shape, &summed);
        let gradient = plan.gradient(&cotangent).unwrap();
        let forward: Vec<usize> = (0..rank).collect();
        let backward: Vec<usize> = (0..rank).rev().collect();
        let mut rotated = forward.clone();
        rotated.rotate_left(1.min(rank));
        let ones = vec![1; rank];
        let mut mixed = ones.clone();
        for (axis, step) in mixed.iter_mut().enumerate() {
            *step = if axis % 2 == 0 { -1 } else { 2 };
        }
        let mut layouts = [
            (&forward, vec![-1; rank]),
            (&backward, ones.clone()),
            (&backward, mixed),
            (&forward, vec![2; rank]),
            (&rotated, ones),
            (&rotated, vec![-1; rank]),
        ];
        // Two layouts of many terms, by turns. Only `ALL_CASES` finds a fault of one shape in one
        // of the other layouts alone.
        let few = len > 2_000 && !crate::all_cases();
        layouts.rotate_left(2 * number % 6);
        for (order, steps) in layouts.into_iter().take(if few { 2 } else { 6 }) {
            let (mut backing, order) = laid_out(&cotangent, order, &steps);
            let view = cut(backing.view_mut(), &order, &steps);
            assert!(
                same_bits(&plan.gradient(&view).unwrap(), &gradient),
                "{shape:?} summed over {summed:?}, axes at {order:?} in memory, steps {steps:?}"
            );
        }
    }
}

/// A kernel may load vectors that reach into the next row. Those lanes must not enter the sum.
#[test]
fn sums_of_rows_do_not_include_the_next_row_or_the_gap() {
    for len in 1..300 {
        let shape = vec![5, len];
        let rows = ArrayD::from_shape_vec(shape.clone(), values(5 * len)).unwrap();
        let plan = plan(&shape, &[1]);
        let expected = expected(&plan, &rows);
        assert!(
            same_bits(&plan.gradient(&rows).unwrap(), &expected),
            "{len}"
        );
        let mut padded = ArrayD::from_elem(vec![5, len + 1], f32::NAN);
        let mut gaps = padded.slice_axis_mut(Axis(1), Slice::from(..len));
        gaps.assign(&rows);
        assert!(
            same_bits(&plan.gradient(&gaps).unwrap(), &expected),
            "{len}"
        );
    }
}

/// The terms of a sum lie in two runs with a gap between them, two slabs of many blocks.
#[test]
fn sums_of_many_blocks_in_two_runs_equal_the_tree() {
    let memory = Array2::from_shape_vec((2, 300_001), values(600_002)).unwrap();
    let runs = memory.slice(s![.., ..300_000]);
    let terms = runs.broadcast((40, 2, 300_000)).unwrap();
    let sums = terms.reduce_to_shape([40, 1, 1], Sum).unwrap();
    let expected = tree(&runs.iter().copied().collect::<Vec<_>>(), 300_000).to_bits();
    assert!(sums.iter().all(|sum| sum.to_bits() == expected));
}

#[cfg(feature = "rayon")]
#[test]
fn the_number_of_threads_does_not_change_the_bits() {
    let pools = [1, 2, 3, 16].map(crate::pool::pool);
    for (number, (shape, summed)) in cases().into_iter().enumerate() {
        let len: usize = shape.iter().product();
        if len < 100_000 {
            continue;
        }
        let cotangent = ArrayD::from_shape_vec(shape.clone(), values(len)).unwrap();
        let transposed = cotangent.t().as_standard_layout().into_owned();
        let plan = plan(&shape, &summed);
        let expected = expected(&plan, &cotangent);
        for (i, pool) in pools.iter().enumerate() {
            for (at, cotangent) in [cotangent.view(), transposed.t()].into_iter().enumerate() {
                // Without `ALL_CASES`, each layout in one of the pools, by turns.
                if !crate::all_cases() && (number + i + 2 * at) % 4 > 0 {
                    continue;
                }
                let gradient = pool.install(|| plan.gradient(&cotangent).unwrap());
                assert!(
                    same_bits(&gradient, &expected),
                    "{shape:?} summed over {summed:?}"
                );
            }
        }
    }
}

/// The same bits on any machine, with and without the feature `rayon`.
#[test]
fn known_sums_have_known_bits() {
    for (len, bits) in KNOWN_BITS {
        let sum = Array1::from(values(len)).reduce_to_shape((), Sum).unwrap();
        assert_eq!(sum.into_scalar().to_bits(), bits, "{len} terms");
    }
}

const KNOWN_BITS: [(usize, u32); 7] = [
    (1, 0xbc2bcd90),
    (10, 0xbed90914),
    (100, 0xc17f1d9c),
    (1000, 0xc31bea60),
    (10_000, 0xc4c235d4),
    (100_000, 0xc675738c),
    (1_000_000, 0xc819dbbd),
];

/// The sum of a [`LogSumExp`], before its logarithm: that has other bits on other targets.
struct SumOfExponentials;

impl<T: Copy + Send + Sync> Reduction<T> for SumOfExponentials
where
    LogSumExp: Reduction<T, Acc = (T, T)>,
{
    type Acc = (T, T);
    type Out = T;
    const COMMUTATIVE: bool = <LogSumExp as Reduction<T>>::COMMUTATIVE;

    fn lift(&self, value: T) -> (T, T) {
        LogSumExp.lift(value)
    }
    fn combine(&self, a: (T, T), b: (T, T)) -> (T, T) {
        Reduction::<T>::combine(&LogSumExp, a, b)
    }
    fn finish(&self, (_, sum): (T, T), _: usize) -> T {
        sum
    }
    fn of_none(&self) -> Option<T> {
        None
    }
}

/// The same bits on any machine, as those of sums.
#[test]
fn variances_and_sums_of_exponentials_have_known_bits() {
    for (len, variance, sum, sum_of_f32) in KNOWN_BITS_OF_STATISTICS {
        let singles = Array1::from(values(len)) * 50.;
        let doubles = singles.mapv(f64::from);
        let found: Array0<f64> = doubles.reduce_to_shape((), Var::new()).unwrap();
        assert_eq!(found.into_scalar().to_bits(), variance, "{len} terms");
        let found: Array0<f64> = doubles.reduce_to_shape((), SumOfExponentials).unwrap();
        assert_eq!(found.into_scalar().to_bits(), sum, "{len} terms");
        let found: Array0<f32> = singles.reduce_to_shape((), SumOfExponentials).unwrap();
        assert_eq!(found.into_scalar().to_bits(), sum_of_f32, "{len} terms");
    }
}

const KNOWN_BITS_OF_STATISTICS: [(usize, u64, u64, u32); 3] = [
    (10, 0x403d40346424ccb3, 0x4019444cb9b3a792, 0x40ca2266),
    (1000, 0x4069f25c0c2b8a73, 0x40787698e67c7650, 0x43c3b4c8),
    (100_000, 0x406a8c6f10696e28, 0x40e349f51d41e0a8, 0x471a4fa8),
];

/// The FNV-1a hash of the bits of all cases, in order.
#[test]
fn the_sums_of_all_cases_have_a_known_hash() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (shape, summed) in cases() {
        let len = shape.iter().product();
        let cotangent = ArrayD::from_shape_vec(shape.clone(), values(len)).unwrap();
        let gradient = plan(&shape, &summed).gradient(&cotangent).unwrap();
        for byte in gradient.iter().flat_map(|sum| sum.to_bits().to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    assert_eq!(hash, KNOWN_HASH, "{hash:#018x}");
}

const KNOWN_HASH: u64 = 0x3793_1279_0d07_b468;

#[test]
fn one_term_is_itself_and_zeros_keep_their_sign() {
    for value in [-0.0_f64, 0.0, f64::MIN_POSITIVE / 8.0, f64::INFINITY] {
        for shape in [&[1][..], &[5], &[1, 1], &[1, 5], &[1, 1, 40]] {
            let terms = ArrayD::from_elem(shape, value);
            let input = IxDyn(&shape[shape.len() - 1..]);
            let summed = terms.reduce_to_shape(input, Sum).unwrap();
            assert!(summed.iter().all(|sum| sum.to_bits() == value.to_bits()));
        }
    }
    for len in [2, 16, 40, 128, 1000, 1024, 5000] {
        let zeros = Array1::from_elem(len, -0.0_f32);
        assert!(
            zeros
                .reduce_to_shape((), Sum)
                .unwrap()
                .into_scalar()
                .is_sign_negative()
        );
    }
    // A sum of no terms is 0.0; added to what is there, it adds nothing.
    let plan = BroadcastPlan::numpy(2, (0, 2)).unwrap();
    let none = Array2::<f32>::zeros((0, 2));
    assert!(
        plan.gradient(&none)
            .unwrap()
            .iter()
            .all(|sum| sum.to_bits() == 0)
    );
    let mut sums = Array1::from_elem(2, -0.0_f32);
    plan.gradient_accumulate(&none, &mut sums).unwrap();
    assert!(sums.iter().all(|sum| sum.is_sign_negative()));
    zip(&none)
        .reduce_accumulate(&plan, Sum, &mut sums, |term| term)
        .unwrap();
    // Also by reductions that have no result for no terms.
    zip(&none)
        .reduce_accumulate(&plan, Max, &mut sums, |term| term)
        .unwrap();
    zip(&none)
        .reduce_accumulate(&plan, Var::new(), &mut sums, |term| term)
        .unwrap();
    assert!(sums.iter().all(|sum| sum.is_sign_negative()));
    let nan = Array1::from_elem(3000, f32::NAN)
        .reduce_to_shape((), Sum)
        .unwrap();
    assert!(nan.into_scalar().is_nan());
}

/// The sum of floats in twice the precision of `f64`, which is exact enough for these terms.
fn exact(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut high, mut low) = (0.0_f64, 0.0_f64);
    for term in terms {
        let sum = high + term;
        let part = sum - high;
        low += (high - (sum - part)) + (term - part);
        high = sum;
    }
    high + low
}

#[test]
fn sums_of_ten_million_terms_are_within_3_ulps() {
    let terms: Vec<f32> = values(10_000_000).iter().map(|value| value.abs()).collect();
    let truth = exact(terms.iter().map(|&term| f64::from(term)));
    let sum = f64::from(
        Array1::from(terms.clone())
            .reduce_to_shape((), Sum)
            .unwrap()
            .into_scalar(),
    );
    let ulp = f64::from(f32::EPSILON) * truth.log2().floor().exp2();
    let ulps = (sum - truth).abs() / ulp;
    assert!(ulps <= 3.0, "{ulps} ulps");
    // Sequential addition has a much larger error.
    let naive = f64::from(terms.iter().fold(0.0, |sum, term| sum + term));
    assert!((naive - truth).abs() > 100.0 * ulp);

    let terms: Vec<f64> = terms
        .iter()
        .map(|&term| 1.0 / (1.0 + f64::from(term)))
        .collect();
    let truth = exact(terms.iter().copied());
    let sum = ArrayView::from(&terms)
        .reduce_to_shape((), Sum)
        .unwrap()
        .into_scalar();
    let ulps = (sum - truth).abs() / (f64::EPSILON * truth.log2().floor().exp2());
    assert!(ulps <= 3.0, "{ulps} ulps");
}

#[test]
fn cancelling_terms_stay_within_the_bound() {
    // Large terms cancel. Only the small terms remain.
    let mut terms = vec![];
    for (i, &value) in values(1_000_003).iter().enumerate() {
        let large = value * 1e6;
        terms.extend([
            large,
            1e-3 * value,
            -large * if i % 7 == 0 { 1.000001 } else { 1.0 },
        ]);
    }
    // Shuffled, so that cancelling terms are far from each other.
    let len = terms.len();
    let shuffled: Vec<f32> = (0..len)
        .map(|i| terms[(i as u64 * 1_000_033 % len as u64) as usize])
        .collect();
    for terms in [terms, shuffled] {
        let truth = exact(terms.iter().map(|&term| f64::from(term)));
        let absolute: f64 = terms.iter().map(|&term| f64::from(term.abs())).sum();
        let sum = f64::from(
            ArrayView::from(&terms)
                .reduce_to_shape((), Sum)
                .unwrap()
                .into_scalar(),
        );
        let bound = ((len as f64).log2() + 12.0) * absolute * f64::from(f32::EPSILON) / 2.0;
        assert!((sum - truth).abs() <= bound, "{sum} is not {truth}");
    }
}

/// An element of many floats, which sums add one by one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Floats<const N: usize>([f32; N]);

impl<const N: usize> std::ops::Add for Floats<N> {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        let mut i = 0;
        while i < N {
            self.0[i] += other.0[i];
            i += 1;
        }
        self
    }
}

impl<const N: usize> num_traits::Zero for Floats<N> {
    fn zero() -> Self {
        Floats([0.; N])
    }

    fn is_zero(&self) -> bool {
        *self == Self::zero()
    }
}

impl<const N: usize> Summand for Floats<N> {
    type Acc = Self;

    fn to_acc(self) -> Self {
        self
    }

    fn from_acc(acc: Self) -> Self {
        acc
    }
}

fn wide_elements_have_the_bits_of_their_floats<const N: usize>() {
    let lens = [
        1_usize, 2, 15, 16, 17, 31, 33, 127, 128, 129, 300, 1023, 1024, 1025, 2100, 5000,
    ];
    for len in lens {
        for (shape, summed) in [
            (vec![len], vec![0]),
            (vec![len, 3], vec![0]),
            (vec![2, len], vec![1]),
            (vec![5, 2, len.div_ceil(5)], vec![0, 2]),
        ] {
            let plan = plan(&shape, &summed);
            let count: usize = shape.iter().product();
            let floats = ArrayD::from_shape_vec(&shape[..], values(count)).unwrap();
            // The last float differs from the others.
            let scaled = floats.map(|x| x * -0.75);
            let wide = ndarray::Zip::from(&floats)
                .and(&scaled)
                .map_collect(|&a, &b| {
                    let mut element = [a; N];
                    element[N - 1] = b;
                    Floats(element)
                });
            let first = expected(&plan, &floats);
            let last = expected(&plan, &scaled);
            for reversed in [false, true] {
                let mut laid_out = wide.clone();
                if reversed {
                    let mut view = laid_out.view_mut();
                    (0..shape.len()).for_each(|axis| view.invert_axis(Axis(axis)));
                    view.assign(&wide);
                }
                let mut view = laid_out.view();
                if reversed {
                    (0..shape.len()).for_each(|axis| view.invert_axis(Axis(axis)));
                }
                let sums = plan.gradient(&view).unwrap();
                assert!(same_bits(&sums.map(|sum| sum.0[0]), &first), "{shape:?}");
                assert!(same_bits(&sums.map(|sum| sum.0[N - 1]), &last), "{shape:?}");
            }
        }
    }
}

#[test]
fn elements_of_any_size_have_the_bits_of_their_floats() {
    wide_elements_have_the_bits_of_their_floats::<8>();
    wide_elements_have_the_bits_of_their_floats::<15>();
    wide_elements_have_the_bits_of_their_floats::<16>();
    wide_elements_have_the_bits_of_their_floats::<64>();
}
