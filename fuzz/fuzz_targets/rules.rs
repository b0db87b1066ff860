//! Any rule, any shapes and attributes, any layout: no panic, and the oracle's answer.

#![no_main]

mod common;
#[allow(dead_code)]
#[path = "../../tests/common/mod.rs"]
mod oracle;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{Layout, MOST_ELEMENTS, arbitrary_by, axes, feeding, size, sizes, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, IxDyn};
use ndarray_broadcast::prelude::*;

#[derive(Debug)]
struct Call {
    input: Vec<usize>,
    target: Vec<usize>,
    mode: BroadcastMode,
    rule: ElementwiseRule,
    layout: Layout,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let hostile = bytes.int_in_range(0..=3_u8)? == 0;
    let target = match hostile {
        true => sizes(bytes, 9)?,
        false => small_shape(bytes, 7)?,
    };
    let rank = target.len();
    let list = axes(bytes, rank)?;
    let fits = list.iter().all(|&axis| axis < rank);
    let input = match bytes.int_in_range(0..=3_u8)? {
        0 if hostile => sizes(bytes, 9)?,
        0 => small_shape(bytes, 7)?,
        1 if fits => feeding(bytes, &target, list.iter().copied())?,
        2 => {
            let kept: Vec<usize> = (0..rank).filter(|axis| !list.contains(axis)).collect();
            kept.iter().map(|&axis| target[axis]).collect()
        }
        _ => {
            let first = bytes.int_in_range(0..=rank)?;
            feeding(bytes, &target, first..rank)?
        }
    };
    let axis = match bool::arbitrary(bytes)? {
        true => bytes.int_in_range(-3..=8)?,
        false => isize::arbitrary(bytes)?,
    };
    let mode = match bytes.int_in_range(0..=7_u8)? {
        0 => BroadcastMode::Numpy,
        1 => BroadcastMode::Bidirectional,
        2 => BroadcastMode::Explicit {
            axes_mapping: list.clone(),
        },
        3 => BroadcastMode::BroadcastAxes {
            broadcast_axes: list.clone(),
        },
        4 => BroadcastMode::InDim {
            broadcast_dimensions: list.clone(),
        },
        5 => BroadcastMode::InDimPermuting {
            broadcast_dimensions: list.clone(),
        },
        6 => BroadcastMode::Expand,
        _ => BroadcastMode::Pdpd { axis },
    };
    let rule = match bytes.int_in_range(0..=3_u8)? {
        0 => ElementwiseRule::None,
        1 => ElementwiseRule::Numpy,
        2 => ElementwiseRule::Pdpd { axis },
        _ => ElementwiseRule::Xla {
            broadcast_dimensions: list,
        },
    };
    let layout = Layout::arbitrary(bytes, input.len())?;
    let _ = size(bytes)?;
    Ok(Call {
        input,
        target,
        mode,
        rule,
        layout,
    })
}

arbitrary_by!(Call, call);

fn count(shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(1_usize, |n, &size| n.checked_mul(size))
}

fn small(shape: &[usize]) -> bool {
    // ndarray itself refuses shapes whose sizes other than 0 multiply to too much.
    count(&shape.iter().map(|&size| size.max(1)).collect::<Vec<_>>())
        .is_some_and(|n| n <= MOST_ELEMENTS)
}

fuzz_target!(|call: Call| {
    let Call {
        input,
        target,
        mode,
        rule,
        layout,
    } = call;
    let text = mode.to_string();
    assert_eq!(text.parse::<BroadcastMode>().as_ref(), Ok(&mode), "{text}");

    let plan = BroadcastPlan::with_mode(IxDyn(&input), IxDyn(&target), &mode);
    let pair = BroadcastPlan::pair(IxDyn(&input), IxDyn(&target), &rule);
    match (&plan, oracle::mode(&input, &target, &mode)) {
        (Ok(plan), Ok(fed)) => {
            assert_eq!(plan.output_shape(), fed.output);
            let _ = plan.to_string();
            if small(&input) && small(&fed.output) {
                let whole = layout.whole(&input, |i| i as i32);
                let array = layout.seen(&whole, &input);
                let view = plan.view(&array).unwrap();
                let expected: ArrayD<i32> = fed.array(&array);
                assert_eq!(view, expected);
                assert_eq!(
                    array.broadcast_to_mode(IxDyn(&target), &mode).unwrap(),
                    expected
                );
                assert_eq!(view.materialize().unwrap(), expected);
            }
        }
        (Err(error), Err(expected)) => {
            assert_eq!(oracle::variant(error), expected, "{error}");
            assert!(error.to_string().len() < 1 << 16);
        }
        (plan, expected) => panic!("{plan:?}, the oracle says {expected:?}"),
    }
    match (&pair, oracle::pair(&input, &target, &rule)) {
        (Ok((a, b)), Ok([fed_a, fed_b])) => {
            assert_eq!(a.output_shape(), fed_a.output);
            assert_eq!(b.output_shape(), fed_b.output);
            if small(&input) && small(&target) && small(&fed_a.output) {
                let (x, y) = (oracle::iota(&input), oracle::iota(&target));
                assert_eq!(a.view(&x).unwrap(), fed_a.array(&x.view()));
                assert_eq!(b.view(&y).unwrap(), fed_b.array(&y.view()));
            }
        }
        (Err(error), Err(expected)) => {
            assert_eq!(oracle::variant(error), expected, "{error}");
            let _ = error.to_string();
        }
        (pair, expected) => panic!("{pair:?}, the oracle says {expected:?}"),
    }
});
