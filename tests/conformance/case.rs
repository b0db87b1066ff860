//! Runs one case.

use super::answer::Expected;
use super::element::{Element, element_count, elements};
use super::fields::{Fields, Integers};
use super::{gradients, many, pair, partial, single};
use ndarray_broadcast::AxisSource;
use serde_json::Value;

pub enum Verdict {
    Passed,
    Failed(String),
    /// With the flag and its reason.
    Skipped(String),
}

pub fn run(case: Value) -> Verdict {
    match judge(case) {
        Ok(None) => Verdict::Passed,
        Ok(Some(why)) => Verdict::Skipped(why),
        Err(why) => Verdict::Failed(why),
    }
}

/// Returns `None` if the case passed, the reason if it is flagged to be skipped.
fn judge(case: Value) -> Result<Option<String>, String> {
    let mut case = Fields::new("the case", case)?;
    // A flag is `true` or a reason.
    let mut flagged = |flag: &str| match case.take(flag) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(format!("{flag}, without a reason"))),
        Some(Value::String(why)) => Ok(Some(format!("{flag}: {why}"))),
        Some(other) => Err(format!("{flag} is {other}")),
    };
    for flag in ["not_applicable", "superseded"] {
        if let Some(why) = flagged(flag)? {
            return Ok(Some(why));
        }
    }
    // Shapes are known in part.
    let dynamic = flagged("dynamic")?.is_some();
    let id = case.text("id")?;
    if id.is_empty() {
        return Err("the id is empty".into());
    }
    // The origin of the case and comments on it.
    case.ignore(&[
        "tag",
        "note",
        "disputed",
        "peer",
        "peer_used",
        "source",
        "where",
        "test",
        "literal",
    ]);
    let rule = case.text("rule")?;
    if rule == "gradients" {
        return gradients::run(case).map(|()| None);
    }
    if dynamic {
        return partial::run_dynamic(&rule, case).map(|()| None);
    }
    if partial::is_partial(&rule) {
        return partial::run(&rule, case).map(|()| None);
    }
    let dtype = match case.take("dtype") {
        None => "i64".into(),
        Some(Value::String(dtype)) => dtype,
        Some(other) => return Err(format!("dtype is {other}")),
    };
    match &dtype[..] {
        "i8" => typed::<i8>(&rule, case),
        "i32" => typed::<i32>(&rule, case),
        "i64" => typed::<i64>(&rule, case),
        "u8" => typed::<u8>(&rule, case),
        "f32" => typed::<f32>(&rule, case),
        "f64" => typed::<f64>(&rule, case),
        other => Err(format!("unknown dtype {other:?}")),
    }
    .map(|()| None)
}

fn typed<T: Element>(rule: &str, mut case: Fields) -> Result<(), String> {
    let expected = Expected::<T>::parse(case.object("expect")?)?;
    let mut args = case.object("args")?;

    // Under this rule, the arrays may be in the arguments instead of the case's input.
    let function = match rule {
        "numpy_broadcast" => Some(args.text("fn")?),
        _ => None,
    };
    match function.as_deref() {
        None | Some("broadcast_to") => {}
        Some(function @ ("broadcast_arrays" | "broadcast_shapes")) => {
            let call = many::Call::parse(&mut args)?;
            args.finish()?;
            case.finish()?;
            let answer = match function {
                "broadcast_arrays" => call.arrays()?,
                _ => call.shape(),
            };
            return expected.check(&answer);
        }
        Some(other) => return Err(format!("unknown fn {other:?}")),
    }

    let shape = match case.integers("input_shape")?.shape() {
        Ok(shape) => shape,
        // A negative size is rejected by the conversion, because no array can have it.
        Err(error) => return expected.check(&Err(error)),
    };
    let data = match case.take("input") {
        None => None,
        Some(value) => Some(elements::<T>("input", &value, element_count(&shape)?)?),
    };
    let replicated = match case.take("broadcast_axes") {
        None => None,
        Some(value) => Some(Integers::parse("broadcast_axes", &value)?),
    };
    case.finish()?;

    if let Some(call) = pair::Call::parse(rule, &mut args)? {
        args.finish()?;
        if replicated.is_some() {
            return Err("broadcast_axes of a case of two arrays".into());
        }
        return expected.check(&call.answer(&shape, data)?);
    }
    let Some(call) = single::Call::parse(rule, &mut args, &shape)? else {
        return Err(format!("unknown rule {rule:?}"));
    };
    let reverse = match args.take("then") {
        None => None,
        Some(Value::String(text)) => Some(
            (text.strip_prefix("Reverse axis "))
                .and_then(|axis| axis.parse().ok())
                .ok_or_else(|| format!("unknown then {text:?}"))?,
        ),
        Some(other) => return Err(format!("then is {other}")),
    };
    args.finish()?;
    if let Some(axes) = replicated {
        let axes = axes.axes().map_err(|error| error.to_string())?;
        let plan = call.plan(&shape).map_err(|error| error.to_string())?;
        let sources = plan.axis_sources().enumerate();
        let replicated = sources.filter(|(_, source)| !matches!(source, AxisSource::Kept(_)));
        if !replicated.map(|(axis, _)| axis).eq(axes.iter().copied()) {
            return Err(format!("expected broadcast axes {axes:?}, got {plan:?}"));
        }
    }
    expected.check(&call.answer(&shape, data, reverse)?)
}
