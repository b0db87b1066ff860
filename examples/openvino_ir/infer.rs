//! The output shapes of layers that broadcast, from shapes that are known in part.

use crate::model::Layer;
use crate::values::Value;
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use ndarray_broadcast::{BroadcastError, BroadcastMode, ElementwiseRule, axes_from_integers};

/// What is known of an input.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub shape: &'a PartialShape,
    pub value: Option<&'a Value>,
}

/// The largest rank of a target shape without known sizes that is inferred.
const MAXIMUM_RANK: usize = 1000;

/// The layers that combine two operands by their `auto_broadcast`.
const ELEMENTWISE: [&str; 24] = [
    "Add",
    "BitwiseAnd",
    "BitwiseLeftShift",
    "BitwiseOr",
    "BitwiseRightShift",
    "BitwiseXor",
    "Divide",
    "Equal",
    "FloorMod",
    "Greater",
    "GreaterEqual",
    "Less",
    "LessEqual",
    "LogicalAnd",
    "LogicalOr",
    "LogicalXor",
    "Maximum",
    "Minimum",
    "Mod",
    "Multiply",
    "NotEqual",
    "Power",
    "SquaredDifference",
    "Subtract",
];

/// The output shape of a layer; `None` if layers of its kind do not broadcast.
pub fn infer(layer: &Layer, inputs: &[Input<'_>]) -> Result<Option<PartialShape>, String> {
    let in_layer = |error: BroadcastError| layer.of_error(&error);
    let shapes: Vec<&PartialShape> = inputs.iter().map(|input| input.shape).collect();
    let inferred = match (&layer.kind[..], &shapes[..]) {
        ("Broadcast", [_, _] | [_, _, _]) => broadcast(layer, inputs)?,
        (kind, &[a, b]) if ELEMENTWISE.contains(&kind) => {
            layer.rule()?.infer(a, b).map_err(in_layer)?
        }
        ("Select", &[condition, then, other]) => {
            let rule = layer.rule()?;
            // By pdpd, the condition and the other are broadcast to the first of the two.
            (rule.infer(then, other))
                .and_then(|values| rule.infer(&values, condition))
                .map_err(in_layer)?
        }
        ("PReLU" | "PRelu", &[data, slope]) => {
            (prelu_rule(data, slope).infer(data, slope)).map_err(in_layer)?
        }
        ("FakeQuantize", &[data, ref limits @ ..]) if limits.len() == 4 => {
            let rule = layer.rule()?;
            let infer = |shape: PartialShape, limit: &&PartialShape| rule.infer(&shape, limit);
            limits
                .iter()
                .try_fold(data.clone(), infer)
                .map_err(in_layer)?
        }
        ("MatMul", &[a, b]) => mat_mul(layer, a, b)?,
        (kind, [_, _]) if kind.starts_with("Reduce") => reduced(layer, inputs[0].shape, inputs[1])?,
        (kind, _) if broadcasts(kind) => {
            return Err(format!(
                "{layer}: the number of its inputs is {}",
                inputs.len()
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some(inferred))
}

fn broadcasts(kind: &str) -> bool {
    ELEMENTWISE.contains(&kind)
        || kind.starts_with("Reduce")
        || [
            "Broadcast",
            "Select",
            "PReLU",
            "PRelu",
            "FakeQuantize",
            "MatMul",
        ]
        .contains(&kind)
}

fn broadcast(layer: &Layer, inputs: &[Input<'_>]) -> Result<PartialShape, String> {
    let operator = layer.broadcast_operator()?;
    let list = |what: &str, input: &Input<'_>| match (input.shape.sizes(), input.value) {
        (Some([_]), Some(value)) => value.shape().map_err(|entry| {
            format!("{layer}: an entry of {what} is {entry}: it must not be negative")
        }),
        (Some([count]), None) => Ok(match count.value() {
            Some(count @ ..=MAXIMUM_RANK) => PartialShape::new(vec![PartialSize::ANY; count]),
            _ => PartialShape::UNKNOWN,
        }),
        (None, _) => Ok(PartialShape::UNKNOWN),
        (Some(_), _) => Err(format!(
            "{layer}: {what} has shape {}, and it must have rank 1",
            input.shape
        )),
    };
    let target_shape = list("target_shape", &inputs[1])?;
    let axes_mapping = (inputs.get(2))
        .filter(|axes| layer.takes_axes_mapping(operator, axes.shape.rank()))
        .map(|axes| list("axes_mapping", axes))
        .transpose()?;
    (operator.infer(inputs[0].shape, &target_shape, axes_mapping.as_ref()))
        .map_err(|error| layer.of_error(&error))
}

/// One slope for each channel is aligned with axis 1; any other broadcasts by NumPy's rule.
pub fn prelu_rule(data: &PartialShape, slope: &PartialShape) -> ElementwiseRule {
    match (data.sizes(), slope.sizes()) {
        (Some([_, channels, ..]), Some([slopes])) if channels == slopes => {
            ElementwiseRule::channel(1)
        }
        _ => ElementwiseRule::Numpy,
    }
}

/// Axes as positions. Negative ones count from the end.
pub fn positions(layer: &Layer, axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    axes_from_integers(axes, rank).map_err(|error| layer.of_error(&error))
}

fn reduced(layer: &Layer, data: &PartialShape, axes: Input<'_>) -> Result<PartialShape, String> {
    let keep = layer.flag("keep_dims", false)?;
    let Some(sizes) = data.sizes() else {
        return Ok(PartialShape::UNKNOWN);
    };
    let Some(axes) = axes.value.and_then(Value::known) else {
        let size_or_1 = |size: &PartialSize| match size.max() {
            None => PartialSize::from(size.min().min(1)..),
            Some(max) => PartialSize::between(size.min().min(1), max.max(1)).unwrap_or(*size),
        };
        return Ok(match keep {
            true => PartialShape::new(sizes.iter().map(size_or_1)),
            false => PartialShape::UNKNOWN,
        });
    };
    let axes = positions(layer, &axes, sizes.len())?;
    let kept = (sizes.iter().enumerate())
        .map(|(axis, &size)| if axes.contains(&axis) { 1.into() } else { size });
    // A reduction is the transpose of a broadcast: the reduced shape broadcasts to the data's.
    (BroadcastMode::Numpy.infer(&PartialShape::new(kept.clone()), data))
        .map_err(|error| layer.of_error(&error))?;
    Ok(match keep {
        true => PartialShape::new(kept),
        false => PartialShape::new(
            (kept.enumerate())
                .filter(|(axis, _)| !axes.contains(axis))
                .map(|(_, size)| size),
        ),
    })
}

/// The axes before the last two broadcast by NumPy's rule.
fn mat_mul(layer: &Layer, a: &PartialShape, b: &PartialShape) -> Result<PartialShape, String> {
    let in_layer = |error: BroadcastError| layer.of_error(&error);
    let (Some(a), Some(b)) = (a.sizes(), b.sizes()) else {
        return Ok(PartialShape::UNKNOWN);
    };
    let (a, rows, a_contracted) = matrix(layer, a, layer.flag("transpose_a", false)?)?;
    // The columns of b are kept, as if they were the rows of its transpose.
    let (b, columns, b_contracted) = matrix(layer, b, !layer.flag("transpose_b", false)?)?;
    let [a_contracted, b_contracted] = [a_contracted, b_contracted].map(|s| PartialShape::new([s]));
    (ElementwiseRule::None.infer(&a_contracted, &b_contracted)).map_err(in_layer)?;
    let [a, b] = [a, b].map(|leading| PartialShape::new(leading.iter().copied()));
    let leading = ElementwiseRule::Numpy.infer(&a, &b).map_err(in_layer)?;
    let leading = leading.sizes().unwrap_or_default().iter().copied();
    Ok(PartialShape::new(leading.chain(rows).chain(columns)))
}

/// The leading axes of an operand of a product, its axis that is kept, and the contracted one.
type Matrix<'a> = (&'a [PartialSize], Option<PartialSize>, PartialSize);

/// The rows of an operand are kept or, if it is transposed, its columns.
fn matrix<'a>(
    layer: &Layer,
    sizes: &'a [PartialSize],
    transposed: bool,
) -> Result<Matrix<'a>, String> {
    match *sizes {
        [] => Err(format!("{layer}: an operand has rank 0")),
        [size] => Ok((&[], None, size)),
        [ref leading @ .., rows, columns] => Ok(match transposed {
            true => (leading, Some(columns), rows),
            false => (leading, Some(rows), columns),
        }),
    }
}
