//! How large values are expected to be inside a network with made-up weights.
//!
//! The batch norms of made-up weights have the variances that values would have, as if they had
//! been trained. Otherwise every residual block would double what passes through it.

use std::f32::consts::PI;

use super::graph::{Graph, Node};
use super::op::Op;
use super::shape::Shape;

/// Mean and mean square of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    pub mean: f32,
    pub square: f32,
}

impl Moments {
    /// Spread evenly around 0.
    const UNIT: Moments = Moments {
        mean: 0.0,
        square: 1.0,
    };
}

/// The expected moments of every value of `graph` (the input first, then a node each),
/// for inputs spread around 0 with mean square 1, and weights drawn uniformly within
/// ±√(6 / fan-in), whose variance is 2 / fan-in.
///
/// A batch norm is taken to give values of mean square 1: it does if its running
/// variance is the mean square of what it reads, as training would have made it. Without
/// that, every block of a residual network would double what goes into it.
pub(super) fn moments(graph: &Graph) -> Vec<Moments> {
    let mut all = vec![Moments::UNIT];
    for node in graph.nodes() {
        let inputs: Vec<Moments> = node.inputs.iter().map(|i| all[i.index()]).collect();
        all.push(after(graph, node, &inputs));
    }
    all
}

fn after(graph: &Graph, node: &Node, inputs: &[Moments]) -> Moments {
    let first = inputs[0];
    match node.op {
        Op::Conv2d(_) | Op::Linear { .. } => Moments {
            mean: 0.0,
            square: 2.0 * first.square,
        },
        Op::BatchNorm { .. } | Op::Softmax => Moments::UNIT,
        Op::Relu | Op::Relu6 => rectified(first),
        Op::Scale { by } => Moments {
            mean: by * first.mean,
            square: by * by * first.square,
        },
        Op::Add => sum(first, inputs[1]),
        Op::Concat => joined(graph, node, inputs),
        Op::MaxPool(_)
        | Op::AvgPool(_)
        | Op::GlobalAvgPool
        | Op::AdaptiveAvgPool { .. }
        | Op::Flatten
        | Op::Upscale { .. } => first,
    }
}

/// Of two values that know nothing of each other.
fn sum(a: Moments, b: Moments) -> Moments {
    Moments {
        mean: a.mean + b.mean,
        square: a.square + b.square + 2.0 * a.mean * b.mean,
    }
}

/// `max(x, 0)` of a normally distributed x, with the logistic function for the normal
/// distribution's (off by less than 0.01).
fn rectified(Moments { mean, square }: Moments) -> Moments {
    let deviation = (square - mean * mean).max(1e-12).sqrt();
    let z = mean / deviation;
    let below = 1.0 / (1.0 + (-1.702 * z).exp());
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    Moments {
        mean: mean * below + deviation * density,
        square: square * below + mean * deviation * density,
    }
}

/// The mean of the parts by their channels.
fn joined(graph: &Graph, node: &Node, inputs: &[Moments]) -> Moments {
    let mean = |of: fn(&Moments) -> f32| {
        let shares = node.inputs.iter().map(|&i| channels(graph.shape(i)));
        let weighted: f32 = shares.zip(inputs).map(|(c, m)| c * of(m)).sum();
        weighted / channels(node.shape)
    };
    Moments {
        mean: mean(|m| m.mean),
        square: mean(|m| m.square),
    }
}

fn channels(shape: Shape) -> f32 {
    match shape {
        Shape::Image { channels, .. } => channels as f32,
        Shape::Vector { features } => features as f32,
    }
}
