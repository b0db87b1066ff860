//! Every small loop nest: all shapes of up to four axes of sizes 0 to 3, with all strides from -3
//! to 3, through maps, copies and sums. Each output position is written once, and nothing around
//! the output is. Under AddressSanitizer, as in `.ci/long-checks asan`, no read leaves the memory
//! of an input, which begins and ends with elements of the view.

use ndarray::{ArrayD, ArrayView, ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, Slice};
use ndarray_broadcast::prelude::*;

/// Sizes and strides of an axis: 4 * 7.
const KINDS: usize = 28;

/// The digits of `number`, in base `base`.
fn digits(mut number: usize, base: usize, count: usize) -> Vec<usize> {
    let mut digit = || {
        let digit = number % base;
        number /= base;
        digit
    };
    (0..count).map(|_| digit()).collect()
}

/// Elements that tell their place, as many as the strides reach.
fn memory(shape: &[usize], strides: &[isize]) -> Vec<i64> {
    let reach = |(&size, stride): (&usize, &isize)| size.saturating_sub(1) * stride.unsigned_abs();
    let last: usize = shape.iter().zip(strides).map(reach).sum();
    (0..=last as i64).collect()
}

fn view<'a>(memory: &'a [i64], shape: &[usize], strides: &[isize]) -> ArrayViewD<'a, i64> {
    let forward: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
    let layout = IxDyn(shape).strides(IxDyn(&forward));
    let mut view = ArrayView::from_shape(layout, memory).unwrap();
    for (axis, &stride) in strides.iter().enumerate() {
        if stride < 0 {
            view.invert_axis(Axis(axis));
        }
    }
    view
}

/// A view of the shape whose axes are rotated in memory, each with a step of its own.
fn cut<'a>(memory: &'a mut ArrayD<i64>, turn: usize, steps: &[isize]) -> ArrayViewMutD<'a, i64> {
    let rank = steps.len();
    let order: Vec<usize> = (0..rank).map(|axis| (axis + turn) % rank).collect();
    let mut view = memory.view_mut().permuted_axes(order);
    view.slice_each_axis_inplace(|axis| Slice::new(0, None, steps[axis.axis.index()]));
    view
}

fn check(rank: usize, number: usize) {
    const AROUND: i64 = -77;
    let kinds = digits(number, KINDS, rank);
    let shape: Vec<usize> = kinds.iter().map(|kind| kind % 4).collect();
    let strides_a: Vec<isize> = kinds.iter().map(|kind| (kind / 4) as isize - 3).collect();
    // The strides of another operand and the layout of the output: others for each case.
    let other = number.wrapping_mul(0x9e37_79b9) >> 7;
    let strides_b = digits(other, 7, rank);
    let strides_b: Vec<isize> = strides_b
        .iter()
        .map(|&stride| stride as isize - 3)
        .collect();
    let steps = digits(other >> 5, 4, rank);
    let steps: Vec<isize> = steps.iter().map(|&step| [1, -1, 2, -2][step]).collect();
    let (turn, axes_summed) = (other % rank.max(1), number % (1 << rank));
    let what = format!("{shape:?} {strides_a:?} {strides_b:?}, output {turn} {steps:?}");

    let (of_a, of_b) = (memory(&shape, &strides_a), memory(&shape, &strides_b));
    let (a, b) = (
        view(&of_a, &shape, &strides_a),
        view(&of_b, &shape, &strides_b),
    );
    let pair = |a: i64, b: i64| 1 + 100 * a + b;
    let expected: Vec<i64> = a.iter().zip(&b).map(|(&a, &b)| pair(a, b)).collect();
    let fresh = zip((&a, &b)).map_collect(|(a, b)| pair(a, b)).unwrap();
    assert!(fresh.iter().eq(&expected), "map, {what}");

    let wide = |axis: usize| shape[axis] * steps[axis].unsigned_abs();
    let sizes: Vec<usize> = (0..rank)
        .map(|place| wide((place + rank - turn) % rank))
        .collect();
    let mut buffer = ArrayD::from_elem(sizes, AROUND);
    let around = buffer.len() - expected.len();
    let untouched = |buffer: &ArrayD<i64>| buffer.iter().filter(|&&x| x == AROUND).count();
    cut(&mut buffer, turn, &steps).fill(0);
    let mut out = cut(&mut buffer, turn, &steps);
    // Not the same if it is done twice.
    zip((&a, &b))
        .update(&mut out, |x, (a, b)| *x = 3 * *x + pair(a, b))
        .unwrap();
    assert!(out.iter().eq(&expected), "update, {what}");
    assert_eq!(untouched(&buffer), around, "update, {what}");
    let mut out = cut(&mut buffer, turn, &steps);
    a.materialize_into(&mut out).unwrap();
    assert!(out.iter().eq(a.iter()), "copy, {what}");
    assert_eq!(untouched(&buffer), around, "copy, {what}");

    let axes: Vec<usize> = (0..rank)
        .filter(|axis| axes_summed >> axis & 1 == 1)
        .collect();
    let plan = BroadcastPlan::over_axes(IxDyn(&shape), &axes).unwrap();
    let mut sums = ArrayD::<i64>::zeros(plan.input_shape());
    for (index, &term) in a.indexed_iter() {
        let place: Vec<usize> = (0..rank)
            .map(|axis| {
                if axes_summed >> axis & 1 == 1 {
                    0
                } else {
                    index[axis]
                }
            })
            .collect();
        sums[&place[..]] += term;
    }
    assert_eq!(
        plan.gradient(&a).unwrap(),
        sums,
        "sums over {axes:?}, {what}"
    );
}

/// Without `ALL_CASES`, all of up to two axes, and of more axes one of many: steps without a common
/// factor with 28 reach every size and stride of every axis.
#[test]
fn every_small_nest_is_mapped_copied_and_summed() {
    for (rank, step) in [(0, 1), (1, 1), (2, 1), (3, 61), (4, 1009)] {
        let step = if crate::all_cases() { 1 } else { step };
        for number in (0..KINDS.pow(rank as u32)).step_by(step) {
            check(rank, number);
        }
    }
}
