//! Gradients: the cotangent of the output, summed over the axes that each plan replicated.

use super::element::{element_count, elements};
use super::fields::{Fields, sizes};
use super::ranks::with_rank;
use super::{many, pair, single};
use ndarray::{Array, ArrayD, Dimension, IxDyn, ShapeBuilder};
use ndarray_broadcast::prelude::*;
use serde_json::Value;

/// The gradient with respect to the input of a plan. An `Err` if the crate's methods disagree.
fn gradient(plan: &BroadcastPlan, cotangent: &ArrayD<f64>) -> Result<ArrayD<f64>, String> {
    let text = |error: BroadcastError| error.to_string();
    let fresh = plan.gradient(cotangent).map_err(text)?;
    // Fortran order, so that the layouts of cotangent and output differ from the first call.
    let mut fortran = ArrayD::zeros(cotangent.raw_dim().f());
    fortran.assign(cotangent);
    let mut out = ArrayD::from_elem(fresh.raw_dim().f(), f64::NAN);
    plan.gradient_into(&fortran, &mut out).map_err(text)?;
    if out != fresh {
        return Err(format!("gradient gives {fresh:?}, gradient_into {out:?}"));
    }
    plan.gradient_accumulate(cotangent, &mut out)
        .map_err(text)?;
    if out != &fresh * 2.0 {
        return Err(format!(
            "gradient gives {fresh:?}, gradient_accumulate onto it {out:?}"
        ));
    }
    if plan.rule() == Rule::Numpy {
        let statically = with_rank!(plan.input_shape(), |input| {
            with_rank!(cotangent.shape(), |output| static_sum(
                input, output, cotangent
            ))
        });
        let dynamic = cotangent.reduce_to_shape(IxDyn(plan.input_shape()), Sum);
        for sum in [Some(dynamic), statically.flatten()].into_iter().flatten() {
            if sum.as_ref() != Ok(&fresh) {
                return Err(format!("gradient gives {fresh:?}, reduce_to_shape {sum:?}"));
            }
        }
    }
    Ok(fresh)
}

/// `reduce_to_shape` with static ranks.
fn static_sum<I: Dimension, O: Dimension>(
    input: I,
    _: O,
    cotangent: &ArrayD<f64>,
) -> Result<ArrayD<f64>, BroadcastError> {
    let cotangent = (cotangent.view().into_dimensionality::<O>()).expect("it has this rank");
    let sum: Array<f64, I> = cotangent.reduce_to_shape(input, Sum)?;
    Ok(sum.into_dyn())
}

/// Runs a case with element type f64.
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
        return Err("a gradient of a rejected broadcast".into());
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
        let found = gradient(plan, &cotangent)?;
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
