//! An elementwise operation of two arrays.

use super::answer::Answer;
use super::element::{Element, Operation, element_count, elements};
use super::fields::{Fields, Integers};
use super::ranks::{flat, positions, with_rank};
use super::single::axis;
use ndarray::{ArrayD, DimMax, Dimension, IxDyn, ShapeBuilder, arr0};
use ndarray_broadcast::prelude::*;
use serde_json::Value;
use std::mem::discriminant;

/// A call whose integers may be invalid sizes or axes.
pub struct Call {
    pub rhs_shape: Integers,
    rule: RuleArgs,
    pub operation: Option<Operation>,
    pub rhs: Option<Value>,
}

enum RuleArgs {
    None,
    Numpy,
    Pdpd(isize),
    Paddle(isize),
    Xla(Integers),
}

impl Call {
    /// Parses the arguments of a rule. `None` if it is no rule for two arrays.
    pub fn parse(rule: &str, args: &mut Fields) -> Result<Option<Self>, String> {
        let rule = match rule {
            "elementwise_none" => RuleArgs::None,
            "elementwise_numpy" => RuleArgs::Numpy,
            "elementwise_pdpd" => match args.take("axis") {
                None => RuleArgs::Pdpd(-1),
                Some(value) => RuleArgs::Pdpd(axis(&value)?),
            },
            "elementwise_paddle" => RuleArgs::Paddle(axis(&args.need("axis")?)?),
            "xla_binary" => RuleArgs::Xla(args.integers("broadcast_dimensions")?),
            _ => return Ok(None),
        };
        Ok(Some(Call {
            rhs_shape: args.integers("rhs_shape")?,
            rule,
            operation: match args.take("op") {
                None => None,
                Some(Value::String(name)) => Some(Operation::parse(&name)?),
                Some(other) => return Err(format!("op is {other}")),
            },
            rhs: args.take("rhs"),
        }))
    }

    pub fn rule(&self) -> Result<ElementwiseRule, BroadcastError> {
        Ok(match &self.rule {
            RuleArgs::None => ElementwiseRule::None,
            RuleArgs::Numpy => ElementwiseRule::Numpy,
            RuleArgs::Pdpd(axis) => ElementwiseRule::Pdpd { axis: *axis },
            RuleArgs::Paddle(axis) => ElementwiseRule::Paddle { axis: *axis },
            RuleArgs::Xla(dimensions) => ElementwiseRule::Xla {
                broadcast_dimensions: dimensions.axes()?,
            },
        })
    }

    /// The plans of both arrays.
    pub fn plans(&self, shape: &[usize]) -> Result<[BroadcastPlan; 2], BroadcastError> {
        let (a, b) = BroadcastPlan::pair(shape, self.rhs_shape.shape()?, &self.rule()?)?;
        Ok([a, b])
    }

    /// The answer for this left operand. An `Err` if the crate's methods disagree.
    pub fn answer<T: Element>(
        &self,
        shape: &[usize],
        data: Option<Vec<T>>,
    ) -> Result<Result<Answer<T>, BroadcastError>, String> {
        let plans = self.plans(shape);
        let (rhs_shape, rule) = match (self.rhs_shape.shape(), self.rule()) {
            (Ok(rhs_shape), Ok(rule)) => (rhs_shape, rule),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
        };
        let rhs = match &self.rhs {
            None => None,
            Some(value) => Some(elements::<T>("rhs", value, element_count(&rhs_shape)?)?),
        };
        let (Some(data), Some(rhs), Some(operation)) = (data, rhs, self.operation) else {
            return self.shape_alone(shape, &rhs_shape, &rule, plans);
        };
        let array = |shape: &[usize], data| {
            ArrayD::from_shape_vec(IxDyn(shape), data).map_err(|error| error.to_string())
        };
        let (a, b) = (array(shape, data)?, array(&rhs_shape, rhs)?);

        let views = a.broadcast_with_rule(&b, &rule);
        if !same(&views, &broadcast_pair(&a, &b, &rule)) {
            return Err("broadcast_with and broadcast_pair differ".into());
        }
        match (&plans, &views) {
            (Ok([plan_a, plan_b]), Ok((view_a, view_b)))
                if plan_a.output_shape() == view_a.shape()
                    && plan_b.output_shape() == view_b.shape() => {}
            (Err(a), Err(b)) if like(a, b) => {}
            _ => return Err(format!("the plans are {plans:?}, the views {views:?}")),
        }
        let answer = views.map(|(view_a, view_b)| {
            let apply = |(&a, &b)| T::apply(operation, a, b);
            Answer {
                shape: view_a.shape().to_vec(),
                outputs: Some(vec![view_a.iter().zip(&view_b).map(apply).collect()]),
            }
        });
        zipped(&a, &b, &rule, operation, &answer)?;

        let statically = with_rank!(shape, |m| with_rank!(&rhs_shape[..], |n| static_pair(
            m, n, &rule
        )))
        .flatten();
        let same = match (&statically, &answer) {
            (None, _) => true,
            (Some(Err(a)), Err(b)) => a == b,
            (Some(Ok((shape, from_a, from_b))), Ok(answer)) => {
                let (a, b): (Vec<T>, Vec<T>) = (a.into_iter().collect(), b.into_iter().collect());
                let output: Vec<T> = (from_a.iter().zip(from_b))
                    .map(|(&i, &j)| T::apply(operation, a[i], b[j]))
                    .collect();
                *shape == answer.shape && answer.outputs.as_ref() == Some(&vec![output])
            }
            _ => false,
        };
        match same {
            true => Ok(answer),
            false => Err(format!(
                "static ranks give {statically:?}, dynamic ones differ"
            )),
        }
    }

    /// The answer for a case without data. The operands are views of one element.
    fn shape_alone<T: Element>(
        &self,
        shape: &[usize],
        rhs_shape: &[usize],
        rule: &ElementwiseRule,
        plans: Result<[BroadcastPlan; 2], BroadcastError>,
    ) -> Result<Result<Answer<T>, BroadcastError>, String> {
        let (a, b) = (arr0(T::default()), arr0(T::default()));
        if let (Some(a), Some(b)) = (a.broadcast(IxDyn(shape)), b.broadcast(IxDyn(rhs_shape))) {
            let shapes = (a.broadcast_with_rule(&b, rule))
                .map(|(a, b)| [a.shape().to_vec(), b.shape().to_vec()]);
            let planned = (plans.clone()).map(|plans| plans.map(|p| p.output_shape().to_vec()));
            if !same(&shapes, &planned) {
                return Err(format!("the plans give {planned:?}, the views {shapes:?}"));
            }
            // `map_collect` visits every element, which takes too long for large outputs.
            let small = |[shape, _]: &[Vec<usize>; 2]| element_count(shape).is_ok();
            if planned.as_ref().map_or(true, small) {
                let zipped = (a.broadcast_with_rule(&b, rule))
                    .and_then(|views| zip(views).map_collect(|_| ()))
                    .map(|out| out.shape().to_vec());
                if !same(&zipped, &planned.map(|[shape, _]| shape)) {
                    return Err(format!(
                        "the plans are {plans:?}, map_collect gives {zipped:?}"
                    ));
                }
            }
        }
        Ok(plans.map(|[plan, _]| Answer {
            shape: plan.output_shape().to_vec(),
            outputs: None,
        }))
    }
}

/// Checks that `map_collect`, `map_assign_into` and `update` give this answer too.
fn zipped<T: Element>(
    a: &ArrayD<T>,
    b: &ArrayD<T>,
    rule: &ElementwiseRule,
    operation: Operation,
    answer: &Result<Answer<T>, BroadcastError>,
) -> Result<(), String> {
    let f = |(a, b)| T::apply(operation, a, b);
    let views = a.broadcast_with_rule(b, rule);
    let fresh = views.clone().and_then(|views| zip(views).map_collect(f));
    let (fresh, answer) = match (fresh, answer) {
        (Ok(fresh), Ok(answer)) => (fresh, answer),
        (Err(a), Err(b)) if a == *b => return Ok(()),
        (fresh, answer) => {
            return Err(format!("map_collect gives {fresh:?}, the views {answer:?}"));
        }
    };
    let (shape, output) = flat(&fresh.view());
    if shape != answer.shape || answer.outputs.as_ref() != Some(&vec![output]) {
        return Err(format!("map_collect gives {fresh:?}, the views {answer:?}"));
    }
    // Fortran order, so that the layouts of output and operands differ.
    let mut out = ArrayD::from_elem(IxDyn(&shape).f(), T::default());
    let into = views.and_then(|views| zip(views).map_assign_into(&mut out, f));
    if into.is_err() || out != fresh {
        return Err(format!("map_assign_into gives {into:?} and {out:?}"));
    }
    let mut x = a.clone();
    let in_place = BroadcastPlan::pair(a.raw_dim(), b.raw_dim(), rule)
        .and_then(|(_, plan)| zip(plan.view(b)?).update(&mut x, |a, b| *a = f((*a, b))));
    let right = match &in_place {
        Ok(()) => x == fresh,
        Err(error) => {
            let kind = error.kind();
            matches!(
                kind,
                ErrorKind::SizeMismatch { .. } | ErrorKind::RankMismatch { .. }
            ) && a.shape() != fresh.shape()
                && x == *a
        }
    };
    match right {
        true => Ok(()),
        false => Err(format!("update gives {in_place:?} and {x:?}")),
    }
}

/// The output shape, and the positions of the source elements in each array.
type Sources = (Vec<usize>, Vec<usize>, Vec<usize>);

/// Whether two calls agree. Methods and functions name their operands differently in errors.
fn same<T: PartialEq>(a: &Result<T, BroadcastError>, b: &Result<T, BroadcastError>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a == b,
        (Err(a), Err(b)) => like(a, b),
        _ => false,
    }
}

/// Whether two errors have one kind and one heading, apart from the names of the operands.
fn like(a: &BroadcastError, b: &BroadcastError) -> bool {
    let heading = |error: &BroadcastError| {
        let text = error.to_string().replace("other [", "b [");
        let text = text.replace("self [", "a [");
        text.lines().next().map(str::to_string)
    };
    discriminant(a.kind()) == discriminant(b.kind()) && heading(a) == heading(b)
}

/// Broadcasts two arrays of static rank.
pub fn static_pair<I, J>(a: I, b: J, rule: &ElementwiseRule) -> Result<Sources, BroadcastError>
where
    I: Dimension + DimMax<J>,
    J: Dimension,
{
    let (a, b) = (positions(a), positions(b));
    let (view_a, view_b) = a.broadcast_with_rule(&b, rule)?;
    let zipped = zip((&view_a, &view_b)).map_collect(|(a, b)| (a, b))?;
    assert_eq!(view_a.shape(), view_b.shape());
    assert_eq!(view_a.shape(), zipped.shape());
    assert!(
        zipped
            .iter()
            .copied()
            .eq(view_a.iter().copied().zip(view_b.iter().copied()))
    );
    let (shape, a) = flat(&view_a);
    Ok((shape, a, flat(&view_b).1))
}
