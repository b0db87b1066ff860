//! Parses the `.xml` file into layers and edges.

use crate::model::{Layer, Port};
use roxmltree::{Document, Node};
use std::collections::HashSet;

/// The most attributes of an element, and the most inputs or outputs of a layer. Each is compared
/// with each other one.
const MAXIMUM_LIST: usize = 1000;

/// The versions of the format that this example reads.
const VERSIONS: [u64; 2] = [10, 11];

/// An edge of the file, as ids of layers and ports.
pub struct Edge {
    pub from: [u64; 2],
    pub to: [u64; 2],
}

/// The main graph, or the body of a layer.
pub struct ParsedGraph {
    /// Where the graph is, as the start of a message: empty for the main one.
    pub place: String,
    pub layers: Vec<Layer>,
    pub edges: Vec<Edge>,
}

pub struct Net {
    pub version: u64,
    /// The main graph, then the bodies.
    pub graphs: Vec<ParsedGraph>,
}

pub fn parse(text: &str) -> Result<Net, String> {
    let attributes = |element: &str| element.matches('=').count();
    if let Some(element) = (text.split('<')).find(|&element| attributes(element) > MAXIMUM_LIST) {
        let name = element.split_whitespace().next().unwrap_or_default();
        return Err(format!("<{name}> has more than {MAXIMUM_LIST} attributes"));
    }
    // The parser gives each element that declares a namespace a copy of all those around it.
    if text.matches("xmlns").count() > MAXIMUM_LIST {
        return Err(format!("there are more than {MAXIMUM_LIST} namespaces"));
    }
    let document =
        Document::parse(text).map_err(|error| format!("this is not well-formed XML: {error}"))?;
    let net = document.root_element();
    if net.tag_name().name() != "net" {
        return Err("this is no model: its root is not <net>".into());
    }
    let version = number(net, "version")?;
    if !VERSIONS.contains(&version) {
        return Err(format!(
            "the IR has version {version}; known are {}",
            VERSIONS.map(|version| version.to_string()).join(" and ")
        ));
    }
    let is_body = |node: &Node<'_, '_>| *node != net && children(*node, "layers").next().is_some();
    let bodies = document.descendants().filter(is_body);
    let graphs = (std::iter::once(net).chain(bodies))
        .map(parse_graph)
        .collect::<Result<_, _>>()?;
    Ok(Net { version, graphs })
}

fn parse_graph(graph: Node<'_, '_>) -> Result<ParsedGraph, String> {
    let place = match graph.parent_element() {
        None => String::new(),
        Some(layer) => format!(
            "the <{}> of layer {:?}: ",
            graph.tag_name().name(),
            layer.attribute("name").unwrap_or_default()
        ),
    };
    let in_graph = |problem: String| format!("{place}{problem}");
    let (layers, edges) = (|| {
        let layers = (children(child(graph, "layers")?, "layer"))
            .map(parse_layer)
            .collect::<Result<Vec<_>, _>>()?;
        let mut ids = HashSet::new();
        for layer in &layers {
            if !ids.insert(layer.id) {
                return Err(format!("two layers have the id {}", layer.id));
            }
        }
        let edges = (children(child(graph, "edges")?, "edge"))
            .map(|edge| {
                let id = |name| number(edge, name);
                Ok(Edge {
                    from: [id("from-layer")?, id("from-port")?],
                    to: [id("to-layer")?, id("to-port")?],
                })
            })
            .collect::<Result<_, String>>()?;
        Ok((layers, edges))
    })()
    .map_err(in_graph)?;
    Ok(ParsedGraph {
        place,
        layers,
        edges,
    })
}

fn parse_layer(node: Node<'_, '_>) -> Result<Layer, String> {
    let id = number(node, "id")?;
    let text = |name: &str| {
        (node.attribute(name).map(str::to_owned))
            .ok_or_else(|| format!("layer {id} has no attribute {name:?}"))
    };
    let data = children(node, "data").next();
    let ports = |name| {
        (children(node, name).flat_map(|ports| children(ports, "port")))
            .map(|port| parse_port(port).map_err(|problem| format!("layer {id}: {problem}")))
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

fn parse_port(node: Node<'_, '_>) -> Result<Port, String> {
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

fn children<'a>(node: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    (node.children()).filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn child<'a>(node: Node<'a, 'a>, name: &'static str) -> Result<Node<'a, 'a>, String> {
    (children(node, name).next()).ok_or_else(|| format!("there is no <{name}>"))
}

/// Parses an id or a version.
fn number(node: Node<'_, '_>, name: &str) -> Result<u64, String> {
    let tag = node.tag_name().name();
    let at = || node.document().text_pos_at(node.range().start);
    let text =
        (node.attribute(name)).ok_or_else(|| format!("a <{tag}> has no {name:?}, at {}", at()))?;
    text.parse().map_err(|_| {
        format!(
            "a <{tag}> has {name:?} {text:?}, which is no number, at {}",
            at()
        )
    })
}
