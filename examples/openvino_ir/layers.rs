//! What the layers share that run: broadcasts, limits, and integers of tensors.

use crate::model::{Layer, MAXIMUM_BYTES};
use crate::tensor::{Element, Tensor, byte_count, with_array};
use ndarray::ArrayD;
use ndarray_broadcast::openvino::IntegerTensor;
use ndarray_broadcast::prelude::*;

/// The layer `Broadcast`.
pub fn broadcast(
    layer: &Layer,
    data: &Tensor,
    target_shape: &Tensor,
    axes_mapping: Option<&Tensor>,
) -> Result<Tensor, String> {
    let operator = layer.broadcast_operator()?;
    let in_layer = |error: BroadcastError| layer.of_error(&error);
    let target_shape = integer_tensor(layer, "target_shape", target_shape)?;
    let axes_mapping = axes_mapping
        .filter(|axes| layer.takes_axes_mapping(operator, Some(axes.shape().len())))
        .map(|axes| integer_tensor(layer, "axes_mapping", axes))
        .transpose()?;
    let plan = operator
        .plan(data.shape(), target_shape, axes_mapping)
        .map_err(in_layer)?;
    check_bytes(layer, plan.output_shape(), data.element_type().size())?;
    // Own the output: the next layer may be of any kind.
    with_array!(data, array => plan.view(array).and_then(|view| Ok(view.materialize()?.into())))
        .map_err(in_layer)
}

/// Applies `f` to two operands, broadcast by the rule without copies.
pub fn map<A: Element, B: Element, C: Element>(
    layer: &Layer,
    rule: &ElementwiseRule,
    a: &ArrayD<A>,
    b: &ArrayD<B>,
    f: impl Fn(A, B) -> C + Sync,
) -> Result<ArrayD<C>, String> {
    let in_layer = |error: BroadcastError| layer.of_error(&error);
    let (plan, _) = BroadcastPlan::pair(a.raw_dim(), b.raw_dim(), rule).map_err(in_layer)?;
    check_bytes(layer, plan.output_shape(), C::SIZE)?;
    broadcast_pair(a, b, rule)
        .and_then(|views| zip(views).map_collect(|(a, b)| f(a, b)))
        .map_err(in_layer)
}

/// Checks the size of an output before it is allocated.
pub fn check_bytes(layer: &Layer, shape: &[usize], element_size: usize) -> Result<(), String> {
    (byte_count(shape, element_size, MAXIMUM_BYTES).map(drop))
        .map_err(|problem| format!("{layer}: {problem}"))
}

/// An error if the types of the operands do not fit the layer.
pub fn wrong_types(layer: &Layer, operands: &[&Tensor]) -> String {
    let types: Vec<String> = (operands.iter())
        .map(|operand| operand.element_type().to_string())
        .collect();
    format!("{layer}: it cannot be done with {}", types.join(" and "))
}

fn integer_tensor<'a>(
    layer: &Layer,
    what: &str,
    tensor: &'a Tensor,
) -> Result<&'a dyn IntegerTensor, String> {
    Ok(match tensor {
        Tensor::I8(array) => array,
        Tensor::I16(array) => array,
        Tensor::I32(array) => array,
        Tensor::I64(array) => array,
        Tensor::U8(array) => array,
        Tensor::U16(array) => array,
        Tensor::U32(array) => array,
        Tensor::U64(array) => array,
        Tensor::F16(_) | Tensor::F32(_) | Tensor::F64(_) | Tensor::Boolean(_) => {
            return Err(no_integers(layer, what, tensor));
        }
    })
}

/// The sizes or axes in a tensor of integers.
pub fn integers(layer: &Layer, what: &str, tensor: &Tensor) -> Result<Vec<i64>, String> {
    macro_rules! dispatch {
        ($($variant:ident)*) => {
            match tensor {
                $(Tensor::$variant(array) => array
                    .iter()
                    .map(|&entry| {
                        i64::try_from(entry)
                            .map_err(|_| format!("{layer}: {what} has an entry {entry}"))
                    })
                    .collect(),)*
                _ => Err(no_integers(layer, what, tensor)),
            }
        };
    }
    dispatch!(I8 I16 I32 I64 U8 U16 U32 U64)
}

fn no_integers(layer: &Layer, what: &str, tensor: &Tensor) -> String {
    format!(
        "{layer}: {what} is a tensor of {}, not of integers",
        tensor.element_type()
    )
}
