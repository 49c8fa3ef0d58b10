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
    /// Creates the calibration of a network by the ranges of its values: that of the input, then
    /// those of the nodes. Values that are left out have none. No layer is kept, no bias corrected.
    pub fn of_ranges(
        network: NetworkDigest,
        (method, rows): (RangeMethod, usize),
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

    /// Returns the range of a value, or `None` where it is not known, or the value is not always
    /// finite.
    pub fn range(&self, value: usize) -> Option<ValueRange> {
        self.ranges.get(value).copied().flatten()
    }

    /// Whether a node stays in float32.
    pub fn keeps(&self, node: usize) -> bool {
        self.kept.contains(&node)
    }

    /// Iterates over the nodes that stay in float32.
    pub fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        self.kept.iter().copied()
    }

    /// Returns the number that is added to the bias of each output channel of a node where the node
    /// is computed in bytes, before a norm after it is folded into its weights.
    pub fn correction(&self, node: usize) -> Option<&[f32]> {
        self.corrections.get(&node).map(Vec::as_slice)
    }

    /// Iterates over the corrections by node.
    pub fn corrections(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let all = self.corrections.iter();
        all.map(|(node, bias)| (*node, bias.as_slice()))
    }

    /// Whether a node of `graph` is computed in bytes: it has weights, is not kept, and the range of
    /// what it reads is known.
    pub fn quantises(&self, graph: &Graph, node: usize) -> bool {
        let read = graph.nodes()[node].inputs[0].index();
        is_weighted(graph, node) && !self.keeps(node) && self.range(read).is_some()
    }
}

/// Whether a node multiplies what it reads by weights: a convolution or a fully connected layer.
pub fn is_weighted(graph: &Graph, node: usize) -> bool {
    let op = graph.nodes().get(node).map(|node| node.op);
    matches!(op, Some(Op::Conv2d(_) | Op::Linear { .. }))
}
