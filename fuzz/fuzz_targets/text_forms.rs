//! Texts of modes, rules and patterns, and JSON of plans: an error, or a value that prints and
//! reads back as itself.

#![no_main]

mod common;

use common::small;
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, IxDyn};
use ndarray_broadcast::distributed::Tile;
use ndarray_broadcast::infer::{PartialPlan, PartialShape};
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::openvino::Mode;
use ndarray_broadcast::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// The value of a text.
fn parsed<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) -> Option<T> {
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(printed.parse::<T>().ok().as_ref(), Some(&value), "{text:?}");
            Some(value)
        }
        Err(error) => {
            assert!(error.to_string().len() < 64 * text.len() + 4096);
            None
        }
    }
}

/// The value of JSON.
fn read<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) -> Option<T> {
    let value: T = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&written).unwrap(), value);
    Some(value)
}

/// Small shapes, some of which fit most patterns.
const SHAPES: [&[usize]; 6] = [&[], &[3], &[2, 3], &[1, 3], &[2, 1, 3], &[2, 2, 2, 2]];

/// Words of patterns. Random text is seldom a pattern with a group and `...`.
const WORDS: [&str; 12] = [
    "a", "b", "n", "1", "2", "...", "(", ")", "->", ",", "...0", "c",
];

/// The bytes as text or, after a byte that no text has, as words.
fn text(bytes: &[u8]) -> Option<String> {
    let word = |&byte: &u8| WORDS[usize::from(byte) % WORDS.len()];
    match bytes {
        [0xff, words @ ..] => Some(words.iter().map(word).collect::<Vec<_>>().join(" ")),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(text) = &text(bytes) else {
        return;
    };
    if let Some(mode) = parsed::<BroadcastMode>(text) {
        for input in SHAPES {
            for target in SHAPES {
                let plan = BroadcastPlan::with_mode(IxDyn(input), IxDyn(target), &mode);
                let [a, b] = [input, target].map(|shape| PartialShape::known(IxDyn(shape)));
                let inferred = mode.infer(&a, &b);
                let output = plan.map(|plan| PartialShape::known(IxDyn(plan.output_shape())));
                assert_eq!(inferred, output, "{text:?} {input:?} {target:?}");
                if output.is_ok() {
                    let unknown = PartialShape::UNKNOWN;
                    for [a, b] in [[&a, &unknown], [&unknown, &b], [&unknown, &unknown]] {
                        assert!(mode.infer(a, b).is_ok(), "{text:?} {a} {b}");
                    }
                }
            }
        }
    }
    parsed::<ElementwiseRule>(text);
    parsed::<Mode>(text);
    if let Some(pattern) = parsed::<AxisPattern>(text) {
        for input in SHAPES {
            for sizes in [&[][..], &[("a", 2), ("n", 3)]] {
                // A view also splits and merges axes, and drops the same ones.
                let array = ArrayD::<u8>::zeros(input);
                let plan = pattern.plan(IxDyn(input), sizes);
                if let Some(plan) = plan.ok().filter(|plan| small(plan.output_shape())) {
                    let view = pattern.view(&array, sizes).unwrap();
                    assert_eq!(view.shape(), plan.output_shape(), "{text:?} {input:?}");
                }
            }
        }
    }
    if let Some(pattern) = parsed::<AxisPattern<2>>(text) {
        for a in SHAPES {
            for b in SHAPES {
                if pattern.plans([IxDyn(a), IxDyn(b)], &[]).is_ok() {
                    let [a, b] = [a, b].map(|shape| PartialShape::known(IxDyn(shape)));
                    let unknown = PartialShape::UNKNOWN;
                    for [a, b] in [[&a, &b], [&a, &unknown], [&unknown, &b]] {
                        assert!(pattern.infer(a, b).is_ok(), "{text:?} {a} {b}");
                    }
                }
            }
        }
    }
    read::<BroadcastMode>(text);
    read::<ElementwiseRule>(text);
    read::<PartialShape>(text);
    read::<PartialPlan>(text);
    read::<Tile>(text);
    if let Some(plan) = read::<BroadcastPlan>(text) {
        let _ = plan.to_string();
        if small(plan.input_shape()) && small(plan.output_shape()) {
            let array = ArrayD::<u8>::zeros(plan.input_shape());
            let view = plan.view(&array).unwrap();
            assert_eq!(view.shape(), plan.output_shape());
            let ones = ArrayD::<u32>::ones(plan.output_shape());
            let sums = plan.gradient(&ones).unwrap();
            assert_eq!(sums.sum() as usize, ones.len());
        }
    }
});
