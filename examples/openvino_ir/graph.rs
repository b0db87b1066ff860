//! The edges of a graph: what feeds each input, and an execution order.

use crate::model::{Layer, Output, Port};
use crate::parse::Edge;
use std::collections::HashMap;

/// For each input of each layer, finds the output that feeds it.
pub fn connect(layers: &[Layer], edges: &[Edge]) -> Result<Vec<Vec<Output>>, String> {
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
pub fn order(layers: &[Layer], sources: &[Vec<Output>]) -> Result<Vec<usize>, String> {
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
