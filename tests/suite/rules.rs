//! Every rule agrees with the oracle on every small shape and attribute value: the same shape and
//! elements, or the same error.

use crate::common::{self, Answer, AxisMap, iota, variant};
use ndarray::{
    Array2, ArrayD, ArrayView1, ArrayView2, ArrayViewD, Axis, IxDyn, ShapeBuilder, array,
};
use ndarray_broadcast::prelude::*;

/// Every shape of rank 0 to `rank` with sizes 0 to `size`.
fn shapes(rank: usize, size: usize) -> Vec<Vec<usize>> {
    lists(rank, &(0..=size).collect::<Vec<_>>())
}

/// Every list of at most `length` of the given values.
fn lists(length: usize, values: &[usize]) -> Vec<Vec<usize>> {
    let mut lists = vec![vec![]];
    let mut last = lists.clone();
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|list| values.iter().map(|&value| [&list[..], &[value]].concat()))
            .collect();
        lists.extend_from_slice(&last);
    }
    lists
}

/// Asserts that a view has the oracle's shape and elements.
fn assert_view(
    view: &ArrayViewD<'_, i32>,
    map: &AxisMap,
    input: &ArrayD<i32>,
    what: &dyn std::fmt::Debug,
) {
    assert_eq!(view.shape(), map.output, "{what:?}");
    for (index, value) in view.indexed_iter() {
        let source = map.source(input.shape(), ndarray::Dimension::slice(&index));
        assert_eq!(*value, input[IxDyn(&source)], "{what:?} at {index:?}");
    }
}

fn assert_answer(
    answer: &Result<ArrayViewD<'_, i32>, BroadcastError>,
    oracle: &Answer,
    input: &ArrayD<i32>,
    what: &dyn std::fmt::Debug,
) {
    match (answer, oracle) {
        (Ok(view), Ok(map)) => assert_view(view, map, input, what),
        (Err(error), Err(name)) => assert_eq!(variant(error), *name, "{what:?}"),
        _ => panic!("{what:?}: {answer:?}, expected {oracle:?}"),
    }
}

/// Broadcasts each input to each target by each mode. Returns the number of calls.
fn assert_modes(
    inputs: &[Vec<usize>],
    targets: &[Vec<usize>],
    modes: impl Fn(&[usize], &[usize]) -> Vec<BroadcastMode>,
) -> usize {
    let mut calls = 0;
    for shape in inputs {
        let input = iota(shape);
        for target in targets {
            for mode in modes(shape, target) {
                let answer = input.broadcast_to_mode(IxDyn(target), &mode);
                assert_answer(
                    &answer,
                    &common::mode(shape, target, &mode),
                    &input,
                    &(shape, target, &mode),
                );
                calls += 1;
            }
        }
    }
    calls
}

/// Broadcasts each pair of arrays by each rule. Returns the number of calls.
fn assert_pairs(
    firsts: &[Vec<usize>],
    seconds: &[Vec<usize>],
    rules: impl Fn(&[usize], &[usize]) -> Vec<ElementwiseRule>,
) -> usize {
    let mut calls = 0;
    for first in firsts {
        let a = iota(first);
        for second in seconds {
            let b = iota(second);
            for rule in rules(first, second) {
                let what = (first, second, &rule);
                match (
                    a.broadcast_with_rule(&b, &rule),
                    common::pair(first, second, &rule),
                ) {
                    (Ok((view_a, view_b)), Ok([map_a, map_b])) => {
                        assert_view(&view_a, &map_a, &a, &what);
                        assert_view(&view_b, &map_b, &b, &what);
                    }
                    (Err(error), Err(name)) => assert_eq!(variant(&error), name, "{what:?}"),
                    (answer, oracle) => panic!("{what:?}: {answer:?}, expected {oracle:?}"),
                }
                calls += 1;
            }
        }
    }
    calls
}

#[test]
fn numpy_and_bidirectional_agree_with_the_oracle_on_every_small_shape() {
    let shapes = shapes(4, 3);
    assert_eq!(
        assert_modes(&shapes, &shapes, |_, _| vec![
            BroadcastMode::Numpy,
            BroadcastMode::Bidirectional
        ]),
        232_562
    );
}

#[test]
fn pdpd_agrees_with_the_oracle_for_every_axis() {
    let axes = || -3..=5;
    assert_eq!(
        assert_modes(&shapes(3, 3), &shapes(3, 3), |_, _| axes()
            .map(|axis| BroadcastMode::Pdpd { axis })
            .collect()),
        65_025
    );
    let shapes = shapes(4, 2);
    assert_eq!(
        assert_modes(&shapes, &shapes, |_, _| axes()
            .map(|axis| BroadcastMode::Pdpd { axis })
            .collect()),
        131_769
    );
}

#[test]
fn mappings_of_any_axes_agree_with_the_oracle() {
    let every_mapping = |input: &[usize], target: &[usize]| {
        lists(input.len() + 1, &(0..=target.len()).collect::<Vec<_>>())
            .into_iter()
            .flat_map(|axes| {
                [
                    BroadcastMode::Explicit {
                        axes_mapping: axes.clone(),
                    },
                    BroadcastMode::InDim {
                        broadcast_dimensions: axes.clone(),
                    },
                    BroadcastMode::InDimPermuting {
                        broadcast_dimensions: axes,
                    },
                ]
            })
            .collect()
    };
    assert_eq!(
        assert_modes(&shapes(2, 3), &shapes(3, 3), every_mapping),
        315_102
    );
    assert_eq!(
        assert_modes(
            &shapes(3, 2),
            &[vec![2, 1, 2, 0], vec![2, 2, 1, 2], vec![0, 2, 1, 1]],
            every_mapping
        ),
        203_310
    );
}

#[test]
fn sorted_mappings_agree_with_the_oracle_on_every_small_shape() {
    let increasing = |input: &[usize], target: &[usize]| {
        (0..1_usize << target.len())
            .filter(|bits| bits.count_ones() as usize == input.len())
            .map(|bits| {
                (0..target.len())
                    .filter(|axis| bits >> axis & 1 == 1)
                    .collect()
            })
            .map(|axes_mapping| BroadcastMode::Explicit { axes_mapping })
            .collect()
    };
    assert_eq!(
        assert_modes(&shapes(3, 3), &shapes(4, 3), increasing),
        102_885
    );
    assert_eq!(
        assert_modes(&shapes(4, 2), &shapes(4, 2), increasing),
        22_621
    );
}

#[test]
fn broadcast_axes_agree_with_the_oracle_for_every_set_of_axes() {
    let every_set = |_: &[usize], target: &[usize]| {
        // One extra axis, so that each set also occurs with an axis out of range.
        (0..1_usize << (target.len() + 1))
            .map(|bits| {
                (0..=target.len())
                    .filter(|axis| bits >> axis & 1 == 1)
                    .collect()
            })
            .map(|broadcast_axes| BroadcastMode::BroadcastAxes { broadcast_axes })
            .collect()
    };
    assert_eq!(
        assert_modes(&shapes(3, 3), &shapes(3, 3), every_set),
        99_450
    );
    assert_eq!(
        assert_modes(&shapes(4, 2), &shapes(4, 2), every_set),
        376_310
    );
    // Neither the order nor the repetition of axes matters.
    let lists = |_: &[usize], _: &[usize]| {
        lists(3, &[0, 1, 2])
            .into_iter()
            .map(|broadcast_axes| BroadcastMode::BroadcastAxes { broadcast_axes })
            .collect()
    };
    assert_eq!(assert_modes(&shapes(2, 2), &shapes(3, 2), lists), 20_800);
}

#[test]
fn expand_agrees_with_the_oracle_with_and_without_kept_axes() {
    assert_eq!(
        assert_modes(&shapes(3, 3), &lists(4, &[0, 1, 2, 3, KEEP]), |_, _| vec![
            BroadcastMode::Expand
        ]),
        66_385
    );
}

#[test]
fn prepend_agrees_with_the_oracle() {
    for shape in shapes(3, 3) {
        let input = iota(&shape);
        for sizes in shapes(3, 2) {
            let answer = input.broadcast_prepend(IxDyn(&sizes));
            assert_answer(
                &answer,
                &common::prepend(&shape, &sizes),
                &input,
                &(&shape, &sizes),
            );
        }
    }
}

#[test]
fn pairs_agree_with_the_oracle_under_none_numpy_and_pdpd() {
    let small = shapes(3, 3);
    let calls = assert_pairs(&small, &small, |_, _| {
        let pdpd = (-2..=4).map(|axis| ElementwiseRule::Pdpd { axis });
        [ElementwiseRule::None, ElementwiseRule::Numpy]
            .into_iter()
            .chain(pdpd)
            .collect()
    });
    assert_eq!(calls, 65_025);
    let large = shapes(4, 2);
    assert_eq!(
        assert_pairs(&large, &large, |_, _| vec![
            ElementwiseRule::None,
            ElementwiseRule::Numpy
        ]),
        29_282
    );
}

#[test]
fn pairs_agree_with_the_oracle_under_xla_for_every_list_of_dimensions() {
    let every_list = |a: &[usize], b: &[usize]| {
        let rank = a.len().max(b.len());
        lists(a.len().min(b.len()) + 1, &(0..=rank).collect::<Vec<_>>())
            .into_iter()
            .map(|broadcast_dimensions| ElementwiseRule::Xla {
                broadcast_dimensions,
            })
            .collect()
    };
    assert_eq!(
        assert_pairs(&shapes(2, 3), &shapes(2, 3), every_list),
        12_170
    );
    assert_eq!(
        assert_pairs(&shapes(2, 2), &shapes(3, 2), every_list),
        26_588
    );
    assert_eq!(
        assert_pairs(&shapes(3, 2), &shapes(2, 2), every_list),
        26_588
    );
    let identity = |a: &[usize], _: &[usize]| {
        vec![
            ElementwiseRule::Xla {
                broadcast_dimensions: vec![],
            },
            ElementwiseRule::Xla {
                broadcast_dimensions: (0..a.len()).collect(),
            },
        ]
    };
    assert_eq!(assert_pairs(&shapes(4, 2), &shapes(4, 2), identity), 29_282);
}

#[test]
fn common_shapes_of_three_arrays_agree_with_the_oracle() {
    let shapes = shapes(2, 3);
    for a in &shapes {
        for b in &shapes {
            for c in &shapes {
                let oracle = common::common_shape(&[a, b, c]);
                let answer = broadcast_shapes(&[a, b, c]);
                assert_eq!(answer.as_ref().ok(), oracle.as_ref(), "{a:?} {b:?} {c:?}");
                let arrays = [iota(a), iota(b), iota(c)];
                let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
                let all = broadcast_arrays(&views);
                let triple = zip((&arrays[0], &arrays[1], &arrays[2])).views();
                match oracle {
                    None => {
                        let error = answer.unwrap_err();
                        assert_eq!(variant(&error), "SizeMismatch");
                        assert_eq!(all.unwrap_err(), error);
                        // A tuple has letters for its arrays, a list has numbers.
                        assert_eq!(
                            triple.unwrap_err().to_string().lines().next(),
                            error.to_string().lines().next()
                        );
                    }
                    Some(shape) => {
                        let all = all.unwrap();
                        let (x, y, z) = triple.unwrap();
                        for (array, (view, same)) in arrays.iter().zip(all.iter().zip([x, y, z])) {
                            let map =
                                common::mode(array.shape(), &shape, &BroadcastMode::Numpy).unwrap();
                            assert_view(view, &map, array, &(a, b, c));
                            assert_eq!(view, same);
                        }
                    }
                }
            }
        }
    }
}

/// ndarray accepts any stride on an axis of size 0 or 1, and never uses it.
#[test]
fn strides_of_axes_that_have_no_second_element_do_not_matter() {
    for stride in [
        1_usize << (usize::BITS - 1),
        usize::MAX,
        usize::MAX - 6,
        1 << 20,
    ] {
        let one = [7_u8, 8];
        let view = ArrayView1::from_shape((1,).strides((stride,)), &one).unwrap();
        assert_eq!(
            view.broadcast_numpy((2, 3)).unwrap(),
            Array2::from_elem((2, 3), 7)
        );
        assert_eq!(view.broadcast_numpy(1).unwrap(), array![7]);
        assert_eq!(
            view.broadcast_numpy(1).unwrap().materialize().unwrap(),
            array![7]
        );
        let sum = zip((&view, &array![1, 2]))
            .map_collect(|(a, b)| a + b)
            .unwrap();
        assert_eq!(sum, array![8, 9]);
        let mut two = ArrayView2::from_shape((2, 1).strides((1, stride)), &one).unwrap();
        for expected in [array![[7, 7], [8, 8]], array![[8, 8], [7, 7]]] {
            assert_eq!(two.broadcast_numpy((2, 2)).unwrap(), expected);
            two.invert_axis(Axis(0));
        }
        let none = ArrayView1::<u8>::from_shape((0,).strides((stride,)), &[]).unwrap();
        assert_eq!(none.broadcast_numpy((4, 0)).unwrap().shape(), [4, 0]);
        let none = ArrayView2::<u8>::from_shape((0, 1).strides((stride, stride)), &[]).unwrap();
        assert_eq!(none.broadcast_numpy((0, 5)).unwrap().shape(), [0, 5]);
    }
}

/// Lists of any length and order are sets.
#[test]
fn broadcast_axes_of_many_axes_are_a_set() {
    let size = |axis: usize| 1 + usize::from(axis % 100 == 7);
    for (rank, first_kept) in [(32, 16), (33, 16), (40, 39), (40, 40), (1000, 900)] {
        let target: Vec<usize> = (0..rank).map(size).collect();
        // In falling order, each twice.
        let axes: Vec<usize> = (0..first_kept).rev().flat_map(|axis| [axis; 2]).collect();
        let plan =
            BroadcastPlan::with_broadcast_axes(&target[first_kept..], &target[..], &axes).unwrap();
        let mapping = (0..rank).map(|axis| axis.checked_sub(first_kept));
        assert!(plan.axis_sources().map(AxisSource::input_axis).eq(mapping));
        let error = BroadcastPlan::with_broadcast_axes(&[1_usize][..1], &target[..], &axes).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        let kept = rank - first_kept;
        let why = format!(" has {kept}, but input has 1 axis");
        assert_eq!(text.ends_with(&why), kept != 1, "{text}");
    }
}
