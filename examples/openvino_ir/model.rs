//! Reads a model: the layers and edges of the `.xml`, their consistency, and an execution order.

use crate::run::MAXIMUM_BYTES;
use crate::tensor::{ElementType, Order, Tensor, byte_count};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

/// The largest `.xml` to read.
const MAXIMUM_XML: u64 = 64 << 20;

/// The largest other file to read.
const MAXIMUM_FILE: u64 = 4 << 30;

/// The most attributes of an element, and the most inputs or outputs of a layer. Each is compared
/// with each other one.
const MAXIMUM_LIST: usize = 1000;

/// A layer of the model.
#[derive(Debug)]
pub struct Layer {
    pub id: u64,
    pub name: String,
    /// The operation.
    pub kind: String,
    /// The operation set.
    pub version: String,
    /// The attributes of its `<data>`.
    attributes: HashMap<String, String>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// An input or output of a layer.
#[derive(Debug)]
pub struct Port {
    pub id: u64,
    /// The declared sizes; `None` for a dynamic one.
    pub dims: Vec<Option<usize>>,
}

/// A layer and its output port, as positions in the model.
pub type Output = (usize, usize);

#[derive(Debug)]
pub struct Model {
    pub layers: Vec<Layer>,
    /// For each input of each layer, the output that feeds it.
    pub sources: Vec<Vec<Output>>,
    /// The layers in execution order.
    pub order: Vec<usize>,
    weights: Vec<u8>,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layer {} {:?} ({})", self.id, self.name, self.kind)
    }
}

impl Layer {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    pub fn required(&self, name: &str) -> Result<&str, String> {
        self.attribute(name)
            .ok_or_else(|| format!("{self} has no attribute {name:?}"))
    }

    fn number(&self, name: &str) -> Result<usize, String> {
        let text = self.required(name)?;
        text.parse()
            .map_err(|_| format!("{self}: {name} is {text:?}, not a size"))
    }

    /// The element type and shape that a `Parameter` or `Const` declares.
    pub fn declared(&self) -> Result<(ElementType, Vec<usize>), String> {
        let name = self.required("element_type")?;
        let element_type = element_type(name)
            .ok_or_else(|| format!("{self}: element type {name:?} is unknown here"))?;
        let text = self.required("shape")?;
        let shape = match text.trim() {
            "" => Vec::new(),
            list => (list.split(','))
                .map(|size| {
                    (size.trim().parse()).map_err(|_| {
                        format!("{self}: shape is {text:?}, not a list of sizes known beforehand")
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        Ok((element_type, shape))
    }
}

impl Model {
    /// Reads a model and its weights.
    pub fn read(xml: &Path) -> Result<Self, String> {
        let in_xml = |problem: String| format!("{}: {problem}", xml.display());
        let bytes = read_file_up_to(xml, MAXIMUM_XML)?;
        let text = String::from_utf8(bytes).map_err(|_| in_xml("this is not UTF-8".into()))?;
        let (layers, edges) = parse(&text).map_err(in_xml)?;
        let sources = connect(&layers, &edges).map_err(in_xml)?;
        let order = order(&layers, &sources).map_err(in_xml)?;
        Ok(Model {
            layers,
            sources,
            order,
            weights: read_file(&xml.with_extension("bin"))?,
        })
    }

    /// The positions of the layers of one kind.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = usize> {
        (0..self.layers.len()).filter(move |&layer| self.layers[layer].kind == kind)
    }

    /// The tensor of a `Const` layer.
    pub fn constant(&self, layer: &Layer) -> Result<Tensor, String> {
        let (element_type, shape) = layer.declared()?;
        let (offset, size) = (layer.number("offset")?, layer.number("size")?);
        let wanted = byte_count(&shape, element_type.size(), MAXIMUM_BYTES)
            .map_err(|problem| format!("{layer}: {problem}"))?;
        let bytes = (offset.checked_add(size))
            .and_then(|end| self.weights.get(offset..end))
            .ok_or_else(|| {
                format!(
                    "{layer}: {size} bytes from {offset} on \
                     reach past the end of the .bin file, which has {}",
                    self.weights.len()
                )
            })?;
        let bytes = match (wanted, size) {
            // OpenVINO writes an empty tensor as one byte without meaning.
            (0, 1) => &[],
            _ if wanted == size => bytes,
            _ => {
                return Err(format!(
                    "{layer}: shape {shape:?} of {element_type} needs {wanted} bytes, \
                     and size is {size}"
                ));
            }
        };
        element_type
            .tensor(&shape, Order::default(), bytes)
            .map_err(|problem| format!("{layer}: {problem}"))
    }
}

/// Parses the attribute `element_type`.
fn element_type(name: &str) -> Option<ElementType> {
    Some(match name {
        "f16" => ElementType::F16,
        "f32" => ElementType::F32,
        "f64" => ElementType::F64,
        "i8" => ElementType::I8,
        "i16" => ElementType::I16,
        "i32" => ElementType::I32,
        "i64" => ElementType::I64,
        "u8" => ElementType::U8,
        "u16" => ElementType::U16,
        "u32" => ElementType::U32,
        "u64" => ElementType::U64,
        "boolean" => ElementType::Boolean,
        _ => return None,
    })
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

/// An edge of the file, as ids of layers and ports.
struct Edge {
    from: [u64; 2],
    to: [u64; 2],
}

type Node<'a> = roxmltree::Node<'a, 'a>;

fn parse(text: &str) -> Result<(Vec<Layer>, Vec<Edge>), String> {
    let attributes = |element: &str| element.matches('=').count();
    if let Some(element) = (text.split('<')).find(|&element| attributes(element) > MAXIMUM_LIST) {
        let name = element.split_whitespace().next().unwrap_or_default();
        return Err(format!("<{name}> has more than {MAXIMUM_LIST} attributes"));
    }
    // The parser gives each element that declares a namespace a copy of all those around it.
    if text.matches("xmlns").count() > MAXIMUM_LIST {
        return Err(format!("there are more than {MAXIMUM_LIST} namespaces"));
    }
    let document = roxmltree::Document::parse(text)
        .map_err(|error| format!("this is not well-formed XML: {error}"))?;
    let net = document.root_element();
    if net.tag_name().name() != "net" {
        return Err("this is no model: its root is not <net>".into());
    }
    let layers = (children(child(net, "layers")?, "layer"))
        .map(parse_layer)
        .collect::<Result<Vec<_>, _>>()?;
    let mut ids = HashSet::new();
    for layer in &layers {
        if !ids.insert(layer.id) {
            return Err(format!("two layers have the id {}", layer.id));
        }
    }
    let edges = (children(child(net, "edges")?, "edge"))
        .map(|edge| {
            let id = |name| number(edge, name);
            Ok(Edge {
                from: [id("from-layer")?, id("from-port")?],
                to: [id("to-layer")?, id("to-port")?],
            })
        })
        .collect::<Result<_, String>>()?;
    Ok((layers, edges))
}

fn parse_layer(node: Node<'_>) -> Result<Layer, String> {
    let id = number(node, "id")?;
    let text = |name: &str| {
        (node.attribute(name).map(str::to_owned))
            .ok_or_else(|| format!("layer {id} has no attribute {name:?}"))
    };
    let data = children(node, "data").next();
    let ports = |name| {
        (children(node, name).flat_map(|ports| children(ports, "port")))
            .map(parse_port)
            .collect::<Result<Vec<_>, _>>()
    };
    let layer = Layer {
        id,
        name: node.attribute("name").unwrap_or_default().to_owned(),
        kind: text("type")?,
        version: node.attribute("version").unwrap_or_default().to_owned(),
        attributes: (data.iter().flat_map(|data| data.attributes()))
            .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
            .collect(),
        inputs: ports("input")?,
        outputs: ports("output")?,
    };
    for (ports, name) in [(&layer.inputs, "inputs"), (&layer.outputs, "outputs")] {
        if ports.len() > MAXIMUM_LIST {
            return Err(format!("{layer} has more than {MAXIMUM_LIST} {name}"));
        }
    }
    let mut ids = HashSet::new();
    for port in layer.inputs.iter().chain(&layer.outputs) {
        if !ids.insert(port.id) {
            return Err(format!("{layer}: two ports have the id {}", port.id));
        }
    }
    Ok(layer)
}

fn parse_port(node: Node<'_>) -> Result<Port, String> {
    let dims = children(node, "dim").map(|dim| {
        let text = dim.text().unwrap_or_default().trim();
        match text {
            "-1" => Ok(None),
            _ => (text.parse().map(Some))
                .map_err(|_| format!("a port has the size {text:?}, which is none")),
        }
    });
    Ok(Port {
        id: number(node, "id")?,
        dims: dims.collect::<Result<_, _>>()?,
    })
}

fn children<'a>(node: Node<'a>, name: &'static str) -> impl Iterator<Item = Node<'a>> {
    (node.children()).filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn child<'a>(node: Node<'a>, name: &'static str) -> Result<Node<'a>, String> {
    (children(node, name).next()).ok_or_else(|| format!("the model has no <{name}>"))
}

fn number(node: Node<'_>, name: &str) -> Result<u64, String> {
    let tag = node.tag_name().name();
    let text = (node.attribute(name)).ok_or_else(|| format!("a <{tag}> has no {name:?}"))?;
    text.parse()
        .map_err(|_| format!("a <{tag}> has {name:?} {text:?}, which is no id"))
}

/// For each input of each layer, finds the output that feeds it.
fn connect(layers: &[Layer], edges: &[Edge]) -> Result<Vec<Vec<Output>>, String> {
    let layer_at: HashMap<u64, usize> = layers
        .iter()
        .enumerate()
        .map(|(at, layer)| (layer.id, at))
        .collect();
    let find = |[layer, port]: [u64; 2], side: &str, ports: fn(&Layer) -> &[Port]| {
        let missing = |what: &str| {
            format!("an edge {side} layer {layer}, port {port}: there is no such {what}")
        };
        let at = *layer_at.get(&layer).ok_or_else(|| missing("layer"))?;
        let port = (ports(&layers[at])
            .iter()
            .position(|candidate| candidate.id == port))
        .ok_or_else(|| missing(if side == "to" { "input" } else { "output" }))?;
        Ok::<_, String>((at, port))
    };
    let mut sources: Vec<Vec<Option<Output>>> = layers
        .iter()
        .map(|layer| vec![None; layer.inputs.len()])
        .collect();
    for edge in edges {
        let from = find(edge.from, "from", |layer| &layer.outputs)?;
        let (layer, port) = find(edge.to, "to", |layer| &layer.inputs)?;
        if sources[layer][port].replace(from).is_some() {
            return Err(format!(
                "{}: two edges lead to its port {}",
                layers[layer], layers[layer].inputs[port].id
            ));
        }
    }
    (layers.iter().zip(sources))
        .map(|(layer, sources)| {
            (layer.inputs.iter().zip(sources))
                .map(|(port, source)| {
                    source.ok_or_else(|| format!("{layer}: no edge leads to its port {}", port.id))
                })
                .collect()
        })
        .collect()
}

/// Sorts the layers topologically: each layer after the layers that feed it.
fn order(layers: &[Layer], sources: &[Vec<Output>]) -> Result<Vec<usize>, String> {
    let mut waits_for: Vec<usize> = sources.iter().map(Vec::len).collect();
    let mut feeds = vec![Vec::new(); layers.len()];
    for (layer, sources) in sources.iter().enumerate() {
        for &(source, _) in sources {
            feeds[source].push(layer);
        }
    }
    let mut order: Vec<usize> = (0..layers.len()).filter(|&at| waits_for[at] == 0).collect();
    let mut done = 0;
    while let Some(&layer) = order.get(done) {
        done += 1;
        for &next in &feeds[layer] {
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                order.push(next);
            }
        }
    }
    match (0..layers.len()).find(|&at| waits_for[at] > 0) {
        Some(layer) => Err(format!(
            "the graph has a cycle, and {} waits for it",
            layers[layer]
        )),
        None => Ok(order),
    }
}
