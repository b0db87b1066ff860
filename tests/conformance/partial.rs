//! Inference on shapes known in part.

use super::fields::Fields;
use super::single::axis;
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use ndarray_broadcast::openvino::{Broadcast, Mode};
use ndarray_broadcast::prelude::*;
use serde_json::Value;

/// Whether the rule names a case of `partial_shapes.json`.
pub fn is_partial(rule: &str) -> bool {
    ["none", "numpy", "pdpd"].contains(&rule) || operator(rule).is_some()
}

/// `v3_explicit` is version 3 in mode `explicit`.
fn operator(rule: &str) -> Option<(Broadcast, &str)> {
    let (version, mode) = rule.split_once('_')?;
    match version {
        "v1" => Some((Broadcast::v1(), mode)),
        "v3" => Some((Broadcast::v3(), mode)),
        _ => None,
    }
}

/// Runs a case of `partial_shapes.json`.
pub fn run(rule: &str, mut case: Fields) -> Result<(), String> {
    let expected = expected(case.object("expect")?)?;
    let mut shape = |key| case.need(key).and_then(|value| shape(key, &value));
    let answer = match operator(rule) {
        Some((operator, mode)) => {
            let (input, target) = (shape("input")?, shape("target")?);
            let mapping = match case.take("axes_mapping") {
                Some(mapping) => Some(self::shape("axes_mapping", &mapping)?),
                None => None,
            };
            infer(operator, mode, &input, &target, mapping.as_ref())
        }
        None => {
            let (a, b) = (shape("a")?, shape("b")?);
            let rule = match rule {
                "none" => ElementwiseRule::None,
                "numpy" => ElementwiseRule::Numpy,
                _ => ElementwiseRule::Pdpd {
                    axis: axis(&case.need("axis")?)?,
                },
            };
            rule.infer(&a, &b)
        }
    };
    case.finish()?;
    compare(answer, expected)
}

/// Runs a case that is flagged `dynamic`: an unknown size is `"?"`, an unknown rank has no shape.
pub fn run_dynamic(rule: &str, mut case: Fields) -> Result<(), String> {
    let expected = expected(case.object("expect")?)?;
    let input = match case.take("input_shape") {
        Some(value) => shape("input_shape", &value)?,
        None => PartialShape::UNKNOWN,
    };
    let mut args = case.object("args")?;
    let answer = match rule {
        "openvino_broadcast_v1" | "openvino_broadcast_v3" => {
            let operator = match rule {
                "openvino_broadcast_v1" => Broadcast::v1(),
                _ => Broadcast::v3(),
            };
            let target = shape("target_shape", &args.need("target_shape")?)?;
            let mapping = match args.take("axes_mapping") {
                Some(mapping) => Some(shape("axes_mapping", &mapping)?),
                None => None,
            };
            infer(
                operator,
                &args.text("mode")?,
                &input,
                &target,
                mapping.as_ref(),
            )
        }
        "ngraph_broadcast_axes" => {
            let target = shape("shape", &args.need("shape")?)?;
            let axes = args.integers("broadcast_axes")?.axes();
            axes.and_then(|broadcast_axes| {
                BroadcastMode::BroadcastAxes { broadcast_axes }.infer(&input, &target)
            })
        }
        other => return Err(format!("unknown rule {other:?} of a dynamic case")),
    };
    args.finish()?;
    case.finish()?;
    compare(answer, expected)
}

fn infer(
    operator: Broadcast,
    mode: &str,
    input: &PartialShape,
    target: &PartialShape,
    mapping: Option<&PartialShape>,
) -> Result<PartialShape, BroadcastError> {
    let mode: Mode = mode.parse()?;
    operator.with_mode(mode)?.infer(input, target, mapping)
}

/// The expected shape. `None`: an error.
fn expected(mut fields: Fields) -> Result<Option<PartialShape>, String> {
    fields.ignore(&["why", "peer_message", "message_contains"]);
    let expected = match fields.flag("ok")? {
        true => Some(shape("expect.shape", &fields.need("shape")?)?),
        false => None,
    };
    fields.finish()?;
    Ok(expected)
}

fn compare(
    answer: Result<PartialShape, BroadcastError>,
    expected: Option<PartialShape>,
) -> Result<(), String> {
    match (answer, expected) {
        (Ok(found), Some(expected)) if found == expected => Ok(()),
        (Err(_), None) => Ok(()),
        (Ok(found), expected) => Err(format!("expected {expected:?}, got {found}")),
        (Err(error), expected) => Err(format!("expected {expected:?}, got the error {error}")),
    }
}

/// A list of sizes, or null for an unknown rank.
fn shape(key: &str, value: &Value) -> Result<PartialShape, String> {
    match value {
        Value::Null => Ok(PartialShape::UNKNOWN),
        Value::Array(sizes) => {
            let sizes: Result<Vec<_>, _> = sizes.iter().map(size).collect();
            sizes
                .map(PartialShape::new)
                .map_err(|why| format!("{key}: {why}"))
        }
        other => Err(format!("{key} is {other}, not a shape")),
    }
}

/// A number, a pair of bounds of which the upper may be null, or `"?"`.
fn size(value: &Value) -> Result<PartialSize, String> {
    let number = |value: &Value| {
        value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let size = match value {
        Value::String(text) if text == "?" => Some(PartialSize::ANY),
        Value::Array(bounds) => match &bounds[..] {
            [min, Value::Null] => number(min).map(|min| (min..).into()),
            [min, max] => match (number(min), number(max)) {
                (Some(min), Some(max)) => PartialSize::between(min, max).ok(),
                _ => None,
            },
            _ => None,
        },
        value => number(value).map(PartialSize::known),
    };
    size.ok_or_else(|| format!("{value} is not a size"))
}
