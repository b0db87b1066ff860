//! OpenVINO's operator on integer tensors of any type, with any values.

#![no_main]

mod common;
#[allow(dead_code)]
#[path = "../../tests/common/mod.rs"]
mod oracle;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{MOST_ELEMENTS, arbitrary_by, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{Array1, IxDyn};
use ndarray_broadcast::openvino::{Broadcast, IntegerTensor, Mode};
use ndarray_broadcast::prelude::*;

/// A tensor, and what its values are if all are sizes.
struct Tensor {
    tensor: Box<dyn IntegerTensor>,
    sizes: Option<Vec<usize>>,
    text: String,
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Debug)]
struct Call {
    data: Vec<usize>,
    version_1: bool,
    mode: Mode,
    target: Tensor,
    mapping: Option<Tensor>,
}

fn tensor(bytes: &mut Unstructured<'_>) -> Result<Tensor> {
    macro_rules! of {
        ($type:ty) => {{
            let length = bytes.int_in_range(0..=7_usize)?;
            let mut values = Vec::with_capacity(length);
            for _ in 0..length {
                values.push(match bytes.int_in_range(0..=7_u8)? {
                    7 => <$type>::arbitrary(bytes)?,
                    small => small as $type,
                });
            }
            let sizes = values
                .iter()
                .map(|&value| usize::try_from(value).ok())
                .collect();
            let text = format!("{values:?}");
            let tensor: Box<dyn IntegerTensor> = match bool::arbitrary(bytes)? {
                true => Box::new(Array1::from(values)),
                false => Box::new(values),
            };
            Ok(Tensor {
                tensor,
                sizes,
                text,
            })
        }};
    }
    match bytes.int_in_range(0..=7_u8)? {
        0 => of!(i8),
        1 => of!(i16),
        2 => of!(i32),
        3 => of!(i64),
        4 => of!(u8),
        5 => of!(u16),
        6 => of!(u32),
        _ => of!(u64),
    }
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    Ok(Call {
        data: small_shape(bytes, 6)?,
        version_1: bool::arbitrary(bytes)?,
        mode: match bytes.int_in_range(0..=3_u8)? {
            0 => Mode::Numpy,
            1 => Mode::Bidirectional,
            2 => Mode::Explicit,
            _ => Mode::Pdpd {
                axis: bytes.int_in_range(-3..=7)?,
            },
        },
        target: tensor(bytes)?,
        mapping: match bool::arbitrary(bytes)? {
            true => Some(tensor(bytes)?),
            false => None,
        },
    })
}

arbitrary_by!(Call, call);

fuzz_target!(|call: Call| {
    let Call {
        data,
        version_1,
        mode,
        target,
        mapping,
    } = call;
    let operator = if version_1 {
        Broadcast::v1()
    } else {
        Broadcast::v3()
    };
    let Ok(operator) = operator.with_mode(mode) else {
        assert!(version_1 && mode == Mode::Bidirectional);
        return;
    };
    let tensor = mapping.as_ref().map(|mapping| &*mapping.tensor);
    let shape = operator.infer_shape(IxDyn(&data), &*target.tensor, tensor);
    let array = oracle::iota(&data);
    let output = operator.evaluate(&array, &*target.tensor, tensor);
    assert_eq!(shape.is_ok(), output.is_ok());

    let expected = match (
        &target.sizes,
        mapping.as_ref().map(|mapping| &mapping.sizes),
        mode,
    ) {
        (None, ..) | (_, Some(None), _) => None,
        (_, None, Mode::Explicit)
        | (_, Some(_), Mode::Numpy | Mode::Bidirectional | Mode::Pdpd { .. }) => None,
        (Some(target), Some(Some(mapping)), _) => {
            let one = data.is_empty() && mapping.len() == 1 && target.get(mapping[0]) == Some(&1);
            let axes_mapping = if one { Vec::new() } else { mapping.clone() };
            oracle::mode(&data, target, &BroadcastMode::Explicit { axes_mapping }).ok()
        }
        (Some(target), None, Mode::Numpy) => {
            oracle::mode(&data, target, &BroadcastMode::Numpy).ok()
        }
        (Some(target), None, Mode::Pdpd { axis }) => {
            oracle::mode(&data, target, &BroadcastMode::Pdpd { axis }).ok()
        }
        (Some(target), None, _) => oracle::mode(&data, target, &BroadcastMode::Bidirectional).ok(),
    };
    match (output, expected) {
        (Ok(output), Some(fed)) => {
            assert_eq!(output.shape(), fed.output);
            if fed
                .output
                .iter()
                .try_fold(1_usize, |n, &size| n.checked_mul(size.max(1)))
                .is_some_and(|n| n <= MOST_ELEMENTS)
            {
                assert_eq!(output, fed.array(&array.view()));
            }
        }
        (Err(error), None) => assert!(!error.to_string().is_empty()),
        (output, expected) => panic!("{output:?}, the oracle says {expected:?}"),
    }
});
