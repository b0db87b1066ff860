//! Copies of any view into any strided output: the right elements, and no write outside the output.

#![no_main]

mod common;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{Layout, arbitrary_by, feeding, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::IxDyn;
use ndarray_broadcast::prelude::*;
use std::fmt::Debug;

#[derive(Debug)]
struct Call {
    input: Vec<usize>,
    output: Vec<usize>,
    source: Layout,
    target: Layout,
    element: u8,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let output = small_shape(bytes, 6)?;
    let first = bytes.int_in_range(0..=output.len())?;
    let input = feeding(bytes, &output, first..output.len())?;
    let source = Layout::arbitrary(bytes, input.len())?;
    let target = Layout::arbitrary(bytes, output.len())?;
    let element = u8::arbitrary(bytes)?;
    Ok(Call {
        input,
        output,
        source,
        target,
        element,
    })
}

arbitrary_by!(Call, call);

fn check<A: Copy + Send + Sync + PartialEq + Debug>(call: &Call, element: fn(usize) -> A) {
    let Call {
        input,
        output,
        source,
        target,
        ..
    } = call;
    const GUARD: usize = usize::MAX;
    let buffer = source.buffer(input, element);
    let view = source.view(&buffer, input);
    let view = view.broadcast_numpy(IxDyn(output)).unwrap();

    let copy = view.materialize().unwrap();
    assert_eq!(copy, view);
    assert!(copy.is_standard_layout());

    // The expected buffer, by ndarray's `assign`.
    let mut expected = target.buffer(output, |_| element(GUARD));
    target.view_mut(&mut expected, output).assign(&view);
    let mut found = target.buffer(output, |_| element(GUARD));
    view.materialize_into(&mut target.view_mut(&mut found, output))
        .unwrap();
    assert_eq!(found, expected);

    // A wrong shape is an error, and nothing is written.
    let mut longer = output.clone();
    longer.push(2);
    let mut wrong = ndarray::ArrayD::from_elem(IxDyn(&longer), element(GUARD));
    let before = wrong.clone();
    let wrong_rank = view.materialize_into(&mut wrong);
    assert!(matches!(
        wrong_rank.unwrap_err().kind(),
        ErrorKind::WrongShape { .. }
    ));
    assert_eq!(wrong, before);
}

fuzz_target!(|call: Call| {
    match call.element % 8 {
        0 => check(&call, |i| i as u8),
        1 => check(&call, |i| i as u16),
        2 => check(&call, |i| i as u32),
        3 => check(&call, |i| i as u64),
        4 => check(&call, |i| i as u128),
        5 => check(&call, |i| [i as u32, !i as u32, (i / 7) as u32]),
        6 => check(&call, |i| (i as u8, (i / 3) as u16)),
        _ => check(&call, |i| [i as u8, (i >> 3) as u8, 7]),
    }
});
