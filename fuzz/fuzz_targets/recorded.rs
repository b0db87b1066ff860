//! The cases of `tests/data/conformance` as seeds for the targets: as recorded, or mutated.

#![allow(dead_code)]

#[path = "../../tests/conformance/answer.rs"]
mod answer;
#[path = "../../tests/conformance/element.rs"]
mod element;
#[path = "../../tests/conformance/fields.rs"]
mod fields;
#[path = "../../tests/conformance/pair.rs"]
mod pair;
#[path = "../../tests/conformance/ranks.rs"]
mod ranks;
#[path = "../../tests/conformance/single.rs"]
mod single;

use crate::common::size;
use answer::{Answer, Expected};
use arbitrary::{Result, Unstructured};
use element::{Element, Operation, element_count, elements};
use fields::{Fields, sizes};
use ndarray::{ArrayD, IxDyn};
use ndarray_broadcast::openvino::{Broadcast, IntegerTensor, Mode};
use ndarray_broadcast::prelude::*;
use serde_json::Value;
use std::fmt::{self, Debug};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The broadcast of one array to a target shape.
#[derive(Debug, Clone)]
pub struct One {
    pub input: Vec<usize>,
    pub target: Vec<usize>,
    pub mode: BroadcastMode,
}

/// The broadcast of two arrays to their common shape.
#[derive(Debug, Clone)]
pub struct Two {
    pub a: Vec<usize>,
    pub b: Vec<usize>,
    pub rule: ElementwiseRule,
    operation: Option<Operation>,
}

/// A call of OpenVINO's operator.
#[derive(Debug, Clone)]
pub struct Operator {
    pub data: Vec<usize>,
    pub version_1: bool,
    pub mode: Mode,
    pub target: Vec<i64>,
    pub mapping: Option<Vec<i64>>,
}

/// A gradient, by any rule.
#[derive(Debug, Clone)]
pub struct Sum {
    pub plan: BroadcastPlan,
}

/// A call and its answer. The data of every element type are small integers and halves, which are
/// exact as `f64`.
pub struct Recorded<C> {
    id: String,
    pub call: C,
    /// `None` if only the shape is recorded.
    data: Vec<ArrayD<f64>>,
    expected: Expected<f64>,
}

/// Asserts that the recorded call gives the recorded answer.
pub trait Answered: Debug + Sync {
    fn assert_answered(&self);
}

impl<C> Debug for Recorded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

impl<C> Recorded<C> {
    fn assert(&self, output: std::result::Result<ArrayD<f64>, BroadcastError>) {
        self.check(output.map(|output| Answer {
            shape: output.shape().to_vec(),
            outputs: Some(vec![output.into_iter().collect()]),
        }));
    }

    fn assert_shape(&self, plan: std::result::Result<BroadcastPlan, BroadcastError>) {
        self.check(plan.map(|plan| Answer {
            shape: plan.output_shape().to_vec(),
            outputs: None,
        }));
    }

    fn check(&self, answer: std::result::Result<Answer<f64>, BroadcastError>) {
        if let Err(why) = self.expected.check(&answer) {
            panic!("{}: {why}", self.id);
        }
    }
}

impl Answered for Recorded<One> {
    fn assert_answered(&self) {
        let One {
            input,
            target,
            mode,
        } = &self.call;
        match &self.data[..] {
            [array] => self
                .assert((array.broadcast_to_mode(IxDyn(target), mode)).map(|view| view.to_owned())),
            _ => self.assert_shape(BroadcastPlan::with_mode(IxDyn(input), IxDyn(target), mode)),
        }
    }
}

impl Answered for Recorded<Two> {
    fn assert_answered(&self) {
        let call = &self.call;
        match (&self.data[..], call.operation) {
            ([a, b], Some(operation)) => {
                let f = |(a, b)| f64::apply(operation, a, b);
                let views = broadcast_pair(a, b, &call.rule);
                self.assert(views.and_then(|views| zip(views).map_collect(f)));
            }
            _ => self.assert_shape(
                BroadcastPlan::pair(IxDyn(&call.a), IxDyn(&call.b), &call.rule).map(|(a, _)| a),
            ),
        }
    }
}

impl Answered for Recorded<Operator> {
    fn assert_answered(&self) {
        let call = &self.call;
        let operator = match call.version_1 {
            true => Broadcast::v1(),
            false => Broadcast::v3(),
        };
        let mapping = call
            .mapping
            .as_ref()
            .map(|mapping| mapping as &dyn IntegerTensor);
        match (operator.with_mode(call.mode), &self.data[..]) {
            (Err(error), _) => self.assert_shape(Err(error)),
            (Ok(operator), [array]) => self.assert(
                (operator.evaluate(array, &call.target, mapping)).map(|view| view.to_owned()),
            ),
            (Ok(operator), _) => {
                self.assert_shape(operator.plan(IxDyn(&call.data), &call.target, mapping));
            }
        }
    }
}

impl Answered for Recorded<Sum> {
    fn assert_answered(&self) {
        self.assert(self.call.plan.gradient(&self.data[0]));
    }
}

#[derive(Default)]
pub struct Cases {
    pub one: Vec<Recorded<One>>,
    pub two: Vec<Recorded<Two>>,
    pub operator: Vec<Recorded<Operator>>,
    pub sum: Vec<Recorded<Sum>>,
}

pub static CASES: LazyLock<Cases> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/conformance");
    let mut files: Vec<PathBuf> = [folder, &format!("{folder}/upstream")]
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let mut cases = Cases::default();
    for file in files {
        let mut file: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        for case in file["cases"].as_array_mut().unwrap() {
            // Skip cases with negative sizes, more than two arrays or unknown modes.
            let _ = cases.read(case.take());
        }
    }
    cases
});

impl Cases {
    fn read(&mut self, case: Value) -> std::result::Result<(), String> {
        let said = |error: BroadcastError| error.to_string();
        let array = |key: &str, value: &Value, shape: &[usize]| {
            let data = elements(key, value, element_count(shape)?)?;
            ArrayD::from_shape_vec(IxDyn(shape), data).map_err(|error| error.to_string())
        };
        let mut case = Fields::new("the case", case)?;
        for flag in ["dynamic", "not_applicable", "superseded"] {
            if let Some(Value::Bool(true) | Value::String(_)) = case.take(flag) {
                return Err(flag.into());
            }
        }
        let id = case.text("id")?;
        let mut rule = case.text("rule")?;
        let mut args = case.object("args")?;
        if args.take("fn").is_some_and(|name| name != "broadcast_to") {
            return Err("any number of arrays".into());
        }
        if args.take("then").is_some() {
            return Err("more than a broadcast".into());
        }

        if rule == "gradients" {
            rule = case.text("of")?;
            let shapes = case.need("input_shapes")?;
            let first = sizes("input_shapes", &shapes[0])?;
            let plans = if let Some(call) = pair::Call::parse(&rule, &mut args)? {
                call.plans(&first).map(Vec::from)
            } else if let Some(call) = single::Call::parse(&rule, &mut args, &first)? {
                call.plan(&first).map(|plan| vec![plan])
            } else {
                return Err(rule);
            };
            let output = sizes("output_shape", &case.need("output_shape")?)?;
            let cotangent = array("cotangent", &case.need("cotangent")?, &output)?;
            let grads = case.object("expect")?.need("grads")?;
            for (i, plan) in plans.map_err(said)?.into_iter().enumerate() {
                let shape = sizes("shape", &grads[i]["shape"])?;
                let data = elements("data", &grads[i]["data"], element_count(&shape)?)?;
                self.sum.push(Recorded {
                    id: format!("{id}, input {i}"),
                    call: Sum { plan },
                    data: vec![cotangent.clone()],
                    expected: Expected::Answer {
                        shape,
                        outputs: Some(vec![data]),
                        digest: None,
                    },
                });
            }
            return Ok(());
        }

        let shape = case.integers("input_shape")?.shape().map_err(said)?;
        let mut data = Vec::new();
        if let Some(input) = case.take("input") {
            data.push(array("input", &input, &shape)?);
        }
        let expected = Expected::parse(case.object("expect")?)?;
        if let Some(call) = pair::Call::parse(&rule, &mut args)? {
            let b = call.rhs_shape.shape().map_err(said)?;
            if let Some(rhs) = &call.rhs {
                data.push(array("rhs", rhs, &b)?);
            }
            let call = Two {
                a: shape,
                b,
                rule: call.rule().map_err(said)?,
                operation: call.operation,
            };
            self.two.push(Recorded {
                id,
                call,
                data,
                expected,
            });
            return Ok(());
        }
        match single::Call::parse(&rule, &mut args, &shape)?.ok_or(rule)? {
            single::Call::Operator {
                version,
                mode,
                axis,
                target_shape,
                axes_mapping,
            } => {
                let tensor = |integers: &fields::Integers| integers.tensor().ok_or("more than i64");
                let call = Operator {
                    data: shape,
                    version_1: version == 1,
                    mode: single::operator_mode(&mode, axis).map_err(said)?,
                    target: tensor(&target_shape)?,
                    mapping: axes_mapping.as_ref().map(tensor).transpose()?,
                };
                self.operator.push(Recorded {
                    id,
                    call,
                    data,
                    expected,
                });
            }
            call => {
                let single::Ready::Mode(target, mode) = call.ready().map_err(said)? else {
                    return Err("no mode".into());
                };
                let call = One {
                    input: shape,
                    target,
                    mode,
                };
                self.one.push(Recorded {
                    id,
                    call,
                    data,
                    expected,
                });
            }
        }
        Ok(())
    }
}

/// Mutates a list: inserts, removes, moves or replaces one entry.
pub fn change(list: &mut Vec<usize>, bytes: &mut Unstructured<'_>) -> Result<()> {
    let at = bytes.int_in_range(0..=list.len())?;
    match bytes.int_in_range(0..=4_u8)? {
        0 => list.insert(at, size(bytes)?),
        _ if at == list.len() => {}
        1 => drop(list.remove(at)),
        2 => list.swap(0, at),
        3 => list[at] = 1,
        _ => list[at] = size(bytes)?,
    }
    Ok(())
}

/// Mutates the attributes of a mode.
pub fn change_mode(mode: &mut BroadcastMode, bytes: &mut Unstructured<'_>) -> Result<()> {
    match mode {
        BroadcastMode::Explicit { axes_mapping: list }
        | BroadcastMode::BroadcastAxes {
            broadcast_axes: list,
        }
        | BroadcastMode::InDim {
            broadcast_dimensions: list,
        }
        | BroadcastMode::InDimPermuting {
            broadcast_dimensions: list,
        } => change(list, bytes)?,
        BroadcastMode::Pdpd { axis } => *axis = bytes.int_in_range(-3..=8)?,
        _ => {}
    }
    Ok(())
}

/// Mutates the attributes of a rule.
pub fn change_rule(rule: &mut ElementwiseRule, bytes: &mut Unstructured<'_>) -> Result<()> {
    match rule {
        ElementwiseRule::Xla {
            broadcast_dimensions,
        } => change(broadcast_dimensions, bytes)?,
        ElementwiseRule::Pdpd { axis } | ElementwiseRule::Paddle { axis } => {
            *axis = bytes.int_in_range(-3..=8)?
        }
        _ => {}
    }
    Ok(())
}
