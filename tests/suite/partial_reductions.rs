//! Partial reductions that are merged in any order have the bits of one call on the whole. What
//! does not belong together is refused, and nothing is changed then.
// A box of one axis is a list of one range.
#![allow(clippy::single_range_in_vec_init)]

use ndarray::{Array, Array1, Array2, ArrayD, Dimension, IxDyn, arr0, arr1};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::{
    AccumulatorBytes, ArgMax, Fold, Max, Mean, PartialReduction, PartialSum, Product, Reduction,
    Sum,
};
use std::fmt::Debug;
use std::ops::Range;

/// Pseudo-random numbers, the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A value in (-1, 1) of any of several magnitudes, so that most additions round.
    fn value(&mut self) -> f64 {
        (self.next() as f64 / (1_u64 << 30) as f64 - 1.) / (1 << self.below(8)) as f64
    }

    fn array(&mut self, shape: &[usize]) -> ArrayD<f64> {
        ArrayD::from_shape_simple_fn(shape, || self.value())
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
    }
}

/// Plans with kept and summed axes in every order, and numbers of terms on both sides of powers of
/// two of blocks.
fn plans() -> Vec<BroadcastPlan> {
    let explicit = |shape: &[usize], kept: &[usize]| {
        let input: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
        BroadcastPlan::explicit(IxDyn(&input), IxDyn(shape), kept).unwrap()
    };
    vec![
        explicit(&[9000], &[]),
        explicit(&[4096, 2], &[1]),
        explicit(&[3, 5000], &[0]),
        explicit(&[100, 3, 7, 7], &[1]),
        explicit(&[8, 2, 2048], &[1]),
        explicit(&[3, 2, 1025], &[0, 1]),
        explicit(&[1500, 2, 3], &[1, 2]),
        explicit(&[4, 3, 1024], &[1]),
        explicit(&[40, 3, 5], &[1]),
        explicit(&[3, 4, 5], &[0, 1, 2]),
        BroadcastPlan::numpy(IxDyn(&[1, 4, 1]), IxDyn(&[33, 4, 64])).unwrap(),
        explicit(&[3, 1, 3000], &[0, 1])
            .permuted(&[2, 0, 1])
            .unwrap(),
    ]
}

type Ranges = Vec<Range<usize>>;

/// A box cut into boxes, at random places. The last axis of `left` is cut at multiples of `unit`.
fn cut(random: &mut Random, ranges: Ranges, units: &[usize], to: &mut Vec<Ranges>) {
    let axis = random.below(ranges.len());
    let Range { start, end } = ranges[axis];
    let places = (end - start).div_ceil(units[axis]);
    if places <= 1 || random.below(5) == 0 {
        return to.push(ranges);
    }
    let middle = start + units[axis] * (1 + random.below(places - 1));
    for range in [start..middle, middle..end] {
        let mut half = ranges.clone();
        half[axis] = range;
        cut(random, half, units, to);
    }
}

/// The parts of a partition: of ranges of blocks, or of tiles.
fn partition(random: &mut Random, plan: &BroadcastPlan) -> Vec<ndarray_broadcast::Part> {
    let mut boxes = vec![];
    if random.below(2) == 0 {
        let mut ranges: Ranges = plan.input_shape().iter().map(|&size| 0..size).collect();
        let units = vec![1; ranges.len() + 1];
        ranges.push(0..plan.sum_blocks());
        cut(random, ranges, &units, &mut boxes);
        let part = |mut ranges: Ranges| {
            let blocks = ranges.pop().unwrap();
            plan.part_of_blocks(&ranges, blocks).unwrap()
        };
        return boxes.into_iter().map(part).collect();
    }
    cut(
        random,
        whole_output(plan),
        &units_of_blocks(plan),
        &mut boxes,
    );
    let part = |ranges: Ranges| plan.part(&plan.tile(&ranges).unwrap()).unwrap();
    boxes.into_iter().map(part).collect()
}

/// All of the output.
fn whole_output(plan: &BroadcastPlan) -> Ranges {
    plan.output_shape().iter().map(|&size| 0..size).collect()
}

/// The distances of cuts of each axis that keep whole blocks if the axes inside it are whole or, if
/// so many terms are inside it that each is apart by blocks, in any case.
fn units_of_blocks(plan: &BroadcastPlan) -> Vec<usize> {
    let kept: Vec<_> = plan.mapping().zip(plan.output_shape()).collect();
    let kept: Vec<bool> = kept
        .iter()
        .map(|(source, size)| source.is_some_and(|axis| plan.input_shape()[axis] == **size))
        .collect();
    let (mut units, mut inside, mut any) = (vec![1; kept.len()], 1, true);
    for axis in (0..kept.len()).rev().filter(|&axis| !kept[axis]) {
        let size = plan.output_shape()[axis];
        let aligned = (1..=1024).find(|at| at * inside % 1024 == 0).unwrap();
        units[axis] = if any { aligned } else { size.max(1) };
        inside *= size;
        any &= inside % 1024 == 0 || aligned >= size;
    }
    units
}

/// Merges in a random order, sometimes by way of bytes.
fn merged<T, R>(
    random: &mut Random,
    plan: &BroadcastPlan,
    mut parts: Vec<PartialReduction<T, R>>,
    reduction: R,
) -> ArrayD<R::Out>
where
    R: Reduction<T, Acc: AccumulatorBytes> + Clone,
{
    random.shuffle(&mut parts);
    while parts.len() > 1 {
        let other = parts.swap_remove(random.below(parts.len()));
        let at = random.below(parts.len());
        parts[at].merge(other).unwrap();
        if random.below(8) == 0 {
            let bytes = parts[at].to_bytes();
            parts[at] = PartialReduction::from_bytes(&bytes, reduction.clone()).unwrap();
        }
        if parts.len() > 1 {
            assert!(!parts[at].is_complete());
        }
    }
    assert!(parts[0].is_complete() && parts[0].is_exact());
    parts[0].finish(plan).unwrap()
}

fn check<T, R, D>(what: &str, found: &Array<T, D>, expected: &Array<T, D>, bits: impl Fn(&T) -> R)
where
    R: PartialEq + Debug,
    D: Dimension,
{
    assert_eq!(found.map(&bits), expected.map(&bits), "{what}");
}

/// One partition and order for each seed; the terms are of each of three types.
#[test]
fn ten_thousand_partitions_and_orders_have_the_bits_of_the_whole() {
    let mut random = Random(16);
    for plan in plans() {
        let mut in_parts = 0;
        let wide = random.array(plan.output_shape());
        let narrow = wide.mapv(|x| x as f32);
        let whole = wide.mapv(|x| (x * 1e6) as i64);
        let expected = (
            plan.gradient(&wide).unwrap(),
            plan.gradient(&narrow).unwrap(),
            plan.gradient(&whole).unwrap(),
        );
        for seed in 0..834 {
            let parts = partition(&mut random, &plan);
            in_parts += usize::from(parts.len() > 1);
            let what = format!("{plan}\n{seed}: {} parts", parts.len());
            macro_rules! gradient {
                ($array:ident) => {{
                    let part = |part: &ndarray_broadcast::Part| {
                        let of_part = part.tile().output();
                        part.gradient(&of_part.of(&$array).unwrap()).unwrap()
                    };
                    let parts = parts.iter().map(part).collect();
                    merged(&mut random, &plan, parts, Sum)
                }};
            }
            match seed % 3 {
                0 => check(&what, &gradient!(wide), &expected.0, |x| x.to_bits()),
                1 => check(&what, &gradient!(narrow), &expected.1, |x| x.to_bits()),
                _ => check(&what, &gradient!(whole), &expected.2, |&x| x),
            }
        }
        assert!(
            in_parts > 200,
            "{plan}\n{in_parts} of 834 have several parts"
        );
    }
}

#[test]
fn other_reductions_and_maps_have_the_bits_of_the_whole() {
    let mut random = Random(7);
    for plan in plans() {
        let (a, b) = (
            random.array(plan.output_shape()),
            random.array(&plan.output_shape()[plan.output_shape().len() - 1..]),
        );
        for _ in 0..20 {
            let parts = partition(&mut random, &plan);
            macro_rules! reduction {
                ($reduction:expr, $bits:expr) => {{
                    let expected = plan.reduce(&a, $reduction).unwrap();
                    let parts: Vec<_> = parts
                        .iter()
                        .map(|part| {
                            part.reduce(&part.tile().output().of(&a).unwrap(), $reduction)
                                .unwrap()
                        })
                        .collect();
                    let found = merged(&mut random, &plan, parts, $reduction);
                    check(&plan.to_string(), &found, &expected, $bits);
                }};
            }
            reduction!(Max, |x: &f64| x.to_bits());
            reduction!(Product, |x: &f64| x.to_bits());
            reduction!(Mean, |x: &f64| x.to_bits());
            reduction!(Mean.in_type::<f32, f32>(), |x: &f32| x.to_bits());
            reduction!(ArgMax, |&x| x);
            // Associative and not commutative: terms in another order give other bits.
            let parts_of_lines: Vec<_> = parts
                .iter()
                .map(|part| {
                    let a = a.view();
                    let a = part
                        .tile()
                        .output()
                        .of(&a)
                        .unwrap()
                        .mapv(f64::to_bits)
                        .mapv(line);
                    part.reduce(&a, Fold::new((1, 0), then)).unwrap()
                })
                .collect();
            let expected = plan
                .reduce(&a.mapv(f64::to_bits).mapv(line), Fold::new((1, 0), then))
                .unwrap();
            assert_eq!(
                merged_in_memory(&mut random, &plan, parts_of_lines),
                expected
            );

            let last = a.ndim() - 1;
            let expected = plan.gradient_of((&a, &b), |(a, b)| a * b).unwrap();
            let parts = parts
                .iter()
                .map(|part| {
                    let tile = part.tile().output();
                    let columns = tile.ranges().nth(last).unwrap();
                    let b = b.slice(ndarray::s![columns]).to_owned();
                    part.gradient_of((&tile.of(&a).unwrap(), &b), |(a, b)| a * b)
                        .unwrap()
                })
                .collect();
            let found = merged(&mut random, &plan, parts, Sum);
            check(&plan.to_string(), &found, &expected, |x| x.to_bits());
        }
    }
}

/// `x -> a * x + b`, of whole numbers that wrap.
fn line(bits: u64) -> (u64, u64) {
    (bits | 1, bits.rotate_left(17))
}

fn then((a, b): (u64, u64), (c, d): (u64, u64)) -> (u64, u64) {
    (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d))
}

fn merged_in_memory<T, R: Reduction<T>>(
    random: &mut Random,
    plan: &BroadcastPlan,
    mut parts: Vec<PartialReduction<T, R>>,
) -> ArrayD<R::Out> {
    random.shuffle(&mut parts);
    let mut all = parts.pop().unwrap();
    parts.into_iter().for_each(|part| all.merge(part).unwrap());
    all.finish(plan).unwrap()
}

#[test]
fn inexact_parts_give_the_same_result_in_any_order() {
    let mut random = Random(3);
    let mut mixed = 0;
    for plan in plans() {
        let dy = random.array(plan.output_shape());
        let whole = dy.mapv(|x| (x * 1e6) as i64);
        for _ in 0..20 {
            let mut of_blocks = vec![];
            let units = units_of_blocks(&plan);
            cut(&mut random, whole_output(&plan), &units, &mut of_blocks);
            // Whether the part of a box is exact. The other parts have few pieces for each axis:
            // they stay apart until the end.
            let units: Vec<_> = dy.shape().iter().map(|size| size.div_ceil(5)).collect();
            let mut boxes = vec![];
            for ranges in of_blocks {
                if random.below(2) == 0 {
                    boxes.push((ranges, true));
                } else {
                    let mut pieces = vec![];
                    cut(&mut random, ranges, &units, &mut pieces);
                    boxes.extend(pieces.into_iter().map(|ranges| (ranges, false)));
                }
            }
            let mut first: Option<ArrayD<f64>> = None;
            for _ in 0..3 {
                random.shuffle(&mut boxes);
                let (mut sum, mut max) = (
                    PartialReduction::new(&plan, Sum),
                    PartialReduction::new(&plan, ArgMax),
                );
                let mut sum_of_whole = PartialSum::<i64>::new(&plan, Sum);
                for (ranges, exact) in &boxes {
                    let tile = plan.tile(ranges).unwrap();
                    let part = match exact {
                        true => plan.part(&tile).unwrap(),
                        false => plan.inexact_part(&tile).unwrap(),
                    };
                    let (dy, whole) = (
                        tile.output().of(&dy).unwrap(),
                        tile.output().of(&whole).unwrap(),
                    );
                    sum.merge(part.gradient(&dy).unwrap()).unwrap();
                    max.merge(part.reduce(&dy, ArgMax).unwrap()).unwrap();
                    sum_of_whole.merge(part.gradient(&whole).unwrap()).unwrap();
                    let bytes = sum.to_bytes();
                    sum = PartialReduction::from_bytes(&bytes, Sum).unwrap();
                }
                assert_eq!(
                    sum_of_whole.finish(&plan).unwrap(),
                    plan.gradient(&whole).unwrap()
                );
                assert_eq!(
                    max.finish(&plan).unwrap(),
                    plan.reduce(&dy, ArgMax).unwrap()
                );
                assert_eq!(sum.is_exact(), boxes.iter().all(|(_, exact)| *exact));
                let found = sum.finish(&plan).unwrap();
                let near = plan.gradient(&dy).unwrap();
                assert!(found.iter().zip(&near).all(|(a, b)| (a - b).abs() < 1e-9));
                match &first {
                    None => first = Some(found),
                    Some(first) => check("order", &found, first, |x| x.to_bits()),
                }
            }
            let exact = boxes.iter().filter(|(_, exact)| *exact).count();
            mixed += usize::from((1..boxes.len()).contains(&exact));
        }
    }
    assert!(mixed > 100, "{mixed} of 240 are of exact and other parts");
}

/// Of a plan from 0-dimensional, with parts that are exact and others.
#[test]
fn exact_and_inexact_parts_merge_and_overlaps_between_them_are_found() {
    let plan = BroadcastPlan::numpy((), (30, 100)).unwrap();
    let dy = Array2::from_shape_fn((30, 100), |(i, j)| (100 * i + j) as i64);
    let blocks = |range| {
        let part = plan.part_of_blocks(&[], range).unwrap();
        part.gradient(&part.tile().output().of(&dy).unwrap())
            .unwrap()
    };
    let loose = |ranges: [Range<usize>; 2]| {
        let part = plan.inexact_part(&plan.tile(&ranges).unwrap()).unwrap();
        part.gradient(&part.tile().output().of(&dy).unwrap())
            .unwrap()
    };
    let mut sum = blocks(0..1);
    let text = |sum: &PartialSum<i64>| sum.finish(&plan).unwrap_err().to_string();
    assert_eq!(
        text(&sum),
        "the terms 1024..3000 of the element [] of the result are missing"
    );
    let error = sum.merge(loose([10..30, 23..100])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two parts have the terms 1023..1024 of the elements [] of the result"
    );
    sum.merge(loose([10..30, 24..100])).unwrap();
    assert_eq!(
        text(&sum),
        "the terms 1100..1101 of the element [] of the result are missing"
    );
    assert!(sum.merge(loose([20..21, 0..25])).is_err());
    assert!(sum.merge(blocks(1..2)).is_err());
    sum.merge(loose([11..30, 0..24])).unwrap();
    assert!(sum.is_complete() && !sum.is_exact());
    assert_eq!(sum.finish(&plan).unwrap(), arr0(2999 * 1500));
}

#[test]
fn empty_plans_and_parts() {
    // No terms: the result of none.
    let plan = BroadcastPlan::numpy(3, (0, 3)).unwrap();
    let none = Array2::<f64>::zeros((0, 3));
    assert_eq!(plan.sum_blocks(), 0);
    let part = plan.part(&plan.tile(&[0..0, 0..3]).unwrap()).unwrap();
    let mut sum = PartialReduction::new(&plan, Sum);
    sum.merge(part.gradient(&none).unwrap()).unwrap();
    assert_eq!(sum.finish(&plan).unwrap(), arr1(&[0., 0., 0.]));
    let max = part.reduce(&none, Max).unwrap();
    assert!(matches!(
        max.finish(&plan).unwrap_err().kind(),
        ErrorKind::EmptyReduction { .. }
    ));

    // No elements of the result.
    let plan = BroadcastPlan::numpy((0, 1), (0, 5000)).unwrap();
    let none = Array2::<f64>::zeros((0, 5000));
    let part = plan.part_of_blocks(&[0..0, 0..1], 0..5).unwrap();
    let max = part
        .reduce(&none.slice(ndarray::s![.., ..0]).to_owned(), Max)
        .unwrap();
    assert_eq!(max.finish(&plan).unwrap().shape(), [0, 1]);

    // A part of nothing adds nothing, wherever it is.
    let plan = BroadcastPlan::numpy(2, (3000, 2)).unwrap();
    let dy = Array2::<i32>::ones((3000, 2));
    let mut sum = PartialReduction::new(&plan, Sum);
    for ranges in [[77..77, 0..2], [0..3000, 1..1], [0..3000, 0..2]] {
        let part = plan.part(&plan.tile(&ranges).unwrap()).unwrap();
        assert!(!sum.is_complete());
        sum.merge(
            part.gradient(&part.tile().output().of(&dy).unwrap())
                .unwrap(),
        )
        .unwrap();
    }
    assert_eq!(sum.finish(&plan).unwrap(), arr1(&[3000, 3000]));
    // Its operands must fit all the same.
    let part = plan.part(&plan.tile(&[0..0, 0..2]).unwrap()).unwrap();
    let other = Array1::<i32>::ones(3);
    assert!(part.gradient_of((&other,), |(&x,)| x).is_err());
}

#[test]
fn tiles_that_cut_blocks_are_refused_with_the_nearest_boundaries() {
    let nearest = |plan: &BroadcastPlan, ranges: &[Range<usize>]| match plan
        .part(&plan.tile(ranges).unwrap())
        .unwrap_err()
        .kind()
    {
        ErrorKind::CutsBlock {
            axis,
            boundary,
            nearest,
            ordered: false,
            ..
        } => (*axis, *boundary, *nearest),
        kind => panic!("{kind:?}"),
    };
    let keeps = |plan: &BroadcastPlan, ranges: &[Range<usize>]| {
        plan.part(&plan.tile(ranges).unwrap()).is_ok()
    };
    let rows = BroadcastPlan::numpy(2, (3000, 2)).unwrap().into_dyn();
    assert!(keeps(&rows, &[1024..3000, 1..2]) && keeps(&rows, &[1024..2048, 0..2]));
    assert_eq!(
        nearest(&rows, &[1025..3000, 0..2]),
        (0, 1025, [Some(1024), Some(2048)])
    );
    assert_eq!(
        nearest(&rows, &[0..2999, 0..2]),
        (0, 2999, [Some(2048), Some(3000)])
    );

    // Images of 48 terms: 64 of them are whole blocks.
    let images = BroadcastPlan::explicit(3, (200, 3, 6, 8), &[1])
        .unwrap()
        .into_dyn();
    assert!(keeps(&images, &[64..128, 0..1, 0..6, 0..8]));
    assert_eq!(
        nearest(&images, &[0..100, 0..3, 0..6, 0..8]),
        (0, 100, [Some(64), Some(128)])
    );
    assert_eq!(
        nearest(&images, &[0..200, 0..3, 0..3, 0..8]),
        (2, 3, [None, None])
    );
    assert_eq!(
        images
            .part(&images.tile(&[0..200, 0..3, 0..3, 0..8]).unwrap())
            .unwrap_err()
            .to_string(),
        "\
the box [0..200, 0..3, 0..3, 0..8] cuts a block of 1024 terms
  box      0..200  0..3  0..3  0..8
  output      200     3     6     8
                            ^ no block begins on this axis: take all of it"
    );
    // Rows of 2048 terms can be cut inside, in all rows.
    let wide = BroadcastPlan::numpy((), (5, 2048)).unwrap().into_dyn();
    assert!(keeps(&wide, &[1..4, 1024..2048]));
    assert_eq!(
        nearest(&wide, &[1..4, 0..1000]),
        (1, 1000, [Some(0), Some(1024)])
    );

    // Every tile that is refused is accepted at the boundaries.
    let mut random = Random(5);
    for plan in plans() {
        for _ in 0..200 {
            let mut ranges: Vec<_> = plan.output_shape().iter().map(|&size| 0..size).collect();
            let axis = random.below(ranges.len());
            let start = random.below(ranges[axis].end);
            ranges[axis] = start..start + 1 + random.below(ranges[axis].end - start);
            while let Err(error) = plan.part(&plan.tile(&ranges).unwrap()) {
                let ErrorKind::CutsBlock {
                    axis,
                    boundary,
                    nearest,
                    ..
                } = error.kind()
                else {
                    panic!("{error}");
                };
                let place = nearest[random.below(2)].or(nearest[0]).or(nearest[1]);
                let size = plan.output_shape()[*axis];
                let range = &mut ranges[*axis];
                match place {
                    None => *range = 0..size,
                    Some(place) => {
                        assert_ne!(place, *boundary);
                        match *boundary == range.start {
                            true => range.start = place,
                            false => range.end = place,
                        }
                    }
                }
                if range.start >= range.end {
                    break;
                }
            }
        }
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused_and_nothing_changes() {
    let plan = BroadcastPlan::explicit(2, (3000, 2), &[1]).unwrap();
    let dy = Array2::from_shape_fn((3000, 2), |(i, j)| (i + j) as f32);
    let of = |rows: Range<usize>, columns: Range<usize>| {
        let part = plan.part(&plan.tile(&[rows, columns]).unwrap()).unwrap();
        part.gradient(&part.tile().output().of(&dy).unwrap())
            .unwrap()
    };
    let mut sum = of(0..1024, 0..2);
    sum.merge(of(2048..3000, 0..1)).unwrap();
    let before = sum.to_bytes();

    let same_shapes = BroadcastPlan::explicit(2, (2, 2), &[0]).unwrap();
    let other = BroadcastPlan::explicit(2, (2, 2), &[1]).unwrap();
    let error = PartialSum::<f32>::new(&same_shapes, Sum)
        .merge(PartialReduction::new(&other, Sum))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "these parts do not belong together: sum of [2, 2] to [2] by (0 +), \
         and sum of [2, 2] to [2] by (+ 0)"
    );
    assert!(sum.merge(PartialReduction::new(&other, Sum)).is_err());
    assert!(sum.finish(&other).is_err());
    for overlap in [of(0..3000, 0..2), of(0..1024, 1..2), of(1024..3000, 0..2)] {
        assert!(matches!(
            sum.merge(overlap).unwrap_err().kind(),
            ErrorKind::Overlap { .. }
        ));
    }
    assert_eq!(sum.to_bytes(), before);
    match sum.finish(&plan).unwrap_err().kind() {
        ErrorKind::Incomplete { index, terms, .. } => {
            assert_eq!((&index[..], terms.clone()), (&[0][..], 1024..2048));
        }
        kind => panic!("{kind:?}"),
    }
    // Parts of other rules with the same shapes and axes belong together.
    let numpy = BroadcastPlan::numpy(2, (3000, 2)).unwrap();
    sum.merge(PartialReduction::new(&numpy, Sum)).unwrap();
    sum.merge(of(1024..2048, 0..1)).unwrap();
    sum.merge(of(1024..3000, 1..2)).unwrap();
    assert_eq!(sum.finish(&numpy).unwrap(), plan.gradient(&dy).unwrap());
}

#[test]
fn inexact_parts_of_folds_keep_the_order_of_the_terms() {
    let last = || Fold::new(0, |_: i32, b: i32| b);
    let plan = BroadcastPlan::numpy((), (2, 2)).unwrap();
    let x = ndarray::array![[1, 2], [3, 4]];
    let of = |ranges: &[Range<usize>]| {
        let part = plan.inexact_part(&plan.tile(ranges).unwrap()).unwrap();
        part.reduce(&part.tile().output().of(&x).unwrap(), last())
    };
    // The terms of a column are not neighbours.
    let error = of(&[0..2, 1..2]).err().unwrap();
    assert!(matches!(
        error.kind(),
        ErrorKind::CutsBlock { ordered: true, .. }
    ));
    let text = error.to_string();
    let hint = "it takes terms that are neighbours, or whole blocks";
    assert!(text.ends_with(hint), "{text}");
    let mut found = of(&[1..2, 1..2]).unwrap();
    for ranges in [[0..1, 0..2], [1..2, 0..1]] {
        found.merge(of(&ranges).unwrap()).unwrap();
    }
    let all = plan.reduce(&x, last()).unwrap();
    assert_eq!(all, arr0(4));
    assert_eq!(found.finish(&plan).unwrap(), all);

    // These columns are whole blocks, so they are nodes of the tree.
    let plan = BroadcastPlan::numpy((), (2, 2048)).unwrap();
    let x = Array2::from_shape_fn((2, 2048), |(i, j)| (2048 * i + j) as i32);
    let mut found = PartialReduction::new(&plan, last());
    for columns in [1024..2048, 0..1024] {
        let tile = plan.tile(&[0..2, columns]).unwrap();
        let x = tile.output().of(&x).unwrap();
        let part = plan.inexact_part(&tile).unwrap();
        found.merge(part.reduce(&x, last()).unwrap()).unwrap();
    }
    assert!(found.is_exact());
    assert_eq!(found.finish(&plan).unwrap(), arr0(4095));

    // Bytes with such a box are of a commutative reduction without a name.
    struct Last<const COMMUTATIVE: bool>;
    impl<const COMMUTATIVE: bool> Reduction<i32> for Last<COMMUTATIVE> {
        const COMMUTATIVE: bool = COMMUTATIVE;
        type Acc = i32;
        type Out = i32;
        fn identity(&self) -> i32 {
            0
        }
        fn lift(&self, value: i32) -> i32 {
            value
        }
        fn combine(&self, _: i32, b: i32) -> i32 {
            b
        }
        fn finish(&self, acc: i32, _: usize) -> i32 {
            acc
        }
    }
    let tile = plan.tile(&[0..2, 1..2]).unwrap();
    let part = plan.inexact_part(&tile).unwrap();
    let x = tile.output().of(&x).unwrap();
    let bytes = part.reduce(&x, Last::<true>).unwrap().to_bytes();
    assert!(PartialReduction::from_bytes(&bytes, Last::<true>).is_ok());
    let error = PartialReduction::from_bytes(&bytes, Last::<false>)
        .err()
        .unwrap();
    assert!(matches!(error.kind(), ErrorKind::InvalidBytes { .. }));
}

#[test]
fn operands_that_do_not_fit_are_named() {
    let plan = BroadcastPlan::numpy((), (2, 3)).unwrap();
    let part = plan.part(&plan.tile(&[0..2, 0..3]).unwrap()).unwrap();
    let (dy, x) = (Array2::<f64>::ones((2, 3)), Array1::<f64>::ones(4));
    let of_plan = plan.gradient_of((&dy, &x), |(dy, x)| dy * x).unwrap_err();
    let of_part = part.gradient_of((&dy, &x), |(dy, x)| dy * x).unwrap_err();
    assert_eq!(of_part.to_string(), of_plan.to_string());
}

#[test]
fn time_and_memory_of_a_part_do_not_grow_with_its_runs() {
    // As many rows as there can be.
    let rows = 1 << (usize::BITS - 13);
    let plan = BroadcastPlan::numpy((), (rows, 2048)).unwrap();
    let part = |ranges: [Range<usize>; 2]| plan.part(&plan.tile(&ranges).unwrap());
    assert_eq!(part([0..rows, 0..1024]).unwrap().nodes(), rows);
    assert_eq!(part([0..rows, 0..2048]).unwrap().nodes(), 1);
    assert!(part([0..rows, 0..1023]).is_err());
}

/// How many nodes the bytes of a reduction to one element have.
fn nodes_of(bytes: &[u8]) -> u64 {
    let names: usize = "sum".len() + "i64".len();
    // The output's rank follows the input's, which is 0.
    let rank = 16 + 4 + 4 + names + 4;
    let axes = u32::from_le_bytes(bytes[rank..][..4].try_into().unwrap()) as usize;
    let nodes = rank + 4 + 8 * axes + 8;
    u64::from_le_bytes(bytes[nodes..][..8].try_into().unwrap())
}

#[test]
fn nodes_are_counted_as_they_are_sent() {
    // Of runs of one to four blocks, at all places of the tree.
    for (rows, columns) in [(3, 4), (5, 6), (4, 7), (2, 5), (7, 3), (1, 9)] {
        let shape = [rows, columns, 1024];
        let plan = BroadcastPlan::numpy(IxDyn(&[]), IxDyn(&shape)).unwrap();
        let dy = ArrayD::<i64>::ones(IxDyn(&shape));
        for start in 0..columns {
            for end in start + 1..=columns {
                let tile = plan.tile(&[0..rows, start..end, 0..1024]).unwrap();
                let part = plan.part(&tile).unwrap();
                let sum = part.gradient(&tile.output().of(&dy).unwrap()).unwrap();
                let sent = nodes_of(&sum.to_bytes());
                assert_eq!(part.nodes() as u64, sent, "{shape:?} {start}..{end}");
            }
        }
    }
}

/// Bytes of a sum of `u8`, of a plan from `[size]` to `[size]`, with a piece of one block for each
/// of `ranges`.
fn bytes_of_pieces(size: u64, ranges: impl ExactSizeIterator<Item = Range<u64>>) -> Vec<u8> {
    let mut bytes = b"ndbpart1\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(b"\x03\0\0\0sum\x02\0\0\0u8");
    for _ in 0..2 {
        bytes.extend([1, 0, 0, 0]);
        bytes.extend(size.to_le_bytes());
    }
    for number in [0, ranges.len() as u64] {
        bytes.extend(number.to_le_bytes());
    }
    for range in ranges {
        for number in [range.start, range.end, 1, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0; 4]);
        bytes.extend((range.start..range.end).map(|_| 1));
        bytes.extend([0; 8]);
    }
    finished(bytes)
}

/// With the length and the checksum.
fn finished(mut bytes: Vec<u8>) -> Vec<u8> {
    let len = bytes.len() as u64 + 8;
    bytes[8..16].copy_from_slice(&len.to_le_bytes());
    let sum = checksum(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// `to_bytes` writes the larger node. To add up the halves could overflow.
#[test]
fn bytes_of_both_halves_of_a_node_are_refused() {
    let mut bytes = b"ndbpart1\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(b"\x03\0\0\0sum\x03\0\0\0i32");
    // A plan from [1] to [3000], and one piece with two nodes.
    for size in [1_u64, 3000] {
        bytes.extend([1, 0, 0, 0]);
        bytes.extend(size.to_le_bytes());
    }
    for number in [0_u64, 1, 0, 1, 2] {
        bytes.extend(number.to_le_bytes());
    }
    for (block, value) in [(0_u64, i32::MAX), (1, 1)] {
        bytes.extend(block.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 8]);
    let error = PartialReduction::<i32, _>::from_bytes(&finished(bytes), Sum).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid bytes of a partial reduction: two nodes are halves of another one"
    );
}

#[test]
fn many_pieces_are_read_and_shown_in_less_than_quadratic_time() {
    let read = |bytes: &[u8]| PartialReduction::<u8, _>::from_bytes(bytes, Sum);
    let count = 100_000;
    let scattered = |i: u64| i * 7919 % count;
    // Every place but one has a piece. This takes minutes in quadratic time.
    let ranges = (1..count as usize).map(|i| scattered(i as u64)..scattered(i as u64) + 1);
    let sum = read(&bytes_of_pieces(count, ranges)).unwrap();
    assert!(!sum.is_complete());
    assert!(format!("{sum:?}").contains("complete: false"));
    let plan = BroadcastPlan::numpy(count as usize, count as usize).unwrap();
    assert_eq!(
        sum.finish(&plan).unwrap_err().to_string(),
        "the terms 0..1 of the element [0] of the result are missing"
    );
    let ranges = (0..count as usize).map(|i| scattered(i as u64)..scattered(i as u64) + 1);
    let sum = read(&bytes_of_pieces(count, ranges)).unwrap();
    assert!(sum.is_complete());

    let fault = |ranges: &[Range<u64>]| {
        let bytes = bytes_of_pieces(9, ranges.iter().cloned());
        read(&bytes).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(fault(&[6..9, 0..2, 2..6]), Ok(()));
    let text = "invalid bytes of a partial reduction: two pieces have the same element";
    assert_eq!(fault(&[6..9, 0..3, 2..6]), Err(text.to_owned()));
    assert_eq!(fault(&[3..4, 0..9]), Err(text.to_owned()));
}

#[test]
fn the_first_missing_element_is_found_between_boxes() {
    let plan = BroadcastPlan::numpy((4, 5), (4, 5)).unwrap();
    let x = Array2::<i32>::ones((4, 5));
    let mut sum = PartialReduction::new(&plan, Sum);
    let mut add = |ranges: [Range<usize>; 2], missing: Option<[usize; 2]>| {
        let part = plan.part(&plan.tile(&ranges).unwrap()).unwrap();
        let x = part.tile().output().of(&x).unwrap();
        sum.merge(part.gradient(&x).unwrap()).unwrap();
        assert_eq!(sum.is_complete(), missing.is_none());
        match (sum.finish(&plan), missing) {
            (Ok(found), None) => assert_eq!(found, x_of_ones()),
            (Err(error), Some(at)) => match error.kind() {
                ErrorKind::Incomplete { index, terms, .. } => {
                    assert_eq!((&index[..], terms.clone()), (&at[..], 0..1));
                }
                kind => panic!("{kind:?}"),
            },
            (found, missing) => panic!("{found:?} {missing:?}"),
        }
    };
    add([0..3, 3..5], Some([0, 0]));
    add([0..1, 0..3], Some([1, 0]));
    add([1..4, 0..2], Some([1, 2]));
    add([1..2, 2..3], Some([2, 2]));
    add([2..4, 2..3], Some([3, 3]));
    add([3..4, 3..5], None);
}

fn x_of_ones() -> Array2<i32> {
    Array2::ones((4, 5))
}

#[test]
fn pairs_have_names_of_their_own() {
    assert_eq!(<(f32, usize)>::NAME, "(f32, usize)");
    assert_eq!(<((f32, usize), usize)>::NAME, "((f32, usize), usize)");
    let plan = BroadcastPlan::numpy((), 3).unwrap();
    let part = plan.part(&plan.tile(&[0..3]).unwrap()).unwrap();
    let x = arr1(&[(1_f32, 2_usize), (3., 4), (5., 6)]);
    let last = Fold::new((0., 0), |_, b| b);
    let bytes = part.reduce(&x, last).unwrap().to_bytes();
    let of_floats = Fold::new(0., |_, b| b);
    let error = PartialReduction::<f32, _>::from_bytes(&bytes, of_floats).err();
    assert_eq!(
        error.unwrap().to_string(),
        "these parts do not belong together: a reduction without a name in (f32, usize), and a \
         reduction without a name in f32"
    );
}

#[test]
fn faults_of_bytes_are_named() {
    let bytes = bytes_of_pieces(9, [0..9].into_iter());
    let fault = |at: usize, to: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        let end = bytes.len() - 8;
        let sum = checksum(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        let text = PartialReduction::<u8, _>::from_bytes(&bytes, Sum).unwrap_err();
        let text = text.to_string();
        let (_, fault) = text.split_once(": ").unwrap();
        fault.to_owned()
    };
    assert_eq!(fault(0, b"x"), r#"they do not begin with "ndbpart1""#);
    // The input's axis feeds output axis 2 of 1.
    let axes = 16 + 7 + 6 + 12 + 12;
    assert_eq!(fault(axes, &[2]), "no plan has these axes");
    // The input's size is 8.
    assert_eq!(fault(axes - 20, &[8]), "no plan has these shapes");
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn bytes_that_are_cut_short_or_changed_are_refused() {
    let plan = BroadcastPlan::numpy(2, (9000, 2)).unwrap();
    let dy = Array2::from_shape_fn((9000, 2), |(i, j)| (i + j) as f32);
    let mut sum = PartialReduction::new(&plan, Sum);
    for (rows, columns) in [(1024..4096, 0..2), (5120..9000, 0..1)] {
        let part = plan.part(&plan.tile(&[rows, columns]).unwrap()).unwrap();
        sum.merge(
            part.gradient(&part.tile().output().of(&dy).unwrap())
                .unwrap(),
        )
        .unwrap();
    }
    let part = plan
        .inexact_part(&plan.tile(&[7..9, 0..2]).unwrap())
        .unwrap();
    sum.merge(
        part.gradient(&part.tile().output().of(&dy).unwrap())
            .unwrap(),
    )
    .unwrap();
    let bytes = sum.to_bytes();
    assert!(bytes.len() < 600, "{}", bytes.len());
    let read = |bytes: &[u8]| PartialReduction::<f32, _>::from_bytes(bytes, Sum);
    assert_eq!(read(&bytes).unwrap().to_bytes(), bytes);
    for len in 0..bytes.len() {
        let error = read(&bytes[..len]).unwrap_err();
        let fault = "invalid bytes of a partial reduction: they are cut short";
        assert_eq!(error.to_string(), fault, "{len}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let error = read(&bytes).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::InvalidBytes { .. }),
                "{at} {bit}"
            );
        }
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(read(&longer).is_err());

    // With a checksum that is right, they are refused or mean something; nothing panics.
    let mut random = Random(11);
    for _ in 0..20_000 {
        let mut bytes = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let at = 16 + random.below(bytes.len() - 24);
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ 1 << random.below(8),
                1 => 255,
                _ => random.next() as u8,
            };
        }
        let end = bytes.len() - 8;
        let sum = checksum(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        if let Ok(read) = read(&bytes) {
            let _ = read.finish(&plan);
            assert_eq!(read.to_bytes().len(), bytes.len());
        }
    }
}

#[test]
fn serde_round_trips_and_checks() {
    let plan = BroadcastPlan::numpy(1, 3000).unwrap();
    let dy = Array1::from_shape_fn(3000, |i| i as f64);
    let part = plan.part_of_blocks(&[0..1], 1..3).unwrap();
    let sum = part
        .gradient(&part.tile().output().of(&dy).unwrap())
        .unwrap();
    let text = serde_json::to_string(&sum).unwrap();
    let read: PartialSum<f64> = serde_json::from_str(&text).unwrap();
    assert_eq!(read.to_bytes(), sum.to_bytes());
    for (from, to) in [
        (r#""reduction":"sum""#, r#""reduction":"max""#),
        (r#""input":[1]"#, r#""input":[2]"#),
        (r#"{"start":0,"end":1}"#, r#"{"start":0,"end":2}"#),
        (r#"{"start":0,"end":1}"#, r#"{"start":1,"end":1}"#),
        ("[[1,0,[", "[[3,0,["),
        ("[[1,0,[", "[[1,1,["),
        ("[[1,0,[", "[[1,64,["),
        ("[[1,0,[", "[[2,0,["),
        ("[[1,0,[", "[[1,0,[1.0,"),
    ] {
        assert!(text.contains(from), "{text}");
        let changed = text.replacen(from, to, 1);
        assert!(
            serde_json::from_str::<PartialSum<f64>>(&changed).is_err(),
            "{changed}"
        );
    }
}
