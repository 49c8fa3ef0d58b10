//! What a network costs, from its graph alone.

use super::graph::{Graph, Node};
use super::op::Op;
use super::shape::Shape;

impl Graph {
    /// Learned parameters, as papers count them (running statistics left out).
    pub fn parameter_count(&self) -> u64 {
        self.parameters()
            .iter()
            .filter(|p| p.role.is_learned())
            .map(|p| p.elements() as u64)
            .sum()
    }

    /// Bytes of all weights in float32, running statistics included.
    pub fn weight_bytes(&self) -> u64 {
        self.parameters()
            .iter()
            .map(|p| 4 * p.elements() as u64)
            .sum()
    }

    /// Floating-point operations for one sample; a multiplication and its
    /// addition count as two, convolutions as the direct algorithm.
    pub fn flops(&self) -> u64 {
        (0..self.nodes().len()).map(|i| self.node_flops(i)).sum()
    }

    /// The same of node number `index` alone.
    pub fn node_flops(&self, index: usize) -> u64 {
        let node = &self.nodes()[index];
        node_flops(node, self.shape(node.inputs[0]))
    }
}

fn node_flops(node: &Node, input: Shape) -> u64 {
    let out = node.shape.elements() as u64;
    match node.op {
        Op::Conv2d(conv) => {
            let Shape::Image { channels, .. } = input else {
                return 0;
            };
            let products = conv.kernel.area() * channels / conv.groups;
            out * (2 * products as u64 + u64::from(conv.bias))
        }
        Op::Linear { bias, .. } => out * (2 * input.elements() as u64 + u64::from(bias)),
        Op::MaxPool(pool) | Op::AvgPool(pool) => out * (pool.kernel * pool.kernel) as u64,
        // Windows may share a row or column at their edges; that is not counted.
        Op::GlobalAvgPool | Op::AdaptiveAvgPool { .. } => input.elements() as u64,
        Op::BatchNorm { .. } => 2 * out,
        Op::Relu | Op::Relu6 | Op::Scale { .. } | Op::Add => out,
        Op::Upscale { .. } => 8 * out,
        Op::Softmax => 3 * out,
        Op::Flatten | Op::Concat => 0,
    }
}
