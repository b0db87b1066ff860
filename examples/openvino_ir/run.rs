//! Runs the layers of a model.

use crate::model::{Layer, Model};
use crate::tensor::{Element, Tensor, byte_count, with_array};
use ndarray::ArrayD;
use ndarray_broadcast::openvino::{Broadcast, IntegerTensor, Mode};
use ndarray_broadcast::prelude::*;

/// The limit on the bytes of all tensors of a model.
pub const MAXIMUM_BYTES: usize = 1 << 30;

/// The supported kinds of layers.
const KNOWN: [&str; 10] = [
    "Parameter",
    "Const",
    "Result",
    "Broadcast",
    "Add",
    "Subtract",
    "Multiply",
    "Divide",
    "Maximum",
    "Minimum",
];

impl Model {
    /// Returns an error if the model has a layer of an unknown kind.
    pub fn check_kinds(&self) -> Result<(), String> {
        match (self.layers.iter()).find(|layer| !KNOWN.contains(&&layer.kind[..])) {
            None => Ok(()),
            Some(layer) => Err(format!(
                "{layer}: this kind of layer is unknown here; known are {}",
                KNOWN.join(", ")
            )),
        }
    }

    /// Runs the model and returns the tensor of its one `Result`. `inputs` has one tensor for each
    /// `Parameter`, in their order.
    pub fn run(&self, inputs: Vec<Tensor>) -> Result<Tensor, String> {
        let results: Vec<usize> = self.of_kind("Result").collect();
        let [result] = results[..] else {
            return Err(format!("the model has {} results, not one", results.len()));
        };
        let mut values: Vec<Option<Tensor>> = self.layers.iter().map(|_| None).collect();
        for (parameter, input) in self.of_kind("Parameter").zip(inputs) {
            check_parameter(&self.layers[parameter], &input)?;
            values[parameter] = Some(input);
        }
        let (mut output, mut bytes) = (None, 0);
        for &at in &self.order {
            let layer = &self.layers[at];
            let operands: Vec<&Tensor> = (self.sources[at].iter())
                .map(|&(source, _)| values[source].as_ref())
                .collect::<Option<_>>()
                .ok_or_else(|| format!("{layer}: a layer that feeds it gives nothing"))?;
            let value = match (&layer.kind[..], &operands[..]) {
                ("Parameter", []) => continue,
                ("Const", []) => self.constant(layer)?,
                ("Result", [value]) if at == result => {
                    output = Some((*value).clone());
                    continue;
                }
                ("Broadcast", [data, target_shape]) => broadcast(layer, data, target_shape, None)?,
                ("Broadcast", [data, target_shape, axes]) => {
                    broadcast(layer, data, target_shape, Some(axes))?
                }
                ("Add" | "Subtract" | "Multiply" | "Divide" | "Maximum" | "Minimum", [a, b]) => {
                    elementwise(layer, a, b)?
                }
                _ => {
                    return Err(format!(
                        "{layer}: the number of its inputs is {}",
                        operands.len()
                    ));
                }
            };
            check_output(layer, &value)?;
            bytes += byte_count(value.shape(), value.element_type().size(), MAXIMUM_BYTES)?;
            if bytes > MAXIMUM_BYTES {
                return Err(format!(
                    "{layer}: with its output, the model's tensors pass \
                     this example's limit of {MAXIMUM_BYTES} bytes"
                ));
            }
            values[at] = Some(value);
        }
        output.ok_or_else(|| "the model's result is not reached".into())
    }
}

fn check_parameter(layer: &Layer, input: &Tensor) -> Result<(), String> {
    let (element_type, shape) = layer.declared()?;
    if input.element_type() != element_type || input.shape() != shape {
        return Err(format!(
            "{layer}: the model wants {element_type} {shape:?}, and the input is {} {:?}",
            input.element_type(),
            input.shape()
        ));
    }
    Ok(())
}

/// Compares the shape of an output with the shape that the model declares.
fn check_output(layer: &Layer, value: &Tensor) -> Result<(), String> {
    let [port] = &layer.outputs[..] else {
        return Err(format!(
            "{layer}: it has {} outputs, not one",
            layer.outputs.len()
        ));
    };
    let fits =
        |(stated, size): (&Option<usize>, &usize)| stated.is_none_or(|stated| stated == *size);
    match port.dims.len() == value.shape().len() && port.dims.iter().zip(value.shape()).all(fits) {
        true => Ok(()),
        false => {
            let stated: Vec<String> = (port.dims.iter())
                .map(|dim| dim.map_or("-1".into(), |size| size.to_string()))
                .collect();
            Err(format!(
                "{layer}: its output has shape {:?}, and the model says [{}]",
                value.shape(),
                stated.join(", ")
            ))
        }
    }
}

fn broadcast(
    layer: &Layer,
    data: &Tensor,
    target_shape: &Tensor,
    axes_mapping: Option<&Tensor>,
) -> Result<Tensor, String> {
    let operator = match operation_set(layer)? {
        1 | 2 => Broadcast::v1(),
        _ => Broadcast::v3(),
    };
    let in_layer = |error: BroadcastError| format!("{layer}: {}", one_line(&error));
    let mode = layer.attribute("mode").unwrap_or("numpy");
    let mode = match mode.parse().map_err(in_layer)? {
        Mode::Pdpd { .. } => Mode::Pdpd {
            axis: axis(layer, &["mode.auto_broadcast_axis", "mode.axis"])?,
        },
        mode => mode,
    };
    let operator = operator.with_mode(mode).map_err(in_layer)?;
    // Broadcast-1 takes a mapping only in mode explicit. OpenVINO writes one in any mode: a scalar
    // without meaning.
    let axes_mapping = axes_mapping.filter(|axes| {
        operator.version() != 1 || mode == Mode::Explicit || !axes.shape().is_empty()
    });
    let target_shape = integers(layer, "target_shape", target_shape)?;
    let axes_mapping =
        (axes_mapping.map(|axes| integers(layer, "axes_mapping", axes))).transpose()?;
    // Check the size of the output before allocating it.
    let plan = operator
        .plan(data.shape(), target_shape, axes_mapping)
        .map_err(in_layer)?;
    byte_count(
        plan.output_shape(),
        data.element_type().size(),
        MAXIMUM_BYTES,
    )
    .map_err(|problem| format!("{layer}: {problem}"))?;
    // Own the output: the next layer may be of any kind.
    with_array!(data, array => plan.view(array).and_then(|view| Ok(view.materialize()?.into())))
        .map_err(in_layer)
}

fn integers<'a>(
    layer: &Layer,
    what: &str,
    tensor: &'a Tensor,
) -> Result<&'a dyn IntegerTensor, String> {
    as_integers(tensor).ok_or_else(|| {
        format!(
            "{layer}: {what} is a tensor of {}, not of integers",
            tensor.element_type()
        )
    })
}

/// A tensor of integers as sizes or axes; `None` for other element types.
fn as_integers(tensor: &Tensor) -> Option<&dyn IntegerTensor> {
    match tensor {
        Tensor::I8(array) => Some(array),
        Tensor::I16(array) => Some(array),
        Tensor::I32(array) => Some(array),
        Tensor::I64(array) => Some(array),
        Tensor::U8(array) => Some(array),
        Tensor::U16(array) => Some(array),
        Tensor::U32(array) => Some(array),
        Tensor::U64(array) => Some(array),
        Tensor::F16(_) | Tensor::F32(_) | Tensor::F64(_) | Tensor::Boolean(_) => None,
    }
}

/// Parses the number of an operation set, as in `opset3`.
fn operation_set(layer: &Layer) -> Result<u32, String> {
    /// The newest operation set of OpenVINO.
    const LAST: u32 = 16;
    (layer.version.strip_prefix("opset"))
        .and_then(|number| number.parse().ok())
        .filter(|number| (1..=LAST).contains(number))
        .ok_or_else(|| format!("{layer}: operation set {:?} is unknown here", layer.version))
}

/// The axis of pdpd, an attribute with any of these names. The default is 0.
fn axis(layer: &Layer, names: &[&str]) -> Result<isize, String> {
    match names.iter().find_map(|name| layer.attribute(name)) {
        None => Ok(0),
        Some(text) => {
            (text.parse()).map_err(|_| format!("{layer}: axis is {text:?}, not an integer"))
        }
    }
}

fn elementwise(layer: &Layer, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
    let name = layer.attribute("auto_broadcast").unwrap_or("numpy");
    let rule = match &name.to_ascii_lowercase()[..] {
        "none" => ElementwiseRule::None,
        "numpy" => ElementwiseRule::Numpy,
        "pdpd" => ElementwiseRule::Pdpd {
            axis: axis(layer, &["auto_broadcast.auto_broadcast_axis"])?,
        },
        _ => {
            return Err(format!(
                "{layer}: auto_broadcast is {name:?}; known are none, numpy and pdpd"
            ));
        }
    };
    macro_rules! dispatch {
        (integers: $($integer:ident)*; floats: $($float:ident)*) => {
            match (a, b) {
                $((Tensor::$integer(a), Tensor::$integer(b)) => map(
                    layer, &rule, a, b,
                    match &layer.kind[..] {
                        "Add" => |a, b| a.wrapping_add(b),
                        "Subtract" => |a, b| a.wrapping_sub(b),
                        "Multiply" => |a, b| a.wrapping_mul(b),
                        "Maximum" => |a, b| a.max(b),
                        "Minimum" => |a, b| a.min(b),
                        _ => return Err(format!("{layer}: integers are not divided here")),
                    },
                ).map(Tensor::$integer),)*
                $((Tensor::$float(a), Tensor::$float(b)) => map(
                    layer, &rule, a, b,
                    match &layer.kind[..] {
                        "Add" => |a, b| a + b,
                        "Subtract" => |a, b| a - b,
                        "Multiply" => |a, b| a * b,
                        "Divide" => |a, b| a / b,
                        "Maximum" => |a, b| if a < b { b } else { a },
                        _ => |a, b| if b < a { b } else { a },
                    },
                ).map(Tensor::$float),)*
                _ => Err(format!(
                    "{layer}: it cannot be done with {} and {}",
                    a.element_type(),
                    b.element_type()
                )),
            }
        };
    }
    dispatch!(integers: I8 I16 I32 I64 U8 U16 U32 U64; floats: F16 F32 F64)
}

/// Applies `f` to the operands, broadcast by the rule without copies.
fn map<T: Element>(
    layer: &Layer,
    rule: &ElementwiseRule,
    a: &ArrayD<T>,
    b: &ArrayD<T>,
    f: fn(T, T) -> T,
) -> Result<ArrayD<T>, String> {
    let in_layer = |error: BroadcastError| format!("{layer}: {}", one_line(&error));
    // Check the size of the output before allocating it.
    let (plan, _) = BroadcastPlan::pair(a.raw_dim(), b.raw_dim(), rule).map_err(in_layer)?;
    byte_count(plan.output_shape(), T::SIZE, MAXIMUM_BYTES)
        .map_err(|problem| format!("{layer}: {problem}"))?;
    broadcast_pair(a, b, rule)
        .and_then(|views| zip(views).map_collect(|(a, b)| f(a, b)))
        .map_err(in_layer)
}

/// An error without its picture: the first line, and the remark under the axis at fault.
fn one_line(error: &BroadcastError) -> String {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) => format!("{first}: {}", last.trim().trim_start_matches("^ ")),
        None => first.to_owned(),
    }
}
