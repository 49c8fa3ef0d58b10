//! How large values are expected to be inside a network with made-up weights.

use super::graph::{Graph, Node};
use super::op::Op;
use super::shape::Shape;

/// The expected mean square of every value of `graph` (the input first, then a node
/// each), for inputs whose mean square is 1 and for weights drawn uniformly within
/// ±√(6 / fan-in), whose variance is 2 / fan-in.
///
/// A batch norm is taken to give values of mean square 1: it does if its running
/// variance is the mean square of what it reads, as training would have made it. Without
/// that, every block of a residual network would double what goes into it.
pub(super) fn mean_squares(graph: &Graph) -> Vec<f32> {
    let mut all = vec![1.0];
    for node in graph.nodes() {
        let inputs: Vec<f32> = node.inputs.iter().map(|i| all[i.index()]).collect();
        all.push(mean_square(graph, node, &inputs));
    }
    all
}

fn mean_square(graph: &Graph, node: &Node, inputs: &[f32]) -> f32 {
    let first = inputs[0];
    match node.op {
        Op::Conv2d(_) | Op::Linear { .. } => 2.0 * first,
        Op::BatchNorm { .. } | Op::Softmax => 1.0,
        // Of values spread evenly around 0, half are cut off.
        Op::Relu | Op::Relu6 => first / 2.0,
        Op::Scale { by } => by * by * first,
        Op::Add => inputs.iter().sum(),
        Op::Concat => {
            let shares = node.inputs.iter().map(|&i| channels(graph.shape(i)));
            let weighted: f32 = shares.zip(inputs).map(|(c, m)| c * m).sum();
            weighted / channels(node.shape)
        }
        Op::MaxPool(_)
        | Op::AvgPool(_)
        | Op::GlobalAvgPool
        | Op::AdaptiveAvgPool { .. }
        | Op::Flatten
        | Op::Upscale { .. } => first,
    }
}

fn channels(shape: Shape) -> f32 {
    match shape {
        Shape::Image { channels, .. } => channels as f32,
        Shape::Vector { features } => features as f32,
    }
}
