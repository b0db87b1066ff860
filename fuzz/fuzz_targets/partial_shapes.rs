//! Inference on shapes known in part: what it says holds for each concrete call that is possible.

#![no_main]

mod common;
#[path = "../../tests/common/mod.rs"]
mod oracle;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{arbitrary_by, axes, feeding, size, sizes};
use libfuzzer_sys::fuzz_target;
use ndarray::IxDyn;
use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
use ndarray_broadcast::prelude::*;

#[derive(Debug)]
enum By {
    Mode(BroadcastMode),
    Rule(ElementwiseRule),
}

#[derive(Debug)]
struct Call {
    by: By,
    /// Two shapes, and what is known of them.
    shapes: [Vec<usize>; 2],
    known: [PartialShape; 2],
}

/// What is known of a shape, which it agrees with or, one time in eight, perhaps not.
fn known(bytes: &mut Unstructured<'_>, shape: &[usize]) -> Result<PartialShape> {
    if bytes.int_in_range(0..=9_u8)? == 0 {
        return Ok(PartialShape::UNKNOWN);
    }
    let sizes = shape.iter().map(|&of| {
        let (low, high) = (size(bytes)?, size(bytes)?);
        Ok(match bytes.int_in_range(0..=7_u8)? {
            0 => PartialSize::between(low.min(high), low.max(high)).unwrap(),
            1 => PartialSize::ANY,
            2 => (of.min(low)..).into(),
            3 => PartialSize::between(of.min(low), of.max(high)).unwrap(),
            _ => PartialSize::known(of),
        })
        // Only a size that is known to be `KEEP` keeps the input's.
        .map(|of_axis| match of {
            KEEP => PartialSize::known(of),
            _ => of_axis,
        })
    });
    Ok(PartialShape::new(sizes.collect::<Result<Vec<_>>>()?))
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let target = sizes(bytes, 5)?;
    let rank = target.len();
    let list = axes(bytes, rank)?;
    let input = match list.iter().all(|&axis| axis < rank) && bool::arbitrary(bytes)? {
        true => feeding(bytes, &target, list.iter().copied())?,
        false => {
            let first = bytes.int_in_range(0..=rank)?;
            feeding(bytes, &target, first..rank)?
        }
    };
    let axis = bytes.int_in_range(-3..=6)?;
    let by = match bytes.int_in_range(0..=13_u8)? {
        0 => By::Mode(BroadcastMode::Bidirectional),
        1 => By::Mode(BroadcastMode::Explicit { axes_mapping: list }),
        2 => By::Mode(BroadcastMode::BroadcastAxes {
            broadcast_axes: list,
        }),
        3 => By::Mode(BroadcastMode::InDim {
            broadcast_dimensions: list,
        }),
        4 => By::Mode(BroadcastMode::InDimPermuting {
            broadcast_dimensions: list,
        }),
        5 => By::Mode(BroadcastMode::Expand),
        6 => By::Mode(BroadcastMode::Pdpd { axis }),
        7 => By::Mode(
            ["c -> n c", "a b -> b 3 a", "-> 2", "a 1 -> a b"][list.len() % 4]
                .parse()
                .unwrap(),
        ),
        8 => By::Rule(ElementwiseRule::None),
        9 => By::Rule(ElementwiseRule::Numpy),
        10 => By::Rule(ElementwiseRule::Pdpd { axis }),
        11 => By::Rule(ElementwiseRule::Xla {
            broadcast_dimensions: list,
        }),
        12 => By::Rule(ElementwiseRule::Paddle { axis }),
        _ => By::Mode(BroadcastMode::Numpy),
    };
    let known = [known(bytes, &input)?, known(bytes, &target)?];
    Ok(Call {
        by,
        shapes: [input, target],
        known,
    })
}

arbitrary_by!(Call, call);

fuzz_target!(|call: Call| {
    let Call { by, shapes, known } = &call;
    let ([a, b], [known_a, known_b]) = (shapes, known);
    let inferred = match by {
        By::Mode(mode) => mode.infer(known_a, known_b),
        By::Rule(rule) => rule.infer(known_a, known_b),
    };
    if let Err(error) = &inferred {
        assert!(error.to_string().len() < 1 << 16);
    }
    if !(known_a.contains(a) && known_b.contains(b)) {
        return;
    }
    let output = match by {
        By::Mode(mode) => oracle::mode(a, b, mode).map(|map| map.output),
        By::Rule(rule) => oracle::pair(a, b, rule).map(|[map, _]| map.output),
    };
    match (&inferred, &output) {
        (Ok(inferred), Ok(output)) => assert!(inferred.contains(output), "{inferred}, {output:?}"),
        // Other shapes of those known may fit.
        (_, Err(_)) => {}
        (Err(error), Ok(output)) => panic!("{output:?} is possible: {error}"),
    }
    let By::Mode(mode) = by else { return };
    match PartialPlan::with_mode(known_a.clone(), known_b.clone(), mode.clone()) {
        Ok(plan) => {
            let resolved = plan.resolve(IxDyn(a), IxDyn(b));
            let direct = BroadcastPlan::with_mode(IxDyn(a), IxDyn(b), mode);
            assert_eq!(resolved, direct);
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<PartialPlan>(&text).unwrap(), plan);
        }
        Err(error) => assert_eq!(Err(error), inferred.map(drop)),
    }
});
