//! Gradients: the cotangent of the output, summed over what each plan replicated.

use crate::element::{element_count, elements};
use crate::fields::{Fields, sizes};
use crate::{many, pair, single};
use ndarray::{ArrayD, Dimension, IxDyn};
use ndarray_broadcast::prelude::*;
use serde_json::Value;

/// The gradient with respect to the input of a plan.
fn gradient(plan: &BroadcastPlan, cotangent: &ArrayD<f64>) -> Result<ArrayD<f64>, BroadcastError> {
    let mut sum = ArrayD::zeros(IxDyn(plan.input_shape()));
    for (index, value) in cotangent.indexed_iter() {
        let mut source = vec![0; plan.input_shape().len()];
        for (position, fed) in index.slice().iter().zip(plan.mapping()) {
            match fed {
                Some(axis) if plan.input_shape()[axis] != 1 => source[axis] = *position,
                _ => {}
            }
        }
        sum[&source[..]] += value;
    }
    Ok(sum)
}

/// Runs a case, whose element type is f64.
pub fn run(mut case: Fields) -> Result<(), String> {
    case.ignore(&["source_id", "how"]);
    match &case.text("dtype")?[..] {
        "f64" => {}
        other => return Err(format!("unknown dtype {other:?} of a gradient")),
    }
    let rule = case.text("of")?;
    let input_shapes: Vec<Vec<usize>> = match case.need("input_shapes")? {
        Value::Array(shapes) => (shapes.iter())
            .map(|shape| sizes("input_shapes", shape))
            .collect::<Result<_, _>>()?,
        other => return Err(format!("input_shapes is {other}, not a list")),
    };
    let output_shape = sizes("output_shape", &case.need("output_shape")?)?;
    let cotangent = elements::<f64>(
        "cotangent",
        &case.need("cotangent")?,
        element_count(&output_shape)?,
    )?;
    let cotangent = ArrayD::from_shape_vec(IxDyn(&output_shape), cotangent)
        .map_err(|error| error.to_string())?;
    let args = case.object("args")?;
    let mut expect = case.object("expect")?;
    case.finish()?;

    let plans = plans(&rule, args, &input_shapes)?;
    if !expect.flag("ok")? {
        return Err("a gradient of what was refused".into());
    }
    let gradients = match expect.need("grads")? {
        Value::Array(gradients) => gradients,
        other => return Err(format!("grads is {other}, not a list")),
    };
    expect.finish()?;
    if plans.len() != input_shapes.len() || gradients.len() != input_shapes.len() {
        return Err("not one plan and one gradient for each input".into());
    }
    for (position, (plan, expected)) in plans.iter().zip(gradients).enumerate() {
        let mut expected = Fields::new("a gradient", expected)?;
        let shape = sizes("grads.shape", &expected.need("shape")?)?;
        let data = expected.need("data")?;
        let data = elements::<f64>("grads.data", &data, element_count(&shape)?)?;
        expected.finish()?;
        if plan.input_shape() != input_shapes[position] || plan.output_shape() != output_shape {
            return Err(format!("input {position}: the plan is {plan:?}"));
        }
        let found = gradient(plan, &cotangent).map_err(|error| error.to_string())?;
        if found.shape() != shape || !found.iter().eq(&data) {
            return Err(format!(
                "gradient of input {position}: expected {shape:?} {data:?}, got {found:?}"
            ));
        }
    }
    Ok(())
}

/// The plan of each input under the rule.
fn plans(
    rule: &str,
    mut args: Fields,
    input_shapes: &[Vec<usize>],
) -> Result<Vec<BroadcastPlan>, String> {
    let first = input_shapes.first().ok_or("a gradient without inputs")?;
    if rule == "numpy_broadcast" {
        match &args.text("fn")?[..] {
            "broadcast_to" => {}
            "broadcast_arrays" => {
                let call = many::Call::parse(&mut args)?;
                args.finish()?;
                return call.plans().map_err(|error| error.to_string());
            }
            other => return Err(format!("unknown fn {other:?} of a gradient")),
        }
    }
    let plans = if let Some(call) = pair::Call::parse(rule, &mut args)? {
        call.plans(first).map(Vec::from)
    } else if let Some(call) = single::Call::parse(rule, &mut args, first)? {
        call.plan(first).map(|plan| vec![plan])
    } else {
        return Err(format!("unknown rule {rule:?}"));
    };
    args.finish()?;
    plans.map_err(|error| error.to_string())
}
