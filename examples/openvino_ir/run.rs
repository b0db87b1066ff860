//! Runs the layers of a model.

use crate::convert::convert;
use crate::elementwise::{ARITHMETIC, COMPARISONS, LOGICAL, arithmetic, comparison, logical};
use crate::layers::broadcast;
use crate::model::{Graph, Layer, MAXIMUM_BYTES, Model};
use crate::reduce::{REDUCTIONS, reduce};
use crate::reshape::{reshape, shape_of, squeeze, unsqueeze};
use crate::select::{prelu, select};
use crate::tensor::{Tensor, byte_count};

/// The supported kinds of layers but those of [`ARITHMETIC`], [`COMPARISONS`], [`LOGICAL`] and
/// [`REDUCTIONS`].
const OTHERS: [&str; 11] = [
    "Parameter",
    "Const",
    "Result",
    "Broadcast",
    "Convert",
    "PReLU",
    "Reshape",
    "Select",
    "ShapeOf",
    "Squeeze",
    "Unsqueeze",
];

impl Model {
    /// Returns an error if the model has a layer of an unknown kind.
    pub fn check_kinds(&self) -> Result<(), String> {
        let known = [
            &OTHERS[..],
            &ARITHMETIC,
            &COMPARISONS,
            &LOGICAL,
            &REDUCTIONS,
        ]
        .concat();
        match (self.main().layers.iter()).find(|layer| !known.contains(&&layer.kind[..])) {
            None => Ok(()),
            Some(layer) => Err(format!(
                "{layer}: this kind of layer is unknown here; known are {}",
                known.join(", ")
            )),
        }
    }

    /// Runs the model and returns the tensor of its one `Result`. `inputs` has one tensor for each
    /// `Parameter`, in their order.
    pub fn run(&self, inputs: Vec<Tensor>) -> Result<Tensor, String> {
        let graph = self.main();
        let results: Vec<usize> = graph.of_kind("Result").collect();
        let [result] = results[..] else {
            return Err(format!("the model has {} results, not one", results.len()));
        };
        let ranks_are_known = ranks_are_known(graph)?;
        let mut values: Vec<Option<Tensor>> = graph.layers.iter().map(|_| None).collect();
        for (parameter, input) in graph.of_kind("Parameter").zip(inputs) {
            check_parameter(&graph.layers[parameter], &input)?;
            values[parameter] = Some(input);
        }
        let (mut output, mut bytes) = (None, 0);
        for &at in &graph.order {
            let layer = &graph.layers[at];
            let operands: Vec<&Tensor> = (graph.sources[at].iter())
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
                _ => compute(layer, &operands)?,
            };
            if ranks_are_known || layer.outputs.iter().any(|port| !port.dims.is_empty()) {
                check_output(layer, &value)?;
            }
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

/// The output of a layer with inputs.
fn compute(layer: &Layer, operands: &[&Tensor]) -> Result<Tensor, String> {
    match (&layer.kind[..], operands) {
        ("Broadcast", &[data, target_shape]) => broadcast(layer, data, target_shape, None),
        ("Broadcast", &[data, target_shape, axes]) => {
            broadcast(layer, data, target_shape, Some(axes))
        }
        (kind, &[a, b]) if ARITHMETIC.contains(&kind) => arithmetic(layer, a, b),
        (kind, &[a, b]) if COMPARISONS.contains(&kind) => comparison(layer, a, b),
        (kind, &[a, b]) if LOGICAL.contains(&kind) => logical(layer, a, b),
        (kind, &[data, axes]) if REDUCTIONS.contains(&kind) => reduce(layer, data, axes),
        ("Convert", &[data]) => convert(layer, data),
        ("PReLU", &[data, slope]) => prelu(layer, data, slope),
        ("Reshape", &[data, shape]) => reshape(layer, data, shape),
        ("Select", &[condition, then, other]) => select(layer, condition, then, other),
        ("ShapeOf", &[data]) => shape_of(layer, data),
        ("Squeeze", &[data]) => squeeze(layer, data, None),
        ("Squeeze", &[data, axes]) => squeeze(layer, data, Some(axes)),
        ("Unsqueeze", &[data, axes]) => unsqueeze(layer, data, axes),
        _ => Err(format!(
            "{layer}: the number of its inputs is {}",
            operands.len()
        )),
    }
}

/// Whether a port without sizes has rank 0. It may have any if the rank of a parameter is not known
/// beforehand.
fn ranks_are_known(graph: &Graph) -> Result<bool, String> {
    for parameter in graph.of_kind("Parameter") {
        if graph.layers[parameter].parameter_shape()?.rank().is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_parameter(layer: &Layer, input: &Tensor) -> Result<(), String> {
    let (element_type, shape) = (layer.element_type()?, layer.parameter_shape()?);
    if input.element_type() != element_type || !shape.contains(input.shape()) {
        return Err(format!(
            "{layer}: the model wants {element_type} {shape}, and the input is {} {:?}",
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
    let declared = port.shape();
    match declared.contains(value.shape()) {
        true => Ok(()),
        false => Err(format!(
            "{layer}: its output has shape {:?}, and the model says {declared}",
            value.shape(),
        )),
    }
}
