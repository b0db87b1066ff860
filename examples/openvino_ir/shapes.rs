//! Compares the shapes that a file declares with the crate's inference, layer by layer.

use crate::infer::{Input, infer};
use crate::model::{Graph, Layer, Model, Port};
use crate::values::{Value, evaluate};
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use std::collections::BTreeMap;
use std::path::Path;

/// How the shape of the file compares with the inferred one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Same,
    /// A size follows here that the file leaves open.
    FileWider,
    /// The file knows a size that does not follow here.
    FileNarrower,
    /// No tensor has both shapes.
    Different,
}

impl Verdict {
    pub const ALL: [Verdict; 4] = [
        Verdict::Same,
        Verdict::FileWider,
        Verdict::FileNarrower,
        Verdict::Different,
    ];
}

/// What was compared, and what was not.
#[derive(Debug, Default)]
pub struct Checked {
    pub version: u64,
    pub graphs: usize,
    pub layers: usize,
    /// For each kind of layer that broadcasts, how many had each verdict.
    pub checked: BTreeMap<String, [usize; Verdict::ALL.len()]>,
    /// For each other kind, how many there are.
    pub passed_over: BTreeMap<String, usize>,
    /// A line for each layer whose shape is not the declared one.
    pub remarks: Vec<(Verdict, String)>,
}

impl Checked {
    /// How many layers had this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.checked
            .values()
            .map(|counts| counts[verdict as usize])
            .sum()
    }
}

/// Checks the layers of `NAME.xml`. `NAME.bin` is optional: without it, no constant is known.
///
/// An `Err` is one line: the problem with the file.
pub fn check(xml: &Path) -> Result<Checked, String> {
    (|| {
        let model = Model::read(xml)?;
        let mut checked = Checked {
            version: model.version,
            graphs: model.graphs.len(),
            ..Checked::default()
        };
        for graph in &model.graphs {
            check_graph(&model, graph, &mut checked)
                .map_err(|problem| format!("{}: {}{problem}", xml.display(), graph.place))?;
        }
        Ok(checked)
    })()
    .map_err(|problem: String| problem.replace(['\n', '\r'], " "))
}

fn check_graph(model: &Model, graph: &Graph, checked: &mut Checked) -> Result<(), String> {
    // For each layer the shape and the value of each output.
    let mut outputs: Vec<Vec<(PartialShape, Option<Value>)>> =
        graph.layers.iter().map(|_| Vec::new()).collect();
    for &at in &graph.order {
        let layer = &graph.layers[at];
        let inputs: Vec<Input<'_>> = (graph.sources[at].iter())
            .map(|&(source, port)| {
                let (shape, value) = &outputs[source][port];
                let value = value.as_ref();
                Input { shape, value }
            })
            .collect();
        checked.layers += 1;
        let shapes = match infer(layer, &inputs)? {
            Some(inferred) => {
                let [port] = &layer.outputs[..] else {
                    return Err(format!(
                        "{layer}: it has {} outputs, not one",
                        layer.outputs.len()
                    ));
                };
                let verdict = compare(port, &inferred, &inputs);
                let counts = checked.checked.entry(layer.kind.clone()).or_default();
                counts[verdict as usize] += 1;
                if verdict != Verdict::Same {
                    checked
                        .remarks
                        .push((verdict, remark(graph, layer, port, &inferred, &inputs)));
                }
                vec![narrowed(port, inferred)]
            }
            None => {
                *checked.passed_over.entry(layer.kind.clone()).or_default() += 1;
                declared(model, layer, &inputs)?
            }
        };
        let value = evaluate(model, layer, &inputs);
        outputs[at] = shapes
            .into_iter()
            .map(|shape| (shape, value.clone()))
            .collect();
    }
    Ok(())
}

/// The output shapes of a layer that is passed over, as the file declares them.
fn declared(
    model: &Model,
    layer: &Layer,
    inputs: &[Input<'_>],
) -> Result<Vec<PartialShape>, String> {
    match &layer.kind[..] {
        "Parameter" => return Ok(vec![layer.parameter_shape()?; layer.outputs.len()]),
        "Const" => model.check_constant(layer)?,
        _ => {}
    }
    // A port without sizes has rank 0, or a rank that is not known.
    let may_be_unknown = inputs.iter().any(|input| input.shape.rank().is_none())
        || ["If", "Loop", "TensorIterator"].contains(&&layer.kind[..]);
    let shape = |port: &Port| match port.dims.is_empty() && may_be_unknown {
        true => PartialShape::UNKNOWN,
        false => port.shape(),
    };
    Ok(layer.outputs.iter().map(shape).collect())
}

/// Compares the declared shape with the inferred one.
fn compare(port: &Port, inferred: &PartialShape, inputs: &[Input<'_>]) -> Verdict {
    let Some(sizes) = inferred.sizes() else {
        return match port.dims.is_empty() {
            true => Verdict::Same,
            false => Verdict::FileNarrower,
        };
    };
    if sizes.len() != port.dims.len() {
        let may_be_unknown = inputs.iter().any(|input| input.shape.rank().is_none());
        return match port.dims.is_empty() && may_be_unknown {
            true => Verdict::FileWider,
            false => Verdict::Different,
        };
    }
    (port.dims.iter().zip(sizes))
        .map(|(dim, size)| match (*dim, size.value()) {
            (None, None) => Verdict::Same,
            (None, Some(_)) => Verdict::FileWider,
            (Some(dim), Some(size)) if dim == size => Verdict::Same,
            (Some(dim), None) if size.contains(dim) => Verdict::FileNarrower,
            (Some(_), _) => Verdict::Different,
        })
        .max()
        .unwrap_or(Verdict::Same)
}

/// The inferred shape, and the declared size where that knows more.
fn narrowed(port: &Port, inferred: PartialShape) -> PartialShape {
    match inferred.sizes() {
        None if port.dims.is_empty() => inferred,
        Some(sizes) if sizes.len() == port.dims.len() => PartialShape::new(
            (sizes.iter().zip(&port.dims)).map(|(&size, dim)| dim.map_or(size, PartialSize::known)),
        ),
        _ => port.shape(),
    }
}

fn remark(
    graph: &Graph,
    layer: &Layer,
    port: &Port,
    inferred: &PartialShape,
    inputs: &[Input<'_>],
) -> String {
    let inputs: Vec<String> = (inputs.iter().enumerate())
        .map(|(position, input)| match input.value {
            // The first input is data.
            Some(value) if position > 0 => {
                format!("{} with the value {}", input.shape, listed(value))
            }
            _ => input.shape.to_string(),
        })
        .collect();
    format!(
        "{}{layer}: its output is {inferred}, and the file says {}; its inputs are {}",
        graph.place,
        port.shape(),
        inputs.join(", ")
    )
}

fn listed(value: &Value) -> String {
    let entries: Vec<String> = (value.entries.iter())
        .map(|entry| entry.map_or("?".into(), |entry| entry.to_string()))
        .collect();
    format!("[{}]", entries.join(", "))
}
