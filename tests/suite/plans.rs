//! Plans as values: generated chains, permutations and tiles of every rule, and invalid input.

// A box of one axis is an array of one range. Some are reversed.
#![allow(clippy::single_range_in_vec_init, clippy::reversed_empty_ranges)]

use crate::common::{iota, split_mix, variant};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use ndarray_broadcast::distributed::{Part, Tile, Tiles};
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// How many chains, permutations and tiles are generated.
fn cases() -> usize {
    crate::cases(100_000)
}

/// Pseudo-random values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn size(&mut self) -> usize {
        [1, 1, 1, 2, 2, 3, 4, 0][self.below(8)]
    }

    fn shape(&mut self, ranks: usize) -> Vec<usize> {
        (0..self.below(ranks)).map(|_| self.size()).collect()
    }

    /// The size itself, or for a 1 any other.
    fn stretched(&mut self, size: usize) -> usize {
        match size == 1 && self.coin() {
            true => self.size(),
            false => size,
        }
    }

    fn permutation(&mut self, rank: usize) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            axes.swap(i, self.below(i + 1));
        }
        axes
    }

    /// A list with further entries at random positions. Returns the positions of the old ones too.
    fn widened(&mut self, list: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let (mut wide, mut mapping) = (Vec::new(), Vec::new());
        let mut added = self.below(3);
        for &entry in list {
            while added > 0 && self.coin() {
                wide.push(self.size());
                added -= 1;
            }
            mapping.push(wide.len());
            wide.push(entry);
        }
        wide.extend((0..added).map(|_| self.size()));
        (wide, mapping)
    }

    /// A plan of any rule for an input of this shape.
    fn plan(&mut self, input: &[usize]) -> BroadcastPlan {
        let stretched: Vec<usize> = input.iter().map(|&size| self.stretched(size)).collect();
        let prefix = self.shape(3);
        let right_aligned = [&prefix[..], &stretched].concat();
        let (wide, mapping) = self.widened(&stretched);
        let mode = |target: Vec<usize>, mode| BroadcastPlan::with_mode(input, target, mode);
        let pair =
            |other: Vec<usize>, rule| BroadcastPlan::pair(input, other, rule).map(|(plan, _)| plan);
        match self.below(13) {
            0 => mode(right_aligned, BroadcastMode::Numpy),
            1 => {
                let target = right_aligned
                    .iter()
                    .map(|&size| if self.coin() { 1 } else { size });
                let target: Vec<usize> = target.collect();
                let from = self.below(target.len() + 1);
                mode(target[from..].to_vec(), BroadcastMode::Bidirectional)
            }
            2 => mode(
                wide,
                BroadcastMode::Explicit {
                    axes_mapping: mapping,
                },
            ),
            3 => {
                let broadcast_dimensions = mapping;
                mode(
                    wide,
                    BroadcastMode::InDim {
                        broadcast_dimensions,
                    },
                )
            }
            4 => {
                let order = self.permutation(wide.len());
                let target = order.iter().map(|&axis| wide[axis]).collect();
                let new_axis = |axis| order.iter().position(|&old| old == axis).unwrap();
                let broadcast_dimensions = mapping.into_iter().map(new_axis).collect();
                mode(
                    target,
                    BroadcastMode::InDimPermuting {
                        broadcast_dimensions,
                    },
                )
            }
            5 => {
                let (wide, mapping) = self.widened(input);
                let broadcast_axes = (0..wide.len()).filter(|axis| !mapping.contains(axis));
                let broadcast_axes = broadcast_axes.collect();
                mode(wide, BroadcastMode::BroadcastAxes { broadcast_axes })
            }
            6 => {
                let mut target = right_aligned;
                for size in &mut target[prefix.len()..] {
                    if self.coin() {
                        *size = KEEP;
                    }
                }
                mode(target, BroadcastMode::Expand)
            }
            7 => {
                // Trailing 1s of the input may overhang.
                let kept = input
                    .iter()
                    .rposition(|&size| size != 1)
                    .map_or(0, |last| last + 1);
                let end = kept + self.below(input.len() - kept + 1);
                let mut target = [&prefix[..], &stretched[..end]].concat();
                let missing = input.len().saturating_sub(target.len());
                let axis = prefix.len() + missing;
                target.splice(0..0, std::iter::repeat_n(2, missing));
                mode(
                    target,
                    BroadcastMode::Pdpd {
                        axis: axis as isize,
                    },
                )
            }
            8 => BroadcastPlan::prepend(input, prefix),
            9 => {
                let names: Vec<String> = (0..input.len()).map(|axis| format!("a{axis}")).collect();
                let (mut left, mut right) = (names.clone(), names);
                let mut sizes = Vec::new();
                for axis in (0..input.len()).rev() {
                    if input[axis] == 1 && self.coin() {
                        right.remove(axis);
                        left[axis] = "1".into();
                    }
                }
                for (new, &size) in ["x", "y"].into_iter().zip(&prefix) {
                    right.push(new.into());
                    sizes.push((new, size));
                }
                right = self
                    .permutation(right.len())
                    .iter()
                    .map(|&i| right[i].clone())
                    .collect();
                let text = format!("{} -> {} 2", left.join(" "), right.join(" "));
                text.parse::<AxisPattern>().unwrap().plan(input, &sizes)
            }
            10 => pair(right_aligned, ElementwiseRule::Numpy),
            11 => match wide.len() == input.len() || input.is_empty() {
                true => pair(
                    wide,
                    ElementwiseRule::Xla {
                        broadcast_dimensions: vec![],
                    },
                ),
                false => pair(
                    wide,
                    ElementwiseRule::Xla {
                        broadcast_dimensions: mapping,
                    },
                ),
            },
            _ => pair(input.to_vec(), ElementwiseRule::None),
        }
        .unwrap()
    }

    /// Small integers.
    fn array(&mut self, shape: &[usize]) -> ArrayD<i64> {
        ArrayD::from_shape_simple_fn(IxDyn(shape), || self.below(100) as i64 - 50)
    }

    fn ranges(&mut self, shape: &[usize]) -> Vec<Range<usize>> {
        let range = |&size: &usize| {
            let (a, b) = (self.below(size + 1), self.below(size + 1));
            a.min(b)..a.max(b)
        };
        shape.iter().map(range).collect()
    }
}

/// The plan without those whose output is too large to be compared often.
fn small_plan(random: &mut Random) -> BroadcastPlan {
    loop {
        let input = random.shape(5);
        let plan = random.plan(&input);
        if plan.output_shape().iter().product::<usize>() <= 600 {
            return plan;
        }
    }
}

#[test]
fn every_rule_is_generated() {
    let mut random = Random(1);
    let mut rules = BTreeMap::new();
    let mut dropped = 0;
    for _ in 0..10_000 {
        let plan = small_plan(&mut random);
        *rules.entry(plan.rule().to_string()).or_insert(0) += 1;
        let fed = plan
            .axis_sources()
            .filter_map(AxisSource::input_axis)
            .count();
        dropped += usize::from(fed < plan.input_shape().len());
    }
    // In-dim and explicit, pdpd and bidirectional, ...: all rules but `composed`.
    assert_eq!(rules.len(), 12, "{rules:?}");
    assert!(rules.values().all(|&count| count > 300), "{rules:?}");
    assert!(dropped > 100, "{dropped}");
}

#[test]
fn a_chain_is_the_two_broadcasts_in_a_row() {
    let mut random = Random(2);
    for case in 0..cases() {
        let (first, second) = loop {
            let first = small_plan(&mut random);
            let second = random.plan(first.output_shape());
            if second.output_shape().iter().product::<usize>() <= 1500 {
                break (first, second);
            }
        };
        let chain = first.then(&second).unwrap();
        let x = random.array(first.input_shape());
        let between = first.view(&x).unwrap();
        assert_eq!(
            chain.view(&x).unwrap(),
            second.view(&between).unwrap(),
            "case {case}:\n{first}\n{second}\n{chain}"
        );
        let cotangent = random.array(second.output_shape());
        assert_eq!(
            chain.gradient(&cotangent).unwrap(),
            first
                .gradient(&second.gradient(&cotangent).unwrap())
                .unwrap(),
            "case {case}:\n{first}\n{second}\n{chain}"
        );
        assert_eq!(chain.rule(), Rule::Composed);
        if case % 16 == 0 {
            assert!(chain.to_string().contains("(composed)"), "{chain}");
        }
    }
}

#[test]
fn a_permuted_plan_gives_the_permuted_view() {
    let mut random = Random(3);
    for case in 0..cases() {
        let plan = small_plan(&mut random);
        let what = || format!("case {case}:\n{plan}");
        let (rank, input_rank) = (plan.output_shape().len(), plan.input_shape().len());
        let x = random.array(plan.input_shape());
        let view = plan.view(&x).unwrap();
        let cotangent = random.array(plan.output_shape());
        let gradient = plan.gradient(&cotangent).unwrap();

        let axes = random.permutation(rank);
        let permuted = plan.permuted(&axes).unwrap();
        let transposed = |array: &ArrayD<i64>| array.clone().permuted_axes(axes.clone());
        let expected = view.clone().permuted_axes(axes.clone());
        assert_eq!(permuted.view(&x).unwrap(), expected, "{}", what());
        assert_eq!(
            permuted.gradient(&transposed(&cotangent)).unwrap(),
            gradient,
            "{}",
            what()
        );

        let axes = random.permutation(input_rank);
        let of_permuted = plan.permuted_input(&axes).unwrap();
        let y = x.clone().permuted_axes(axes.clone());
        assert_eq!(of_permuted.view(&y).unwrap(), view, "{}", what());
        let expected = gradient.clone().permuted_axes(axes);
        assert_eq!(
            of_permuted.gradient(&cotangent).unwrap(),
            expected,
            "{}",
            what()
        );

        let axis = random.below(rank + 1);
        let wider = plan.insert_axis(axis).unwrap();
        let expected = view.clone().insert_axis(Axis(axis));
        assert_eq!(wider.view(&x).unwrap(), expected, "{}", what());
        let narrow = wider.remove_axis(axis).unwrap();
        assert_eq!(narrow.view(&x).unwrap(), view, "{}", what());
        if let Some(axis) = plan.output_shape().iter().position(|&size| size == 1) {
            let expected = view.clone().remove_axis(Axis(axis));
            let narrow = plan.remove_axis(axis).unwrap();
            assert_eq!(narrow.view(&x).unwrap(), expected, "{}", what());
            let cotangent = cotangent.clone().remove_axis(Axis(axis));
            assert_eq!(narrow.gradient(&cotangent).unwrap(), gradient, "{}", what());
        }

        let axis = random.below(input_rank + 1);
        let wider = plan.insert_input_axis(axis).unwrap();
        let wide = x.clone().insert_axis(Axis(axis));
        assert_eq!(wider.view(&wide).unwrap(), view, "{}", what());
        let expected = gradient.clone().insert_axis(Axis(axis));
        assert_eq!(wider.gradient(&cotangent).unwrap(), expected, "{}", what());
        if let Some(axis) = plan.input_shape().iter().position(|&size| size == 1) {
            let narrow = plan.remove_input_axis(axis).unwrap();
            let x = x.clone().remove_axis(Axis(axis));
            assert_eq!(narrow.view(&x).unwrap(), view, "{}", what());
        }
    }
}

#[test]
fn a_tile_is_the_slice_of_the_view() {
    let mut random = Random(4);
    for case in 0..cases() {
        let plan = small_plan(&mut random);
        let ranges = random.ranges(plan.output_shape());
        let tile = Tile::new(&plan, &ranges).unwrap();
        let what = || format!("case {case}: {ranges:?} of\n{plan}\n{tile:?}");
        assert!(
            tile.output().ranges().eq(ranges.iter().cloned()),
            "{}",
            what()
        );
        assert_eq!(tile.plan().rule(), plan.rule());
        let x = random.array(plan.input_shape());
        let input: Vec<_> = tile.input().ranges().collect();
        let part = x.slice_each_axis(|axis| Slice::from(input[axis.axis.index()].clone()));
        assert_eq!(tile.input().of(&x).unwrap(), part, "{}", what());
        let view = plan.view(&x).unwrap();
        let expected = view.slice_each_axis(|axis| Slice::from(ranges[axis.axis.index()].clone()));
        assert_eq!(tile.plan().view(&part).unwrap(), expected, "{}", what());
        // The gradient of the part that the box has of the cotangent, and 0 outside it.
        let cotangent = random.array(plan.output_shape());
        let mut masked = ArrayD::zeros(cotangent.raw_dim());
        let part = tile.output().of(&cotangent).unwrap();
        tile.output().of_mut(&mut masked).unwrap().assign(&part);
        let mut gradient = ArrayD::zeros(x.raw_dim());
        let mut of_tile = tile.input().of_mut(&mut gradient).unwrap();
        tile.plan().gradient_into(&part, &mut of_tile).unwrap();
        assert_eq!(gradient, plan.gradient(&masked).unwrap(), "{}", what());
    }
}

#[test]
fn tiles_cover_the_output_once_in_memory_order() {
    let mut random = Random(5);
    for case in 0..cases() / 4 {
        let plan = small_plan(&mut random);
        let (bytes, element_size) = (random.below(200), [1, 4, 8][random.below(3)]);
        let positions = iota(plan.output_shape());
        let cotangent = random.array(plan.output_shape());
        let mut gradient = ArrayD::zeros(IxDyn(plan.input_shape()));
        let tiles = Tiles::new(&plan, bytes, element_size);
        let mut left = tiles.len();
        let mut next = 0;
        for tile in tiles {
            left -= 1;
            let part = tile.output().of(&positions).unwrap();
            assert!(
                part.len() * element_size <= bytes || part.len() == 1,
                "case {case}"
            );
            assert!(
                part.iter().copied().eq(next..next + part.len() as i32),
                "case {case}: {plan}"
            );
            next += part.len() as i32;
            let cotangent = tile.output().of(&cotangent).unwrap();
            let mut gradient = tile.input().of_mut(&mut gradient).unwrap();
            tile.plan()
                .gradient_accumulate(&cotangent, &mut gradient)
                .unwrap();
        }
        assert_eq!(
            (left, next as usize),
            (0, positions.len()),
            "case {case}: {plan}"
        );
        assert_eq!(
            gradient,
            plan.gradient(&cotangent).unwrap(),
            "case {case}: {plan}"
        );
    }
}

#[test]
fn operands_are_tiled_together() {
    let mut random = Random(6);
    for _ in 0..10_000 {
        let a = random.shape(4);
        let stretched: Vec<usize> = a.iter().map(|&size| random.stretched(size)).collect();
        let (b, _) = random.widened(&stretched);
        let rules = [
            ElementwiseRule::Numpy,
            ElementwiseRule::None,
            ElementwiseRule::Pdpd { axis: 0 },
            ElementwiseRule::Xla {
                broadcast_dimensions: (0..a.len().min(b.len())).collect(),
            },
        ];
        for rule in rules {
            let Ok((of_a, of_b)) = BroadcastPlan::pair(a.clone(), b.clone(), &rule) else {
                continue;
            };
            let (x, y) = (random.array(&a), random.array(&b));
            let expected = zip(broadcast_pair(&x, &y, &rule).unwrap())
                .map_collect(|(x, y)| x * 1000 + y)
                .unwrap();
            let mut out = ArrayD::zeros(expected.raw_dim());
            for (tile_a, tile_b) in Tiles::new(&of_a, 40, 8).zip(Tiles::new(&of_b, 40, 8)) {
                assert_eq!(tile_a.output(), tile_b.output());
                let (x, y) = (
                    tile_a.input().of(&x).unwrap(),
                    tile_b.input().of(&y).unwrap(),
                );
                let (x, y) = (
                    tile_a.plan().view(&x).unwrap(),
                    tile_b.plan().view(&y).unwrap(),
                );
                tile_a
                    .output()
                    .of_mut(&mut out)
                    .unwrap()
                    .assign(&(&x * 1000 + y));
            }
            assert_eq!(out, expected, "{rule}");
        }
    }
}

/// Ranks on both sides of 8, up to which axes are looked for one by one.
#[test]
fn plans_of_many_axes_are_permuted() {
    let mut random = Random(11);
    for rank in 7..12 {
        let output: Vec<usize> = (0..rank).map(|axis| 1 + axis % 3).collect();
        let input: Vec<usize> = (0..rank)
            .map(|axis| if axis % 4 == 1 { 1 } else { output[axis] })
            .collect();
        let plan = BroadcastPlan::numpy(IxDyn(&input), IxDyn(&output)).unwrap();
        let x = random.array(&input);
        let view = plan.view(&x).unwrap();
        for _ in 0..4 {
            let axes = random.permutation(rank);
            let permuted = plan.permuted(&axes).unwrap();
            let expected = view.clone().permuted_axes(axes.clone());
            assert_eq!(permuted.view(&x).unwrap(), expected, "{axes:?}");
            let of_permuted = plan.permuted_input(&axes).unwrap();
            let y = x.clone().permuted_axes(axes.clone());
            assert_eq!(of_permuted.view(&y).unwrap(), view, "{axes:?}");

            let mut wrong = vec![axes[1..].to_vec(), vec![]];
            for (place, axis) in [(0, axes[rank - 1]), (0, rank), (rank - 1, usize::MAX)] {
                let mut axes = axes.clone();
                axes[place] = axis;
                wrong.push(axes);
            }
            for axes in wrong {
                let errors = [plan.permuted(&axes), plan.permuted_input(&axes)];
                for error in errors.map(Result::unwrap_err) {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::InvalidAxes { .. }), "{error}");
                }
            }
        }
    }
}

#[test]
fn static_ranks_chain_and_cut() {
    let x = ndarray::array![[1, 2, 3]];
    let first = BroadcastPlan::numpy((1, 3), (2, 3)).unwrap();
    let second = BroadcastPlan::in_dim_permuting((2, 3), (3, 4, 2), &[2, 0]).unwrap();
    let chain: BroadcastPlan<ndarray::Ix2, ndarray::Ix3> = first.then(&second).unwrap();
    let view: ndarray::ArrayView3<'_, i32> = chain.view(&x).unwrap();
    assert_eq!(view, second.view(&first.view(&x).unwrap()).unwrap());
    let tile: Tile<ndarray::Ix2, ndarray::Ix3> = Tile::new(&chain, &[1..3, 0..1, 1..2]).unwrap();
    assert!(tile.input().ranges().eq([0..1, 1..3]));
    let six = BroadcastPlan::numpy((1, 1, 1, 1, 1, 2), (3, 1, 1, 1, 1, 2)).unwrap();
    assert_eq!(
        six.insert_axis(6).unwrap().output_shape(),
        [3, 1, 1, 1, 1, 2, 1]
    );
    assert_eq!(six.remove_axis(1).unwrap().output_shape(), [3, 1, 1, 1, 2]);
    let scalar = BroadcastPlan::numpy((), ()).unwrap();
    assert_eq!(variant(&scalar.remove_axis(0).unwrap_err()), "OutOfRange");
    assert_eq!(Tiles::new(&scalar, 0, 8).count(), 1);
}

#[test]
fn plans_that_differ_by_a_transpose_print_different_text() {
    for rank in 2..5 {
        let plan = BroadcastPlan::numpy(vec![2; rank], vec![2; rank + 1]).unwrap();
        let mut texts = std::collections::BTreeSet::new();
        let mut random = Random(7);
        let mut plans = std::collections::HashSet::new();
        for _ in 0..500 {
            let permuted = plan.permuted(&random.permutation(rank + 1)).unwrap();
            texts.insert(permuted.to_string());
            plans.insert(permuted);
        }
        assert_eq!(texts.len(), plans.len());
        assert!(plans.len() >= [6, 24, 120][rank - 2] / 2);
    }
}

#[test]
fn invalid_input_is_an_error_with_a_short_picture() {
    let ones = |rank| IxDyn(&vec![1; rank]);
    let plan = BroadcastPlan::numpy(ones(1000), ones(1000)).unwrap();
    let other = BroadcastPlan::numpy(ones(999), ones(1000)).unwrap();
    let huge = BroadcastPlan::numpy(IxDyn(&[1]), IxDyn(&[isize::MAX as usize])).unwrap();
    let mut twice: Vec<usize> = (0..1000).collect();
    twice[700] = 3;
    let mut ranges = vec![0..1; 1000];
    ranges[700] = 1..usize::MAX;
    let reversed = Tile::new(&huge, &[5..2]);
    let names: Vec<String> = (0..1000).map(|axis| format!("a{axis}")).collect();
    let long = names.join(" ");
    let pattern: AxisPattern = format!("{long} -> {long}").parse().unwrap();
    let named = pattern.plan(ones(1000), &[]).unwrap();
    assert!(named.axis_sources().eq((0..1000).map(AxisSource::Kept)));
    let sizes = [("a700", 2)];
    let errors = [
        ("WrongShape", plan.then(&other).err()),
        ("Repeated", plan.permuted(&twice).err()),
        ("Length", plan.permuted_input(&twice[1..]).err()),
        ("OutOfRange", huge.permuted(&[usize::MAX]).err()),
        ("OutOfRange", plan.insert_axis(usize::MAX).err()),
        ("NotOne", huge.remove_axis(0).err()),
        ("OutOfRange", plan.insert_input_axis(1001).err()),
        ("OutOfRange", plan.remove_input_axis(1000).err()),
        ("InvalidBox", Tile::new(&plan, &ranges).err()),
        ("InvalidBox", Tile::new(&plan, &ranges[1..]).err()),
        ("InvalidBox", reversed.err()),
        ("InvalidBox", Tile::new(&huge, &[0..usize::MAX]).err()),
        (
            "InvalidBox",
            Part::of_blocks(&plan, &vec![0..1; 1000], 0..usize::MAX).err(),
        ),
        ("InvalidPattern", pattern.plan(ones(1000), &sizes).err()),
        (
            "InvalidPattern",
            format!("{long} -> b {long} a3")
                .parse::<AxisPattern>()
                .err(),
        ),
        (
            "InvalidPattern",
            format!("{long} b -> {long}").parse::<AxisPattern>().err(),
        ),
    ];
    for (name, error) in errors {
        let error = error.unwrap();
        assert_eq!(variant(&error), name);
        let text = error.to_string();
        assert!(
            text.lines().all(|line| line.chars().count() < 400),
            "{text}"
        );
    }
    let tile = Tile::new(&huge, &[isize::MAX as usize - 1..isize::MAX as usize]).unwrap();
    assert!(tile.input().ranges().eq([0..1]));
    assert_eq!(Tiles::new(&huge, usize::MAX, 1).count(), 1);
    assert_eq!(Tiles::new(&huge, usize::MAX, 0).count(), 1);
    assert_eq!(Tiles::new(&huge, 0, usize::MAX).len(), isize::MAX as usize);
    assert_eq!(Tiles::new(&plan, 7, 3).count(), 1);
    let root = 1 << (usize::BITS / 2 - 1);
    let empty = BroadcastPlan::numpy(IxDyn(&[0]), IxDyn(&[root, root, 0])).unwrap();
    assert_eq!(Tiles::new(&empty, 1, 1).count(), 0);
    // A box of another array.
    let error = tile
        .output()
        .of(&ndarray::arr1(&[1, 2]).into_dyn())
        .unwrap_err();
    assert_eq!(variant(&error), "InvalidBox");
}

#[test]
fn patterns_parse_their_own_text_and_reject_others() {
    for (text, printed) in [
        ("c->n c\th  w", "c -> n c h w"),
        ("->", "->"),
        ("-> 3 x", "-> 3 x"),
        ("1 a 1->a 1", "1 a 1 -> a 1"),
        ("größe -> größe _x1", "größe -> größe _x1"),
        ("( a b)c->( )c (b a )", "(a b) c -> 1 c (b a)"),
        ("(a) b -> (b) (a)", "(a) b -> (b) (a)"),
        ("... a -> (... a)", "... a -> (... a)"),
    ] {
        let pattern: AxisPattern = text.parse().unwrap();
        assert_eq!(pattern.to_string(), printed);
        assert_eq!(format!("{pattern:?}"), format!("{printed:?}"));
        assert_eq!(printed.parse(), Ok(pattern.clone()));
        let mode = BroadcastMode::Named { pattern };
        assert_eq!(mode.to_string(), printed);
        assert_eq!(text.parse(), Ok(mode));
    }
    for (text, printed) in [
        ("x,y", "x, y -> x y"),
        (",", ", ->"),
        ("a b , b 1 -> b z a", "a b, b 1 -> b z a"),
    ] {
        let pattern: AxisPattern<2> = text.parse().unwrap();
        assert_eq!(pattern.to_string(), printed);
        assert_eq!(printed.parse(), Ok(pattern));
    }
    for text in [
        "",
        "a",
        "a, b -> a b",
        "a a -> a",
        "a -> a a",
        "a -> b",
        "2 -> a",
        "a -> a -> a",
        "a -> a.",
        ".. -> ..",
        "((a) b) -> a b",
        "(a b -> a b",
        "a b) -> a b",
        "a -> (",
        "a -> a )",
        "(...) -> ...",
        "(a ...) -> a ...",
        "1x -> 1x",
        "a -> -1",
        "é́ -> é́",
        "a -> 99999999999999999999999",
    ] {
        let error = text.parse::<AxisPattern>().unwrap_err();
        assert_eq!(variant(&error), "InvalidPattern", "{text}");
        assert!(error.to_string().lines().count() == 3, "{error}");
    }
    for text in ["a", "a, b, c", "a, b, c -> a b c", "a a, b", "a, b -> a"] {
        let error = text.parse::<AxisPattern<2>>().unwrap_err();
        assert_eq!(variant(&error), "InvalidPattern", "{text}");
    }
}

/// The variant of an error, and of an invalid pattern the fault.
fn reason(error: &BroadcastError) -> String {
    match error.kind() {
        ErrorKind::InvalidPattern { fault, .. } => {
            let fault = format!("{fault:?}");
            fault.split('(').next().unwrap().into()
        }
        _ => variant(error),
    }
}

/// `usize::MAX` is a size like any other: it is too large for an output, but it is not unknown.
#[test]
fn the_largest_size_is_a_known_size_of_a_named_axis() {
    let most = usize::MAX;
    let refused = |input: &[usize], pattern: &str, sizes: &[(&str, usize)]| {
        let plan = pattern.parse::<AxisPattern>().unwrap().plan(input, sizes);
        reason(&plan.unwrap_err())
    };
    assert_eq!(
        refused(&[], "-> n", &[("n", most), ("n", 3)]),
        "SizesDiffer"
    );
    assert_eq!(
        refused(&[], "-> n", &[("n", 3), ("n", most)]),
        "SizesDiffer"
    );
    assert_eq!(refused(&[3], "n -> n", &[("n", most)]), "SizesDiffer");
    assert_eq!(refused(&[most], "n -> n", &[("n", 3)]), "SizesDiffer");
    assert_eq!(refused(&[most], "c -> c", &[]), "ShapeOverflow");
    assert_eq!(refused(&[most], "c -> c", &[("c", most)]), "ShapeOverflow");
    assert_eq!(refused(&[], "-> n", &[("n", most)]), "ShapeOverflow");
    assert_eq!(refused(&[], &format!("-> {most}"), &[]), "ShapeOverflow");
    assert_eq!(refused(&[3], "c -> n c", &[]), "SizeMissing");
    let pattern: AxisPattern<2> = "x, x".parse().unwrap();
    let pair = pattern.plans([most, 3], &[]);
    assert_eq!(reason(&pair.unwrap_err()), "SizesDiffer");
}

#[test]
fn named_modes_take_sizes_from_the_target() {
    let mode: BroadcastMode = "c 1 -> n c 2".parse().unwrap();
    let plan = |input: &[usize], target: &[usize]| BroadcastPlan::with_mode(input, target, &mode);
    assert!(
        plan(&[3, 1], &[5, 3, 2])
            .unwrap()
            .axis_sources()
            .map(AxisSource::input_axis)
            .eq([None, Some(0), None])
    );
    for (input, target) in [
        (&[3][..], &[5, 3, 2][..]),
        (&[3, 1], &[3, 2]),
        (&[3, 1], &[5, 3, 3]),
        (&[3, 1], &[5, 4, 2]),
        (&[1, 1], &[5, 4, 2]),
        (&[3, 2], &[5, 3, 2]),
    ] {
        assert_eq!(variant(&plan(input, target).unwrap_err()), "InvalidPattern");
    }
    // Static ranks have room for the larger of both only.
    let drop: BroadcastMode = "1 c -> c".parse().unwrap();
    assert_eq!(
        variant(&BroadcastPlan::with_mode((1, 3), 3, &drop).unwrap_err()),
        "RankMismatch"
    );
}

#[test]
fn an_ellipsis_is_as_many_axes_as_the_array_has() {
    let plan = |text: &str, shape: &[usize], sizes: &[_]| {
        text.parse::<AxisPattern>()
            .unwrap()
            .plan(shape, sizes)
            .unwrap()
    };
    for (text, shape, sizes, same_as) in [
        ("... h -> ... h w", &[3][..], &[("w", 2)][..], "h -> h w"),
        ("... h -> ... h w", &[4, 3], &[("w", 2)], "a h -> a h w"),
        (
            "... h -> ... h w",
            &[5, 4, 3],
            &[("w", 2)],
            "a b h -> a b h w",
        ),
        ("... -> n ...", &[], &[("n", 2)], "-> n"),
        (
            "a ... b -> b ... n a",
            &[2, 3, 4, 5],
            &[("n", 2)],
            "a x y b -> b x y n a",
        ),
        ("b -> () b ()", &[3], &[], "b -> 1 b 1"),
        ("() ... -> ...", &[1, 3], &[], "1 a -> a"),
    ] {
        assert_eq!(
            plan(text, shape, sizes),
            plan(same_as, shape, sizes),
            "{text}"
        );
    }
    let two: AxisPattern<2> = "... x, ... y".parse().unwrap();
    let [a, b] = two.plans([(2, 3, 4), (2, 3, 5)], &[]).unwrap();
    assert_eq!(
        (a.output_shape(), b.output_shape()),
        (&[2, 3, 4, 5][..], &[2, 3, 4, 5][..])
    );
    assert!(two.plans([&[2, 3, 4][..], &[3, 5]], &[]).is_err());
    // Fewer axes than names; another size on the right.
    let pattern: AxisPattern = "... a b -> ... b a".parse().unwrap();
    assert!(pattern.plan(3, &[]).is_err());
    let mode: BroadcastMode = "... h -> ... h w".parse().unwrap();
    let to = |target: &[usize]| BroadcastPlan::with_mode((4, 3), target, &mode);
    assert_eq!(to(&[4, 3, 2]).unwrap().output_shape(), [4, 3, 2]);
    assert!(to(&[4, 3]).is_err() && to(&[5, 3, 2]).is_err());
}

/// At every rank, also where the group would have one axis. Views take such groups.
#[test]
fn an_ellipsis_in_a_group_is_refused_by_plans() {
    let any = |rank: usize| PartialShape::new(vec![PartialSize::ANY; rank]);
    for text in [
        "... -> (...)",
        "... -> (...) 1 1 1",
        "1 ... -> (...)",
        "b ... -> b (...)",
        "b ... -> b (... 2)",
        "... a -> (... a)",
    ] {
        let pattern: AxisPattern = text.parse().unwrap();
        let mode: BroadcastMode = text.parse().unwrap();
        for input in [&[][..], &[1], &[2], &[2, 3], &[1, 2, 3]] {
            let error = pattern.plan(input, &[]).unwrap_err();
            assert_eq!(variant(&error), "InvalidPattern", "{text}");
            for target in [&[1][..], &[2], &[2, 3], &[2, 6], &[6, 1, 1, 1]] {
                let plan = BroadcastPlan::with_mode(input, target, &mode);
                assert_eq!(variant(&plan.unwrap_err()), "InvalidPattern", "{text}");
            }
        }
        for a in [any(1), any(2), any(4), PartialShape::UNKNOWN] {
            for b in [any(1), any(4), PartialShape::UNKNOWN] {
                let error = mode.infer(&a, &b).unwrap_err();
                assert_eq!(variant(&error), "InvalidPattern", "{text} {a} {b}");
            }
        }
    }
    let two: AxisPattern<2> = "... a, ... -> (...) a".parse().unwrap();
    assert!(two.plans([&[2, 3][..], &[2]], &[]).is_err());
    assert!(two.infer(&any(2), &PartialShape::UNKNOWN).is_err());
}

/// The axes of `...` have no name that a caller can give.
#[test]
fn names_of_axes_of_an_ellipsis_are_refused() {
    let plan = |text: &str, sizes: &[_]| {
        let pattern: AxisPattern = text.parse().unwrap();
        pattern.plan((2, 3), sizes)
    };
    assert_eq!(
        plan("... -> ... c", &[("c", 4)]).unwrap().output_shape(),
        [2, 3, 4]
    );
    for text in [
        "...0 -> ...0",
        "... -> ... ...0",
        "a ...1 -> a ...1",
        "..., ...0",
    ] {
        assert!(text.parse::<AxisPattern>().is_err(), "{text}");
        assert!(text.parse::<AxisPattern<2>>().is_err(), "{text}");
    }
    for name in ["...0", "...1", "...2", "..."] {
        let error = plan("... -> ... c", &[("c", 4), (name, 3)]).unwrap_err();
        assert!(
            error.to_string().contains("which it does not have"),
            "{error}"
        );
    }
}
