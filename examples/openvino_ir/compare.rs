//! Compares a model's output with OpenVINO's.

use crate::model::{MAXIMUM_BYTES, Model, read_file};
use crate::npy;
use crate::tensor::{ElementType, Tensor, byte_count};
use ndarray::ArrayD;
use std::path::Path;

/// The layers whose result depends on the order of the terms, if these are floats. OpenVINO's order
/// is not documented.
const ROUNDED: [&str; 5] = [
    "ReduceSum",
    "ReduceMean",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
];

/// After such a layer, by how many times the spacing of floats at the largest magnitude of the
/// output its elements may differ.
const ROUNDING: f64 = 16.0;

/// A model whose output equals OpenVINO's.
#[derive(Debug)]
pub struct Report {
    /// The layers that compute, in execution order.
    pub layers: Vec<String>,
    pub input_shapes: Vec<Vec<usize>>,
    pub output_shape: Vec<usize>,
    pub element_type: ElementType,
}

/// Runs `NAME.xml` with `NAME.bin` on `NAME.in0.npy`, `NAME.in1.npy`, ... and compares with
/// `NAME.out.npy`.
///
/// An `Err` is one line: the problem with the files, or the place where the outputs differ.
pub fn compare(xml: &Path) -> Result<Report, String> {
    compare_files(xml).map_err(|problem| problem.replace(['\n', '\r'], " "))
}

fn compare_files(xml: &Path) -> Result<Report, String> {
    let in_model = |problem: String| format!("{}: {problem}", xml.display());
    let model = Model::read(xml)?;
    if !model.has_weights() {
        let bin = xml.with_extension("bin");
        return Err(format!("{}: there is no such file", bin.display()));
    }
    let graph = model.main();
    model.check_kinds().map_err(in_model)?;
    let mut bytes = 0;
    let inputs = (0..graph.of_kind("Parameter").count())
        .map(|position| {
            let path = xml.with_extension(format!("in{position}.npy"));
            let input = read_npy(&path)?;
            bytes += byte_count(input.shape(), input.element_type().size(), MAXIMUM_BYTES)?;
            match bytes > MAXIMUM_BYTES {
                true => Err(format!(
                    "{}: with it, the inputs pass this example's limit of {MAXIMUM_BYTES} bytes",
                    path.display()
                )),
                false => Ok(input),
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    let input_shapes = inputs.iter().map(|input| input.shape().to_vec()).collect();
    let output = model.run(inputs).map_err(in_model)?;
    let expected = read_npy(&xml.with_extension("out.npy"))?;

    let (shape, expected_shape) = (output.shape(), expected.shape());
    let (found, wanted) = (output.element_type(), expected.element_type());
    if shape != expected_shape || found != wanted {
        return Err(in_model(format!(
            "the output is {found} {shape:?}, OpenVINO's is {wanted} {expected_shape:?}"
        )));
    }
    let rounds = graph
        .layers
        .iter()
        .any(|layer| ROUNDED.contains(&&layer.kind[..]));
    let difference = match rounds {
        true => first_beyond_rounding(&output, &expected),
        false => first_difference(&output, &expected),
    };
    if let Some(position) = difference {
        return Err(in_model(format!(
            "the output differs from OpenVINO's at element {position}"
        )));
    }
    let computes = |kind: &str| !["Parameter", "Const", "Result"].contains(&kind);
    Ok(Report {
        layers: (graph.order.iter())
            .map(|&layer| &graph.layers[layer])
            .filter(|layer| computes(&layer.kind))
            .map(|layer| {
                match layer
                    .attribute("mode")
                    .or(layer.attribute("auto_broadcast"))
                {
                    Some(mode) => format!("{} {mode}", layer.kind),
                    None => layer.kind.clone(),
                }
            })
            .collect(),
        input_shapes,
        output_shape: shape.to_vec(),
        element_type: found,
    })
}

pub fn read_npy(path: &Path) -> Result<Tensor, String> {
    npy::read(&read_file(path)?[..], MAXIMUM_BYTES)
        .map_err(|problem| format!("{}: {problem}", path.display()))
}

/// The first index, in row-major order, where two tensors of one type and shape differ.
pub fn first_difference(a: &Tensor, b: &Tensor) -> Option<usize> {
    macro_rules! dispatch {
        ($($variant:ident)*) => {
            match (a, b) {
                $((Tensor::$variant(a), Tensor::$variant(b)) => position(a, b),)*
                _ => Some(0),
            }
        };
    }
    dispatch!(F16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Boolean)
}

/// The first index where two tensors of one type and shape differ by more than [`ROUNDING`].
fn first_beyond_rounding(a: &Tensor, b: &Tensor) -> Option<usize> {
    macro_rules! dispatch {
        ($($variant:ident $t:ty;)*) => {
            match (a, b) {
                $((Tensor::$variant(a), Tensor::$variant(b)) => {
                    let [a, b] = [a, b].map(|array| array.mapv(f64::from));
                    let finite = b.iter().filter(|b| b.is_finite());
                    let largest = finite.fold(0.0, |largest: f64, b| largest.max(b.abs()));
                    let tolerance = ROUNDING * f64::from(<$t>::EPSILON) * largest;
                    let is_close = |(a, b): (&f64, &f64)| {
                        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance
                    };
                    a.iter().zip(&b).position(|pair| !is_close(pair))
                })*
                _ => first_difference(a, b),
            }
        };
    }
    dispatch!(F16 half::f16; F32 f32; F64 f64;)
}

/// The first position where two arrays differ. All NaNs are equal.
#[allow(clippy::eq_op)]
fn position<T: PartialEq>(a: &ArrayD<T>, b: &ArrayD<T>) -> Option<usize> {
    (a.iter().zip(b)).position(|(a, b)| !(a == b || (a != a && b != b)))
}
