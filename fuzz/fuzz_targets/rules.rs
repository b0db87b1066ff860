//! Any rule, shapes, attributes and layout: no panic, and the oracle's answer, as a whole and in
//! tiles. For recorded cases, also the recorded answer.

#![no_main]

mod common;
#[path = "../../tests/common/mod.rs"]
mod oracle;
mod recorded;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{Layout, arbitrary_by, axes, feeding, sizes, small, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, IxDyn};
use ndarray_broadcast::distributed::Tiles;
use ndarray_broadcast::prelude::*;
use recorded::{Answered, CASES, change, change_mode, change_rule};

#[derive(Debug)]
struct Call {
    input: Vec<usize>,
    target: Vec<usize>,
    mode: BroadcastMode,
    rule: ElementwiseRule,
    layout: Layout,
    /// The most bytes of a tile.
    tile_bytes: usize,
    /// The recorded case, if nothing in it was changed.
    recorded: Option<&'static dyn Answered>,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    match bytes.int_in_range(0..=2_u8)? {
        0 => recorded(bytes),
        _ => generated(bytes),
    }
}

fn recorded(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let one = bool::arbitrary(bytes)?;
    let (mut input, mut target, mut mode, mut rule, case): (_, _, _, _, &dyn Answered) = if one {
        let case = bytes.choose(&CASES.one)?;
        let call = case.call.clone();
        (
            call.input,
            call.target,
            call.mode,
            ElementwiseRule::Numpy,
            case,
        )
    } else {
        let case = bytes.choose(&CASES.two)?;
        let call = case.call.clone();
        (call.a, call.b, BroadcastMode::Numpy, call.rule, case)
    };
    let changes = bytes.int_in_range(0..=3_u8)?;
    for _ in 0..changes {
        match bytes.int_in_range(0..=2_u8)? {
            0 => change(&mut input, bytes)?,
            1 => change(&mut target, bytes)?,
            _ if one => change_mode(&mut mode, bytes)?,
            _ => change_rule(&mut rule, bytes)?,
        }
    }
    let layout = Layout::arbitrary(bytes, input.len())?;
    let tile_bytes = usize::from(u16::arbitrary(bytes)?);
    Ok(Call {
        input,
        target,
        mode,
        rule,
        layout,
        tile_bytes,
        recorded: (changes == 0).then_some(case),
    })
}

fn generated(bytes: &mut Unstructured<'_>) -> Result<Call> {
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
    let rule = match bytes.int_in_range(0..=4_u8)? {
        0 => ElementwiseRule::None,
        1 => ElementwiseRule::Numpy,
        2 => ElementwiseRule::Pdpd { axis },
        3 => ElementwiseRule::Paddle { axis },
        _ => ElementwiseRule::Xla {
            broadcast_dimensions: list,
        },
    };
    let layout = Layout::arbitrary(bytes, input.len())?;
    let tile_bytes = usize::from(u16::arbitrary(bytes)?);
    Ok(Call {
        input,
        target,
        mode,
        rule,
        layout,
        tile_bytes,
        recorded: None,
    })
}

arbitrary_by!(Call, call);

/// As many tiles of a plan are compared.
const TILES: usize = 100;

fuzz_target!(|call: Call| {
    let Call {
        input,
        target,
        mode,
        rule,
        layout,
        tile_bytes,
        recorded,
    } = call;
    if let Some(case) = recorded {
        case.assert_answered();
    }
    let text = mode.to_string();
    assert_eq!(text.parse::<BroadcastMode>().as_ref(), Ok(&mode), "{text}");

    let plan = BroadcastPlan::with_mode(IxDyn(&input), IxDyn(&target), &mode);
    let pair = BroadcastPlan::pair(IxDyn(&input), IxDyn(&target), &rule);
    match (&plan, oracle::mode(&input, &target, &mode)) {
        (Ok(plan), Ok(fed)) => {
            assert_eq!(plan.output_shape(), fed.output);
            let _ = plan.to_string();
            if small(&input) && small(&fed.output) {
                let buffer = layout.buffer(&input, |i| i as i32);
                let array = layout.view(&buffer, &input);
                let view = plan.view(&array).unwrap();
                let expected: ArrayD<i32> = fed.array(&array);
                assert_eq!(view, expected);
                assert_eq!(
                    array.broadcast_to_mode(IxDyn(&target), &mode).unwrap(),
                    expected
                );
                assert_eq!(view.materialize().unwrap(), expected);
                let mut tiled = 0;
                for tile in Tiles::new(plan, tile_bytes, size_of::<i32>()).take(TILES) {
                    let of_input = tile.input().of(&array).unwrap();
                    let of_output = tile.output().of(&expected).unwrap();
                    assert_eq!(tile.plan().view(&of_input).unwrap(), of_output);
                    tiled += of_output.len();
                }
                assert!(tiled == view.len() || Tiles::new(plan, tile_bytes, 4).len() > TILES);
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
