//! Any number of arrays or shapes, under NumPy's rule.

use super::answer::Answer;
use super::element::{Element, element_count, elements};
use super::fields::{Fields, Integers};
use super::pair::static_pair;
use super::ranks::{flat, positions, with_rank};
use ndarray::{ArrayD, Dimension, IxDyn};
use ndarray_broadcast::prelude::*;
use serde_json::Value;

pub struct Call {
    pub shapes: Vec<Integers>,
    inputs: Option<Vec<Value>>,
}

impl Call {
    /// Parses the arguments, except for `fn`.
    pub fn parse(args: &mut Fields) -> Result<Self, String> {
        let list = |key: &str, value| match value {
            Value::Array(list) => Ok(list),
            other => Err(format!("{key} is {other}, not a list")),
        };
        let shapes = list("shapes", args.need("shapes")?)?;
        let inputs = args.take("inputs").map(|inputs| list("inputs", inputs));
        Ok(Call {
            shapes: (shapes.iter())
                .map(|shape| Integers::parse("shapes", shape))
                .collect::<Result<_, _>>()?,
            inputs: inputs.transpose()?,
        })
    }

    fn shapes(&self) -> Result<Vec<Vec<usize>>, BroadcastError> {
        self.shapes.iter().map(Integers::shape).collect()
    }

    /// The plan of each array.
    pub fn plans(&self) -> Result<Vec<BroadcastPlan>, BroadcastError> {
        let shapes = self.shapes()?;
        let common = broadcast_shapes(&shapes)?;
        (shapes.iter())
            .map(|shape| BroadcastPlan::numpy(IxDyn(shape), IxDyn(&common)))
            .collect()
    }

    /// Runs `broadcast_shapes`.
    pub fn shape<T: Element>(&self) -> Result<Answer<T>, BroadcastError> {
        Ok(Answer {
            shape: broadcast_shapes(&self.shapes()?)?,
            outputs: None,
        })
    }

    /// Runs `broadcast_arrays` and its variants. An `Err` if they disagree.
    pub fn arrays<T: Element>(&self) -> Result<Result<Answer<T>, BroadcastError>, String> {
        let inputs = self.inputs.as_ref().ok_or("args has no \"inputs\"")?;
        if inputs.len() != self.shapes.len() {
            return Err("not as many inputs as shapes".into());
        }
        let shapes = match self.shapes() {
            Ok(shapes) => shapes,
            Err(error) => return Ok(Err(error)),
        };
        let mut arrays = Vec::new();
        for (shape, input) in shapes.iter().zip(inputs) {
            let data: Vec<T> = elements("inputs", input, element_count(shape)?)?;
            let array = ArrayD::from_shape_vec(IxDyn(shape), data);
            arrays.push(array.map_err(|error| error.to_string())?);
        }
        let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        let common = broadcast_shapes(&shapes);
        let outputs = match (broadcast_arrays(&views), &common) {
            (Ok(outputs), Ok(common)) if outputs.iter().all(|o| o.shape() == &common[..]) => {
                outputs
            }
            (Err(a), Err(b)) if a == *b => return Ok(Err(a)),
            (outputs, common) => {
                return Err(format!(
                    "broadcast_arrays gives {outputs:?}, broadcast_shapes {common:?}"
                ));
            }
        };
        let outputs: Vec<Vec<T>> = outputs.iter().map(|output| flat(output).1).collect();
        for statically in [same_rank(&shapes), two(&shapes), three(&shapes)] {
            let Some(sources) = statically else { continue };
            let sources = sources.map_err(|error| format!("static ranks give {error}"))?;
            let data = arrays.iter().map(|array| array.iter().copied().collect());
            let gathered: Vec<Vec<T>> = data
                .zip(sources)
                .map(|(data, sources): (Vec<T>, _)| sources.iter().map(|&i| data[i]).collect())
                .collect();
            if gathered != outputs {
                return Err(format!(
                    "static ranks give {gathered:?}, dynamic {outputs:?}"
                ));
            }
        }
        Ok(common.map(|shape| Answer {
            shape,
            outputs: Some(outputs),
        }))
    }
}

/// For each array, the position of the source element of each output element.
type Sources = Result<Vec<Vec<usize>>, BroadcastError>;

/// `broadcast_arrays` with a static rank, if all arrays have the same rank.
fn same_rank(shapes: &[Vec<usize>]) -> Option<Sources> {
    let first = shapes.first()?;
    fn run<D: Dimension>(_: D, shapes: &[Vec<usize>]) -> Option<Sources> {
        let mut arrays = Vec::new();
        for shape in shapes {
            arrays.push(positions(IxDyn(shape)).into_dimensionality::<D>().ok()?);
        }
        let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        let views = broadcast_arrays(&views);
        Some(views.map(|views| views.iter().map(|view| flat(view).1).collect()))
    }
    with_rank!(&first[..], |dim| run(dim, shapes)).flatten()
}

/// `broadcast_with` with static ranks.
fn two(shapes: &[Vec<usize>]) -> Option<Sources> {
    let [a, b] = shapes else { return None };
    let sources = with_rank!(&a[..], |m| with_rank!(&b[..], |n| static_pair(
        m,
        n,
        &ElementwiseRule::Numpy
    )));
    Some(sources.flatten()?.map(|(_, a, b)| vec![a, b]))
}

/// `zip` with dynamic ranks.
fn three(shapes: &[Vec<usize>]) -> Option<Sources> {
    let [a, b, c] = shapes else { return None };
    let [a, b, c] = [a, b, c].map(|shape| positions(IxDyn(shape)));
    let views = zip((&a, &b, &c)).views();
    Some(views.map(|(a, b, c)| [a, b, c].iter().map(|view| flat(view).1).collect()))
}
