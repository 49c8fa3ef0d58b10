//! The ranges of a network's values, and which nodes are computed by them.

use std::collections::{BTreeMap, BTreeSet};

use super::digest::NetworkDigest;
use super::method::RangeMethod;
use super::range::ValueRange;
use crate::network::{Graph, Op};

/// The facts about a network's values that computing it in bytes needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    network: NetworkDigest,
    method: RangeMethod,
    rows: usize,
    ranges: Vec<Option<ValueRange>>,
    kept: BTreeSet<usize>,
    corrections: BTreeMap<usize, Vec<f32>>,
}

impl Calibration {
    /// Creates the calibration of a network from the ranges of its values: first the input's, then
    /// those of the nodes. Omitted values have no range. No layer is kept, and no bias is
    /// corrected.
    pub fn of_ranges(
        network: NetworkDigest,
        method: RangeMethod,
        rows: usize,
        ranges: Vec<Option<ValueRange>>,
    ) -> Self {
        Calibration {
            network,
            method,
            rows,
            ranges,
            kept: BTreeSet::new(),
            corrections: BTreeMap::new(),
        }
    }

    /// Returns the same with these nodes in float32, and no others. Their biases are not corrected.
    #[must_use]
    pub fn keeping(mut self, kept: BTreeSet<usize>) -> Self {
        self.corrections.retain(|node, _| !kept.contains(node));
        Calibration { kept, ..self }
    }

    /// Returns the same with these corrections, by node.
    #[must_use]
    pub fn corrected(self, corrections: BTreeMap<usize, Vec<f32>>) -> Self {
        Calibration {
            corrections,
            ..self
        }
    }

    /// Returns the digest of the network that it belongs to.
    pub fn network(&self) -> &NetworkDigest {
        &self.network
    }

    /// Returns how the ranges were chosen.
    pub fn method(&self) -> RangeMethod {
        self.method
    }

    /// Returns the number of samples that the values were observed of.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the range of a value, or `None` if it is unknown or the value is not always finite.
    pub fn range(&self, value: usize) -> Option<ValueRange> {
        self.ranges.get(value).copied().flatten()
    }

    /// Returns whether a node stays in float32.
    pub fn keeps(&self, node: usize) -> bool {
        self.kept.contains(&node)
    }

    /// Iterates over the nodes that stay in float32.
    pub fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        self.kept.iter().copied()
    }

    /// Returns the corrections added to the biases of a node's output channels when the node runs
    /// in bytes. They are added before a later norm is folded into the weights.
    pub fn correction(&self, node: usize) -> Option<&[f32]> {
        self.corrections.get(&node).map(Vec::as_slice)
    }

    /// Iterates over the corrections by node.
    pub fn corrections(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let all = self.corrections.iter();
        all.map(|(node, bias)| (*node, bias.as_slice()))
    }

    /// Returns whether a node of `graph` is computed in bytes: it has weights, is not kept, and the
    /// range of its input is known.
    pub fn quantises(&self, graph: &Graph, node: usize) -> bool {
        let read = graph.nodes()[node].inputs[0].index();
        is_weighted(graph, node) && !self.keeps(node) && self.range(read).is_some()
    }
}

/// Returns whether a node multiplies its input by weights: a convolution or a fully connected
/// layer.
pub fn is_weighted(graph: &Graph, node: usize) -> bool {
    let op = graph.nodes().get(node).map(|node| node.op);
    matches!(op, Some(Op::Conv2d(_) | Op::Linear { .. }))
}
