//! Sums of every layout against the documented tree, index by index, with sizes on both sides of
//! every threshold.
//!
//! Tests are compiled without optimisation. So what runs for every term is a plain loop over bytes.

use crate::BroadcastPlan;
use crate::distributed::{Part, sum_blocks};
use crate::engine::kernel::{BLOCK_TERMS, LANES, LEAF};
use crate::engine::machine::tests::WithoutWideRegisters;
use crate::engine::reduction::Lanes;
use crate::engine::tuning::{
    BLOCK, CACHE_LINE, CHUNK_BYTES, LARGE_ELEMENT, PAGE, SECOND_LEVEL_CACHE,
};
use crate::engine::{
    fold::Map,
    inputs::Input,
    reduce::Call,
    sums::{SUMMED, Terms},
};
use crate::reduction::{
    Any, ArgMax, ArgMin, Fold, NanMean, Reduction, Std, Sum, Summand, Then, Var,
};
use crate::zip;
use ndarray::{Array1, Array2, Array3, ArrayD, ArrayViewD, Axis, Ix1, IxDyn, Slice};
use num_traits::Zero;
use std::convert::identity;
use std::ops::Add;
#[cfg(panic = "unwind")]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An element of `N` bytes whose addition is neither associative nor commutative, so that its sum
/// tells the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mixed<const N: usize>([u8; N]);

impl<const N: usize> Add for Mixed<N> {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        let mut i = 0;
        // Eight bytes at a time.
        while i + 8 <= N {
            let word = |bytes: &[u8; N]| u64::from_le_bytes(*bytes[i..].first_chunk().unwrap());
            let (a, b) = (word(&self.0).wrapping_mul(5), word(&other.0).rotate_left(3));
            let sum = (a ^ b).wrapping_add(i as u64 + 1);
            self.0[i..i + 8].copy_from_slice(&sum.to_le_bytes());
            i += 8;
        }
        while i < N {
            let (a, b) = (self.0[i].wrapping_mul(5), other.0[i].rotate_left(3));
            self.0[i] = (a ^ b).wrapping_add(i as u8 + 1);
            i += 1;
        }
        self
    }
}

impl<const N: usize> Zero for Mixed<N> {
    fn zero() -> Self {
        Mixed([0; N])
    }

    fn is_zero(&self) -> bool {
        *self == Self::zero()
    }
}

impl<const N: usize> Summand for Mixed<N> {
    type Acc = Self;

    fn to_acc(self) -> Self {
        self
    }

    fn from_acc(acc: Self) -> Self {
        acc
    }
}

impl<const N: usize> Mixed<N> {
    fn number(n: usize) -> Self {
        let bytes = (n as u64 + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .to_le_bytes();
        let mut mixed = Mixed([0; N]);
        let mut i = 0;
        while i < N {
            mixed.0[i] = bytes[i % 8];
            i += 1;
        }
        mixed
    }
}

/// The documented tree, with slabs of so many terms.
fn tree<const N: usize>(terms: &[Mixed<N>], slab: usize) -> Mixed<N> {
    let of_slab = |terms: &[Mixed<N>]| {
        let leaves: Vec<_> = terms.chunks(LEAF).map(leaf).collect();
        balanced(&leaves)
    };
    let slabs: Vec<_> = terms.chunks(slab).map(of_slab).collect();
    balanced(&slabs)
}

/// The terms of as few of the last summed axes as have a block of them together.
fn slab_of(shape: &[usize], summed: &[usize]) -> usize {
    let mut slab = 1;
    for &axis in summed.iter().rev() {
        if slab < BLOCK_TERMS {
            slab *= shape[axis];
        }
    }
    slab.max(1)
}

/// All but the largest power of two that is less than the count are on the right.
fn balanced<const N: usize>(sums: &[Mixed<N>]) -> Mixed<N> {
    match sums {
        [] => Mixed::zero(),
        [only] => *only,
        _ => {
            let (left, right) = sums.split_at(sums.len().next_power_of_two() / 2);
            balanced(left) + balanced(right)
        }
    }
}

fn leaf<const N: usize>(terms: &[Mixed<N>]) -> Mixed<N> {
    let lane = |lane| {
        terms
            .iter()
            .skip(lane)
            .step_by(LANES)
            .copied()
            .reduce(Add::add)
    };
    let mut lanes: Vec<_> = (0..LANES).map_while(lane).collect();
    for half in [8, 4, 2, 1] {
        for lane in half..lanes.len() {
            lanes[lane - half] = lanes[lane - half] + lanes[lane];
        }
        lanes.truncate(half);
    }
    lanes[0]
}

/// How many sums there are over the axes `summed`, and the terms of one after those of the other.
fn in_order<const N: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> (usize, Vec<Mixed<N>>) {
    let kept: Vec<usize> = (0..terms.ndim())
        .filter(|axis| !summed.contains(axis))
        .collect();
    let order: Vec<usize> = kept.iter().chain(summed).copied().collect();
    let count: usize = kept.iter().map(|&axis| terms.shape()[axis]).product();
    let all = terms.view().permuted_axes(order).iter().copied().collect();
    (count, all)
}

/// Sums over the axes `summed`, one sum after the other.
fn expected<const N: usize>(terms: &ArrayViewD<'_, Mixed<N>>, summed: &[usize]) -> Vec<Mixed<N>> {
    let (count, all) = in_order(terms, summed);
    match all.len() {
        0 => vec![Mixed::zero(); count],
        len => {
            let slab = slab_of(terms.shape(), summed);
            let columns = all.chunks(len / count);
            columns.map(|terms| tree(terms, slab)).collect()
        }
    }
}

/// `M` matrices, and the products of two by two: associative, and not commutative.
fn matrices<const M: usize>(bytes: &[u8]) -> [[u8; 4]; M] {
    let mut matrices = [[1; 4]; M];
    let mut i = 0;
    while i < 4 * M && i < bytes.len() {
        matrices[i / 4][i % 4] = bytes[i] | (i % 4 % 3 == 0) as u8;
        i += 1;
    }
    matrices
}

fn joined<const M: usize>(left: [[u8; 4]; M], right: [[u8; 4]; M]) -> [[u8; 4]; M] {
    // The low byte of a sum of products that does not overflow.
    let dot = |a: u8, b: u8, c: u8, d: u8| {
        (u32::from(a) * u32::from(c) + u32::from(b) * u32::from(d)) as u8
    };
    let mut joined = [[0; 4]; M];
    let mut number = 0;
    while number < M {
        let ([a, b, c, d], [e, f, g, h]) = (left[number], right[number]);
        joined[number] = [
            dot(a, b, e, g),
            dot(a, b, f, h),
            dot(c, d, e, g),
            dot(c, d, f, h),
        ];
        number += 1;
    }
    joined
}

/// Products of matrices over the axes `summed`.
fn expected_products<const N: usize, const M: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> Vec<[[u8; 4]; M]> {
    let (count, all) = in_order(terms, summed);
    match all.len() {
        0 => vec![[[0; 4]; M]; count],
        len => (all.chunks(len / count))
            .map(|terms| {
                terms
                    .iter()
                    .map(|term| matrices(&term.0))
                    .reduce(joined)
                    .unwrap()
            })
            .collect(),
    }
}

/// Sums of terms, to each of which its number has been added.
struct Numbered;

impl<const N: usize> Reduction<Mixed<N>> for Numbered {
    const COMMUTATIVE: bool = true;
    const NUMBERED: bool = true;

    type Acc = Mixed<N>;
    type Out = Mixed<N>;

    fn lift(&self, value: Mixed<N>) -> Mixed<N> {
        value
    }

    fn at_index(&self, acc: Mixed<N>, index: usize) -> Mixed<N> {
        acc + Mixed::number(index)
    }

    fn combine(&self, a: Mixed<N>, b: Mixed<N>) -> Mixed<N> {
        a + b
    }

    fn finish(&self, acc: Mixed<N>, count: usize) -> Mixed<N> {
        acc + Mixed::number(count)
    }

    fn of_none(&self) -> Option<Mixed<N>> {
        Some(self.finish(Mixed::zero(), 0))
    }
}

/// What [`Numbered`] makes of the terms of `count` results, one after the other, in such slabs.
fn expected_numbered<const N: usize>(
    terms: &[Mixed<N>],
    count: usize,
    slab: usize,
) -> Vec<Mixed<N>> {
    let len = terms.len() / count.max(1);
    let result = |terms: &[Mixed<N>]| {
        let number = |(i, &term)| Numbered.at_index(term, i);
        let terms: Vec<_> = terms.iter().enumerate().map(number).collect();
        Numbered.finish(tree(&terms, slab), len)
    };
    match len {
        0 => vec![result(&[]); count],
        len => terms.chunks(len).map(result).collect(),
    }
}

fn plan(shape: &[usize], summed: &[usize]) -> BroadcastPlan {
    let kept: Vec<usize> = (0..shape.len())
        .filter(|axis| !summed.contains(axis))
        .collect();
    let input: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    BroadcastPlan::explicit(IxDyn(&input), IxDyn(shape), &kept).unwrap()
}

/// Compares an array, of any layout, with what is expected of the terms that it has in each.
trait Check<const N: usize>: Fn(&ArrayViewD<'_, Mixed<N>>) {}

impl<const N: usize, F: Fn(&ArrayViewD<'_, Mixed<N>>)> Check<N> for F {}

/// Fresh sums, sums that replace and sums that are added, in standard layout and backwards with
/// gaps.
fn check<const N: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> impl Check<N> + use<N> {
    let (plan, summed) = (plan(terms.shape(), summed), summed.to_vec());
    let expected = expected(terms, &summed);
    let before = |i: usize| Mixed::<N>::number(i + 77);
    let none = terms.is_empty();
    let added = expected.iter().enumerate();
    let added = added.map(|(i, &sum)| if none { before(i) } else { before(i) + sum });
    let added: Vec<_> = added.collect();
    let mut wide: Vec<usize> = plan.input_shape().to_vec();
    wide.iter_mut().for_each(|size| *size *= 2);
    move |terms| {
        let what = || {
            format!(
                "{N} bytes, {:?} {:?}, {summed:?}",
                terms.shape(),
                terms.strides()
            )
        };
        let fresh = plan.gradient(terms).unwrap();
        assert!(fresh.iter().eq(&expected), "{}", what());
        if !none {
            // Accumulators are computed by the plan of the driver, however few they are.
            let mut kept = 0..;
            let becomes: Vec<usize> = (0..terms.ndim())
                .map(|axis| match summed.contains(&axis) {
                    true => SUMMED,
                    false => kept.next().unwrap(),
                })
                .collect();
            let count = terms.len() / expected.len();
            let inputs = (Input::values(terms),);
            let map = Map::new(&inputs, terms.shape(), &Sum, &identity::<Mixed<N>>, true);
            let (dim, range) = (IxDyn(plan.input_shape()), 0..count);
            let call = Call::<Mixed<N>, _>::new(&map, &Sum, &becomes, count);
            let slab = slab_of(terms.shape(), &summed);
            let all = Terms {
                range,
                may_move: false,
                number: 0,
                slab,
            };
            let accs = call.accumulators(dim, all);
            assert!(accs.unwrap().iter().eq(&expected), "unfinished, {}", what());
        }
        for apart in [false, true] {
            let shape = if apart { &wide[..] } else { plan.input_shape() };
            let mut memory = ArrayD::from_elem(shape, Mixed::number(5));
            let mut out = memory.view_mut();
            for axis in 0..out.ndim() {
                if apart {
                    out.slice_axis_inplace(Axis(axis), Slice::new(0, None, -2));
                }
            }
            plan.gradient_into(terms, &mut out).unwrap();
            assert!(out.iter().eq(&expected), "into, {}", what());
            (out.iter_mut().enumerate()).for_each(|(i, place)| *place = before(i));
            plan.gradient_accumulate(terms, &mut out).unwrap();
            assert!(out.iter().eq(&added), "added, {}", what());
            let between = match apart {
                true => memory.len() - expected.len(),
                false => 0,
            };
            let untouched = memory
                .iter()
                .filter(|&&place| place == Mixed::number(5))
                .count();
            assert!(N < 4 || untouched >= between, "{}", what());
        }
    }
}

/// Sums of numbered terms of a map of two arrays, and an operation that does not commute.
fn check_maps<const N: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> impl Check<N> + use<N> {
    let (plan, (count, all)) = (plan(terms.shape(), summed), in_order(terms, summed));
    let numbered = expected_numbered(&all, count, slab_of(terms.shape(), summed));
    let products = check_products::<N, 1>(terms, summed);
    move |terms| {
        let found = zip((terms, terms)).reduce(&plan, Numbered, |(a, b)| {
            assert_eq!(a, b);
            a
        });
        let what = || format!("{:?}, {plan}", terms.strides());
        assert!(found.unwrap().iter().eq(&numbered), "numbered, {}", what());
        products(terms);
    }
}

fn check_sums_and_maps<const N: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> impl Check<N> + use<N> {
    let (sums, maps) = (check(terms, summed), check_maps(terms, summed));
    move |terms| {
        sums(terms);
        maps(terms);
    }
}

/// An operation that does not commute, on `M` matrices for each term.
fn check_products<const N: usize, const M: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> impl Check<N> + use<N, M> {
    let products = expected_products::<N, M>(terms, summed);
    let plan = plan(terms.shape(), summed);
    move |terms| {
        let product = Fold::new([[0; 4]; M], joined);
        let found = zip(terms).reduce(&plan, product, |Mixed(bytes)| matrices(&bytes));
        let what = || format!("{:?}, {plan}", terms.strides());
        assert!(found.unwrap().iter().eq(&products), "in order, {}", what());
    }
}

/// Checks an array of one layout.
fn check_once<const N: usize, C: Check<N>>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
    check: fn(&ArrayViewD<'_, Mixed<N>>, &[usize]) -> C,
) {
    check(terms, summed)(terms);
}

/// The same elements in C order, in Fortran order, backwards, with gaps, both by turns, and with
/// the axes rotated in memory.
///
/// Many elements in C order and in two of the others, by turns, unless the variable `ALL_CASES` is
/// set, as in `.ci/long-checks checked`. Only that finds a fault of one shape in one of the other
/// layouts alone.
fn check_layouts<const N: usize, C: Check<N>>(
    shape: &[usize],
    summed: &[usize],
    check: fn(&ArrayViewD<'_, Mixed<N>>, &[usize]) -> C,
) {
    let rank = shape.len();
    let len = shape.iter().product();
    let terms = (0..len).map(Mixed::<N>::number).collect();
    let terms = ArrayD::from_shape_vec(shape, terms).unwrap();
    let check = check(&terms.view(), summed);
    check(&terms.view());
    let forward: Vec<usize> = (0..rank).collect();
    let backward: Vec<usize> = (0..rank).rev().collect();
    let mut rotated = forward.clone();
    rotated.rotate_left(1.min(rank));
    let mut layouts = [
        (&backward, [1, 1]),
        (&forward, [-1, -1]),
        (&backward, [-1, 2]),
        (&forward, [2, 2]),
        (&forward, [1, -2]),
        (&rotated, [1, 1]),
    ];
    let few = len > 2_000 && !all_cases();
    layouts.rotate_left((shape.iter().sum::<usize>() + summed.len()) % 6);
    for &(order, steps) in &layouts[..if few { 2 } else { 6 }] {
        // Axis `order[i]` of the view is axis `i` in memory.
        let step = |axis: usize| -> isize { steps[axis % 2] };
        let sizes = order
            .iter()
            .map(|&axis| shape[axis] * step(axis).unsigned_abs());
        let mut memory = ArrayD::from_elem(sizes.collect::<Vec<_>>(), Mixed::number(99));
        let mut inverse = vec![0; rank];
        order
            .iter()
            .enumerate()
            .for_each(|(i, &axis)| inverse[axis] = i);
        let mut view = memory.view_mut().permuted_axes(inverse);
        for axis in 0..rank {
            view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step(axis)));
        }
        view.assign(&terms);
        check(&view.view());
    }
}

fn all_cases() -> bool {
    std::env::var_os("ALL_CASES").is_some()
}

/// A number, the one before and the one after.
fn around(n: usize) -> [usize; 3] {
    [n - 1, n, n + 1]
}

#[test]
fn sums_of_few_columns_follow_the_tree_in_every_layout() {
    let mut terms = vec![0, 1, 2, 3, 5];
    for border in [8, LANES, 48, LEAF, BLOCK_TERMS] {
        terms.extend(around(border));
    }
    terms.push(2 * BLOCK_TERMS + 1);
    for terms in terms {
        for columns in [0, 1, 3].into_iter().chain(around(LANES)) {
            // Also columns along two axes.
            check_layouts(&[2, terms, columns], &[1], check::<4>);
            check_layouts(&[terms, columns], &[0], check_sums_and_maps::<4>);
            check_layouts(&[columns, terms], &[1], check_sums_and_maps::<4>);
        }
        check_layouts(&[terms], &[0], check_sums_and_maps::<4>);
        check_layouts(&[3, terms, 4], &[1], check_sums_and_maps::<4>);
        check_layouts(&[terms, 3, 2], &[0, 2], check_sums_and_maps::<4>);
        check_layouts(&[2, 3, terms], &[0, 2], check_sums_and_maps::<4>);
    }
}

/// Terms of one column whose order in memory is not their order in the sum: they are gathered by
/// several rows, and as many as are left.
#[test]
fn sums_over_several_axes_follow_the_tree_in_every_layout() {
    fn check_widths(shape: &[usize], summed: &[usize]) {
        check_layouts(shape, summed, check::<1>);
        check_layouts(shape, summed, check::<4>);
        check_layouts(shape, summed, check::<8>);
        check_layouts(shape, summed, check::<12>);
    }
    for rows in [2, 3, 7, 8, 9, 15, LANES, LANES + 1] {
        for inner in [3, 40, LEAF + 1] {
            check_widths(&[rows, inner], &[0, 1]);
            check_widths(&[2, rows, inner], &[1, 2]);
        }
    }
    check_widths(&[3, 2, 5, 70], &[1, 2, 3]);
    check_widths(&[2, 9, 3, 11], &[0, 2, 3]);
    check_widths(&[3, 2, 4, 2 * LEAF + 99], &[0, 3]);
    check_widths(&[3, 5000], &[0, 1]);
    check_layouts(&[2 * LANES + 1, 5000], &[0, 1], check::<8>);
}

/// Each way to sum over some axes and to permute the others.
#[test]
fn few_elements_follow_the_tree_whatever_becomes_of_their_axes() {
    fn orders(axes: &[usize]) -> Vec<Vec<usize>> {
        let first = |i: usize| {
            let rest: Vec<usize> = [&axes[..i], &axes[i + 1..]].concat();
            let with_first = move |rest: Vec<usize>| [vec![axes[i]], rest].concat();
            orders(&rest).into_iter().map(with_first)
        };
        match axes {
            [] => vec![vec![]],
            _ => (0..axes.len()).flat_map(first).collect(),
        }
    }
    for shape in [
        &[][..],
        &[1],
        &[16],
        &[17],
        &[16, 8],
        &[32, 16],
        &[127],
        &[1, 5],
        &[4, LEAF],
        &[4, LEAF + 1],
        &[LANES, 64],
        &[2, LANES, 40],
        &[BLOCK_TERMS, 16],
        &[BLOCK_TERMS + 1, 2],
        &[2, BLOCK_TERMS],
        &[2, 3, 4],
        &[3, 1, 2],
        &[2, 2, 2, 2],
        &[2, 5, 3, 4],
        &[2, 1, 2, 2, 1, 3],
        &[1, 2, 1, 2, 1, 2, 2],
    ] {
        let terms = (0..shape.iter().product::<usize>()).map(Mixed::<4>::number);
        let terms = ArrayD::from_shape_vec(shape, terms.collect()).unwrap();
        let fortran = terms.t().as_standard_layout().reversed_axes().into_owned();
        for subset in 0..1_usize << shape.len() {
            let (summed, kept): (Vec<usize>, Vec<usize>) =
                (0..shape.len()).partition(|axis| subset >> axis & 1 == 1);
            for order in orders(&kept) {
                let input: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
                let plan =
                    BroadcastPlan::in_dim_permuting(IxDyn(&input), IxDyn(shape), &order).unwrap();
                let axes: Vec<usize> = order.iter().chain(&summed).copied().collect();
                let count: usize = input.iter().product();
                let all: Vec<_> = terms.view().permuted_axes(axes).iter().copied().collect();
                let (columns, slab) = (all.chunks(all.len() / count), slab_of(shape, &summed));
                let expected: Vec<_> = columns.map(|terms| tree(terms, slab)).collect();
                let what = format!("{shape:?}, sums of {summed:?}, {order:?} kept");
                let fresh = plan.gradient(&terms).unwrap();
                assert!(fresh.iter().eq(&expected), "{what}");
                assert_eq!(plan.gradient(&fortran).unwrap(), fresh, "{what}");
                let before = Mixed::number(7);
                let mut out = ArrayD::from_elem(&input[..], before);
                plan.gradient_accumulate(&terms, &mut out).unwrap();
                let added = expected.iter().map(|&sum| before + sum);
                assert!(out.iter().copied().eq(added), "added, {what}");
                plan.gradient_into(&terms, &mut out).unwrap();
                assert_eq!(out, fresh, "into, {what}");
                let numbered = expected_numbered(&all, count, slab);
                let fresh = plan.reduce(&fortran, Numbered).unwrap();
                assert!(fresh.iter().eq(&numbered), "numbered, {what}");
                plan.reduce_into(&terms, Numbered, &mut out).unwrap();
                assert_eq!(out, fresh, "numbered, into, {what}");
            }
        }
    }
}

/// Sums of numbered terms of an array.
fn check_numbered<const N: usize>(
    terms: &ArrayViewD<'_, Mixed<N>>,
    summed: &[usize],
) -> impl Check<N> + use<N> {
    let (plan, (count, all)) = (plan(terms.shape(), summed), in_order(terms, summed));
    let expected = expected_numbered(&all, count, slab_of(terms.shape(), summed));
    move |terms| {
        let what = || format!("{N} bytes, {:?}, {plan}", terms.strides());
        let fresh = plan.reduce(terms, Numbered).unwrap();
        assert!(fresh.iter().eq(&expected), "{}", what());
        let mut out = ArrayD::from_elem(plan.input_shape(), Mixed::number(5));
        plan.reduce_into(terms, Numbered, &mut out).unwrap();
        assert_eq!(out, fresh, "into, {}", what());
    }
}

#[test]
fn few_elements_of_every_layout_and_size_are_numbered() {
    fn check<const N: usize>() {
        for (shape, summed) in [
            (&[][..], &[][..]),
            (&[0, 3], &[0]),
            (&[1, 7], &[1]),
            (&[2, 3, 5], &[1]),
            (&[127], &[0]),
            (&[127], &[]),
            (&[LEAF + 1, 3], &[0]),
            (&[4, LEAF], &[0]),
            (&[4, LEAF], &[1]),
            (&[4, LEAF + 1], &[1]),
        ] {
            check_layouts(shape, summed, check_numbered::<N>);
        }
    }
    check::<1>();
    check::<16>();
    check::<17>();
}

#[test]
fn rows_of_every_width_follow_the_tree() {
    let size = size_of::<Mixed<4>>();
    let mut widths = vec![];
    for border in [4, LANES, 2 * LANES, 8 * LANES, 2 * PAGE / size] {
        widths.extend(around(border));
    }
    for columns in widths {
        for terms in [2, LANES - 1, LANES + 1, LEAF / 2 + 3] {
            // Only `ALL_CASES` finds a fault of many long rows alone.
            if terms * columns > 100_000 && !all_cases() {
                continue;
            }
            check_layouts(&[terms, columns], &[0], check_sums_and_maps::<4>);
            check_layouts(&[columns, terms], &[1], check_sums_and_maps::<4>);
        }
    }
    for terms in around(BLOCK / size / LANES) {
        check_layouts(&[terms, LANES - 1], &[0], check_sums_and_maps::<4>);
        check_layouts(&[3, terms, LANES - 1], &[1], check_sums_and_maps::<4>);
    }
}

/// Runs that are gathered into rows, and runs that are whole lanes or too long for that.
#[test]
fn short_runs_of_small_elements_follow_the_tree() {
    for border in [LANES, 2 * LANES, 8 * LANES] {
        for terms in around(border) {
            for columns in [2, 40] {
                check_layouts(&[columns, terms], &[1], check_sums_and_maps::<1>);
                check_layouts(&[columns, terms], &[1], check_sums_and_maps::<2>);
            }
        }
    }
}

fn check_width<const N: usize>() {
    for shape in [
        &[3, 1][..],
        &[37, 5],
        &[5, 37],
        &[16, 16],
        &[17, 300],
        &[130, 65],
        &[1030, 9],
    ] {
        check_layouts(shape, &[0], check::<N>);
        check_layouts(shape, &[1], check::<N>);
        // In Fortran order, squares of the terms are transposed.
        check_layouts(shape, &[0, 1], check::<N>);
    }
    check_layouts(&[2, 3, 4, 5], &[0, 2], check::<N>);
    check_layouts(&[6, 5, 4, 3, 2], &[1, 3, 4], check::<N>);
    check_layouts(&[3, 0, 2], &[0], check::<N>);
    check_layouts(&[3, 0, 2], &[1], check::<N>);
    check_layouts(&[3, 2, 4], &[], check::<N>);
    check_layouts(&[], &[], check::<N>);
}

fn check_widths() {
    check_width::<0>();
    check_width::<1>();
    check_width::<2>();
    check_width::<3>();
    check_width::<4>();
    check_width::<8>();
    check_width::<12>();
    check_width::<16>();
    check_width::<100>();
}

#[test]
fn elements_of_every_size_follow_the_tree() {
    check_widths();
}

#[test]
fn products_of_large_elements_are_in_order() {
    for shape in [[3, 2], [17, 9], [2, 1025], [1025, 2], [70, 40]] {
        for summed in [&[0][..], &[1], &[0, 1], &[]] {
            check_layouts(&shape, summed, check_products::<64, 15>);
            check_layouts(&shape, summed, check_products::<64, 16>);
        }
    }
}

/// Only this test's own thread is without wide registers. Threads that help it have them. Without
/// `ALL_CASES`, some sizes of elements: the code is the same as with wide registers.
#[test]
fn processors_without_wide_registers_come_to_the_same_sums() {
    let _without = WithoutWideRegisters::new();
    if all_cases() {
        check_widths();
    } else {
        check_width::<1>();
        check_width::<4>();
        check_width::<12>();
        check_width::<100>();
    }
}

/// What is split over threads, in units and within sums.
#[test]
fn large_sums_follow_the_tree() {
    let long = CHUNK_BYTES.start() / size_of::<Mixed<4>>();
    for (shape, summed) in [
        (&[9 * long + 1][..], &[0][..]),
        (&[3, 5 * long], &[1]),
        (&[5 * long, 3], &[0]),
        (&[2500, 150], &[0]),
        (&[150, 2500], &[1]),
        (&[5 * long, 3], &[1]),
        (&[20, if all_cases() { 700 } else { 70 }, 300], &[0, 2]),
        (&[300, 3, 20, 20], &[0, 2, 3]),
        (&[300, 20, 7, 7], &[0, 2, 3]),
        (&[40, 60, 300], &[0, 2]),
        (&[40, 60, 300], &[1]),
    ] {
        let terms = (0..shape.iter().product())
            .map(Mixed::<4>::number)
            .collect();
        let terms = ArrayD::from_shape_vec(shape, terms).unwrap();
        let mut backwards = terms.view();
        (0..shape.len()).for_each(|axis| backwards.invert_axis(Axis(axis)));
        let fortran = terms.t().as_standard_layout().reversed_axes().into_owned();
        let sums = expected(&terms.view(), summed);
        let sums_of_backwards = expected(&backwards, summed);
        let plan = plan(shape, summed);
        let mut layouts = vec![
            (backwards, &sums_of_backwards),
            (fortran.view(), &sums),
            (terms.view(), &sums),
        ];
        // One of the first two, by turns. Only `ALL_CASES` finds a fault of one shape in the other.
        if !all_cases() {
            layouts.swap_remove(shape[0] % 2);
        }
        for (terms, sums) in layouts {
            let what = || format!("{shape:?} {:?}, {summed:?}", terms.strides());
            let mut out = plan.gradient(&terms).unwrap();
            assert!(out.iter().eq(sums), "{}", what());
            plan.gradient_accumulate(&terms, &mut out).unwrap();
            let twice = sums.iter().map(|&sum| sum + sum);
            assert!(out.iter().copied().eq(twice), "added, {}", what());
        }
    }
}

/// The terms of each result are cut into ranges, and the results are written in several units.
#[test]
fn maps_of_large_arrays_follow_the_tree() {
    for (shape, summed) in [
        (&[2, 2048, 64][..], &[1][..]),
        (&[1100, 2 * PAGE / 4 + 1], &[0]),
    ] {
        let terms = (0..shape.iter().product()).map(Mixed::<4>::number);
        let terms = ArrayD::from_shape_vec(shape, terms.collect()).unwrap();
        check_once(&terms.view(), summed, check_maps);
    }
}

/// Terms whose neighbours in memory belong to the next run of terms. Those that are numbered are
/// gathered, others are summed slab by slab.
#[test]
fn crossed_terms_follow_the_tree() {
    let lines = SECOND_LEVEL_CACHE / CACHE_LINE;
    for (run, step) in [
        (lines, CACHE_LINE),
        (lines + 600, CACHE_LINE),
        (lines - 1, CACHE_LINE),
        (2 * BLOCK_TERMS, 64 * CACHE_LINE),
        (2 * BLOCK_TERMS + 500, 64 * CACHE_LINE),
        // Shorter than two chunks.
        (2 * BLOCK_TERMS - 1, 64 * CACHE_LINE),
    ] {
        let mut memory = ArrayD::from_elem(&[run, step][..], Mixed::<1>::number(9));
        for runs in [2, 3, 7] {
            let mut terms = memory.slice_axis_mut(Axis(1), Slice::new(0, Some(runs), 1));
            (terms.iter_mut().enumerate()).for_each(|(i, term)| *term = Mixed::number(i));
            let terms = terms.reversed_axes();
            check_once(&terms.view(), &[0, 1], check);
            let apart = terms.view().insert_axis(Axis(0));
            check_once(&apart.view(), &[1, 2], check_numbered);
        }
        let mut backwards = memory.view().reversed_axes();
        backwards.slice_axis_inplace(Axis(0), Slice::new(0, Some(4), 1));
        backwards.invert_axis(Axis(0));
        backwards.invert_axis(Axis(1));
        check_once(&backwards, &[0, 1], check);
        check_once(&backwards, &[0, 1], check_numbered);
    }
    // On several threads, and several sums.
    let (run, step) = (lines + 600, CACHE_LINE / 4);
    let terms = (0..run * step).map(Mixed::<4>::number).collect();
    let memory = ArrayD::from_shape_vec(&[run, step][..], terms).unwrap();
    check_once(&memory.t(), &[0, 1], check_sums_and_maps);
    let (run, step, sums) = (lines, CACHE_LINE / 16, 3);
    let terms = (0..sums * run * step).map(Mixed::<16>::number).collect();
    let memory = ArrayD::from_shape_vec(&[sums, run, step][..], terms).unwrap();
    let turned = memory.view().permuted_axes(&[0, 2, 1][..]);
    check_once(&turned, &[1, 2], check);
}

/// Rows of terms that are longer than what is gathered together.
#[test]
fn rows_longer_than_a_piece_are_read() {
    let piece = CHUNK_BYTES.end() / size_of::<f64>();
    for shape in [
        &[2, piece + 5][..],
        &[4, 3, piece / 2],
        &[17, 2, piece / 20],
    ] {
        let len: usize = shape.iter().product();
        let terms = (0..len).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 7) as f64);
        let terms = ArrayD::from_shape_vec(shape, terms.collect()).unwrap();
        let fortran = terms.t().as_standard_layout().reversed_axes().into_owned();
        let all: Vec<usize> = (0..shape.len()).collect();
        let plan = plan(shape, &all);
        let position = |of| zip(of).reduce(&plan, ArgMax, |x| x).unwrap();
        assert_eq!(position(&fortran), position(&terms), "{shape:?}");
        let blocks = sum_blocks(&plan);
        let input: Vec<_> = plan.input_shape().iter().map(|&size| 0..size).collect();
        let part = Part::of_blocks(&plan, &input, blocks / 4..blocks / 2).unwrap();
        let sum = |of: &ArrayD<f64>| {
            let of = part.tile().output().of(of).unwrap();
            part.reduce(&of, Sum).unwrap().to_bytes()
        };
        assert_eq!(sum(&fortran), sum(&terms), "{shape:?}");
    }
    // With a gap between two rows.
    let flags = ArrayD::from_elem(&[2, CHUNK_BYTES.end() + 9][..], false);
    let flags = flags.slice_axis(Axis(1), Slice::new(0, Some(-3), 1));
    let any = plan(flags.shape(), &[0, 1]).reduce(&flags, Any).unwrap();
    assert!(any.iter().all(|any| !any));
}

/// Sums over several axes, of which any may be the nearest in memory, and the axes that are kept
/// may lie between them. The two arrays of a product have different orders of axes.
#[test]
fn every_order_of_axes_in_memory_gives_the_same_sums() {
    let orders = (0..24).map(|number| {
        let mut left: Vec<usize> = (0..4).collect();
        [24, 6, 2, 1].map(|turn| left.remove(number % turn * left.len() / turn))
    });
    let orders: Vec<_> = orders.collect();
    assert!((1..24).all(|at| !orders[..at].contains(&orders[at])));
    // With more rows than a piece has, with fewer, and with a short last piece.
    for (shape, summed) in [
        ([70, 5, 7, 11], &[0, 2, 3][..]),
        ([70, 5, 7, 11], &[0, 3]),
        ([3, 40, 2, 13], &[0, 1, 3]),
        ([40, 2, 33, 9], &[0, 2, 3]),
        ([9, 2, 7, 40], &[0, 2, 3]),
        ([20, 3, 1, 50], &[0, 2, 3]),
        // Few terms of many short rows of columns, and columns that are written across their order.
        ([3, 60, 4, 5], &[2]),
        ([6, 5, 40, 3], &[0, 1]),
        ([4, 6, 300, 2], &[0, 1]),
        ([2, 40, 9, 25], &[0]),
        ([3, 5, 64, 20], &[1]),
    ] {
        let terms = (0..shape.iter().product()).map(Mixed::<4>::number);
        let terms = ArrayD::from_shape_vec(&shape[..], terms.collect()).unwrap();
        let plan = plan(&shape, summed);
        let sums = expected(&terms.view(), summed);
        let (count, all) = in_order(&terms.view(), summed);
        let numbered = expected_numbered(&all, count, slab_of(&shape, summed));
        for order in &orders {
            let mut inverse = [0; 4];
            (order.iter().enumerate()).for_each(|(at, &axis)| inverse[axis] = at);
            let ordered = terms.view().permuted_axes(&order[..]);
            let ordered = ordered.as_standard_layout().into_owned();
            let ordered = ordered.permuted_axes(&inverse[..]);
            let what = format!("{shape:?}, {summed:?}, {order:?}");
            let mut out = plan.gradient(&ordered).unwrap();
            assert!(out.iter().eq(&sums), "{what}");
            plan.gradient_accumulate(&ordered, &mut out).unwrap();
            let twice = sums.iter().map(|&sum| sum + sum);
            assert!(out.iter().copied().eq(twice), "added, {what}");
            let found = zip((&terms, &ordered)).reduce(&plan, Numbered, |(a, b)| {
                assert_eq!(a, b, "{what}");
                b
            });
            assert!(found.unwrap().iter().eq(&numbered), "{what}");
        }
    }
}

/// Two arrays of equal terms, whose nearest neighbours in memory are terms of one column and of one
/// row. Short runs of several columns are gathered together, and leaves end within them.
#[test]
fn terms_of_arrays_in_different_orders_follow_the_tree() {
    fn check<const N: usize>(shape: [usize; 4]) {
        let terms = (0..shape.iter().product()).map(Mixed::<N>::number);
        let terms = ArrayD::from_shape_vec(&shape[..], terms.collect()).unwrap();
        let crossed = terms.view().permuted_axes(&[0, 1, 3, 2][..]);
        let crossed = crossed.as_standard_layout().into_owned();
        let crossed = crossed.permuted_axes(&[0, 1, 3, 2][..]);
        let (count, all) = in_order(&terms.view(), &[1, 3]);
        let found = zip((&terms, &crossed)).reduce(&plan(&shape, &[1, 3]), Numbered, |(a, b)| {
            assert_eq!(a, b, "{N} bytes, {shape:?}");
            a
        });
        let numbered = expected_numbered(&all, count, slab_of(&shape, &[1, 3]));
        assert!(found.unwrap().iter().eq(&numbered), "{N} bytes, {shape:?}");
    }
    for columns in [2, 3, 5, 7, 8, 9] {
        for run in [44, 100, LEAF - 1, LEAF, LEAF + 44, 3 * LEAF + 10] {
            check::<1>([3, 7, columns, run]);
            check::<4>([2, 7, columns, run]);
            check::<8>([2, 7, columns, run]);
        }
    }
}

/// Where the terms of several rows are gathered together, an operand has one element for each row.
#[test]
fn terms_with_one_element_for_each_row_follow_the_tree() {
    for shape in [[3, 300], [40, 50], [300, 7], [70, 1000]] {
        let [rows, columns] = shape;
        let terms = (0..rows * columns).map(|i| Mixed::<8>::number(rows + i));
        let terms = ArrayD::from_shape_vec(&shape[..], terms.collect()).unwrap();
        let crossed = terms.t().as_standard_layout().reversed_axes().into_owned();
        let column = Array2::from_shape_fn((rows, 1), |(row, _)| Mixed::<8>::number(row));
        let expected: Vec<_> = terms
            .indexed_iter()
            .map(|(at, &term)| term + column[[at[0], 0]])
            .collect();
        let (operands, slab) = (zip((&crossed, &column)), slab_of(&shape, &[0, 1]));
        let found = operands.reduce(&plan(&shape, &[0, 1]), Sum, |(a, b)| a + b);
        assert!(
            found.unwrap().iter().eq([&tree(&expected, slab)]),
            "{shape:?}"
        );
    }
}

/// One slab, whole slabs with a short last leaf or a short last block, and slabs of few leaves.
#[test]
fn slabs_follow_the_tree_in_every_layout() {
    for (shape, summed) in [
        (&[3, BLOCK_TERMS - 1][..], &[0, 1][..]),
        (&[3, BLOCK_TERMS], &[0, 1]),
        (&[5, BLOCK_TERMS + 1], &[0, 1]),
        (&[2, 3, BLOCK_TERMS + LEAF], &[0, 1, 2]),
        (&[2, 3, BLOCK_TERMS + 6], &[0, 2]),
        (&[3, 2, BLOCK_TERMS + 6], &[0, 2]),
        (&[7, 40, 31], &[0, 1, 2]),
        (&[4, 40, 31, 3], &[0, 1, 2]),
        (&[4, 3, 40, 31], &[0, 2, 3]),
        (&[3, 2, 2, 2 * BLOCK_TERMS], &[0, 1, 3]),
        (&[3, 5, 2, 9, 130], &[0, 1, 3, 4]),
        (&[130, 1, BLOCK_TERMS + 1, 1], &[0, 1, 2, 3]),
    ] {
        check_layouts(shape, summed, check_sums_and_maps::<1>);
        check_layouts(shape, summed, check_sums_and_maps::<4>);
        check_layouts(shape, summed, check::<16>);
    }
    check_layouts(&[3, BLOCK_TERMS + 5], &[0, 1], check::<LARGE_ELEMENT>);
}

/// One row that is seen many times.
#[test]
fn long_rows_follow_the_tree() {
    for blocks in [4, 513] {
        let row: Array1<_> = (0..blocks * BLOCK_TERMS - 7)
            .map(Mixed::<4>::number)
            .collect();
        let rows = row.broadcast((40, row.len())).unwrap();
        let sums = plan(rows.shape(), &[1]).gradient(&rows.into_dyn()).unwrap();
        let expected = tree(row.as_slice().unwrap(), row.len());
        assert!(sums.iter().all(|&sum| sum == expected), "{blocks} blocks");
    }
}

/// Elements that are combined one by one, and those that are not.
#[test]
fn large_elements_follow_the_tree() {
    check_width::<{ LARGE_ELEMENT - 1 }>();
    check_width::<LARGE_ELEMENT>();
    check_layouts(&[300, 20, 3], &[0, 2], check::<LARGE_ELEMENT>);
}

/// Positions of the largest and the smallest of many equal terms, and of NaN, of small and of large
/// elements. The largest terms are among the last leaves.
#[test]
fn positions_are_those_of_the_first_terms_in_every_layout() {
    let value = |i: usize| (i.wrapping_mul(0x9e37_79b9) >> 7) % 50 + i / 400;
    for (shape, summed) in [
        (&[7, 5][..], &[0][..]),
        (&[5, 7], &[1]),
        (&[300, 40], &[0]),
        (&[40, 300], &[1]),
        (&[2000, 17], &[0]),
        (&[17, 2000], &[1]),
        (&[100, 8], &[1]),
        (&[9, 30, 11], &[0, 2]),
        (&[400, 300], &[0]),
        (&[400, 300], &[0, 1]),
        (&[5, 1100], &[0, 1]),
        (&[4, 3, 1030], &[0, 2]),
    ] {
        let len: usize = shape.iter().product();
        for nan_every in [0, 37, len / 3] {
            let term = |i| match nan_every > 0 && i % nan_every == nan_every / 2 {
                true => f32::NAN,
                false => value(i) as f32,
            };
            let terms = ArrayD::from_shape_vec(shape, (0..len).map(term).collect()).unwrap();
            let fortran = terms.t().as_standard_layout().reversed_axes().into_owned();
            let plan = plan(shape, summed);
            let kept: Vec<usize> = (0..shape.len())
                .filter(|axis| !summed.contains(axis))
                .collect();
            let order: Vec<usize> = kept.iter().chain(summed).copied().collect();
            let all: Vec<f32> = terms.view().permuted_axes(order).iter().copied().collect();
            let count: usize = kept.iter().map(|&axis| shape[axis]).product();
            let first = |terms: &[f32], better: fn(f32, f32) -> bool| {
                let mut best = 0;
                for (i, &term) in terms.iter().enumerate() {
                    if !terms[best].is_nan() && (term.is_nan() || better(term, terms[best])) {
                        best = i;
                    }
                }
                best
            };
            let columns = || all.chunks(len / count);
            let largest = columns().map(|terms| first(terms, |a, b| a > b));
            let largest = ArrayD::from_shape_vec(plan.input_shape(), largest.collect()).unwrap();
            let smallest = columns().map(|terms| first(terms, |a, b| a < b));
            let smallest = ArrayD::from_shape_vec(plan.input_shape(), smallest.collect()).unwrap();
            for terms in [&terms, &fortran] {
                let what = format!("{shape:?} {summed:?}, NaN every {nan_every}");
                assert_eq!(plan.reduce(terms, ArgMax).unwrap(), largest, "{what}");
                assert_eq!(plan.reduce(terms, ArgMin).unwrap(), smallest, "{what}");
                let mapped = zip(terms).reduce(&plan, ArgMax, |term| term).unwrap();
                assert_eq!(mapped, largest, "map, {what}");
                // Large elements are compared by another function, which is slow here.
                if len > 300 * 40 {
                    continue;
                }
                let large = terms.mapv(|term| [term; LARGE_ELEMENT / size_of::<f32>()]);
                let what = format!("large, {what}");
                assert_eq!(plan.reduce(&large, ArgMax).unwrap(), largest, "{what}");
                assert_eq!(plan.reduce(&large, ArgMin).unwrap(), smallest, "{what}");
            }
        }
    }
}

/// Calls `f` with 0 to 7 times 16 bytes more on the stack, so that memory there begins at addresses
/// of all alignments up to 128.
fn at_each_place_on_the_stack(f: &dyn Fn()) {
    #[inline(never)]
    fn with<const N: usize>(f: &dyn Fn()) {
        let more = std::hint::black_box([0_u8; N]);
        f();
        std::hint::black_box(more);
    }
    with::<0>(f);
    with::<16>(f);
    with::<32>(f);
    with::<48>(f);
    with::<64>(f);
    with::<80>(f);
    with::<96>(f);
    with::<112>(f);
}

/// Without optimisation, a reference that is not aligned aborts the process.
#[test]
fn copies_of_elements_are_aligned() {
    #[repr(align(128))]
    #[derive(Clone, Copy)]
    struct Wide(u32);

    #[repr(align(4096))]
    #[derive(Clone, Copy)]
    struct Empty;

    let wide = Array2::from_shape_fn((2, 3), |(i, j)| Wide((10 * i + j) as u32));
    let sums = plan(&[2, 3], &[1]);
    at_each_place_on_the_stack(&|| {
        let found = zip(&wide).reduce(&sums, Sum, |wide| wide.0);
        assert_eq!(found.unwrap().into_raw_vec_and_offset().0, [3, 33]);
    });
    for columns in [3, 3000] {
        let numbers = Array2::from_shape_fn((columns, 6), |(i, j)| (i + j) as u32);
        let numbers = numbers.slice_axis(Axis(1), Slice::new(0, None, 2));
        let empty = Array2::from_elem(numbers.raw_dim(), Empty);
        let sums = plan(numbers.shape(), &[1]);
        let found = zip((&empty, &numbers)).reduce(&sums, Sum, |(Empty, number)| number);
        assert!(
            found
                .unwrap()
                .into_iter()
                .eq((0..columns as u32).map(|i| 3 * i + 6))
        );
    }
    // With 32 bits, a pair and its position have 12 bytes: a `u64` behind an odd number of them is
    // not aligned.
    for columns in [1, 3] {
        let pairs = Array2::from_shape_fn((5, columns), |(i, j)| [(3 * i + j) as u32 % 5, 7]);
        let sums = plan(&[5, columns], &[0]);
        let found = sums.reduce(&pairs.into_dyn(), ArgMax).unwrap();
        assert!(found.iter().eq(&[3, 1, 4][..columns]));
    }
}

#[cfg(panic = "unwind")]
#[test]
fn reductions_of_more_bytes_than_usize_counts_call_the_closure() {
    let begun = |shape: [usize; 2], summed: &[usize]| {
        let one = ndarray::arr0(1.0_f64);
        let terms = one.broadcast(shape).unwrap();
        let plan = plan(&shape, summed);
        let reached = || zip(&terms).reduce(&plan, Sum, |_| -> f64 { resume_unwind(Box::new(7)) });
        let caught = catch_unwind(AssertUnwindSafe(reached)).unwrap_err();
        assert_eq!(caught.downcast_ref(), Some(&7), "{shape:?}");
    };
    let many = isize::MAX as usize / 4 + 1;
    begun([1, many], &[0, 1]);
    begun([2, many], &[1]);
    begun([many, 2], &[0]);
}

/// Why a call panics, if it does.
#[cfg(panic = "unwind")]
fn reason<T>(call: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        return String::new();
    };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => (*other.downcast::<&str>().unwrap()).to_owned(),
    }
}

/// What is summed decides where results are written: no caller may be wrong about it.
#[cfg(panic = "unwind")]
#[test]
fn results_and_terms_that_do_not_fit_are_refused() {
    let terms = Array2::from_elem((2, 2), 1_u32);
    let inputs = (Input::values(&terms),);
    let map = |shape| Map::new(&inputs, shape, &Sum, &identity::<u32>, true);
    let kernel = map(&[2, 2]);
    let sums = |becomes: &[usize], dim: &[usize], range| {
        let terms = Terms {
            range,
            may_move: false,
            number: 0,
            slab: 2,
        };
        reason(|| {
            let call = Call::<u32, _>::new(&kernel, &Sum, becomes, 2);
            call.accumulators(IxDyn(dim), terms).unwrap()
        })
    };
    assert_eq!(sums(&[0, SUMMED], &[2], 0..2), "");
    for (becomes, dim, range, what) in [
        (&[0, 1][..], &[1, 4][..], 0..1, "sizes differ"),
        (&[0, 0], &[2], 0..1, "named twice"),
        (&[0, SUMMED], &[2, 3], 0..2, "not named"),
        (&[0, SUMMED], &[2], 0..3, "terms.range.end <= summed.len()"),
        (&[0, SUMMED], &[2], 1..1, "!terms.range.is_empty()"),
        (&[0], &[2], 0..1, "becomes.len() == shape.len()"),
    ] {
        let found = sums(becomes, dim, range);
        assert!(found.contains(what), "{what}: {found:?}");
    }
    let other = map(&[2, 3]);
    let found = reason(|| {
        Call::<u32, _>::new(&other, &Sum, &[0, SUMMED], 3)
            .fresh_results(Ix1(2))
            .unwrap()
    });
    assert!(found.contains("replicate"), "{found:?}");
}

/// Which terms a range has depends on the layout, but all ranges together have each term once.
#[test]
fn sums_of_ranges_add_up_if_terms_may_move() {
    for (far, near) in [(300, 16), (70, 40), (3, 300), (300, 1)] {
        let memory = Array3::from_shape_fn((far, 5, near), |(i, j, k)| (i * j + 7 * k) as u32);
        for order in [[0, 1, 2], [2, 1, 0]] {
            for backwards in [false, true] {
                let mut a = memory.view().permuted_axes(order);
                if backwards {
                    a.invert_axis(Axis(0));
                }
                let inputs = (Input::values(&a),);
                let kernel = Map::new(&inputs, a.shape(), &Sum, &identity::<u32>, true);
                let count = far * near;
                let call = Call::<u32, _>::new(&kernel, &Sum, &[SUMMED, 0, SUMMED], count);
                let mut sums = Array1::<u32>::zeros(5);
                let cuts = [0, 1, 255, 256, 257, count - 1, count];
                for range in cuts.windows(2).map(|cut| cut[0]..cut[1]) {
                    let terms = Terms {
                        slab: range.len(),
                        range,
                        may_move: true,
                        number: 0,
                    };
                    sums += &call.accumulators(Ix1(5), terms).unwrap();
                }
                let expected = a.sum_axis(Axis(2)).sum_axis(Axis(0));
                assert_eq!(sums, expected, "{far} {near} {order:?} {backwards}");
            }
        }
    }
}

/// Sums in scratch memory that is just large enough, or would be too small for the fastest way.
#[test]
fn scratch_memory_has_room_for_all_that_is_written_to_it() {
    fn check(shape: (usize, usize)) {
        let terms = Array2::from_shape_fn(shape, |(i, j)| (i * 31 + j * 7) as u128);
        let narrow = terms.mapv(|term| term as u32);
        let expected: Vec<u128> = terms.rows().into_iter().map(|row| row.sum()).collect();
        let plan = plan(&[shape.0, shape.1], &[1]);
        assert!(
            plan.gradient(&terms.view().into_dyn())
                .unwrap()
                .into_iter()
                .eq(expected.clone())
        );
        let sums = plan.gradient(&narrow.view().into_dyn()).unwrap();
        assert!(sums.into_iter().map(u128::from).eq(expected), "{shape:?}");
    }
    // As many columns as there is room for on the stack, and more.
    (490..530).for_each(|columns| check((columns, 2)));
    // Tables that end near the end of this room, and pieces. Nine rows are copied as twelve.
    (64..96).for_each(|columns| check((columns, 9)));
    check((2000, 9));
    // A table of each operand: of a repeated element, and of elements that are apart.
    let column = Array1::from_iter(0..300_u32);
    let repeated = column.broadcast((5, 300)).unwrap().reversed_axes();
    let wide = Array2::from_shape_fn((300, 10), |(i, j)| (i + j) as u32);
    let apart = wide.slice_axis(Axis(1), Slice::new(0, None, 2));
    let found = zip((&repeated, &apart)).reduce(&plan(&[300, 5], &[0]), Sum, |(a, b)| a * b);
    let products = |j: u32| (0..300).map(|i| i * (i + 2 * j)).sum::<u32>();
    assert!(found.unwrap().into_iter().eq((0..5).map(products)));
    // As many slabs as there is room for on the stack, and more. Their sums are joined in place.
    let len = BLOCK_TERMS + 6;
    for slabs in (2..10).chain(165..175) {
        let terms = ArrayD::from_shape_fn(&[slabs, len][..], |at| (at[0] * 5 + at[1]) as u8);
        let expected: u128 = terms.iter().map(|&term| u128::from(term)).sum();
        let sum = plan(&[slabs, len], &[0, 1]).reduce(&terms, Sum.in_type::<u128, u128>());
        assert_eq!(sum.unwrap().into_iter().next(), Some(expected), "{slabs}");
    }
}

/// One column, read for all columns of a broadcast array, with gaps between its terms.
#[test]
fn every_copy_of_a_replicated_column_has_the_same_position() {
    let many = Array1::from_iter((0..1200).map(|i| i as f32));
    let check = |terms: usize, columns: usize| {
        let column = many.slice_axis(Axis(0), Slice::new(0, Some(2 * terms as isize), 2));
        let column = column.insert_axis(Axis(1));
        let all = column.broadcast((terms, columns)).unwrap();
        let plan = plan(&[terms, columns], &[0]);
        let largest = plan.reduce(&all.into_dyn(), ArgMax).unwrap();
        let found = largest.iter().all(|&position| position == terms - 1);
        assert!(found, "{terms} {columns}: {largest}");
        let smallest = plan.reduce(&all.into_dyn(), ArgMin).unwrap();
        assert!(smallest.iter().all(|&position| position == 0));
    };
    let check_all = || {
        for terms in [17, LEAF, 600] {
            for columns in [1, LANES - 1, LANES, 40, 200] {
                check(terms, columns);
            }
        }
    };
    check_all();
    let _without = WithoutWideRegisters::new();
    check_all();
}

#[test]
fn a_closure_is_called_once_for_each_term() {
    let check = || {
        for terms in [1, LANES, LEAF - 1, LEAF, 3 * LEAF + 5] {
            for columns in [1, 2, LANES + 3] {
                let calls = AtomicUsize::new(0);
                let x = ArrayD::from_elem(IxDyn(&[columns, terms]), 1_f32);
                let counted = |value: f32| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    value
                };
                for (shape, axis) in [([columns, terms], 1), ([terms, columns], 0)] {
                    let x = x.to_shape(IxDyn(&shape)).unwrap();
                    let plan = plan(&shape, &[axis]);
                    zip(&x).reduce(&plan, Var::new(), counted).unwrap();
                    assert_eq!(calls.swap(0, Ordering::Relaxed), terms * columns);
                }
            }
        }
    };
    check();
    let _without = WithoutWideRegisters::new();
    check();
}

#[test]
fn folded_lanes_have_the_bits_of_terms_combined_one_by_one() {
    fn check<R: Reduction<f32, Acc: std::fmt::Debug>>(reduction: &R) {
        for special in [0.1, -0., f32::NAN, f32::INFINITY] {
            let term = |k: usize, j: usize| match (k * 7 + j) % 11 {
                3 => special,
                i => i as f32 * 1.7 - j as f32,
            };
            let lift = |k, j| reduction.lift(term(k, j));
            let folded = reduction.fold_lanes(Lanes, lift);
            for (j, folded) in folded.iter().enumerate() {
                let combine = |acc, k| reduction.combine(acc, lift(k, j));
                let one_by_one = (1..LANES).fold(lift(0, j), combine);
                // This text tells all numbers apart, except NaN.
                assert_eq!(format!("{folded:?}"), format!("{one_by_one:?}"));
            }
        }
    }
    check(&Var::new());
    check(&Then::new(Std::new(), |x| x));
    check(&NanMean);
    check(&Sum);
}
