//! The crate's answer, the expected answer, and their comparison.

use super::element::{Element, element_count, elements};
use super::fields::{Fields, sizes};
use ndarray_broadcast::{BroadcastError, ErrorKind};
use serde_json::Value;

/// The crate's answer.
#[derive(Debug)]
pub struct Answer<T> {
    pub shape: Vec<usize>,
    /// The data of each output, row-major; `None` if the case gives no input data.
    pub outputs: Option<Vec<Vec<T>>>,
}

/// The answer that the case expects.
pub enum Expected<T> {
    Refused,
    Answer {
        shape: Vec<usize>,
        outputs: Option<Vec<Vec<T>>>,
        digest: Option<Digest>,
    },
}

/// A summary of a large output.
pub struct Digest {
    len: u64,
    sum: i64,
    fnv1a64: u64,
    samples: Vec<(usize, i32)>,
}

impl Digest {
    fn parse(value: Value) -> Result<Self, String> {
        let mut fields = Fields::new("digest", value)?;
        let digest = Digest {
            len: fields.need("len")?.as_u64().ok_or("digest: len")?,
            sum: fields.need("sum")?.as_i64().ok_or("digest: sum")?,
            fnv1a64: u64::from_str_radix(&fields.text("fnv1a64_le_i32")?, 16)
                .map_err(|error| format!("digest: fnv1a64_le_i32: {error}"))?,
            samples: serde_json::from_value(fields.need("samples")?)
                .map_err(|error| format!("digest: samples: {error}"))?,
        };
        fields.finish()?;
        Ok(digest)
    }

    fn check<T: Element>(&self, output: &[T]) -> Result<(), String> {
        let output: Vec<i32> = output
            .iter()
            .map(|element| element.as_i32())
            .collect::<Option<_>>()
            .ok_or("the output of a digest has an element that is no i32")?;
        same("len", self.len, output.len() as u64)?;
        same("sum", self.sum, output.iter().map(|&v| i64::from(v)).sum())?;
        for &(position, value) in &self.samples {
            let found = output.get(position).copied();
            same(&format!("element {position}"), Some(value), found)?;
        }
        same("fnv1a64", self.fnv1a64, fnv1a64(&output))
    }
}

/// FNV-1a, 64 bits, over the little-endian bytes.
fn fnv1a64(values: &[i32]) -> u64 {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Result<(), String> {
    match expected == found {
        true => Ok(()),
        false => Err(format!("{what}: expected {expected:?}, got {found:?}")),
    }
}

impl<T: Element> Expected<T> {
    pub fn parse(mut fields: Fields) -> Result<Self, String> {
        // The peer's error message, which differs from the crate's.
        fields.ignore(&["why", "peer_message", "message_contains"]);
        if !fields.flag("ok")? {
            fields.finish()?;
            return Ok(Expected::Refused);
        }
        let shape = sizes("expect.shape", &fields.need("shape")?)?;
        let parse = |value: &Value| elements("expect.data", value, element_count(&shape)?);
        let outputs = match (fields.take("data"), fields.take("outputs")) {
            (None, None) => None,
            (Some(data), None) => Some(vec![parse(&data)?]),
            (None, Some(Value::Array(outputs))) => {
                Some(outputs.iter().map(parse).collect::<Result<_, _>>()?)
            }
            _ => return Err("expect needs data or outputs, as lists".into()),
        };
        let digest = fields.take("digest").map(Digest::parse).transpose()?;
        fields.finish()?;
        Ok(Expected::Answer {
            shape,
            outputs,
            digest,
        })
    }

    /// Compares the answer with the expected one. An error shows both.
    pub fn check(&self, answer: &Result<Answer<T>, BroadcastError>) -> Result<(), String> {
        let (shape, outputs, digest) = match (self, answer) {
            (Expected::Refused, Err(_)) => return Ok(()),
            (Expected::Refused, Ok(answer)) => {
                return Err(format!("expected an error, got shape {:?}", answer.shape));
            }
            // With 32 bits, no array has so many elements.
            (Expected::Answer { shape, .. }, Err(error))
                if usize::BITS == 32
                    && matches!(error.kind(), ErrorKind::ShapeOverflow { .. })
                    && len(shape).is_none_or(|len| isize::try_from(len).is_err()) =>
            {
                return Ok(());
            }
            (Expected::Answer { shape, .. }, Err(error)) => {
                return Err(format!("expected shape {shape:?}, got the error {error}"));
            }
            (
                Expected::Answer {
                    shape,
                    outputs,
                    digest,
                },
                Ok(_),
            ) => (shape, outputs, digest),
        };
        let answer = answer.as_ref().map_err(ToString::to_string)?;
        same("shape", shape, &answer.shape)?;
        if outputs.is_none() && digest.is_none() {
            return Ok(());
        }
        let found =
            (answer.outputs.as_ref()).ok_or("expected data, but the case has no input data")?;
        if let Some(outputs) = outputs {
            same("number of outputs", outputs.len(), found.len())?;
            for (position, (expected, found)) in outputs.iter().zip(found).enumerate() {
                same_data(position, expected, found)?;
            }
        }
        match (digest, &found[..]) {
            (None, _) => Ok(()),
            (Some(digest), [output]) => digest.check(output),
            (Some(_), _) => Err("a digest of more than one output".into()),
        }
    }
}

fn same_data<T: Element>(output: usize, expected: &[T], found: &[T]) -> Result<(), String> {
    /// The number of elements that an error shows.
    const SHOWN: usize = 48;
    same("length of the data", expected.len(), found.len())?;
    match expected.iter().zip(found).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => {
            let window = at.saturating_sub(SHOWN / 2)..(at + SHOWN / 2).min(expected.len());
            Err(format!(
                "output {output} differs at {at}; from {}: expected {:?}, got {:?}",
                window.start,
                &expected[window.clone()],
                &found[window.clone()],
            ))
        }
    }
}

/// The elements of a shape, as far as they can be counted.
fn len(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |len, &n| len.checked_mul(n))
}
