//! Weights generated from a seed by a counter: any value can be computed on its own, in any
//! language.
//!
//! They are generated at their first use, after the ledger has booked them, and stay in host
//! memory.
//!
//! The batch norms of such weights have the variances that their inputs would have after training.
//! Otherwise every residual block would double the values that pass through it.

use std::collections::BTreeMap;
use std::f32::consts::PI;

use crate::network::activation::Activation;
use crate::network::graph::{Graph, Node};
use crate::network::op::Op;
use crate::network::parameters::{Parameter, ParameterRole};
use crate::network::shape::Shape;

/// The values of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filling {
    /// Value `i` is `(2·u − 1)·bound` in float32, where u is the upper 24 bits of SplitMix64's
    /// output for the counter `key + i`, over 2²⁴.
    Uniform {
        /// The counter of the first value.
        key: u64,
        /// The largest absolute value.
        bound: f32,
    },
    /// All values are the same.
    Constant(f32),
}

/// Returns the filling of every parameter of `graph`, in the order of its layers.
pub fn fillings(graph: &Graph, seed: u64) -> Vec<(Parameter, Filling)> {
    let variances = variances(graph);
    let all = graph.parameters().into_iter().enumerate();
    all.map(|(i, parameter)| {
        let key = mix(seed ^ mix(i as u64));
        let variance = variances.get(&parameter.name).copied();
        let filling = filling(parameter.role, key, variance.unwrap_or(1.0));
        (parameter, filling)
    })
    .collect()
}

/// The parameters of a network with their fillings, made from a seed.
#[derive(Clone, Debug)]
pub(super) struct SyntheticRecipe {
    fillings: Vec<(Parameter, Filling)>,
    seed: u64,
}

impl SyntheticRecipe {
    pub(super) fn new(graph: &Graph, seed: u64) -> Self {
        SyntheticRecipe {
            fillings: fillings(graph, seed),
            seed,
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Makes every parameter's values, by name.
    pub(super) fn values(&self) -> impl Iterator<Item = (String, Vec<f32>)> {
        let all = self.fillings.iter();
        all.map(|(parameter, filling)| {
            let values = filling.values(parameter.elements());
            (parameter.name.clone(), values)
        })
    }
}

impl Filling {
    /// Returns the first `count` values.
    pub fn values(self, count: usize) -> Vec<f32> {
        match self {
            Filling::Constant(value) => vec![value; count],
            Filling::Uniform { key, bound } => (0..count as u64)
                .map(|i| (unit(mix(key.wrapping_add(i))) * 2.0 - 1.0) * bound)
                .collect(),
        }
    }
}

fn filling(role: ParameterRole, key: u64, variance: f32) -> Filling {
    match role {
        ParameterRole::Weight { fan_in } => Filling::Uniform {
            key,
            bound: (6.0 / fan_in.max(1) as f32).sqrt(),
        },
        ParameterRole::Scale => Filling::Constant(1.0),
        ParameterRole::RunningVariance => Filling::Constant(variance),
        ParameterRole::Bias | ParameterRole::RunningMean | ParameterRole::Operand => {
            Filling::Constant(0.0)
        }
    }
}

/// Returns the running variances of all norms, by parameter name.
fn variances(graph: &Graph) -> BTreeMap<String, f32> {
    let moments = moments(graph);
    let norms = graph.nodes().iter().filter(|n| is_norm(&n.op));
    norms
        .map(|n| {
            let name = format!("{}.running_var", n.name);
            (name, moments[n.inputs[0].index()].square)
        })
        .collect()
}

fn is_norm(op: &Op) -> bool {
    matches!(op, Op::BatchNorm { .. })
}

/// Returns a number from 0 to below 1.
fn unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1u64 << 24) as f32
}

/// SplitMix64's output function (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", figure 17): a counter in, random bits out.
fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Mean and mean square of the numbers of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moments {
    mean: f32,
    square: f32,
}

impl Moments {
    /// Mean 0, mean square 1.
    const UNIT: Moments = Moments {
        mean: 0.0,
        square: 1.0,
    };
}

/// Returns the expected moments of every value of `graph`, the input first, then each node,
/// for inputs spread around 0 with mean square 1, and weights drawn uniformly within
/// ±√(6 / fan-in), whose variance is 2 / fan-in.
///
/// The answer of a batch norm has mean square 1 if its running variance is the mean square of
/// its input, as training would have made it. Without that, every block of a residual network
/// would double the values that pass through it.
fn moments(graph: &Graph) -> Vec<Moments> {
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
        Op::BatchNorm { .. } | Op::LayerNorm { .. } => Moments::UNIT,
        Op::Softmax | Op::MaskedSoftmax | Op::Tensor(_) => Moments::UNIT,
        Op::Relu | Op::Relu6 => rectified(first),
        Op::Activation(activation) => activated(activation, first),
        Op::Scale { by } => Moments {
            mean: by * first.mean,
            square: by * by * first.square,
        },
        Op::Add => sum(first, inputs[1]),
        Op::Mul => Moments {
            mean: first.mean * inputs[1].mean,
            square: first.square * inputs[1].square,
        },
        Op::Concat => joined(graph, node, inputs),
        Op::MaxPool(_)
        | Op::AvgPool(_)
        | Op::GlobalAvgPool
        | Op::AdaptiveAvgPool { .. }
        | Op::Flatten
        | Op::ChannelShuffle { .. }
        | Op::Channels { .. }
        | Op::LocalResponseNorm(_)
        | Op::Upscale { .. } => first,
    }
}

/// Returns rough estimates of the moments after an activation, which set the statistics of
/// made-up norms.
fn activated(activation: Activation, first: Moments) -> Moments {
    match activation {
        Activation::Sigmoid | Activation::HardSigmoid { .. } => Moments {
            mean: 0.5,
            square: 0.25,
        },
        Activation::Tanh => Moments {
            mean: 0.0,
            square: first.square.min(1.0),
        },
        Activation::Clip { .. } => first,
        _ => rectified(first),
    }
}

/// Returns the moments of the sum of two independent values.
fn sum(a: Moments, b: Moments) -> Moments {
    Moments {
        mean: a.mean + b.mean,
        square: a.square + b.square + 2.0 * a.mean * b.mean,
    }
}

/// Returns the moments of `max(x, 0)` for a normally distributed x, with the logistic function
/// in place of the normal distribution's (off by less than 0.01).
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

/// Returns the mean of the parts' moments, weighted by their channels.
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
    shape.channels() as f32
}
