//! A model: its graphs of layers, and its constants.

use crate::graph::{connect, order};
use crate::parse::parse;
use crate::tensor::{Order, Tensor, byte_count};
use crate::weights::Weights;
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// The limit on the bytes of all tensors of a model that runs.
pub const MAXIMUM_BYTES: usize = 1 << 30;

/// The largest `.xml` to read.
const MAXIMUM_XML: u64 = 64 << 20;

/// The largest `.npy` to read.
const MAXIMUM_FILE: u64 = 4 << 30;

/// A layer of a graph.
#[derive(Debug)]
pub struct Layer {
    pub id: u64,
    pub name: String,
    /// The operation.
    pub kind: String,
    /// The operation set.
    pub version: String,
    /// The attributes of its `<data>`.
    pub attributes: HashMap<String, String>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// An input or output of a layer.
#[derive(Debug)]
pub struct Port {
    pub id: u64,
    /// The declared sizes; `None` for one that is not known beforehand. There are none for rank 0,
    /// and none if the rank is not known: files do not tell these apart.
    pub dims: Vec<Option<usize>>,
}

/// A layer and its output port, as positions in the graph.
pub type Output = (usize, usize);

/// The layers of a model, or of the body of a layer such as `If` and `Loop`.
#[derive(Debug)]
pub struct Graph {
    /// Where the graph is, as the start of a message: empty for the main one.
    pub place: String,
    pub layers: Vec<Layer>,
    /// For each input of each layer, the output that feeds it.
    pub sources: Vec<Vec<Output>>,
    /// The layers in execution order.
    pub order: Vec<usize>,
}

#[derive(Debug)]
pub struct Model {
    /// The version of the file's format.
    pub version: u64,
    /// The main graph, then the bodies.
    pub graphs: Vec<Graph>,
    /// `None` if there is no `.bin` file.
    weights: Option<Weights>,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layer {} {:?} ({})", self.id, self.name, self.kind)
    }
}

impl Port {
    /// The declared shape, taken for one of known rank.
    pub fn shape(&self) -> PartialShape {
        let size = |dim: &Option<usize>| dim.map_or(PartialSize::ANY, PartialSize::known);
        PartialShape::new(self.dims.iter().map(size))
    }
}

impl Graph {
    /// The positions of the layers of one kind.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = usize> {
        (0..self.layers.len()).filter(move |&layer| self.layers[layer].kind == kind)
    }
}

impl Model {
    /// Reads a model. Its weights are read if a constant is needed.
    pub fn read(xml: &Path) -> Result<Self, String> {
        let in_xml = |problem: String| format!("{}: {problem}", xml.display());
        let text = String::from_utf8(read_file_up_to(xml, MAXIMUM_XML)?)
            .map_err(|_| in_xml("this is not UTF-8".into()))?;
        let net = parse(&text).map_err(in_xml)?;
        let graphs = (net.graphs.into_iter())
            .map(|parsed| {
                let in_graph = |problem: String| in_xml(format!("{}{problem}", parsed.place));
                let sources = connect(&parsed.layers, &parsed.edges).map_err(in_graph)?;
                let order = order(&parsed.layers, &sources).map_err(in_graph)?;
                Ok(Graph {
                    place: parsed.place,
                    layers: parsed.layers,
                    sources,
                    order,
                })
            })
            .collect::<Result<_, String>>()?;
        let bin = xml.with_extension("bin");
        Ok(Model {
            version: net.version,
            graphs,
            weights: bin.exists().then(|| Weights::open(&bin)).transpose()?,
        })
    }

    /// The graph that is not a body.
    pub fn main(&self) -> &Graph {
        &self.graphs[0]
    }

    pub fn has_weights(&self) -> bool {
        self.weights.is_some()
    }

    /// Returns an error if the bytes of a `Const` layer are not in the file, or if they are fewer
    /// than its shape needs. Types that this example does not compute with may have any number.
    pub fn check_constant(&self, layer: &Layer) -> Result<(), String> {
        let (offset, size) = (layer.number("offset")?, layer.number("size")?);
        let shape = layer.constant_shape()?;
        if let Some(element_type) = layer.optional_element_type()? {
            let wanted = byte_count(&shape, element_type.size(), usize::MAX)
                .map_err(|problem| format!("{layer}: {problem}"))?;
            // More are allowed: OpenVINO writes an empty tensor as one byte without meaning.
            if size < wanted as u64 {
                return Err(format!(
                    "{layer}: shape {shape:?} of {element_type} needs {wanted} bytes, \
                     and size is {size}"
                ));
            }
        }
        match &self.weights {
            Some(weights) => {
                (weights.check(offset, size)).map_err(|problem| format!("{layer}: {problem}"))
            }
            None => Ok(()),
        }
    }

    /// The tensor of a `Const` layer.
    pub fn constant(&self, layer: &Layer) -> Result<Tensor, String> {
        let in_layer = |problem: String| format!("{layer}: {problem}");
        let (element_type, shape) = (layer.element_type()?, layer.constant_shape()?);
        let size = byte_count(&shape, element_type.size(), MAXIMUM_BYTES).map_err(in_layer)?;
        self.check_constant(layer)?;
        let bytes = match &self.weights {
            Some(weights) => weights
                .read(layer.number("offset")?, size)
                .map_err(in_layer)?,
            None => return Err(in_layer("there is no .bin file".into())),
        };
        (element_type.tensor(&shape, Order::default(), &bytes)).map_err(in_layer)
    }
}

pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    read_file_up_to(path, MAXIMUM_FILE)
}

fn read_file_up_to(path: &Path, maximum: u64) -> Result<Vec<u8>, String> {
    let in_file = |problem: &dyn fmt::Display| format!("{}: {problem}", path.display());
    let metadata = std::fs::metadata(path).map_err(|error| in_file(&error))?;
    if !metadata.is_file() {
        return Err(in_file(&"this is no file"));
    }
    if metadata.len() > maximum {
        return Err(in_file(&format_args!(
            "the file has more than {maximum} bytes"
        )));
    }
    std::fs::read(path).map_err(|error| in_file(&error))
}
