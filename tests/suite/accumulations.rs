//! Accumulations that are merged in any order have the bits of one call on the whole. What
//! does not belong together is refused, and nothing is changed then.
// A box of one axis is a list of one range.
#![allow(clippy::single_range_in_vec_init)]

use crate::common::split_mix;
use ndarray::{
    Array, Array1, Array2, Array3, ArrayD, Axis, Dimension, IxDyn, ShapeBuilder, arr0, arr1,
};
use ndarray_broadcast::distributed::{Accumulation, AccumulatorBytes, Part, Tile, sum_blocks};
use ndarray_broadcast::error::{BoxFault, PartsFault};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::Reduction;
use num_complex::Complex;
use std::fmt::Debug;
use std::num::Wrapping;
use std::ops::Range;

/// Pseudo-random values.
struct Random(u64);

impl Random {
    /// 31 bits.
    fn next(&mut self) -> u64 {
        split_mix(&mut self.0) >> 33
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
fn partition(
    random: &mut Random,
    plan: &BroadcastPlan,
) -> Vec<ndarray_broadcast::distributed::Part> {
    let mut boxes = vec![];
    if random.below(2) == 0 {
        let mut ranges: Ranges = plan.input_shape().iter().map(|&size| 0..size).collect();
        let units = vec![1; ranges.len() + 1];
        ranges.push(0..sum_blocks(plan));
        cut(random, ranges, &units, &mut boxes);
        let part = |mut ranges: Ranges| {
            let blocks = ranges.pop().unwrap();
            Part::of_blocks(plan, &ranges, blocks).unwrap()
        };
        return boxes.into_iter().map(part).collect();
    }
    cut(
        random,
        whole_output(plan),
        &units_of_blocks(plan),
        &mut boxes,
    );
    let part = |ranges: Ranges| Part::new(plan, &Tile::new(plan, &ranges).unwrap()).unwrap();
    boxes.into_iter().map(part).collect()
}

/// All of the output.
fn whole_output(plan: &BroadcastPlan) -> Ranges {
    plan.output_shape().iter().map(|&size| 0..size).collect()
}

/// The distances of cuts of each axis that keep whole blocks if the axes inside it are whole or, if
/// so many terms are inside it that each is apart by blocks, in any case.
fn units_of_blocks(plan: &BroadcastPlan) -> Vec<usize> {
    let kept: Vec<_> = plan
        .axis_sources()
        .map(AxisSource::input_axis)
        .zip(plan.output_shape())
        .collect();
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
    mut parts: Vec<Accumulation<T, R>>,
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
            parts[at] = Accumulation::from_bytes(&bytes, reduction.clone()).unwrap();
        }
        if parts.len() > 1 {
            assert!(!parts[at].is_complete());
        }
    }
    assert!(parts[0].is_complete());
    parts[0].finish(plan).unwrap()
}

fn check<T, R, D>(what: &str, found: &Array<T, D>, expected: &Array<T, D>, bits: impl Fn(&T) -> R)
where
    R: PartialEq + Debug,
    D: Dimension,
{
    assert_eq!(found.map(&bits), expected.map(&bits), "{what}");
}

/// One partition and order for each seed; the terms are of each of three types. With `ALL_CASES`,
/// they are ten thousand.
#[test]
fn partitions_and_orders_have_the_bits_of_the_whole() {
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
        let seeds = crate::cases(834);
        for seed in 0..seeds {
            let parts = partition(&mut random, &plan);
            in_parts += usize::from(parts.len() > 1);
            let what = format!("{plan}\n{seed}: {} parts", parts.len());
            macro_rules! gradient {
                ($array:ident) => {{
                    let part = |part: &ndarray_broadcast::distributed::Part| {
                        let of_part = part.tile().output();
                        part.reduce(&of_part.of(&$array).unwrap(), Sum).unwrap()
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
            in_parts > seeds / 5,
            "{plan}\n{in_parts} of {seeds} have several parts"
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
        for _ in 0..if crate::all_cases() { 20 } else { 6 } {
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
            let expected = zip((&a, &b)).reduce(&plan, Sum, |(a, b)| a * b).unwrap();
            let parts = parts
                .iter()
                .map(|part| {
                    let tile = part.tile().output();
                    let columns = tile.ranges().nth(last).unwrap();
                    let b = b.slice(ndarray::s![columns]).to_owned();
                    zip((&tile.of(&a).unwrap(), &b))
                        .reduce_part(part, Sum, |(a, b)| a * b)
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
    mut parts: Vec<Accumulation<T, R>>,
) -> ArrayD<R::Out> {
    random.shuffle(&mut parts);
    let mut all = parts.pop().unwrap();
    parts.into_iter().for_each(|part| all.merge(part).unwrap());
    all.finish(plan).unwrap()
}

#[test]
fn empty_plans_and_parts() {
    // No terms: the result of none.
    let plan = BroadcastPlan::numpy(3, (0, 3)).unwrap();
    let none = Array2::<f64>::zeros((0, 3));
    assert_eq!(sum_blocks(&plan), 0);
    let part = Part::new(&plan, &Tile::new(&plan, &[0..0, 0..3]).unwrap()).unwrap();
    let mut sum = Accumulation::new(&plan, Sum);
    sum.merge(part.reduce(&none, Sum).unwrap()).unwrap();
    assert_eq!(sum.finish(&plan).unwrap(), arr1(&[0., 0., 0.]));
    let max = part.reduce(&none, Max).unwrap();
    assert!(matches!(
        max.finish(&plan).unwrap_err().kind(),
        ErrorKind::TooFewTerms { .. }
    ));

    // No elements of the result.
    let plan = BroadcastPlan::numpy((0, 1), (0, 5000)).unwrap();
    let none = Array2::<f64>::zeros((0, 5000));
    let part = Part::of_blocks(&plan, &[0..0, 0..1], 0..5).unwrap();
    let max = part
        .reduce(&none.slice(ndarray::s![.., ..0]).to_owned(), Max)
        .unwrap();
    assert_eq!(max.finish(&plan).unwrap().shape(), [0, 1]);

    // A part of nothing adds nothing, wherever it is.
    let plan = BroadcastPlan::numpy(2, (3000, 2)).unwrap();
    let dy = Array2::<i32>::ones((3000, 2));
    let mut sum = Accumulation::new(&plan, Sum);
    for ranges in [[77..77, 0..2], [0..3000, 1..1], [0..3000, 0..2]] {
        let part = Part::new(&plan, &Tile::new(&plan, &ranges).unwrap()).unwrap();
        assert!(!sum.is_complete());
        sum.merge(
            part.reduce(&part.tile().output().of(&dy).unwrap(), Sum)
                .unwrap(),
        )
        .unwrap();
    }
    assert_eq!(sum.finish(&plan).unwrap(), arr1(&[3000, 3000]));
    // Its operands must fit all the same.
    let part = Part::new(&plan, &Tile::new(&plan, &[0..0, 0..2]).unwrap()).unwrap();
    let other = Array1::<i32>::ones(3);
    assert!(zip(&other).reduce_part(&part, Sum, |x| x).is_err());
}

#[test]
fn tiles_that_cut_blocks_are_refused_with_the_nearest_boundaries() {
    let nearest = |plan: &BroadcastPlan, ranges: &[Range<usize>]| match Part::new(
        plan,
        &Tile::new(plan, ranges).unwrap(),
    )
    .unwrap_err()
    .kind()
    {
        ErrorKind::InvalidBox {
            fault:
                BoxFault::CutsBlock {
                    axis,
                    boundary,
                    nearest,
                    ..
                },
            ..
        } => (*axis, *boundary, *nearest),
        kind => panic!("{kind:?}"),
    };
    let keeps = |plan: &BroadcastPlan, ranges: &[Range<usize>]| {
        Part::new(plan, &Tile::new(plan, ranges).unwrap()).is_ok()
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
        Part::new(
            &images,
            &Tile::new(&images, &[0..200, 0..3, 0..3, 0..8]).unwrap()
        )
        .unwrap_err()
        .to_string(),
        "\
the box [0..200, 0..3, 0..3, 0..8] cuts a block of 1024 terms
  box     0..200  0..3  0..3  0..8
  shape      200     3     6     8
                           ^ no block begins on this axis: take all of it"
    );
    // Rows of 2048 terms can be cut inside, in all rows.
    let wide = BroadcastPlan::numpy((), (5, 2048)).unwrap().into_dyn();
    assert!(keeps(&wide, &[1..4, 1024..2048]));
    assert_eq!(
        nearest(&wide, &[1..4, 0..1000]),
        (1, 1000, [Some(0), Some(1024)])
    );
    assert_eq!(
        nearest(&wide, &[1..4, 256..2048]),
        (1, 256, [Some(0), Some(1024)])
    );

    // Every tile that is refused is accepted at the boundaries.
    let mut random = Random(5);
    for plan in plans() {
        for _ in 0..200 {
            let mut ranges: Vec<_> = plan.output_shape().iter().map(|&size| 0..size).collect();
            let axis = random.below(ranges.len());
            let start = random.below(ranges[axis].end);
            ranges[axis] = start..start + 1 + random.below(ranges[axis].end - start);
            while let Err(error) = Part::new(&plan, &Tile::new(&plan, &ranges).unwrap()) {
                let ErrorKind::InvalidBox {
                    fault:
                        BoxFault::CutsBlock {
                            axis,
                            boundary,
                            nearest,
                            ..
                        },
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
        let part = Part::new(&plan, &Tile::new(&plan, &[rows, columns]).unwrap()).unwrap();
        part.reduce(&part.tile().output().of(&dy).unwrap(), Sum)
            .unwrap()
    };
    let mut sum = of(0..1024, 0..2);
    sum.merge(of(2048..3000, 0..1)).unwrap();
    let before = sum.to_bytes();

    let same_shapes = BroadcastPlan::explicit(2, (2, 2), &[0]).unwrap();
    let other = BroadcastPlan::explicit(2, (2, 2), &[1]).unwrap();
    let error = Accumulation::<f32, Sum>::new(&same_shapes, Sum)
        .merge(Accumulation::new(&other, Sum))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "these parts do not belong together: sum of [2, 2] to [2] by (0 +), \
         and sum of [2, 2] to [2] by (+ 0)"
    );
    assert!(sum.merge(Accumulation::new(&other, Sum)).is_err());
    assert!(sum.finish(&other).is_err());
    for overlap in [of(0..3000, 0..2), of(0..1024, 1..2), of(1024..3000, 0..2)] {
        assert!(matches!(
            sum.merge(overlap).unwrap_err().kind(),
            ErrorKind::PartsMismatch {
                fault: PartsFault::Overlap { .. },
                ..
            }
        ));
    }
    assert_eq!(sum.to_bytes(), before);
    match sum.finish(&plan).unwrap_err().kind() {
        ErrorKind::PartsMismatch {
            fault: PartsFault::Incomplete { index, terms, .. },
            ..
        } => {
            assert_eq!((&index[..], terms.clone()), (&[0][..], 1024..2048));
        }
        kind => panic!("{kind:?}"),
    }
    // Parts of other rules with the same shapes and axes belong together.
    let numpy = BroadcastPlan::numpy(2, (3000, 2)).unwrap();
    sum.merge(Accumulation::new(&numpy, Sum)).unwrap();
    sum.merge(of(1024..2048, 0..1)).unwrap();
    sum.merge(of(1024..3000, 1..2)).unwrap();
    assert_eq!(sum.finish(&numpy).unwrap(), plan.gradient(&dy).unwrap());
}

#[test]
fn parts_that_overlap_are_shown_with_the_elements_and_terms_of_both() {
    let plan = BroadcastPlan::explicit(2, (3000, 2), &[1]).unwrap();
    let dy = Array2::<f32>::ones((3000, 2));
    let of = |rows: Range<usize>, columns: Range<usize>| {
        let part = Part::new(&plan, &Tile::new(&plan, &[rows, columns]).unwrap()).unwrap();
        let dy = part.tile().output().of(&dy).unwrap();
        part.reduce(&dy, Sum).unwrap()
    };
    let error = of(0..2048, 0..2).merge(of(1024..3000, 1..2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two parts have the terms 1024..2048 of the element [1] of the result"
    );
}

/// The clone is independent: what is merged into it is not in the original.
#[test]
fn a_clone_merges_to_the_same_result() {
    let plan = BroadcastPlan::numpy(2, (3000, 2)).unwrap();
    let mut random = Random(7);
    let dy = random.array(&[3000, 2]).into_dimensionality().unwrap();
    let of = |blocks| {
        let part = Part::of_blocks(&plan, &[0..2], blocks).unwrap();
        let dy = part.tile().output().of(&dy).unwrap();
        part.reduce(&dy, Sum).unwrap()
    };
    let mut original = of(0..1);
    let mut clone = original.clone();
    assert_eq!(clone.to_bytes(), original.to_bytes());
    clone.merge(of(1..3)).unwrap();
    assert!(clone.is_complete() && !original.is_complete());
    original.merge(of(1..3)).unwrap();
    let whole = plan.gradient(&dy).unwrap();
    for sum in [original, clone] {
        assert_eq!(sum.finish(&plan).unwrap(), whole);
    }
}

#[test]
fn operands_that_do_not_fit_are_named() {
    let plan = BroadcastPlan::numpy((), (2, 3)).unwrap();
    let part = Part::new(&plan, &Tile::new(&plan, &[0..2, 0..3]).unwrap()).unwrap();
    let (dy, x) = (Array2::<f64>::ones((2, 3)), Array1::<f64>::ones(4));
    let of_plan = zip((&dy, &x))
        .reduce(&plan, Sum, |(dy, x)| dy * x)
        .unwrap_err();
    let of_part = zip((&dy, &x))
        .reduce_part(&part, Sum, |(dy, x)| dy * x)
        .unwrap_err();
    assert_eq!(of_part.to_string(), of_plan.to_string());
}

#[test]
fn time_and_memory_of_a_part_do_not_grow_with_its_runs() {
    // As many rows as there can be.
    let rows = 1 << (usize::BITS - 13);
    let plan = BroadcastPlan::numpy((), (rows, 2048)).unwrap();
    let part = |ranges: [Range<usize>; 2]| Part::new(&plan, &Tile::new(&plan, &ranges).unwrap());
    assert_eq!(part([0..rows, 0..1024]).unwrap().nodes(), rows);
    assert_eq!(part([0..rows, 0..2048]).unwrap().nodes(), 1);
    assert!(part([0..rows, 0..1023]).is_err());
}

#[test]
fn nodes_are_counted_as_they_are_sent() {
    let check = |shape: &[usize], ranges: &[Range<usize>]| {
        let plan = BroadcastPlan::numpy(IxDyn(&[]), IxDyn(shape)).unwrap();
        let tile = Tile::new(&plan, ranges).unwrap();
        let part = Part::new(&plan, &tile).unwrap();
        let dy = ArrayD::<i64>::ones(IxDyn(tile.output().shape()));
        let sum = part.reduce(&dy, Sum).unwrap();
        let none = Accumulation::<i64, Sum>::new(&plan, Sum).to_bytes().len();
        // Three numbers, the length of a list of one accumulator, and that accumulator.
        let sent = (sum.to_bytes().len() - none) / (4 * 8 + 8);
        assert_eq!(part.nodes(), sent, "{shape:?} {ranges:?}");
    };
    // Of runs of one to four slabs, at all places of the tree. A slab has one block, or two.
    for (rows, columns) in [(3, 4), (5, 6), (4, 7), (2, 5), (7, 3), (1, 9)] {
        for start in 0..columns {
            for end in start + 1..=columns {
                for slab in [1024, 1500] {
                    check(&[rows, columns, slab], &[0..rows, start..end, 0..slab]);
                }
            }
        }
    }
    // Of blocks of each slab.
    let blocks = [0, 1024, 2048, 3072, 4096, 5000];
    for (number, &start) in blocks.iter().enumerate() {
        for &end in &blocks[number + 1..] {
            check(&[3, 5000], &[0..3, start..end]);
            check(&[3, 2, 5000], &[0..3, 1..2, start..end]);
        }
    }
}

/// Bytes of a sum of `u8`, of a plan from `[size]` to `[size]`, with a node of one block for each
/// of `ranges`.
fn bytes_of_pieces(size: u64, ranges: impl Iterator<Item = Range<u64>>) -> Vec<u8> {
    let mut bytes = start_of_bytes("u8", [size, size]);
    for range in ranges {
        for number in [range.start, 0, 1, range.end - range.start] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(range.map(|_| 1));
    }
    finished(bytes)
}

/// The bytes before the nodes, of a sum of numbers of this type, of a plan from one of two sizes to
/// the other.
fn start_of_bytes(kind: &str, sizes: [u64; 2]) -> Vec<u8> {
    let mut bytes = b"ndbpart3".to_vec();
    for name in ["sum", kind] {
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    for number in [1, sizes[0], 1, sizes[1], 1, 0] {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

/// With the checksum.
fn finished(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// `to_bytes` writes the larger node. To add up the halves could overflow.
#[test]
fn bytes_of_both_halves_of_a_node_are_refused() {
    let mut bytes = start_of_bytes("i32", [1, 3000]);
    for (block, value) in [(0_u64, i32::MAX), (1, 1)] {
        for number in [0, block, block + 1, 1] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(value.to_le_bytes());
    }
    let error = Accumulation::<i32, _>::from_bytes(&finished(bytes), Sum).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid bytes of an accumulation: two nodes are of the same block, or halves of one"
    );
}

#[test]
fn many_pieces_are_read_merged_and_shown_in_less_than_quadratic_time() {
    let read = |bytes: &[u8]| Accumulation::<u8, _>::from_bytes(bytes, Sum);
    let count = 100_000;
    // Every place but one has a piece. This takes minutes in quadratic time.
    let ranges = |kept: fn(&u64) -> bool| (0..count).filter(kept).map(|i| i..i + 1);
    let mut sum = read(&bytes_of_pieces(count, ranges(|&i| i % 2 == 1))).unwrap();
    sum.merge(read(&bytes_of_pieces(count, ranges(|&i| i > 0 && i % 2 == 0))).unwrap())
        .unwrap();
    assert!(!sum.is_complete());
    assert!(format!("{sum:?}").contains("complete: false"));
    let plan = BroadcastPlan::numpy(count as usize, count as usize).unwrap();
    assert_eq!(
        sum.finish(&plan).unwrap_err().to_string(),
        "the terms 0..1 of the element [0] of the result are missing"
    );
    sum.merge(read(&bytes_of_pieces(count, ranges(|&i| i == 0))).unwrap())
        .unwrap();
    assert!(sum.is_complete());

    let fault = |ranges: &[Range<u64>]| {
        let bytes = bytes_of_pieces(9, ranges.iter().cloned());
        read(&bytes).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(fault(&[0..2, 2..6, 6..9]), Ok(()));
    let text = "invalid bytes of an accumulation: the elements of a node are none, or of two nodes";
    assert_eq!(fault(&[0..3, 2..6, 6..9]), Err(text.to_owned()));
    assert_eq!(fault(&[0..9, 3..4]), Err(text.to_owned()));
    // In another order.
    assert_eq!(fault(&[6..9, 0..2, 2..6]), Err(text.to_owned()));
}

#[test]
fn the_first_missing_element_is_found_between_boxes() {
    let plan = BroadcastPlan::numpy((4, 5), (4, 5)).unwrap();
    let x = Array2::<i32>::ones((4, 5));
    let mut sum = Accumulation::new(&plan, Sum);
    let mut add = |ranges: [Range<usize>; 2], missing: Option<[usize; 2]>| {
        let part = Part::new(&plan, &Tile::new(&plan, &ranges).unwrap()).unwrap();
        let x = part.tile().output().of(&x).unwrap();
        sum.merge(part.reduce(&x, Sum).unwrap()).unwrap();
        assert_eq!(sum.is_complete(), missing.is_none());
        match (sum.finish(&plan), missing) {
            (Ok(found), None) => assert_eq!(found, x_of_ones()),
            (Err(error), Some(at)) => match error.kind() {
                ErrorKind::PartsMismatch {
                    fault: PartsFault::Incomplete { index, terms, .. },
                    ..
                } => {
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
fn a_part_of_blocks_has_the_smallest_box_of_their_terms() {
    let plan = |shape: &[usize]| BroadcastPlan::numpy(IxDyn(&[]), IxDyn(shape)).unwrap();
    for (shape, blocks, ranges) in [
        (&[5, 4, 256][..], 0..0, &[0..0, 0..0, 0..0][..]),
        (&[5, 4, 256], 5..5, &[0..0, 0..0, 0..0]),
        (&[5, 4, 256], 0..5, &[0..5, 0..4, 0..256]),
        (&[5, 4, 256], 1..3, &[1..3, 0..4, 0..256]),
        (&[5, 4, 256], 4..5, &[4..5, 0..4, 0..256]),
        (&[3, 2048], 2..3, &[1..2, 0..1024]),
        (&[3, 2048], 5..6, &[2..3, 1024..2048]),
        (&[3, 2048], 1..3, &[0..2, 0..2048]),
    ] {
        let part = Part::of_blocks(&plan(shape), &[], blocks.clone()).unwrap();
        let found: Ranges = part.tile().output().ranges().collect();
        assert_eq!(found, ranges, "{shape:?} {blocks:?}");
    }
    let plan = plan(&[3, 2048]);
    for (start, end) in [(3, 1), (6, 5), (7, 7), (4, 7)] {
        let error = Part::of_blocks(&plan, &[], start..end).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the sums of this plan have 6 blocks of terms, not [{start}..{end}]")
        );
    }
}

#[test]
fn debug_of_an_accumulation_lists_the_elements_that_it_has() {
    let plan = BroadcastPlan::numpy(5, (2, 5)).unwrap();
    let x = Array2::<i32>::ones((2, 5));
    let mut sum = Accumulation::new(&plan, Sum);
    let of = r#"of: "sum of [2, 5] to [5] by (+ 0)""#;
    for (columns, elements) in [
        (0..2, "elements: [0..2], complete: false"),
        (3..5, "elements: [0..2, 3..5], complete: false"),
        (2..3, "elements: [0..2, 2..3, 3..5], complete: true"),
    ] {
        let part = Part::new(&plan, &Tile::new(&plan, &[0..2, columns]).unwrap()).unwrap();
        let x = part.tile().output().of(&x).unwrap();
        sum.merge(part.reduce(&x, Sum).unwrap()).unwrap();
        assert_eq!(
            format!("{sum:?}"),
            format!("Accumulation {{ {of}, {elements}, .. }}")
        );
    }
}

#[test]
fn pairs_have_names_of_their_own() {
    assert_eq!(<(f32, usize)>::name(), "(f32, usize)");
    assert_eq!(<((f32, usize), usize)>::name(), "((f32, usize), usize)");
    let plan = BroadcastPlan::numpy((), 3).unwrap();
    let part = Part::new(&plan, &Tile::new(&plan, &[0..3]).unwrap()).unwrap();
    let x = arr1(&[(1_f32, 2_usize), (3., 4), (5., 6)]);
    let last = Fold::new((0., 0), |_, b| b);
    let bytes = part.reduce(&x, last).unwrap().to_bytes();
    let of_floats = Fold::new(0., |_, b| b);
    let error = Accumulation::<f32, _>::from_bytes(&bytes, of_floats).err();
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
        let text = Accumulation::<u8, _>::from_bytes(&bytes, Sum).unwrap_err();
        let text = text.to_string();
        let (_, fault) = text.split_once(": ").unwrap();
        fault.to_owned()
    };
    assert_eq!(fault(0, b"x"), r#"they do not begin with "ndbpart3""#);
    // The input's axis feeds output axis 2 of 1.
    let axes = start_of_bytes("u8", [9, 9]).len() - 8;
    assert_eq!(fault(axes, &[2]), "no plan has these axes");
    // The input's size is 8.
    assert_eq!(fault(axes - 32, &[8]), "no plan has these shapes");
    // The list of axes is longer than all bytes.
    assert_eq!(fault(axes - 8, &[255; 8]), "a list is longer than they are");
    assert_eq!(fault(axes - 8, &[100]), "a list is longer than they are");
}

/// An error shows at most 64 characters of each name, without line breaks.
#[test]
fn names_in_bytes_are_shown_in_one_short_line() {
    for (name, shown) in [
        ("sum\n\u{1b}[31m", r"sum\n\u{1b}[31m".to_owned()),
        (&"x".repeat(100_000), "x".repeat(64)),
    ] {
        let mut bytes = b"ndbpart3".to_vec();
        for name in [name, name] {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        let error = Accumulation::<u8, _>::from_bytes(&finished(bytes), Sum).unwrap_err();
        let expected = format!("{shown} in {shown}, and sum in u8");
        for text in [format!("{error}"), format!("{error:#}")] {
            let (_, parts) = text.split_once(": ").unwrap();
            assert_eq!(parts, expected);
        }
    }
}

/// Counts and positions, the last eight bytes of these accumulators, may be any numbers.
#[test]
fn any_counts_and_positions_are_merged_and_finished() {
    let plan = BroadcastPlan::numpy((), 2048).unwrap();
    let x = Array1::from_shape_fn(2048, |i| i as u8 % 100);
    let numbers = [0, 1, 3, 1024, 2048, 1 << 63, u64::MAX - 1, u64::MAX];
    macro_rules! check {
        ($T:ty, $reduction:expr) => {{
            let (plan, x) = (plan.clone(), x.mapv(<$T>::from));
            let merged = move |[first, second]: [u64; 2]| {
                let part = |block: usize, number: u64| {
                    let part = Part::of_blocks(&plan, &[], block..block + 1).unwrap();
                    let x = part.tile().output().of(&x).unwrap();
                    let mut bytes = part.reduce(&x, $reduction).unwrap().to_bytes();
                    bytes.truncate(bytes.len() - 16);
                    bytes.extend(number.to_le_bytes());
                    Accumulation::<$T, _>::from_bytes(&finished(bytes), $reduction)
                };
                let mut whole = part(0, first)?;
                whole.merge(part(1, second)?)?;
                whole.finish(&plan)
            };
            for first in numbers {
                for second in numbers {
                    let small = [first, second].iter().all(|&n| usize::try_from(n).is_ok());
                    let found = merged([first, second]);
                    assert_eq!(found.is_ok(), small, "{first} {second}: {found:?}");
                }
            }
            merged
        }};
    }
    let mean = check!(u8, NanMean);
    // The bytes say that 2000 of 2048 terms were NaN, but the sum is that of all terms.
    let sum: usize = x.iter().map(|&x| usize::from(x)).sum();
    assert_eq!(mean([1000, 1000]).unwrap().into_scalar(), (sum / 48) as u8);
    let mean = check!(f32, NanMean);
    assert!(mean([1024, 1024]).unwrap().into_scalar().is_nan());
    let count = check!(i32, Count);
    assert_eq!(count([5, 6]).unwrap().into_scalar(), 11);
    let _ = check!(i32, ArgMax);
    let _ = check!(f64, LastArgMin.in_type::<i16>());
}

/// The accumulator of such a sum has the type of its terms.
#[test]
fn sums_of_complex_and_wrapping_numbers_are_sent_as_bytes() {
    assert_eq!(<Complex<f32>>::name(), "Complex<f32>");
    assert_eq!(<Wrapping<u8>>::name(), "Wrapping<u8>");
    let mut random = Random(5);
    let plan = BroadcastPlan::numpy(3, (5000, 3)).unwrap().into_dyn();
    let values = random.array(plan.output_shape());
    macro_rules! check {
        ($T:ty, $x:expr) => {{
            let x: ArrayD<$T> = $x;
            let parts = (0..sum_blocks(&plan)).map(|block| {
                let part = Part::of_blocks(&plan, &[0..3], block..block + 1).unwrap();
                let sums = part.reduce(&part.tile().output().of(&x).unwrap(), Sum);
                Accumulation::<$T, _>::from_bytes(&sums.unwrap().to_bytes(), Sum).unwrap()
            });
            let found = merged(&mut random, &plan, parts.collect(), Sum);
            let expected: ArrayD<$T> = plan.reduce(&x, Sum).unwrap();
            assert_eq!(found, expected);
        }};
    }
    check!(Complex<f64>, values.mapv(|x| Complex::new(x, 1. / x)));
    check!(Wrapping<i8>, values.mapv(|x| Wrapping((x * 100.) as i8)));
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
    let mut sum = Accumulation::new(&plan, Sum);
    for (rows, columns) in [(1024..4096, 0..2), (5120..9000, 0..1)] {
        let part = Part::new(&plan, &Tile::new(&plan, &[rows, columns]).unwrap()).unwrap();
        sum.merge(
            part.reduce(&part.tile().output().of(&dy).unwrap(), Sum)
                .unwrap(),
        )
        .unwrap();
    }
    let bytes = sum.to_bytes();
    assert!(bytes.len() < 600, "{}", bytes.len());
    let read = |bytes: &[u8]| Accumulation::<f32, _>::from_bytes(bytes, Sum);
    assert_eq!(read(&bytes).unwrap().to_bytes(), bytes);
    for len in 0..bytes.len() {
        let error = read(&bytes[..len]).unwrap_err();
        let fault = "invalid bytes of an accumulation: they are cut short, or were changed";
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
            let at = 8 + random.below(bytes.len() - 16);
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
    use serde::Deserialize;

    let plan = BroadcastPlan::numpy(1, 3000).unwrap();
    let dy = Array1::from_shape_fn(3000, |i| i as f64);
    let part = Part::of_blocks(&plan, &[0..1], 1..3).unwrap();
    let sum = part
        .reduce(&part.tile().output().of(&dy).unwrap(), Sum)
        .unwrap();
    let bytes = sum.to_bytes();
    let text = serde_json::to_string(&sum).unwrap();
    assert_eq!(text, serde_json::to_string(&bytes).unwrap());
    let of_text: Accumulation<f64, Sum> = serde_json::from_str(&text).unwrap();
    assert_eq!(of_text.to_bytes(), bytes);

    // A format with bytes.
    use serde::de::value::{BytesDeserializer, Error};
    fn read(bytes: &[u8]) -> Result<Accumulation<f64, Sum>, Error> {
        Accumulation::<f64, Sum>::deserialize(BytesDeserializer::new(bytes))
    }
    assert_eq!(read(&bytes).unwrap().to_bytes(), bytes);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let error = read(&changed).unwrap_err().to_string();
        let of_bytes = Accumulation::<f64, Sum>::from_bytes(&changed, Sum).unwrap_err();
        assert_eq!(error, of_bytes.to_string());
    }
    let fault = |error: serde_json::Error| error.to_string();
    let other = serde_json::from_str::<Accumulation<f64, Max>>(&text);
    let text_of_other = fault(other.unwrap_err());
    assert!(
        text_of_other.contains("sum in f64, and max in f64"),
        "{text_of_other}"
    );
    let none = fault(serde_json::from_str::<Accumulation<f64, Sum>>("{}").unwrap_err());
    assert!(
        none.contains("expected the bytes of an accumulation"),
        "{none}"
    );
}

/// A part numbers its terms in the order of its tile, whatever their order in memory.
#[test]
fn parts_of_any_layout_have_the_result_of_the_whole() {
    let fortran = Array3::from_elem((40, 3, 60).f(), true);
    let permuted = Array3::from_elem((60, 40, 3), true).permuted_axes([1, 2, 0]);
    let mut reversed = Array3::from_elem((40, 3, 60), true);
    reversed.invert_axis(Axis(0));
    reversed.invert_axis(Axis(2));
    let plan = BroadcastPlan::numpy((3, 1), (40, 3, 60)).unwrap();
    for mut terms in [fortran, permuted, reversed] {
        for place in [[0, 1, 59], [39, 1, 0], [17, 0, 30]] {
            terms[place] = false;
            for cut in 1..3 {
                let mut all = Accumulation::new(&plan, All);
                for blocks in [0..cut, cut..3] {
                    let part = Part::of_blocks(&plan, &[0..3, 0..1], blocks).unwrap();
                    let some = part.tile().output().of(&terms).unwrap();
                    all.merge(part.reduce(&some, All).unwrap()).unwrap();
                }
                let expected = plan.reduce(&terms, All).unwrap();
                assert_eq!(all.finish(&plan).unwrap(), expected, "{place:?} {cut}");
            }
            terms[place] = true;
        }
    }
}

#[test]
fn parts_of_nothing_need_no_memory_however_many_elements_there_are() {
    let many = isize::MAX as usize / 16;
    let plan = BroadcastPlan::explicit((many, 2), (5, many, 2), &[1, 2]).unwrap();
    let check = |elements: [Range<usize>; 2], blocks, shape: [usize; 3]| {
        let part = Part::of_blocks(&plan, &elements, blocks).unwrap();
        let none = Array3::<f32>::zeros(shape);
        let mut sum = Accumulation::new(&plan, Sum);
        sum.merge(part.reduce(&none, Sum).unwrap()).unwrap();
        assert!(!sum.is_complete());
    };
    check([0..many, 0..1], 0..0, [0, many, 1]);
    check([0..many, 0..0], 0..1, [0, many, 0]);
}

/// With all cases, this takes minutes in quadratic time.
#[test]
fn many_nodes_are_merged_in_less_than_quadratic_time() {
    // With a node for each row and part.
    let rows = if crate::all_cases() { 30_000 } else { 3000 };
    let plan = BroadcastPlan::numpy((), (rows, 2048)).unwrap();
    let term = arr0(1_u8);
    let some = term.broadcast((rows, 1024)).unwrap();
    let half = |columns| {
        let part = Part::new(&plan, &Tile::new(&plan, &[0..rows, columns]).unwrap()).unwrap();
        part.reduce(&some, Max).unwrap()
    };
    let mut max = half(0..1024);
    max.merge(half(1024..2048)).unwrap();
    assert_eq!(max.finish(&plan).unwrap(), arr0(1));

    // A node of many elements is cut at many places.
    let count = 2 * rows as u64;
    let read = |bytes: &[u8]| Accumulation::<u8, _>::from_bytes(bytes, Sum).unwrap();
    let mut sum = read(&bytes_of_pieces(count, [0..count].into_iter()));
    let pieces = (0..count / 2).map(|i| 2 * i..2 * i + 1);
    let error = sum
        .merge(read(&bytes_of_pieces(count, pieces)))
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::PartsMismatch { .. }));

    // Each merge of many has one node.
    let blocks = rows;
    let plan = BroadcastPlan::numpy((), blocks * 1024).unwrap();
    let some = term.broadcast(1024).unwrap();
    let mut max = Accumulation::new(&plan, Max);
    for block in (0..blocks).map(|i| i * 7919 % blocks) {
        let part = Part::of_blocks(&plan, &[], block..block + 1).unwrap();
        max.merge(part.reduce(&some, Max).unwrap()).unwrap();
    }
    assert_eq!(max.finish(&plan).unwrap(), arr0(1));
}
