//! The layers `Select` and `PRelu`.

use crate::infer::{Input, infer, prelu_rule};
use crate::layers::{check_bytes, map, wrong_types};
use crate::model::Layer;
use crate::tensor::{Element, Tensor};
use ndarray::{ArrayD, Dimension, IxDyn};
use ndarray_broadcast::infer::PartialShape;
use ndarray_broadcast::prelude::*;

pub fn select(
    layer: &Layer,
    condition: &Tensor,
    then: &Tensor,
    other: &Tensor,
) -> Result<Tensor, String> {
    macro_rules! dispatch {
        ($($variant:ident)*) => {
            match (condition, then, other) {
                $((Tensor::Boolean(condition), Tensor::$variant(then), Tensor::$variant(other)) => {
                    choose(layer, condition, then, other).map(Tensor::$variant)
                })*
                _ => Err(wrong_types(layer, &[condition, then, other])),
            }
        };
    }
    dispatch!(F16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Boolean)
}

fn choose<T: Element>(
    layer: &Layer,
    condition: &ArrayD<bool>,
    then: &ArrayD<T>,
    other: &ArrayD<T>,
) -> Result<ArrayD<T>, String> {
    let shapes = [condition.shape(), then.shape(), other.shape()];
    let shapes = shapes.map(|shape| PartialShape::known(IxDyn(shape)));
    let inputs = shapes.each_ref().map(|shape| Input { shape, value: None });
    let output = infer(layer, &inputs)?.and_then(|shape| shape.value());
    let output = output.ok_or_else(|| format!("{layer}: its shape is not known"))?;
    check_bytes(layer, output.slice(), T::SIZE)?;
    // By pdpd, two of the operands are aligned with the first of the values.
    let in_layer = |error: BroadcastError| layer.of_error(&error);
    let rule = layer.rule()?;
    let like = |other_shape: &[usize]| {
        BroadcastPlan::pair(output.clone(), IxDyn(other_shape), &rule).map(|(_, plan)| plan)
    };
    let [condition_plan, other_plan] = [condition.shape(), other.shape()].map(like);
    let condition = condition_plan
        .and_then(|plan| plan.view(condition))
        .map_err(in_layer)?;
    let other = other_plan
        .and_then(|plan| plan.view(other))
        .map_err(in_layer)?;
    zip((&condition, then, &other))
        .map_collect(|(condition, then, other)| if condition { then } else { other })
        .map_err(in_layer)
}

pub fn prelu(layer: &Layer, data: &Tensor, slope: &Tensor) -> Result<Tensor, String> {
    let [data_shape, slope_shape] =
        [data.shape(), slope.shape()].map(|shape| PartialShape::known(IxDyn(shape)));
    let rule = prelu_rule(&data_shape, &slope_shape);
    macro_rules! dispatch {
        ($($variant:ident $t:ty)*) => {
            match (data, slope) {
                $((Tensor::$variant(data), Tensor::$variant(slope)) => {
                    let zero = <$t>::from(0_i8);
                    map(layer, &rule, data, slope, |x, slope| if x < zero { x * slope } else { x })
                        .map(Tensor::$variant)
                })*
                _ => Err(wrong_types(layer, &[data, slope])),
            }
        };
    }
    dispatch!(F16 half::f16 F32 f32 F64 f64)
}
