//! Weights as the kernels want them: batch norms folded, layouts turned once.

use crate::network::{Conv2d, Graph, Op, Shape, Weights};

use super::fuse::{FusedStep, Kernel};

/// Folded weights of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepWeights {
    /// Convolution: per group `[kernel height·width·in, out]`; linear: `[in, out]`;
    /// scale and shift: the scale.
    pub matrix: Vec<f32>,
    /// One value an output channel; empty where there is none.
    pub bias: Vec<f32>,
}

/// Folds the weights that `step` uses.
pub(super) fn fold(graph: &Graph, weights: &Weights, step: &FusedStep) -> StepWeights {
    let norm = step.norm.map(|node| Norm::read(graph, weights, node));
    let mut folded = match step.weights {
        Some(node) => weighted(graph, weights, step, node, norm.as_ref()),
        None => unweighted(graph, step, norm),
    };
    if step.scale != 1.0 {
        let values = folded.matrix.iter_mut().chain(&mut folded.bias);
        values.for_each(|v| *v *= step.scale);
    }
    folded
}

/// A step that is nothing but a norm, a scale, or neither.
fn unweighted(graph: &Graph, step: &FusedStep, norm: Option<Norm>) -> StepWeights {
    match (norm, step.kernel) {
        (Some(norm), _) => StepWeights {
            matrix: norm.scale,
            bias: norm.shift,
        },
        (None, Kernel::ScaleShift) => StepWeights {
            matrix: vec![1.0; channels(graph.nodes()[step.output - 1].shape)],
            bias: Vec::new(),
        },
        (None, _) => StepWeights::default(),
    }
}

fn channels(shape: Shape) -> usize {
    match shape {
        Shape::Image { channels, .. } => channels,
        Shape::Vector { features } => features,
    }
}

fn weighted(
    graph: &Graph,
    weights: &Weights,
    step: &FusedStep,
    node: usize,
    norm: Option<&Norm>,
) -> StepWeights {
    let name = &graph.nodes()[node].name;
    let raw = weights.get(&format!("{name}.weight"));
    let bias = weights.get(&format!("{name}.bias"));
    match step.kernel {
        Kernel::Convolution(conv) => convolution(conv, raw, bias, norm),
        _ => StepWeights {
            matrix: transpose(raw, raw.len() / outputs(graph, node)),
            bias: bias.to_vec(),
        },
    }
}

fn outputs(graph: &Graph, node: usize) -> usize {
    graph.nodes()[node].shape.elements().max(1)
}

/// A batch norm as one scale and one shift a channel.
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl Norm {
    fn read(graph: &Graph, weights: &Weights, node: usize) -> Norm {
        let node = &graph.nodes()[node];
        let eps = match node.op {
            Op::BatchNorm { eps } => eps,
            _ => 0.0,
        };
        let of = |suffix: &str| weights.get(&format!("{}.{suffix}", node.name));
        let scale: Vec<f32> = of("weight")
            .iter()
            .zip(of("running_var"))
            .map(|(w, var)| w / (var + eps).sqrt())
            .collect();
        let shift = of("bias")
            .iter()
            .zip(of("running_mean"))
            .zip(&scale)
            .map(|((b, mean), s)| b - mean * s)
            .collect();
        Norm { scale, shift }
    }
}

/// `[out, in, height, width]` to, for each group, `[height, width, in, out]`.
fn convolution(conv: Conv2d, raw: &[f32], bias: &[f32], norm: Option<&Norm>) -> StepWeights {
    let out = conv.channels / conv.groups;
    let window = conv.kernel.area();
    let per_output = raw.len() / conv.channels;
    let input = per_output / window;
    let mut matrix = vec![0.0; raw.len()];
    for channel in 0..conv.channels {
        let scale = norm.map_or(1.0, |n| n.scale[channel]);
        let (group, column) = (channel / out, channel % out);
        for i in 0..input {
            for k in 0..window {
                let row = k * input + i;
                matrix[group * per_output * out + row * out + column] =
                    scale * raw[channel * per_output + i * window + k];
            }
        }
    }
    StepWeights {
        matrix,
        bias: folded_bias(conv.channels, bias, norm),
    }
}

fn folded_bias(channels: usize, bias: &[f32], norm: Option<&Norm>) -> Vec<f32> {
    match norm {
        None => bias.to_vec(),
        Some(norm) => (0..channels)
            .map(|c| norm.shift[c] + norm.scale[c] * bias.get(c).copied().unwrap_or(0.0))
            .collect(),
    }
}

/// `[out, in]` to `[in, out]`.
fn transpose(raw: &[f32], columns: usize) -> Vec<f32> {
    let rows = raw.len() / columns.max(1);
    (0..columns)
        .flat_map(|c| (0..rows).map(move |r| raw[r * columns + c]))
        .collect()
}
