//! Weights made up from a seed, by a counter: any value can be computed alone, in any
//! language.
//!
//! They are made when they are first used, after the ledger has been asked, and stay in host
//! memory.

use std::collections::BTreeMap;

use crate::network::graph::Graph;
use crate::network::moments::moments;
use crate::network::op::Op;
use crate::network::parameters::{Parameter, ParameterRole};

/// What one parameter is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filling {
    /// Value `i` is `(2·u − 1)·bound` in float32, where u is the upper 24 bits of
    /// SplitMix64's output for the counter `key + i`, over 2²⁴.
    Uniform { key: u64, bound: f32 },
    /// All values are the same.
    Constant(f32),
}

/// What every parameter of `graph` is filled with, in the order of its layers.
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

/// For which parameters, from which seed.
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

    /// Every parameter's values, by name.
    pub(super) fn values(&self) -> impl Iterator<Item = (String, Vec<f32>)> {
        let all = self.fillings.iter();
        all.map(|(parameter, filling)| {
            let values = filling.values(parameter.elements());
            (parameter.name.clone(), values)
        })
    }
}

impl Filling {
    /// The first `count` values.
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
        ParameterRole::Bias | ParameterRole::RunningMean => Filling::Constant(0.0),
    }
}

/// Running variances by parameter name.
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

/// From 0 to 1, 1 left out.
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
