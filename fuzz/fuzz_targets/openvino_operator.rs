//! OpenVINO's operator on integer tensors of any type, with any values, compared with the oracle
//! and, for recorded cases, with the recorded answers.

#![no_main]

mod common;
#[path = "../../tests/common/mod.rs"]
mod oracle;
mod recorded;

use arbitrary::{Arbitrary, Error, Result, Unstructured};
use common::{arbitrary_by, small, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{Array1, IxDyn};
use ndarray_broadcast::openvino::{Broadcast, IntegerTensor, Mode};
use ndarray_broadcast::prelude::*;
use recorded::{Answered, CASES, change};
use std::fmt::Debug;

/// A tensor, and its values if all are valid sizes.
struct Tensor {
    tensor: Box<dyn IntegerTensor>,
    sizes: Option<Vec<usize>>,
    text: String,
}

impl Debug for Tensor {
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
    /// The recorded case, if nothing in it was changed.
    recorded: Option<&'static dyn Answered>,
}

impl Tensor {
    fn new<T>(values: Vec<T>, array: bool) -> Self
    where
        T: Copy + Debug + TryInto<usize>,
        Vec<T>: IntegerTensor + 'static,
        Array1<T>: IntegerTensor + 'static,
    {
        Tensor {
            sizes: values.iter().map(|&value| value.try_into().ok()).collect(),
            text: format!("{values:?}"),
            tensor: match array {
                true => Box::new(Array1::from(values)),
                false => Box::new(values),
            },
        }
    }
}

/// A tensor of any type: with any values or, if the type can hold them, the given ones.
fn tensor(bytes: &mut Unstructured<'_>, given: Option<Vec<i64>>) -> Result<Tensor> {
    macro_rules! of {
        ($type:ty) => {{
            let values = match &given {
                Some(given) => (given.iter())
                    .map(|&value| <$type>::try_from(value).ok())
                    .collect(),
                None => {
                    let length = bytes.int_in_range(0..=7_usize)?;
                    let mut values = Vec::with_capacity(length);
                    for _ in 0..length {
                        values.push(match bytes.int_in_range(0..=7_u8)? {
                            7 => <$type>::arbitrary(bytes)?,
                            small => small as $type,
                        });
                    }
                    Some(values)
                }
            };
            let array = bool::arbitrary(bytes)?;
            Ok(match values {
                Some(values) => Tensor::new(values, array),
                None => Tensor::new(given.unwrap_or_default(), array),
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

fn mode(bytes: &mut Unstructured<'_>) -> Result<Mode> {
    Ok(match bytes.int_in_range(0..=3_u8)? {
        0 => Mode::Numpy,
        1 => Mode::Bidirectional,
        2 => Mode::Explicit,
        _ => Mode::Pdpd {
            axis: bytes.int_in_range(-3..=7)?,
        },
    })
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    match bytes.int_in_range(0..=2_u8)? {
        0 => recorded(bytes),
        _ => generated(bytes),
    }
}

/// Changes, inserts or removes an entry of a tensor.
fn change_tensor(values: &mut Vec<i64>, bytes: &mut Unstructured<'_>) -> Result<()> {
    let at = bytes.int_in_range(0..=values.len())?;
    let value = match bytes.int_in_range(0..=8_i64)? {
        8 => i64::arbitrary(bytes)?,
        near => near - 1,
    };
    match bytes.int_in_range(0..=3_u8)? {
        0 => values.insert(at, value),
        1 if at < values.len() => drop(values.remove(at)),
        _ if at < values.len() => values[at] = value,
        _ => values.push(value),
    }
    Ok(())
}

fn recorded(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let case = bytes.choose(&CASES.operator)?;
    let mut call = case.call.clone();
    let changes = bytes.int_in_range(0..=3_u8)?;
    for _ in 0..changes {
        match bytes.int_in_range(0..=7_u8)? {
            0 | 1 => change(&mut call.data, bytes)?,
            2 => call.version_1 ^= true,
            3 => call.mode = mode(bytes)?,
            4 => call.mapping = None,
            5 => change_tensor(call.mapping.get_or_insert_default(), bytes)?,
            _ => change_tensor(&mut call.target, bytes)?,
        }
    }
    // The data are allocated.
    if !small(&call.data) {
        return Err(Error::IncorrectFormat);
    }
    let mapping = match call.mapping {
        Some(mapping) => Some(tensor(bytes, Some(mapping))?),
        None => None,
    };
    Ok(Call {
        data: call.data,
        version_1: call.version_1,
        mode: call.mode,
        target: tensor(bytes, Some(call.target))?,
        mapping,
        recorded: (changes == 0).then_some(case),
    })
}

fn generated(bytes: &mut Unstructured<'_>) -> Result<Call> {
    Ok(Call {
        data: small_shape(bytes, 6)?,
        version_1: bool::arbitrary(bytes)?,
        mode: mode(bytes)?,
        target: tensor(bytes, None)?,
        mapping: match bool::arbitrary(bytes)? {
            true => Some(tensor(bytes, None)?),
            false => None,
        },
        recorded: None,
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
        recorded,
    } = call;
    if let Some(case) = recorded {
        case.assert_answered();
    }
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
            if small(&fed.output) {
                assert_eq!(output, fed.array(&array.view()));
            }
        }
        (Err(error), None) => assert!(!error.to_string().is_empty()),
        (output, expected) => panic!("{output:?}, the oracle says {expected:?}"),
    }
});
