//! Copies, elementwise operations and sums large enough for several threads and blocks.

#![no_main]

mod common;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{Layout, arbitrary_by, feeding};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, IxDyn, Zip};
use ndarray_broadcast::prelude::*;
use std::fmt::Debug;

#[derive(Debug)]
struct Call {
    input: Vec<usize>,
    output: Vec<usize>,
    mapping: Vec<usize>,
    source: Layout,
    target: Layout,
    element: usize,
}

/// The bytes of each element type.
const ELEMENT_SIZES: [usize; 8] = [1, 2, 4, 8, 16, 12, 3, 40];

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let element = bytes.int_in_range(0..=ELEMENT_SIZES.len() - 1)?;
    // From 512 KiB on, work is split into chunks.
    let mut left = bytes.int_in_range((500 << 10)..=(1200 << 10))? / ELEMENT_SIZES[element];
    let rank = bytes.int_in_range(1..=6_usize)?;
    let rest = bytes.int_in_range(0..=rank - 1)?;
    let mut output = vec![1; rank];
    for (axis, size) in output.iter_mut().enumerate() {
        if axis != rest {
            let wanted = match bytes.int_in_range(0..=7_u8)? {
                7 => usize::from(u16::arbitrary(bytes)? % 9000),
                5 | 6 => usize::from(u8::arbitrary(bytes)?),
                few => usize::from(few),
            };
            *size = wanted.clamp(1, left);
            left /= *size;
        }
    }
    output[rest] = left;
    let kept = u8::arbitrary(bytes)?;
    let mut mapping: Vec<usize> = (0..rank).filter(|axis| kept >> axis & 1 == 1).collect();
    for i in (1..mapping.len()).rev() {
        if u8::arbitrary(bytes)? < 64 {
            mapping.swap(i, bytes.int_in_range(0..=i)?);
        }
    }
    let input = feeding(bytes, &output, mapping.iter().copied())?;
    Ok(Call {
        source: Layout::nearly_dense(bytes, input.len())?,
        target: Layout::nearly_dense(bytes, rank)?,
        input,
        output,
        mapping,
        element,
    })
}

arbitrary_by!(Call, call);

fn check<A: Copy + Send + Sync + PartialEq + Debug>(call: &Call, element: fn(usize) -> A) {
    let Call {
        input,
        output,
        mapping,
        source,
        target,
        ..
    } = call;
    assert_eq!(size_of::<A>(), ELEMENT_SIZES[call.element]);
    let buffer = source.buffer(input, element);
    let array = source.view(&buffer, input);
    let view = array
        .broadcast_in_dim_permuting(IxDyn(output), mapping)
        .unwrap();

    let guard = element(usize::MAX);
    let mut expected = target.buffer(output, |_| guard);
    target.view_mut(&mut expected, output).assign(&view);
    let mut found = target.buffer(output, |_| guard);
    view.materialize_into(&mut target.view_mut(&mut found, output))
        .unwrap();
    // `assert_eq!` would print megabytes.
    assert!(found == expected, "into: {call:?}");
    assert!(view.materialize().unwrap() == view, "fresh: {call:?}");

    // The same copy as an elementwise operation, with an operand of the output's shape.
    let same = target.view(&expected, output);
    found.fill(guard);
    zip(broadcast_pair(&same, &view, ElementwiseRule::None).unwrap())
        .map_assign_into(&mut target.view_mut(&mut found, output), |(_, element)| {
            element
        })
        .unwrap();
    assert!(found == expected, "map_assign_into: {call:?}");
    let pairs = zip(broadcast_pair(&same, &view, ElementwiseRule::None).unwrap())
        .map_collect(|(a, b)| a == b)
        .unwrap();
    assert!(pairs.iter().all(|&equal| equal), "map_collect: {call:?}");
}

/// Compares a gradient of integers, whose sum does not depend on the order.
fn check_sums(call: &Call) {
    let Call {
        input,
        output,
        mapping,
        target,
        ..
    } = call;
    let buffer = target.buffer(output, |i| i as u64);
    let cotangent = target.view(&buffer, output);
    let plan = BroadcastPlan::in_dim_permuting(IxDyn(input), IxDyn(output), mapping).unwrap();
    let found = plan.gradient(&cotangent).unwrap();
    // Sum one axis after the other, the last first, so that the numbers of the others stay.
    let mut expected = cotangent.to_owned();
    let mut left: Vec<usize> = (0..output.len()).collect();
    for axis in (0..output.len()).rev() {
        let fed = mapping.iter().position(|&fed| fed == axis);
        if fed.is_none_or(|fed| input[fed] == 1) {
            expected = expected.sum_axis(ndarray::Axis(axis));
            left.remove(axis);
        }
    }
    // Permute the remaining axes to the input's order, and insert its axes of size 1.
    let order: Vec<usize> = (mapping.iter().zip(input))
        .filter(|&(_, &size)| size != 1)
        .filter_map(|(axis, _)| left.iter().position(|kept| kept == axis))
        .collect();
    let expected: ArrayD<u64> = expected
        .permuted_axes(order)
        .as_standard_layout()
        .into_owned()
        .into_shape_with_order(IxDyn(input))
        .unwrap();
    assert!(found == expected, "gradient: {call:?}");
    let mut twice = found;
    plan.gradient_accumulate(&cotangent, &mut twice).unwrap();
    Zip::from(&twice)
        .and(&expected)
        .for_each(|&twice, &once| assert!(twice == 2 * once, "accumulate: {call:?}"));
}

fuzz_target!(|call: Call| {
    match call.element {
        0 => check(&call, |i| (i % 251) as u8),
        1 => check(&call, |i| (i % 65521) as u16),
        2 => check(&call, |i| i as u32),
        3 => {
            check(&call, |i| i as u64);
            check_sums(&call);
        }
        4 => check(&call, |i| (i as u128).wrapping_mul(0x1_0001_0001_0001_0001)),
        5 => check(&call, |i| [i as u32, !i as u32, (i / 7) as u32]),
        6 => check(&call, |i| [i as u8, (i >> 8) as u8, (i >> 16) as u8]),
        _ => check(&call, |i| [i as u64, 1, 2, 3, !i as u64]),
    }
});
