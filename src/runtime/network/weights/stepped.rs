//! Layers whose weights a quantiser left as whole multiples of a step.

use std::collections::BTreeSet;

use super::Weights;
use super::step::weight_step;
use crate::network::activation::Activation;
use crate::network::graph::Graph;
use crate::network::op::Op;

/// Output channels whose weights are examined together.
const CHANNELS: usize = 64;

impl Graph {
    /// Returns the network with layers marked whose weights are whole multiples of a step in each
    /// output channel. Networks that round no values are returned unchanged, because the mark has
    /// no effect there.
    pub fn with_steps_of(self, weights: &Weights) -> Graph {
        let rounds = |op: &Op| matches!(op, Op::Activation(Activation::FakeQuantise { .. }));
        if !self.nodes().iter().any(|node| rounds(&node.op)) {
            return self;
        }
        let stepped: BTreeSet<usize> = (0..self.nodes().len())
            .filter(|&node| self.is_stepped(node, weights))
            .collect();
        self.with_stepped_weights(stepped)
    }

    fn is_stepped(&self, node: usize, weights: &Weights) -> bool {
        let channels = match self.nodes()[node].op {
            Op::Conv2d(conv) => conv.channels,
            Op::Linear { .. } => self.nodes()[node].shape.channels(),
            _ => return false,
        };
        let filters = self.filters_of(node, weights);
        let each = filters.len() / channels.max(1);
        let mut some = (0..channels).step_by(CHANNELS);
        let mut are_multiples = || {
            some.all(|first| {
                let last = channels.min(first + CHANNELS);
                let rows = filters.read_outputs(first..last, each);
                rows.chunks_exact(each)
                    .all(|row| weight_step(row).is_some())
            })
        };
        each > 0 && (filters.are_stepped(each) || are_multiples())
    }
}
