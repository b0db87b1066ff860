//! Inference on shapes known in part, compared with the hull of all concrete results: by
//! enumeration over small intervals, for every rule.

use crate::common;
use ndarray::IxDyn;
use ndarray_broadcast::KEEP;
use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::openvino::{Broadcast, Mode};
use ndarray_broadcast::prelude::*;
use std::ops::RangeInclusive;

/// Stands for all sizes that no bound names.
const MANY: usize = 5;

/// Sizes from a bound to a bound. The upper bound `MANY` is none.
type Interval = RangeInclusive<usize>;

/// All intervals with bounds of 0 to `largest`, without and with upper bound.
fn intervals(largest: usize) -> Vec<Interval> {
    (0..=largest)
        .flat_map(|min| {
            let bounded = (min..=largest).map(move |max| min..=max);
            bounded.chain([min..=MANY])
        })
        .collect()
}

fn partial(interval: &Interval) -> PartialSize {
    match (*interval.start(), *interval.end()) {
        (min, MANY) => (min..).into(),
        (min, max) => PartialSize::between(min, max).unwrap(),
    }
}

fn shape(intervals: &[Interval]) -> PartialShape {
    PartialShape::new(intervals.iter().map(partial))
}

/// Every shape in the box, with `MANY` for all sizes above the largest bound.
fn members(intervals: &[Interval], largest: usize) -> Vec<Vec<usize>> {
    let mut shapes = vec![Vec::new()];
    for interval in intervals {
        let sizes = interval
            .clone()
            .filter(|&size| size <= largest || size >= MANY);
        shapes = shapes
            .into_iter()
            .flat_map(|shape| {
                sizes.clone().map(move |size| {
                    let mut longer: Vec<usize> = shape.clone();
                    longer.push(size);
                    longer
                })
            })
            .collect();
    }
    shapes
}

/// Every list of `len` intervals.
fn boxes(of: &[Interval], len: usize) -> Vec<Vec<Interval>> {
    let mut lists = vec![Vec::new()];
    for _ in 0..len {
        lists = lists
            .into_iter()
            .flat_map(|list: Vec<Interval>| {
                of.iter()
                    .map(move |interval| [&list[..], std::slice::from_ref(interval)].concat())
            })
            .collect();
    }
    lists
}

/// The smallest box that holds the shapes. `None` if there are none.
fn hull(shapes: impl IntoIterator<Item = Vec<usize>>) -> Option<PartialShape> {
    let mut hull: Option<Vec<Interval>> = None;
    for shape in shapes {
        let hull = hull.get_or_insert_with(|| shape.iter().map(|&size| size..=size).collect());
        if hull.len() != shape.len() {
            return Some(PartialShape::UNKNOWN);
        }
        for (interval, size) in hull.iter_mut().zip(shape) {
            *interval = size.min(*interval.start())..=size.max(*interval.end());
        }
    }
    hull.map(|hull| shape(&hull))
}

/// A rule with its attributes.
#[derive(Debug, Clone)]
enum Call {
    Mode(BroadcastMode),
    Pair(ElementwiseRule),
    Prepend,
}

impl Call {
    fn infer(&self, a: &PartialShape, b: &PartialShape) -> Result<PartialShape, BroadcastError> {
        match self {
            Call::Mode(mode) => mode.infer(a, b),
            Call::Pair(rule) => rule.infer(a, b),
            Call::Prepend => {
                PartialPlan::prepend(a.clone(), b.clone()).map(|plan| plan.output_shape().clone())
            }
        }
    }

    fn oracle(&self, a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
        match self {
            Call::Mode(mode) => common::mode(a, b, mode).ok().map(|map| map.output),
            Call::Pair(rule) => common::pair(a, b, rule).ok().map(|[map, _]| map.output),
            Call::Prepend => common::prepend(a, b).ok().map(|map| map.output),
        }
    }

    /// Draws the error if `draw`.
    fn check(&self, [a, b]: [&PartialShape; 2], expected: Option<PartialShape>, draw: bool) {
        match (self.infer(a, b), expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{self:?}: {a}, {b}"),
            (Err(_), None) if !draw => {}
            (Err(error), None) => {
                let text = error.to_string();
                // A pattern's error points into the pattern, if both shapes are known.
                let pattern = matches!(error.kind(), ErrorKind::InvalidPattern { .. });
                let shown = text.contains(&format!("{a}")) && text.contains(&format!("{b}"));
                assert!(pattern || shown, "{text}");
                assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
            }
            (found, expected) => {
                panic!("{self:?}: {a}, {b}: expected {expected:?}, got {found:?}")
            }
        }
    }

    /// Compares every `step`-th box of rank `rank_a` with every `step`-th box of rank `rank_b`.
    fn check_ranks(&self, rank_a: usize, rank_b: usize, [step_a, step_b]: [usize; 2]) {
        let intervals = intervals(4);
        let values = |rank| members(&vec![0..=MANY; rank], 4);
        let (sizes_a, sizes_b) = (values(rank_a), values(rank_b));
        // For each pair of shapes the sizes of the output.
        let results: Vec<Vec<Sizes>> = sizes_a
            .iter()
            .map(|a| {
                sizes_b
                    .iter()
                    .map(|b| Sizes::new(self.oracle(a, b)))
                    .collect()
            })
            .collect();
        let boxes_b = boxes(&intervals, rank_b);
        let shapes_b: Vec<PartialShape> = boxes_b.iter().map(|of| shape(of)).collect();
        let mut pairs = 0_usize;
        for box_a in boxes(&intervals, rank_a).iter().step_by(step_a) {
            let shape_a = shape(box_a);
            let mut table = vec![Sizes::default(); sizes_b.len()];
            for at in positions(box_a) {
                let (mut i, from) = (0, &results[at]);
                while i < table.len() {
                    table[i].0 |= from[i].0;
                    i += 1;
                }
            }
            let table = unions(table, rank_b, &intervals);
            for (shape_b, expected) in shapes_b.iter().zip(&table).step_by(step_b) {
                pairs += 1;
                let draw = pairs % 64 == 0;
                if draw || !expected.agree(&self.infer(&shape_a, shape_b)) {
                    self.check([&shape_a, shape_b], expected.hull(), draw);
                }
            }
        }
    }

    /// Compares shapes of unknown rank with boxes of these intervals.
    fn check_unknown_ranks(&self) {
        let few: Vec<Interval> = vec![0..=0, 1..=1, 2..=2, 1..=2, 2..=MANY, 0..=MANY];
        let all: Vec<Vec<usize>> = (0..=4)
            .flat_map(|rank| members(&vec![0..=MANY; rank], 2))
            .collect();
        let mut known = Vec::new();
        for rank in 0..=2 {
            known.extend(boxes(&few, rank));
        }
        for known in known {
            let members = members(&known, 2);
            let known = shape(&known);
            let pairs = || members.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
            let unknown = PartialShape::UNKNOWN;
            let results = pairs().filter_map(|(a, b)| self.oracle(a, b));
            self.check([&known, &unknown], hull(results), true);
            let results = pairs().filter_map(|(a, b)| self.oracle(b, a));
            self.check([&unknown, &known], hull(results), true);
        }
        let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
        let expected = hull(pairs.filter_map(|(a, b)| self.oracle(a, b)));
        self.check([&PartialShape::UNKNOWN; 2], expected, true);
    }
}

/// The sizes of each axis of some results, one bit of a byte each, below a leading 1.
/// 0 if there is no result.
#[derive(Clone, Copy, Default)]
struct Sizes(u64);

impl Sizes {
    fn new(output: Option<Vec<usize>>) -> Self {
        let with = |bits: u64, size: usize| (bits << 8) | (1 << size);
        Sizes(output.map_or(0, |output| output.into_iter().fold(1, with)))
    }

    /// The smallest and the largest size of each axis, `None` if there is no result.
    fn intervals(self) -> Option<impl ExactSizeIterator<Item = Interval>> {
        let rank = (63_usize.checked_sub(self.0.leading_zeros() as usize))? / 8;
        Some((0..rank).map(move |axis| {
            let byte = (self.0 >> (8 * (rank - 1 - axis))) as u8;
            byte.trailing_zeros() as usize..=7 - byte.leading_zeros() as usize
        }))
    }

    fn hull(self) -> Option<PartialShape> {
        Some(shape(&self.intervals()?.collect::<Vec<_>>()))
    }

    /// Whether an inferred shape is the hull.
    fn agree(self, inferred: &Result<PartialShape, BroadcastError>) -> bool {
        match (inferred, self.intervals()) {
            (Ok(found), Some(expected)) => found.sizes().is_some_and(|found| {
                found.len() == expected.len()
                    && found.iter().zip(expected).all(|(&a, b)| a == partial(&b))
            }),
            (Err(_), None) => true,
            _ => false,
        }
    }
}

/// The positions of a box's members in the list of all shapes of its rank.
fn positions(of: &[Interval]) -> Vec<usize> {
    of.iter().fold(vec![0], |positions, interval| {
        let next = |at: usize| interval.clone().map(move |size| at * (MANY + 1) + size);
        positions.into_iter().flat_map(next).collect()
    })
}

/// The unions of the entries for all members of each box, from one entry for each shape of the
/// rank. It replaces the sizes of one axis by the intervals, axis by axis.
fn unions(mut table: Vec<Sizes>, rank: usize, intervals: &[Interval]) -> Vec<Sizes> {
    let sizes = MANY + 1;
    for axis in (0..rank).rev() {
        let inner = intervals.len().pow((rank - 1 - axis) as u32);
        let mut next = Vec::with_capacity(table.len() / sizes * intervals.len());
        for block in table.chunks(sizes * inner) {
            for interval in intervals {
                let begin = next.len();
                next.extend_from_slice(&block[interval.start() * inner..][..inner]);
                // A plain loop, which is fast without optimisation too.
                let (mut from, end) =
                    ((interval.start() + 1) * inner, (interval.end() + 1) * inner);
                while from < end {
                    next[begin + from % inner].0 |= block[from].0;
                    from += 1;
                }
            }
        }
        table = next;
    }
    table
}

/// Every list of at most `len` axes below `end`.
fn lists(len: usize, end: usize) -> Vec<Vec<usize>> {
    let mut lists = vec![vec![]];
    let mut from = 0;
    for _ in 0..len {
        let longer: Vec<Vec<usize>> = lists[from..]
            .iter()
            .flat_map(|list| (0..end).map(move |axis| [&list[..], &[axis]].concat()))
            .collect();
        from = lists.len();
        lists.extend(longer);
    }
    lists
}

fn simple_calls() -> Vec<Call> {
    let mut calls = vec![
        Call::Mode(BroadcastMode::Numpy),
        Call::Mode(BroadcastMode::Bidirectional),
        Call::Mode(BroadcastMode::Expand),
        Call::Pair(ElementwiseRule::None),
        Call::Pair(ElementwiseRule::Numpy),
        Call::Prepend,
    ];
    for axis in [-2, -1, 0, 1, 2] {
        calls.push(Call::Mode(BroadcastMode::Pdpd { axis }));
        calls.push(Call::Pair(ElementwiseRule::Pdpd { axis }));
        calls.push(Call::Pair(ElementwiseRule::Paddle { axis }));
    }
    for text in [
        "a -> a",
        "a b -> b x a",
        "1 a -> 2 a",
        "1 -> 2",
        "a -> 1 a 2",
        "->",
        "1 a -> a",
    ] {
        calls.push(Call::Mode(text.parse().unwrap()));
    }
    calls
}

fn calls_with_axes(axes: &[usize]) -> [Call; 5] {
    let axes = axes.to_vec();
    [
        Call::Mode(BroadcastMode::Explicit {
            axes_mapping: axes.clone(),
        }),
        Call::Mode(BroadcastMode::InDim {
            broadcast_dimensions: axes.clone(),
        }),
        Call::Mode(BroadcastMode::InDimPermuting {
            broadcast_dimensions: axes.clone(),
        }),
        Call::Mode(BroadcastMode::BroadcastAxes {
            broadcast_axes: axes.clone(),
        }),
        Call::Pair(ElementwiseRule::Xla {
            broadcast_dimensions: axes,
        }),
    ]
}

/// All pairs of boxes where there are no more than `sample`, and about as many of the others.
/// `PARTIAL_STEP=1` checks all of them, in `.ci/long-checks partial`: only that finds a wrong box of
/// few pairs of boxes of ranks 2 and 3, or of two boxes of rank 3 alone.
fn check_all_ranks(call: &Call, sample: usize) {
    let sample = if crate::all_cases() {
        sample
    } else {
        sample / 4
    };
    let step = std::env::var("PARTIAL_STEP")
        .ok()
        .and_then(|step| step.parse().ok());
    for rank_a in 0..=3_usize {
        for rank_b in 0..=3_usize {
            // The oracle's answers for two shapes of rank 3 take longer than all others together.
            if step.is_none() && rank_a + rank_b == 6 {
                continue;
            }
            // A step that is odd and no multiple of 5 reaches every interval of every axis.
            let odd = |step: usize| match step {
                0 | 1 => 1,
                more => more / 10 * 10 + 3,
            };
            let pairs = 20_usize.pow((rank_a + rank_b) as u32);
            let wanted = pairs.div_ceil(sample);
            let step_b = odd(wanted.min(20_usize.pow(rank_b as u32) / 20));
            let step_a = odd(wanted / step_b);
            let steps = step.map_or([step_a, step_b], |step| [step; 2]);
            call.check_ranks(rank_a, rank_b, steps);
        }
    }
}

#[test]
fn a_shape_has_a_value_if_all_its_sizes_are_known() {
    for (shape, value) in [
        (PartialShape::known((2, 3)), Some(IxDyn(&[2, 3]))),
        (PartialShape::known(()), Some(IxDyn(&[]))),
        (
            PartialShape::new([PartialSize::known(2), PartialSize::ANY]),
            None,
        ),
        (PartialShape::UNKNOWN, None),
    ] {
        assert_eq!(shape.value(), value, "{shape}");
    }
}

#[test]
fn the_box_of_simple_rules_is_the_smallest() {
    for call in simple_calls() {
        check_all_ranks(&call, 5_000);
    }
}

#[test]
fn the_box_of_rules_with_axes_is_the_smallest() {
    let mut axes = lists(2, 3);
    axes.extend([vec![0, 1, 2], vec![2, 0, 1], vec![0, 2, 2], vec![0, 1, 3]]);
    for axes in axes {
        for call in calls_with_axes(&axes) {
            check_all_ranks(&call, 1_000);
        }
    }
}

#[test]
fn the_box_of_unknown_ranks_is_the_smallest() {
    // The oracle's ranks end at 4, so that axis 2 of `pdpd` leaves too few.
    let far = |call: &Call| {
        matches!(
            call,
            Call::Mode(BroadcastMode::Pdpd { axis: 2 })
                | Call::Pair(ElementwiseRule::Pdpd { axis: 2 })
        )
    };
    for call in simple_calls().iter().filter(|call| !far(call)) {
        call.check_unknown_ranks();
    }
    for axes in lists(2, 3) {
        for call in calls_with_axes(&axes) {
            call.check_unknown_ranks();
        }
    }
}

#[test]
fn known_shapes_give_the_shape_or_the_error_of_the_plan() {
    for (input, target) in [
        (&[3, 1][..], &[2, 3, 4][..]),
        (&[3, 1], &[2, 3]),
        (&[5], &[1]),
    ] {
        for mode in [
            BroadcastMode::Numpy,
            BroadcastMode::Bidirectional,
            BroadcastMode::Expand,
        ] {
            let plan = BroadcastPlan::with_mode(input, target, &mode);
            let shape = plan.map(|plan| PartialShape::known(plan.output_dim()));
            let (input, target) = (PartialShape::known(input), PartialShape::known(target));
            assert_eq!(mode.infer(&input, &target), shape);
        }
    }
    let target = PartialShape::new([PartialSize::known(KEEP), PartialSize::ANY]);
    let input = PartialShape::new([PartialSize::between(2, 3).unwrap(), 4.into()]);
    let shape = BroadcastMode::Expand.infer(&input, &target).unwrap();
    assert_eq!(shape.to_string(), "[2..=3, 4]");
    let vector = PartialShape::new([PartialSize::ANY]);
    let error = BroadcastMode::Expand.infer(&vector, &target).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::SizeMismatch { axis: 0, .. }
    ));
    let shape = BroadcastMode::Expand
        .infer(&PartialShape::UNKNOWN, &target)
        .unwrap();
    assert_eq!(shape.to_string(), "[?, ?]");
}

/// OpenVINO's operator with a mapping that is known in part.
#[test]
fn the_box_of_an_unknown_mapping_is_the_smallest() {
    let few: Vec<Interval> = vec![0..=0, 1..=1, 2..=2, 1..=2, 2..=MANY, 0..=MANY];
    let axes: Vec<Interval> = vec![0..=0, 1..=1, 2..=2, 0..=1, 1..=2, 0..=2, 1..=MANY];
    let operator = Broadcast::v3().with_mode(Mode::Explicit).unwrap();
    let explicit = |data: &[usize], target: &[usize], mapping: &[usize]| {
        let mapping = match mapping {
            [axis] if data.is_empty() && target.get(*axis) == Some(&1) => vec![],
            mapping => mapping.to_vec(),
        };
        let mode = BroadcastMode::Explicit {
            axes_mapping: mapping,
        };
        common::mode(data, target, &mode).ok().map(|map| map.output)
    };
    let mut seed = 1_u64;
    let mut below = |end: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end
    };
    let mut impossible = 0;
    for _ in 0..30_000 {
        let rank = below(3);
        let target_rank = below(4);
        let data: Vec<Interval> = (0..rank).map(|_| few[below(6)].clone()).collect();
        let target: Vec<Interval> = (0..target_rank).map(|_| few[below(6)].clone()).collect();
        let entries = if below(8) == 0 {
            below(3)
        } else {
            rank.max(below(2))
        };
        let mapping: Vec<Interval> = (0..entries).map(|_| axes[below(7)].clone()).collect();
        let mapping_known = below(4) > 0;
        let mappings = match mapping_known {
            true => members(&mapping, 2),
            false => lists(3, 3),
        };
        let mut outputs = Vec::new();
        for data in &members(&data, 2) {
            for target in &members(&target, 2) {
                outputs.extend(mappings.iter().filter_map(|m| explicit(data, target, m)));
            }
        }
        let known = match mapping_known {
            true => shape(&mapping),
            false => PartialShape::UNKNOWN,
        };
        let found = operator.infer(&shape(&data), &shape(&target), Some(&known));
        let expected = hull(outputs);
        impossible += usize::from(expected.is_none());
        assert_eq!(
            found.as_ref().ok(),
            expected.as_ref(),
            "{data:?} {target:?} {known}: {found:?}"
        );
        // If less is known, the box is no smaller.
        if let Some(expected) = expected {
            let wider = operator
                .infer(&PartialShape::UNKNOWN, &shape(&target), Some(&known))
                .unwrap();
            for (size, wide) in expected.sizes().unwrap().iter().zip(wider.sizes().unwrap()) {
                assert!(wide.min() <= size.min() && size.max() <= wide.max().or(size.max()));
            }
        }
    }
    assert!((5_000..25_000).contains(&impossible), "{impossible}");
}

/// The output of two shapes whose axes have names: axes of one name have one size, and a number is
/// a size. `None` if the shapes do not fit.
fn named_pair(text: &str, shapes: [&[usize]; 2]) -> Option<Vec<usize>> {
    let (left, right) = text
        .split_once("->")
        .map_or((text, None), |(l, r)| (l, Some(r)));
    let mut sizes: Vec<(&str, usize)> = vec![];
    for (list, shape) in left.split(',').zip(shapes) {
        for (word, &size) in list.split_whitespace().zip(shape) {
            let number = word.parse().ok();
            let known = sizes.iter().find(|(name, _)| *name == word);
            match number.or(known.map(|&(_, size)| size)) {
                Some(known) if known != size => return None,
                Some(_) => {}
                None => sizes.push((word, size)),
            }
        }
    }
    let size_of = |word: &str| {
        let known = sizes.iter().find(|(name, _)| *name == word);
        word.parse().ok().or(known.map(|&(_, size)| size))
    };
    match right {
        Some(right) => right.split_whitespace().map(size_of).collect(),
        None => Some(sizes.iter().map(|&(_, size)| size).collect()),
    }
}

#[test]
fn the_box_of_named_pairs_is_the_smallest() {
    let few: Vec<Interval> = vec![0..=0, 1..=1, 2..=2, 1..=2, 2..=MANY, 0..=MANY];
    for text in [
        "x y, y z",
        "x y, y x -> y x",
        "x, y",
        "1 x, x -> x 2",
        "x, x 1",
        ", x",
    ] {
        let pattern: AxisPattern<2> = text.parse().unwrap();
        let left = text.split("->").next().unwrap();
        let ranks = left.split(',').map(|list| list.split_whitespace().count());
        let ranks: Vec<usize> = ranks.collect();
        for a in boxes(&few, ranks[0]) {
            for b in boxes(&few, ranks[1]) {
                let (in_a, in_b) = (members(&a, 2), members(&b, 2));
                let pairs = in_a.iter().flat_map(|a| in_b.iter().map(move |b| (a, b)));
                let outputs = pairs.filter_map(|(a, b)| {
                    let output = named_pair(text, [a, b]);
                    let plans = pattern.plans([&a[..], &b[..]], &[]);
                    let of_plans = plans.ok().map(|[plan, _]| plan.output_shape().to_vec());
                    assert_eq!(of_plans, output, "{text}: {a:?}, {b:?}");
                    output
                });
                let expected = hull(outputs);
                let found = pattern.infer(&shape(&a), &shape(&b));
                assert_eq!(found.as_ref().ok(), expected.as_ref(), "{text}: {found:?}");
                // The pattern tells the rank.
                if b.iter().all(|sizes| *sizes == (0..=MANY)) {
                    let found = pattern.infer(&shape(&a), &PartialShape::UNKNOWN);
                    assert_eq!(found.as_ref().ok(), expected.as_ref(), "{text}: {found:?}");
                }
            }
        }
        let three = PartialShape::known((1, 1, 1));
        assert!(pattern.infer(&PartialShape::UNKNOWN, &three).is_err());
    }
}

#[test]
fn a_partial_plan_has_the_shapes_that_it_was_given() {
    let [a, b] = [PartialShape::new([2.., 0..]), PartialShape::UNKNOWN];
    let of_mode = |a, b| PartialPlan::with_mode(a, b, BroadcastMode::Numpy);
    for (input, target) in [(&a, &b), (&b, &a), (&a, &a)] {
        let plans = [
            of_mode(input.clone(), target.clone()),
            PartialPlan::prepend(input.clone(), target.clone()),
        ];
        for plan in plans.map(Result::unwrap) {
            assert_eq!((plan.input_shape(), plan.target_shape()), (input, target));
        }
    }
}

#[test]
fn debug_of_partial_sizes_and_shapes_is_their_display() {
    let between = PartialSize::between(2, 5).unwrap();
    let sizes = [PartialSize::ANY, 3.into(), between, (2..).into()];
    for (size, text) in sizes.iter().zip(["?", "3", "2..=5", "2.."]) {
        assert_eq!(
            (format!("{size:?}"), size.to_string()),
            (text.into(), text.into())
        );
    }
    for (shape, text) in [
        (PartialShape::new(sizes), "[?, 3, 2..=5, 2..]"),
        (PartialShape::known(()), "[]"),
        (PartialShape::UNKNOWN, "[...]"),
    ] {
        assert_eq!(
            (format!("{shape:?}"), shape.to_string()),
            (text.into(), text.into())
        );
    }
}

#[test]
fn a_partial_plan_resolves_to_the_plan_of_the_mode() {
    let any = PartialSize::ANY;
    let (input, target) = (PartialShape::new([any, 1.into()]), PartialShape::UNKNOWN);
    let plan = PartialPlan::with_mode(input, target, BroadcastMode::Numpy).unwrap();
    assert_eq!(
        plan.resolve((3, 1), (2, 3, 4)),
        BroadcastPlan::numpy(IxDyn(&[3, 1]), IxDyn(&[2, 3, 4]))
    );
    assert_eq!(
        plan.resolve((3, 1), (2, 4)),
        BroadcastPlan::numpy(IxDyn(&[3, 1]), IxDyn(&[2, 4]))
    );
    for (input, target) in [(&[3, 2][..], &[2, 3, 2][..]), (&[1], &[3])] {
        let error = plan.resolve(input, target).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::WrongShape { .. }),
            "{error}"
        );
    }
}

/// A target of `KEEP` has the input's size. A size that may be `usize::MAX` among others is not
/// known to be `KEEP`.
#[test]
fn a_partial_plan_resolves_to_keep_only_where_the_output_holds_it() {
    let input = PartialShape::new([PartialSize::between(5, 9).unwrap()]);
    let resolved = |target: PartialSize, found: usize| {
        let target = PartialShape::new([target]);
        let plan = PartialPlan::with_mode(input.clone(), target, BroadcastMode::Expand).unwrap();
        let resolved = plan.resolve(5, found).map_err(|error| error.to_string())?;
        let shape = resolved.output_shape().to_vec();
        assert!(plan.output_shape().contains(&shape));
        Ok(shape)
    };
    let error = "\
target has shape [5], expected [7..=9]
  found          5
  expected   7..=9
                 ^ 5 is not 7..=9";
    assert_eq!(
        resolved(PartialSize::from(7..), KEEP),
        Err(error.to_owned())
    );
    assert_eq!(resolved(PartialSize::from(4..), 5), Ok(vec![5]));
    assert_eq!(resolved(PartialSize::known(KEEP), KEEP), Ok(vec![5]));
}

/// Both orders of the operands, for every rule.
#[test]
fn a_shape_with_too_many_elements_is_refused_if_the_other_one_is_unknown() {
    let unknown = PartialShape::UNKNOWN;
    let huge = PartialShape::new([isize::MAX as usize; 2]);
    let operator = Broadcast::v3().with_mode(Mode::Explicit).unwrap();
    let mut results = vec![
        operator.infer(&unknown, &huge, Some(&unknown)),
        operator.infer(&huge, &unknown, Some(&unknown)),
        operator.infer(&huge, &PartialShape::new([0.., 0.., 0..]), Some(&unknown)),
    ];
    let small = PartialShape::known((3, 3));
    for ([a, b], [small_a, small_b]) in [
        ([&unknown, &huge], [&unknown, &small]),
        ([&huge, &unknown], [&small, &unknown]),
    ] {
        let plan = PartialPlan::prepend(a.clone(), b.clone());
        results.push(plan.map(|plan| plan.output_shape().clone()));
        for call in simple_calls().into_iter().chain(calls_with_axes(&[0, 1])) {
            // Others have attributes that these shapes never fit.
            if call.infer(small_a, small_b).is_ok() {
                results.push(call.infer(a, b));
            }
        }
    }
    assert!(results.len() > 20);
    for result in results {
        let error = result.unwrap_err();
        assert_eq!(common::variant(&error), "ShapeOverflow", "{error}");
    }
    let unbounded = PartialShape::new([0.., 0..]);
    let none = ElementwiseRule::None.infer(&unknown, &unbounded);
    assert_eq!(none.unwrap(), unbounded);
    assert_eq!(
        ElementwiseRule::None.infer(&unknown, &unknown).unwrap(),
        unknown
    );
}

/// In quadratic time this takes minutes.
#[test]
fn very_many_axes_take_less_than_quadratic_time() {
    const MANY: usize = 60_000;
    let anys = |rank| PartialShape::new(vec![PartialSize::ANY; rank]);
    let operator = Broadcast::v3().with_mode(Mode::Explicit).unwrap();
    let output = operator.infer(&anys(MANY), &anys(2 * MANY), Some(&PartialShape::UNKNOWN));
    assert_eq!(output.unwrap(), anys(2 * MANY));

    let names: Vec<String> = (0..MANY).map(|i| format!("a{i}")).collect();
    let sizes: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let pattern: AxisPattern = format!("-> {}", names.join(" ")).parse().unwrap();
    let plan = pattern.plan((), &sizes).unwrap();
    assert_eq!(plan.output_shape().len(), MANY);

    let pattern: AxisPattern = "... a -> a ...".parse().unwrap();
    let plan = pattern.plan(vec![1; MANY], &[]).unwrap();
    assert_eq!(plan.output_shape().len(), MANY);

    let mut shapes = vec![vec![]; MANY];
    shapes.push(vec![1; MANY]);
    assert_eq!(broadcast_shapes(&shapes).unwrap(), vec![1; MANY]);
}

/// As many dimensions as an operand has axes are its own, otherwise the other operand's.
#[test]
fn errors_name_the_operand_of_xla_dimensions_if_the_other_one_is_unknown() {
    let (known, unknown) = (PartialShape::new([0.., 3..]), PartialShape::UNKNOWN);
    for (dimensions, of_known) in [(&[1, 1][..], true), (&[2], false)] {
        let rule = ElementwiseRule::Xla {
            broadcast_dimensions: dimensions.to_vec(),
        };
        for (a, b, known) in [(&known, &unknown, "a"), (&unknown, &known, "b")] {
            let text = rule.infer(a, b).unwrap_err().to_string();
            let owner = if of_known == (known == "a") { "a" } else { "b" };
            let row = text.lines().nth(1).unwrap();
            assert_eq!(row.split_whitespace().next(), Some(owner), "{text}");
        }
    }
}

#[test]
fn errors_name_the_operand_whose_axis_is_1_in_the_pattern_only() {
    let (known, unknown) = (PartialShape::new([0.., 3..]), PartialShape::UNKNOWN);
    for (pattern, [a, b], mark) in [
        ("x 1, y -> x y", [&known, &unknown], "    ^"),
        ("y, x 1 -> x y", [&unknown, &known], "       ^"),
    ] {
        let pattern: AxisPattern<2> = pattern.parse().unwrap();
        let text = pattern.infer(a, b).unwrap_err().to_string();
        let last = format!("{mark} \"1\" has the sizes 3.. and 1");
        assert_eq!(text.lines().last(), Some(&last[..]), "{text}");
    }
}

#[test]
fn hostile_bounds_neither_panic_nor_overflow() {
    let end = usize::MAX;
    let sizes = [
        PartialSize::known(end),
        PartialSize::between(end - 1, end).unwrap(),
        PartialSize::between(0, end - 1).unwrap(),
        PartialSize::known(1),
        PartialSize::ANY,
    ];
    let mut calls = simple_calls();
    for axes in [&[][..], &[0, 1], &[end, end], &[end - 1, end]] {
        calls.extend(calls_with_axes(axes));
    }
    calls.push(Call::Mode(BroadcastMode::Pdpd { axis: isize::MAX }));
    calls.push(Call::Mode(BroadcastMode::Pdpd { axis: isize::MIN }));
    let mut shapes = vec![
        PartialShape::UNKNOWN,
        PartialShape::new(vec![PartialSize::ANY; 1000]),
    ];
    for a in sizes {
        shapes.extend(sizes.map(|b| PartialShape::new([a, b])));
    }
    for call in calls {
        for a in &shapes {
            for b in &shapes {
                if let Err(error) = call.infer(a, b) {
                    let text = error.to_string();
                    assert!(
                        text.lines().all(|line| line.chars().count() < 600),
                        "{text}"
                    );
                }
            }
        }
    }
    let operator = Broadcast::v1().with_mode(Mode::Explicit).unwrap();
    for a in &shapes {
        for b in &shapes {
            for mapping in &shapes {
                let _ = operator
                    .infer(a, b, Some(mapping))
                    .map_err(|error| error.to_string());
            }
        }
    }
    let error = PartialSize::between(end, 0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidBounds { .. }));
}

#[test]
fn shapes_in_which_a_symbol_has_two_sizes_are_refused() {
    let batch = PartialSize::ANY.with_symbol(0);
    let input = PartialShape::new([batch, 1.into()]);
    let target = PartialShape::new([batch, 220.into()]);
    let plan = PartialPlan::with_mode(input, target, BroadcastMode::Numpy).unwrap();
    assert_eq!(plan.output_shape().to_string(), "[s0, 220]");
    let resolved = plan.resolve((8, 1), (8, 220)).unwrap();
    assert_eq!(resolved.output_shape(), [8, 220]);
    let error = plan.resolve((1, 1), (8, 220)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WrongShape { .. }));
    let message = error.to_string();
    assert!(
        message.contains("target has shape [8, 220], expected [1, 220]"),
        "{message}"
    );

    // The reason is the symbol, if each size is within its bounds.
    let size = |min, max| PartialSize::between(min, max).unwrap().with_symbol(0);
    let shapes = [size(1, 5), size(4, 9)].map(|size| PartialShape::new([size]));
    let [input, target] = shapes;
    let plan = PartialPlan::with_mode(input, target, BroadcastMode::Numpy).unwrap();
    let message = plan.resolve(1, 7).unwrap_err().to_string();
    assert!(message.contains("expected [1]"), "{message}");

    // So also if one shape has the symbol twice.
    let twice = PartialShape::new([size(2, 5), size(2, 5)]);
    let plan =
        PartialPlan::with_mode(twice, PartialShape::known((4, 4)), BroadcastMode::Numpy).unwrap();
    for (input, expected) in [
        ((4, 5), "expected [4, 4]"),
        ((4, 6), "expected [s0(2..=5), s0(2..=5)]"),
    ] {
        let message = plan.resolve(input, (4, 4)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }

    // Under `expand`, a size of -1 is that of the input, whatever its symbol.
    let target = PartialShape::new([batch]);
    let plan = PartialPlan::with_mode(
        PartialShape::new([PartialSize::ANY]),
        target,
        BroadcastMode::Expand,
    );
    assert_eq!(plan.unwrap().resolve(4, KEEP).unwrap().output_shape(), [4]);

    let bounded = |min| PartialSize::between(min, 9).unwrap().with_symbol(1);
    let shape = PartialShape::new([bounded(0), 3.into(), bounded(2), batch]);
    for (sizes, is_possible) in [
        ([4, 3, 4, 7], true),
        ([4, 3, 5, 7], false),
        ([1, 3, 1, 7], false),
        ([1, 3, 4, 7], false),
    ] {
        assert_eq!(shape.contains(&sizes), is_possible, "{sizes:?}");
    }
}

#[test]
fn sizes_with_the_same_symbol_are_the_same() {
    let s = |symbol: u32| PartialSize::ANY.with_symbol(symbol);
    let known = PartialSize::known;
    let between = |min, max| PartialSize::between(min, max).unwrap();
    let bounded = between(2, 5).with_symbol(1);
    for (a, b, output) in [
        (s(0), s(0), "s0"),
        (s(0), s(1), "?"),
        (s(0), PartialSize::ANY, "?"),
        (s(0), known(1), "s0"),
        (known(1), s(0), "s0"),
        (s(0), known(7), "7"),
        (s(0), between(3, 7), "3..=7"),
        (bounded, s(1), "s1(2..=5)"),
        (bounded, between(4, 9), "s1(4..=5)"),
        (bounded, between(5, 9), "5"),
        (
            between(0, 5).with_symbol(1),
            between(1, 9).with_symbol(1),
            "s1(1..=5)",
        ),
        (
            between(1, 5).with_symbol(1),
            between(2, 9).with_symbol(1),
            "s1(2..=5)",
        ),
        (
            between(0, 5).with_symbol(1),
            between(1, 9).with_symbol(2),
            "0..=9",
        ),
    ] {
        let [a, b] = [a, b].map(|size| PartialShape::new([size]));
        let found = ElementwiseRule::Numpy.infer(&a, &b).unwrap();
        assert_eq!(found.to_string(), format!("[{output}]"), "{a} and {b}");
        let found = BroadcastMode::Bidirectional.infer(&a, &b).unwrap();
        assert_eq!(found.to_string(), format!("[{output}]"), "{a} to {b}");
    }
    let never = [between(1, 2), between(3, 9)].map(|size| size.with_symbol(1));
    let [a, b] = never.map(|size| PartialShape::new([size]));
    assert!(ElementwiseRule::Numpy.infer(&a, &b).is_err());
    assert!(BroadcastMode::Numpy.infer(&a, &b).is_err());
    // The output of a stretch is the target's size; of equal sizes, what is known of either.
    let [input, target] = [s(0), bounded].map(|size| PartialShape::new([size]));
    let found = BroadcastMode::Numpy.infer(&input, &target).unwrap();
    assert_eq!(found.sizes().unwrap()[0].symbol(), Some(1));
    let found = ElementwiseRule::None.infer(&input, &target).unwrap();
    assert_eq!(found.to_string(), "[s0(2..=5)]");
    assert_eq!(known(3).with_symbol(4), known(3));
}

/// A pattern with `...` on shapes of unknown rank.
#[test]
fn an_ellipsis_of_unknown_rank_takes_the_rank_of_the_other_shape() {
    let mode: BroadcastMode = "... h -> ... h w".parse().unwrap();
    let of = |sizes: &[usize]| PartialShape::new(sizes.iter().copied());
    let infer = |input: &PartialShape, target: &PartialShape| {
        mode.infer(input, target)
            .map(|found| found.to_string())
            .ok()
    };
    let unknown = PartialShape::UNKNOWN;
    assert_eq!(infer(&of(&[4, 3]), &unknown).unwrap(), "[4, 3, ?]");
    assert_eq!(infer(&unknown, &of(&[4, 3, 2])).unwrap(), "[4, 3, 2]");
    assert_eq!(infer(&unknown, &unknown).unwrap(), "[...]");
    assert_eq!(infer(&unknown, &of(&[4])), None);
    // What fits for no rank is refused where no rank is known.
    for text in ["1 ... -> ...", "1 1 ... -> ... 2"] {
        let mode: BroadcastMode = text.parse().unwrap();
        assert!(mode.infer(&unknown, &unknown).is_err(), "{text}");
    }
    let huge = isize::MAX as usize / 2;
    let mode: BroadcastMode = format!("... -> ... {huge} 4").parse().unwrap();
    let error = mode.infer(&unknown, &unknown).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShapeOverflow { .. }));
    let two: AxisPattern<2> = "... x, ... y".parse().unwrap();
    let found = two.infer(&of(&[2, 4]), &unknown).unwrap();
    assert_eq!(found.to_string(), "[2, 4, ?]");
    assert_eq!(two.infer(&unknown, &unknown).unwrap(), unknown);
    // The second array has no `...`: its rank and sizes are checked.
    let two: AxisPattern<2> = "..., a b -> a b ...".parse().unwrap();
    let infer = |b: PartialShape| two.infer(&unknown, &b);
    assert_eq!(infer(of(&[4, 3])).unwrap(), unknown);
    assert!(infer(of(&[4])).is_err() && infer(of(&[4, 3, 2])).is_err());
    let error = infer(of(&[isize::MAX as usize, 2])).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShapeOverflow { .. }));
    // Each array has an axis of size 1 that is dropped.
    let two: AxisPattern<2> = "1 ..., 1 a -> a ...".parse().unwrap();
    assert!(two.infer(&unknown, &of(&[2, 3])).is_err());
    assert_eq!(two.infer(&unknown, &of(&[1, 3])).unwrap(), unknown);
}

/// `KEEP` is the input's size, and no size of a symbol.
#[test]
fn kept_sizes_are_not_compared_with_those_of_a_symbol() {
    let same = PartialShape::new([PartialSize::ANY.with_symbol(0); 2]);
    let input = PartialShape::known((3, 3));
    let plan = PartialPlan::with_mode(input, same, BroadcastMode::Expand).unwrap();
    for target in [(3, 3), (KEEP, 3), (3, KEEP), (KEEP, KEEP)] {
        assert_eq!(plan.resolve((3, 3), target).unwrap().output_shape(), [3, 3]);
    }
    let error = plan.resolve((3, 3), (3, 4)).unwrap_err().to_string();
    assert!(
        error.contains("target has shape [3, 4], expected [3, 3]"),
        "{error}"
    );
}

/// This takes minutes if time is quadratic in the number of sizes.
#[test]
fn many_symbols_take_little_time() {
    let count = 50_000;
    let sizes = |symbol: fn(u32) -> u32| {
        PartialShape::new((0..count).map(|i| PartialSize::ANY.with_symbol(symbol(i))))
    };
    let ones = vec![1; count as usize];
    for known in [sizes(|i| i), sizes(|_| 7), sizes(|i| i / 2)] {
        assert!(known.contains(&ones));
        let plan = PartialPlan::with_mode(known.clone(), known, BroadcastMode::Numpy).unwrap();
        let plan = plan.resolve(IxDyn(&ones), IxDyn(&ones)).unwrap();
        assert_eq!(plan.output_shape(), ones);
    }
    let mut other = ones.clone();
    other[count as usize - 1] = 2;
    assert!(sizes(|i| i).contains(&other) && !sizes(|i| i / 2).contains(&other));
}
