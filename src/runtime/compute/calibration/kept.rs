//! The layers that stay in float32.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::str::FromStr;

use super::error::CalibrationError;
use super::ranges::is_weighted;
use crate::network::Graph;
use crate::reading::ReadError;

/// A choice of layers that stay in float32.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeptLayers {
    /// The first and the last one with weights, each if computing it in bytes costs more than
    /// [`most_cost`] of the error of all.
    #[default]
    Auto,
    /// The named layers. `first` and `last` are the first and the last layer with weights.
    Named(Vec<String>),
}

/// The least share of the whole error for which a layer is kept in float32.
const LEAST: f64 = 0.25;

/// Returns the share of the whole error above which a layer is kept in float32: a quarter, or twice
/// the average share of a layer with weights if that is more.
pub fn most_cost(graph: &Graph) -> f64 {
    let weighted = (0..graph.nodes().len()).filter(|&node| is_weighted(graph, node));
    LEAST.max(2.0 / weighted.count().max(1) as f64)
}

impl KeptLayers {
    /// Returns the choice of no layer.
    pub const fn none() -> Self {
        KeptLayers::Named(Vec::new())
    }

    /// Returns the named nodes; empty if measurements decide.
    ///
    /// # Errors
    /// A name is not that of a layer with weights.
    pub(super) fn named_nodes(&self, graph: &Graph) -> Result<BTreeSet<usize>, CalibrationError> {
        let KeptLayers::Named(names) = self else {
            return Ok(BTreeSet::new());
        };
        let found = names.iter().map(|name| {
            let [first, last] = first_and_last(graph)?;
            let mut nodes = graph.nodes().iter();
            let node = match name.as_str() {
                "first" => Some(first),
                "last" => Some(last),
                name => nodes.position(|node| node.name == name),
            };
            let node = node.filter(|&node| is_weighted(graph, node));
            node.ok_or_else(|| CalibrationError::Kept {
                name: name.clone(),
                known: weighted_names(graph),
            })
        });
        found.collect()
    }
}

impl FromStr for KeptLayers {
    type Err = Infallible;

    /// Reads `auto`, `none`, or names between commas.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "auto" => KeptLayers::Auto,
            "none" => KeptLayers::none(),
            names => KeptLayers::Named(names.split(',').map(|n| n.trim().to_owned()).collect()),
        })
    }
}

fn weighted_names(graph: &Graph) -> Vec<String> {
    let nodes = graph.nodes().iter().enumerate();
    let weighted = nodes.filter(|(node, _)| is_weighted(graph, *node));
    weighted.map(|(_, node)| node.name.clone()).collect()
}

/// Returns the first and the last node with weights.
///
/// # Errors
/// No node has weights.
pub(super) fn first_and_last(graph: &Graph) -> Result<[usize; 2], ReadError> {
    let mut weighted = (0..graph.nodes().len()).filter(|&node| is_weighted(graph, node));
    let first = weighted
        .next()
        .ok_or_else(|| ReadError::expected("a convolution or a fully connected layer", "none"))?;
    Ok([first, weighted.next_back().unwrap_or(first)])
}
