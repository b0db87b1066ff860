//! Properties of generated shapes, attributes and memory layouts, valid and invalid.

use crate::common::{self, Layout, variant};
use ndarray::{ArrayD, Dimension, IxDyn};
use ndarray_broadcast::prelude::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Small sizes, with many 0s and 1s.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(1), 1 => Just(0), 5 => 2_usize..=5]
}

/// Any `usize`, often near 0, `isize::MAX` or `usize::MAX`.
fn hostile() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0_usize..4,
        1 => Just(usize::MAX),
        1 => Just(usize::MAX - 1),
        1 => Just(isize::MAX as usize),
        1 => Just(isize::MAX as usize + 1),
        1 => Just(1 << (usize::BITS / 2)),
        1 => any::<usize>(),
    ]
}

/// An input shape that matches the target under the mapping. Each size is the target's or 1.
fn matching(target: &[usize], mapping: &[usize]) -> impl Strategy<Value = Vec<usize>> + use<> {
    let sizes: Vec<usize> = mapping.iter().map(|&axis| target[axis]).collect();
    vec(proptest::bool::weighted(0.7), sizes.len()).prop_map(move |keep| {
        sizes
            .iter()
            .zip(keep)
            .map(|(&size, keep)| if keep { size } else { 1 })
            .collect()
    })
}

/// A target, a sorted mapping into it and a matching input.
fn mapped() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Vec<usize>)> {
    (vec(size(), 0..=6), any::<u8>()).prop_flat_map(|(target, bits)| {
        let mapping: Vec<usize> = (0..target.len())
            .filter(|axis| bits >> axis & 1 == 1)
            .collect();
        let input = matching(&target, &mapping);
        (Just(target), Just(mapping), input)
    })
}

/// An input, a target and a mode, most of them valid.
fn mostly_valid_call() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, BroadcastMode)> {
    prop_oneof![
        mapped().prop_map(|(target, axes_mapping, input)| (
            input,
            target,
            BroadcastMode::Explicit { axes_mapping }
        )),
        mapped().prop_map(|(target, broadcast_dimensions, input)| {
            (
                input,
                target,
                BroadcastMode::InDim {
                    broadcast_dimensions,
                },
            )
        }),
        (mapped(), any::<u64>()).prop_map(|((target, mut dimensions, mut input), seed)| {
            // Both lists are shuffled in the same way.
            for i in (1..dimensions.len()).rev() {
                let j = (seed >> i) as usize % (i + 1);
                dimensions.swap(i, j);
                input.swap(i, j);
            }
            (
                input,
                target,
                BroadcastMode::InDimPermuting {
                    broadcast_dimensions: dimensions,
                },
            )
        }),
        mapped().prop_map(|(target, kept, _)| {
            let input = kept.iter().map(|&axis| target[axis]).collect();
            let broadcast_axes = (0..target.len())
                .rev()
                .filter(|axis| !kept.contains(axis))
                .collect();
            (
                input,
                target,
                BroadcastMode::BroadcastAxes { broadcast_axes },
            )
        }),
        (vec(size(), 0..=6), 0_usize..=6, 0_usize..4).prop_flat_map(|(target, rank, mode)| {
            let rank = rank.min(target.len());
            let mapping: Vec<usize> = (target.len() - rank..target.len()).collect();
            let mode = match mode {
                0 => BroadcastMode::Numpy,
                1 => BroadcastMode::Bidirectional,
                2 => BroadcastMode::Expand,
                _ => BroadcastMode::Pdpd { axis: -1 },
            };
            (matching(&target, &mapping), Just(target), Just(mode))
        }),
        (vec(size(), 0..=6), 0_usize..=6, 0_usize..=6, 0_usize..3).prop_flat_map(
            |(target, axis, rank, ones)| {
                let axis = axis.min(target.len());
                let rank = rank.min(target.len() - axis);
                let mapping: Vec<usize> = (axis..axis + rank).collect();
                let input = matching(&target, &mapping).prop_map(move |mut input| {
                    input.extend(std::iter::repeat_n(1, ones));
                    input
                });
                (
                    input,
                    Just(target),
                    Just(BroadcastMode::Pdpd {
                        axis: axis as isize,
                    }),
                )
            }
        ),
    ]
}

fn layout(rank: usize) -> impl Strategy<Value = Layout> {
    let step = prop_oneof![3 => Just(1_isize), 1 => Just(-1), 1 => Just(2), 1 => Just(-2)];
    (
        Just((0..rank).collect::<Vec<usize>>()).prop_shuffle(),
        vec(step, rank),
    )
        .prop_map(|(order, steps)| Layout { order, steps })
}

fn any_mode() -> impl Strategy<Value = BroadcastMode> {
    let axes = || vec(hostile(), 0..5);
    prop_oneof![
        Just(BroadcastMode::Numpy),
        Just(BroadcastMode::Bidirectional),
        Just(BroadcastMode::Expand),
        any::<isize>().prop_map(|axis| BroadcastMode::Pdpd { axis }),
        (-2_isize..6).prop_map(|axis| BroadcastMode::Pdpd { axis }),
        axes().prop_map(|axes_mapping| BroadcastMode::Explicit { axes_mapping }),
        axes().prop_map(|broadcast_axes| BroadcastMode::BroadcastAxes { broadcast_axes }),
        axes().prop_map(|broadcast_dimensions| BroadcastMode::InDim {
            broadcast_dimensions
        }),
        axes().prop_map(|broadcast_dimensions| BroadcastMode::InDimPermuting {
            broadcast_dimensions
        }),
    ]
}

fn any_rule() -> impl Strategy<Value = ElementwiseRule> {
    prop_oneof![
        Just(ElementwiseRule::None),
        Just(ElementwiseRule::Numpy),
        any::<isize>().prop_map(|axis| ElementwiseRule::Pdpd { axis }),
        any::<isize>().prop_map(|axis| ElementwiseRule::Paddle { axis }),
        (-2_isize..6).prop_map(|axis| ElementwiseRule::Paddle { axis }),
        (-2_isize..6).prop_map(|axis| ElementwiseRule::Pdpd { axis }),
        vec(hostile(), 0..5).prop_map(|broadcast_dimensions| ElementwiseRule::Xla {
            broadcast_dimensions
        }),
    ]
}

/// Asserts that no line has trailing blanks or 400 characters.
fn assert_short_lines(text: &str) {
    for line in text.lines() {
        assert_eq!(
            line,
            line.trim_end(),
            "trailing blanks in a line of\n{text}"
        );
        assert!(line.chars().count() < 400, "a line is too long in\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(20_000) as u32))]

    #[test]
    fn a_view_of_any_layout_agrees_with_the_oracle(
        ((input, target, mode), layout) in mostly_valid_call()
            .prop_flat_map(|call| { let rank = call.0.len(); (Just(call), layout(rank)) }),
    ) {
        let backing = layout.backing(&input);
        let array = layout.view(&backing);
        prop_assert_eq!(array.shape(), &input[..]);
        match (array.broadcast_to_mode(IxDyn(&target), &mode), common::mode(&input, &target, &mode)) {
            (Ok(view), Ok(map)) => {
                prop_assert_eq!(&view, &map.array(&array));
                // A view taken by value gives the same result. No element is copied.
                let plan = BroadcastPlan::with_mode(IxDyn(&input), IxDyn(&target), &mode).unwrap();
                prop_assert_eq!(&plan.view(array.clone()).unwrap(), &view);
                let first = backing.as_ptr() as usize;
                let bytes = first..first + size_of::<i32>() * backing.len();
                prop_assert!(view.iter().all(|element| bytes.contains(&(element as *const i32 as usize))));
            }
            (Err(error), Err(name)) => prop_assert_eq!(variant(&error), name),
            (answer, oracle) => prop_assert!(false, "{answer:?}, expected {oracle:?}"),
        }
    }

    #[test]
    fn the_queries_of_a_plan_agree_with_each_other((input, target, mode) in mostly_valid_call()) {
        let Ok(plan) = BroadcastPlan::with_mode(IxDyn(&input), IxDyn(&target), &mode) else { return Ok(()) };
        prop_assert_eq!(plan.rule(), mode.rule());
        prop_assert_eq!(plan.input_shape(), &input[..]);
        for (axis, source) in plan.axis_sources().enumerate() {
            let from = source.input_axis();
            let size = plan.output_shape()[axis];
            match source {
                AxisSource::Added => prop_assert_eq!(from, None),
                AxisSource::Kept(kept) => prop_assert_eq!((from, input[kept]), (Some(kept), size)),
                AxisSource::Stretched(one) => {
                    prop_assert_eq!((from, input[one]), (Some(one), 1));
                    prop_assert_ne!(size, 1);
                }
            }
        }
        prop_assert_eq!(plan.clone().into_dyn(), plan.clone());
        assert_short_lines(&plan.to_string());
    }

    #[test]
    fn any_input_target_and_mode_agree_with_the_oracle(
        input in vec(0_usize..4, 0..5), target in vec(hostile(), 0..6), mode in any_mode(),
    ) {
        let array = common::iota(&input);
        match (array.broadcast_to_mode(IxDyn(&target), &mode), common::mode(&input, &target, &mode)) {
            (Ok(view), Ok(map)) => prop_assert_eq!(view.shape(), &map.output[..]),
            (Err(error), Err(name)) => {
                prop_assert_eq!(variant(&error), name);
                assert_short_lines(&error.to_string());
            }
            (answer, oracle) => prop_assert!(false, "{answer:?}, expected {oracle:?}"),
        }
    }

    #[test]
    fn any_two_shapes_and_rule_agree_with_the_oracle(
        a in vec(hostile(), 0..5), b in vec(hostile(), 0..5), rule in any_rule(),
    ) {
        match (BroadcastPlan::pair(IxDyn(&a), IxDyn(&b), &rule), common::pair(&a, &b, &rule)) {
            (Ok((plan_a, plan_b)), Ok([map_a, map_b])) => {
                prop_assert_eq!(plan_a.output_shape(), &map_a.output[..]);
                prop_assert_eq!(plan_b.output_shape(), &map_b.output[..]);
            }
            (Err(error), Err(name)) => {
                prop_assert_eq!(variant(&error), name);
                assert_short_lines(&error.to_string());
            }
            (answer, oracle) => prop_assert!(false, "{answer:?}, expected {oracle:?}"),
        }
    }

    #[test]
    fn the_common_shape_of_any_shapes_agrees_with_the_oracle(
        shapes in vec(vec(hostile(), 0..4), 0..5),
    ) {
        let slices: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
        let representable = |shape: &Vec<usize>| {
            let product = shape.iter().filter(|&&size| size > 0).try_fold(1_usize, |p, &size| p.checked_mul(size));
            product.is_some_and(|product| isize::try_from(product).is_ok())
        };
        match (broadcast_shapes(&slices), common::common_shape(&slices)) {
            (Ok(shape), Some(oracle)) => prop_assert_eq!(shape, oracle),
            (Err(error), Some(oracle)) => {
                prop_assert_eq!(variant(&error), "ShapeOverflow");
                prop_assert!(!representable(&oracle));
            }
            (Err(error), None) => prop_assert_eq!(variant(&error), "SizeMismatch"),
            (answer, oracle) => prop_assert!(false, "{answer:?}, expected {oracle:?}"),
        }
    }

    #[test]
    fn modes_and_rules_parse_their_own_text(mode in any_mode(), rule in any_rule()) {
        prop_assert_eq!(mode.to_string().parse::<BroadcastMode>(), Ok(mode.clone()));
        prop_assert_eq!(mode.to_string().to_uppercase().parse::<BroadcastMode>(), Ok(mode));
        prop_assert_eq!(rule.to_string().parse::<ElementwiseRule>(), Ok(rule));
    }

    #[test]
    fn parsing_any_text_does_not_panic(text in "\\PC{0,30}", list in "[a-z_]{0,9}\\([-0-9, ]{0,12}\\)?") {
        for text in [&text, &list] {
            let _ = text.parse::<BroadcastMode>().map_err(|error| error.to_string());
            let _ = text.parse::<ElementwiseRule>().map_err(|error| error.to_string());
        }
    }
}

#[test]
fn ranks_up_to_a_thousand_broadcast_and_draw_short_pictures() {
    for rank in [7, 8, 31, 32, 33, 100, 1000] {
        let mut target = vec![1; rank];
        *target.last_mut().unwrap() = 3;
        let array = common::iota(&[3]);
        let view = array.broadcast_numpy(IxDyn(&target)).unwrap();
        assert_eq!(view.shape(), target);
        assert!(view.iter().eq([&0, &1, &2]));
        assert_short_lines(
            &BroadcastPlan::numpy(IxDyn(&[3]), IxDyn(&target))
                .unwrap()
                .to_string(),
        );

        let mapping = [rank - 1];
        assert_eq!(
            array.broadcast_explicit(IxDyn(&target), &mapping).unwrap(),
            view
        );
        for at in [0, rank / 2, rank - 1] {
            let mut input = target.clone();
            input[at] = 7;
            target[at] = 5;
            let error = common::iota(&[])
                .broadcast_numpy(IxDyn(&target))
                .map(|_| ());
            assert_eq!(error, Ok(()));
            let error = BroadcastPlan::numpy(IxDyn(&input), IxDyn(&target)).unwrap_err();
            assert_short_lines(&error.to_string());
            assert!(
                error.to_string().contains("7 is neither 5 nor 1"),
                "{error}"
            );
            target[at] = if at == rank - 1 { 3 } else { 1 };
        }
    }
}

const MANY: usize = 1000;

/// A shape of 1s, except for these axes.
fn ones_but(rank: usize, sizes: &[(usize, usize)]) -> Vec<usize> {
    let mut shape = vec![1; rank];
    for &(axis, size) in sizes {
        shape[axis] = size;
    }
    shape
}

/// Asserts that the view, copies and sums of a plan agree with the oracle, and that its picture is
/// short.
fn assert_plan(plan: &BroadcastPlan, map: &common::AxisMap, what: &dyn std::fmt::Display) {
    let array = common::iota(plan.input_shape());
    let expected = map.array(&array.view());
    let view = plan.view(&array).unwrap();
    assert_eq!(view, expected, "{what}");
    assert_eq!(view.materialize().unwrap(), expected, "{what}");
    let mut out = ArrayD::zeros(expected.t().raw_dim());
    view.materialize_into(&mut out.view_mut().reversed_axes())
        .unwrap();
    assert_eq!(out.t(), expected, "{what}");

    let cotangent = common::iota(plan.output_shape());
    let mut sums = ArrayD::<i32>::zeros(array.raw_dim());
    for (index, &term) in cotangent.indexed_iter() {
        sums[IxDyn(&map.source(plan.input_shape(), index.slice()))] += term;
    }
    assert_eq!(plan.gradient(&cotangent).unwrap(), sums, "{what}");
    assert_short_lines(&plan.to_string());
}

#[test]
fn every_mode_accepts_a_thousand_axes() {
    let target = ones_but(MANY, &[(0, 2), (500, 3), (999, 4)]);
    let narrow = ones_but(MANY, &[(500, 3)]);
    let reversed: Vec<usize> = target.iter().rev().copied().collect();
    let all: Vec<usize> = (0..MANY).collect();
    let but_500: Vec<usize> = (0..MANY).filter(|&axis| axis != 500).collect();
    let keep_500 = [&vec![2][..], &vec![KEEP; MANY - 2], &[4]].concat();
    let explicit = |axes_mapping| BroadcastMode::Explicit { axes_mapping };
    let in_dim = |broadcast_dimensions| BroadcastMode::InDim {
        broadcast_dimensions,
    };
    let permuting = |broadcast_dimensions| BroadcastMode::InDimPermuting {
        broadcast_dimensions,
    };
    let axes = |broadcast_axes| BroadcastMode::BroadcastAxes { broadcast_axes };
    let cases = [
        (narrow.clone(), target.clone(), BroadcastMode::Numpy),
        (vec![4], target.clone(), BroadcastMode::Numpy),
        (vec![], target.clone(), BroadcastMode::Numpy),
        (narrow.clone(), vec![5], BroadcastMode::Bidirectional),
        (vec![5, 1], narrow.clone(), BroadcastMode::Bidirectional),
        (narrow.clone(), target.clone(), explicit(all.clone())),
        (vec![2, 3, 1], target.clone(), explicit(vec![0, 500, 501])),
        (narrow.clone(), target.clone(), in_dim(all.clone())),
        (vec![1, 4], target.clone(), in_dim(vec![0, 999])),
        (
            reversed,
            target.clone(),
            permuting(all.iter().rev().copied().collect()),
        ),
        (vec![4, 3], target.clone(), permuting(vec![999, 500])),
        (vec![3], target.clone(), axes(but_500)),
        (target.clone(), target.clone(), axes(vec![])),
        (narrow.clone(), keep_500, BroadcastMode::Expand),
        (
            narrow.clone(),
            target.clone(),
            BroadcastMode::Pdpd { axis: -1 },
        ),
        (
            ones_but(MANY - 500, &[(0, 3)]),
            target.clone(),
            BroadcastMode::Pdpd { axis: 500 },
        ),
        // All axes but the first overhang.
        (
            ones_but(MANY, &[(0, 4)]),
            target.clone(),
            BroadcastMode::Pdpd { axis: 999 },
        ),
    ];
    for (input, target, mode) in cases {
        let plan = BroadcastPlan::with_mode(IxDyn(&input), IxDyn(&target), &mode).unwrap();
        let map = common::mode(&input, &target, &mode).unwrap();
        assert_plan(&plan, &map, &plan.rule());
        assert_eq!(mode.to_string().parse::<BroadcastMode>(), Ok(mode));
    }
    let (input, sizes) = (narrow, ones_but(MANY, &[(999, 2)]));
    let plan = BroadcastPlan::prepend(IxDyn(&input), IxDyn(&sizes)).unwrap();
    assert_eq!(plan.output_shape().len(), 2 * MANY);
    assert_plan(&plan, &common::prepend(&input, &sizes).unwrap(), &"prepend");
}

#[test]
fn every_elementwise_rule_accepts_a_thousand_axes() {
    let long = ones_but(MANY, &[(0, 2), (500, 3), (999, 4)]);
    let other = ones_but(MANY, &[(400, 5), (500, 3)]);
    let xla = |broadcast_dimensions| ElementwiseRule::Xla {
        broadcast_dimensions,
    };
    let cases = [
        (&long, long.clone(), ElementwiseRule::None),
        (&long, other.clone(), ElementwiseRule::Numpy),
        (&long, vec![5, 1], ElementwiseRule::Numpy),
        (&long, other.clone(), xla(vec![])),
        (&long, other, xla((0..MANY).collect())),
        (&long, vec![3, 5], xla(vec![500, 600])),
        (
            &long,
            ones_but(MANY - 1, &[(499, 3)]),
            xla((1..MANY).collect()),
        ),
    ];
    for (a, b, rule) in cases {
        assert_pair(a, &b, &rule);
        assert_pair(&b, a, &rule);
    }
    for (b, axis) in [
        (ones_but(MANY, &[(500, 3)]), -1),
        (ones_but(MANY, &[(0, 3)]), 500),
        (vec![4], 999),
    ] {
        assert_pair(&long, &b, &ElementwiseRule::Pdpd { axis });
    }
}

fn assert_pair(a: &[usize], b: &[usize], rule: &ElementwiseRule) {
    let (plan_a, plan_b) = BroadcastPlan::pair(IxDyn(a), IxDyn(b), rule).unwrap();
    let [map_a, map_b] = common::pair(a, b, rule).unwrap();
    assert_plan(&plan_a, &map_a, rule);
    assert_plan(&plan_b, &map_b, rule);
    let (x, y) = (common::iota(a), common::iota(b));
    let f = |(x, y)| 1000 * x + y;
    let expected = ndarray::Zip::from(&map_a.array(&x.view()))
        .and(&map_b.array(&y.view()))
        .map_collect(|&x, &y| f((x, y)));
    assert_eq!(
        zip(broadcast_pair(&x, &y, rule).unwrap())
            .map_collect(f)
            .unwrap(),
        expected,
        "{rule}"
    );
    let mut out = ArrayD::zeros(expected.t().raw_dim());
    zip(broadcast_pair(&x, &y, rule).unwrap())
        .map_assign_into(&mut out.view_mut().reversed_axes(), f)
        .unwrap();
    assert_eq!(out.t(), expected, "{rule}");
    let mut inplace = x.clone();
    let in_place = zip(plan_b.view(&y).unwrap()).update(&mut inplace, |x, y| *x = f((*x, y)));
    match in_place {
        Ok(()) => assert_eq!(inplace, expected, "{rule}"),
        Err(error) => {
            let variant = variant(&error);
            assert!(
                matches!(variant.as_str(), "SizeMismatch" | "RankMismatch"),
                "{rule}"
            );
            assert_ne!(a, expected.shape(), "{rule}");
        }
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn every_rule_broadcasts_to_ten_to_the_eighteenth_elements() {
    const N: usize = 1_000_000_000;
    let array = common::iota(&[1000, 1, 1]);
    let row = common::iota(&[1000]);
    let target = || IxDyn(&[1000, 1_000_000, N]);
    let short = || IxDyn(&[1_000_000, N]);
    let flipped = common::iota(&[1, 1000]);
    let views = [
        array.broadcast_numpy(target()),
        array.broadcast_bidirectional(short()),
        row.broadcast_explicit(target(), &[0]),
        row.broadcast_axes(target(), &[1, 2]),
        array.broadcast_in_dim(target(), &[0, 1, 2]),
        flipped.broadcast_in_dim_permuting(target(), &[1, 0]),
        array.broadcast_expand(IxDyn(&[KEEP, 1_000_000, N])),
        row.broadcast_pdpd(target(), 0),
    ];
    for view in views {
        let view = view.unwrap();
        assert_eq!(view.shape(), [1000, 1_000_000, N]);
        assert_eq!(view.len(), 10_usize.pow(18));
        assert_eq!(view[[0, 999_999, N - 1]], 0);
        assert_eq!(view[[999, 999_999, N - 1]], 999);
    }
    let view = row
        .broadcast_prepend(IxDyn(&[1_000_000, 1_000_000_000]))
        .unwrap();
    assert_eq!(view.len(), 10_usize.pow(18));
    assert_eq!(view[[999_999, N - 1, 999]], 999);

    // Two arrays, both smaller than the output. The second is a view of one element.
    let one = common::iota(&[]);
    let wide = one.broadcast_numpy(IxDyn(&[1, 1_000_000, N])).unwrap();
    let full = one.broadcast_numpy(target()).unwrap();
    let xla = ElementwiseRule::Xla {
        broadcast_dimensions: vec![0],
    };
    let pairs = [
        array.broadcast_with(&wide),
        full.broadcast_with_rule(&full, ElementwiseRule::None),
        full.broadcast_with_rule(&row, ElementwiseRule::Pdpd { axis: 0 }),
        row.broadcast_with_rule(&wide, &xla),
        wide.broadcast_with_rule(&row, &xla),
    ];
    for pair in pairs {
        let (a, b) = pair.unwrap();
        for view in [a, b] {
            assert_eq!(view.len(), 10_usize.pow(18));
            assert!([0, 999].contains(&view[[999, 999_999, N - 1]]));
        }
    }
}

#[test]
fn views_have_at_most_isize_max_elements() {
    let one = common::iota(&[]);
    let exact = isize::MAX as usize;
    let half = 1 << (usize::BITS / 2 - 1);
    assert_eq!(one.broadcast_numpy(exact).unwrap().len(), exact);
    assert_eq!(
        variant(&one.broadcast_numpy(exact + 1).unwrap_err()),
        "ShapeOverflow"
    );
    assert_eq!(
        one.broadcast_numpy((half, half)).unwrap().len(),
        1 << (usize::BITS - 2)
    );
    assert_eq!(
        variant(&one.broadcast_numpy((2 * half, half)).unwrap_err()),
        "ShapeOverflow"
    );
    // The limit applies to the product of the non-zero sizes, because offsets are computed axis by
    // axis.
    assert_eq!(
        variant(&one.broadcast_numpy((2 * half, 0, half)).unwrap_err()),
        "ShapeOverflow"
    );
    assert_eq!(one.broadcast_numpy((half, 0, half)).unwrap().len(), 0);
}

#[test]
fn elements_of_any_type_broadcast() {
    /// Neither `Clone` nor `Debug` nor `Default`, with a destructor.
    struct Opaque(#[allow(dead_code)] String);
    let array = ndarray::arr1(&[(), ()]);
    assert_eq!(array.broadcast_numpy((3, 2)).unwrap().len(), 6);
    let array = ArrayD::from_shape_fn(IxDyn(&[2]), |index| Opaque(format!("{index:?}")));
    let view = array.broadcast_explicit((2, 3), &[0]).unwrap();
    assert!(std::ptr::eq(&view[[1, 0]], &array[1]));
    assert!(std::ptr::eq(&view[[1, 2]], &array[1]));
    let unsized_elements: ndarray::Array1<Box<dyn Fn() -> i32>> =
        ndarray::Array1::from_vec(vec![Box::new(|| 7)]);
    assert_eq!(
        unsized_elements.broadcast_numpy((2, 2)).unwrap()[[1, 1]](),
        7
    );
}

#[test]
fn a_plan_rejects_an_array_of_another_shape() {
    let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4)).unwrap();
    let array = ndarray::Array2::<u8>::zeros((1, 3));
    assert_eq!(variant(&plan.view(&array).unwrap_err()), "WrongShape");
    assert_eq!(plan.rule(), Rule::Numpy);
    assert_eq!(plan.input_dim().slice(), [3, 1]);
    assert_eq!(plan.output_dim().slice(), [2, 3, 4]);
}

#[test]
fn trailing_ones_that_overhang_under_pdpd_may_have_any_stride() {
    let a = common::iota(&[2, 3]);
    let mut b = common::iota(&[3, 1]);
    b.invert_axis(ndarray::Axis(0));
    b.invert_axis(ndarray::Axis(1));
    assert!(b.strides().iter().all(|&stride| stride < 0));
    let view = b.broadcast_pdpd(a.raw_dim(), 1).unwrap();
    assert_eq!(view, ndarray::array![[2, 1, 0], [2, 1, 0]].into_dyn());
}
