//! Compares a model's output with OpenVINO's.

use crate::model::{Model, read_file};
use crate::npy;
use crate::run::MAXIMUM_BYTES;
use crate::tensor::{ElementType, Tensor, byte_count};
use ndarray::ArrayD;
use std::path::Path;

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
    model.check_kinds().map_err(in_model)?;
    let mut bytes = 0;
    let inputs = (0..model.of_kind("Parameter").count())
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
    if let Some(position) = first_difference(&output, &expected) {
        return Err(in_model(format!(
            "the output differs from OpenVINO's at element {position}"
        )));
    }
    let computes = |kind: &str| !["Parameter", "Const", "Result"].contains(&kind);
    Ok(Report {
        layers: (model.order.iter())
            .map(|&layer| &model.layers[layer])
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

/// The first position where two arrays differ. All NaNs are equal.
#[allow(clippy::eq_op)]
fn position<T: PartialEq>(a: &ArrayD<T>, b: &ArrayD<T>) -> Option<usize> {
    (a.iter().zip(b)).position(|(a, b)| !(a == b || (a != a && b != b)))
}
