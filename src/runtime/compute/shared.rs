//! Folded weights shared by the networks of several lengths, and by steps of one network.
//!
//! A step shares the folded weights of a step of the known network if both have the same operation,
//! the same parameters at the same place of memory, and a method with the same packing. So memory
//! does not grow with the number of lengths, except for parameters that depend on them, such as
//! rows of position tables.

use std::collections::HashMap;
use std::sync::Arc;

use super::ComputeError;
use super::fold::fold;
use super::kernels::{PlannedStep, StepWeights};
use super::lowered::Lowered;
use super::tensors::TensorForm;
use crate::network::{Graph, ParameterOrigin, Weights};

/// Returns, for each step, the earlier step with the same folded weights, if it exists. Such layers
/// have one operation, the same tensors as parameters, and the same packing.
pub(super) fn twins(graph: &Graph, steps: &[PlannedStep]) -> Vec<Option<usize>> {
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    let twin = |(at, step): (usize, &PlannedStep)| {
        let tensor = graph
            .node_parameters(step.placed.fused.weights?)
            .into_iter()
            .next()?;
        let alike = known.entry(tensor.name).or_default();
        let twin = alike
            .iter()
            .copied()
            .find(|&other| folds_as(graph, step, &steps[other]));
        if twin.is_none() {
            alike.push(at);
        }
        twin
    };
    steps.iter().enumerate().map(twin).collect()
}

/// Returns whether two steps have the same folded weights.
fn folds_as(graph: &Graph, step: &PlannedStep, other: &PlannedStep) -> bool {
    let [a, b] = [&step.placed.fused, &other.placed.fused];
    let same = |pair| match pair {
        (Some(a), Some(b)) => has_parameters_of(graph, a, b),
        (a, b) => a == b,
    };
    let layers = [
        (a.weights, b.weights),
        (a.norm, b.norm),
        (a.shift(), b.shift()),
    ];
    layers.into_iter().all(same)
        && is_packed_as(step, other)
        && a.tensors.is_none()
        && b.tensors.is_none()
}

/// Returns whether two layers have one operation and use the same tensors, without deriving other
/// parameters from them.
fn has_parameters_of(graph: &Graph, a: usize, b: usize) -> bool {
    let [one, other] = [a, b].map(|node| &graph.nodes()[node]);
    let as_they_are =
        |(_, origin): &(_, ParameterOrigin)| matches!(origin, ParameterOrigin::Tensor { .. });
    let origins = one.origins.iter().chain(&other.origins);
    one.op == other.op
        && graph.node_parameters(a) == graph.node_parameters(b)
        && origins.clone().all(as_they_are)
}

/// Returns whether both steps lay weights out the same way.
fn is_packed_as(step: &PlannedStep, other: &PlannedStep) -> bool {
    step.placed.fused.scale == other.placed.fused.scale
        && step.placed.output.channels == other.placed.output.channels
        && step.method.packs_as(&other.method)
}

/// The folded weights of a network, by their layers.
#[derive(Debug, Default)]
pub(super) struct KnownWeights<'a> {
    network: Option<(&'a Graph, &'a Weights)>,
    steps: HashMap<String, (&'a PlannedStep, &'a Arc<StepWeights>)>,
}

impl<'a> KnownWeights<'a> {
    /// Lists the folded weights of a lowered network.
    pub(super) fn from_lowered(
        graph: &'a Graph,
        weights: &'a Weights,
        lowered: &'a Lowered,
    ) -> Self {
        let named = |(step, folded): (&'a PlannedStep, &'a Arc<StepWeights>)| {
            let node = step.placed.fused.weights.or(step.placed.fused.norm)?;
            Some((graph.nodes()[node].name.clone(), (step, folded)))
        };
        KnownWeights {
            network: Some((graph, weights)),
            steps: lowered.folded().filter_map(named).collect(),
        }
    }

    /// Returns the folded weights of a step: known ones, or its own.
    ///
    /// # Errors
    /// As for [`fold`].
    pub(super) fn fold(
        &self,
        graph: &Graph,
        weights: &Weights,
        step: &PlannedStep,
    ) -> Result<Arc<StepWeights>, ComputeError> {
        match self.find(graph, weights, step) {
            Some(known) => Ok(Arc::clone(known)),
            None => fold(graph, weights, step).map(Arc::new),
        }
    }

    fn find(
        &self,
        graph: &Graph,
        weights: &Weights,
        step: &PlannedStep,
    ) -> Option<&'a Arc<StepWeights>> {
        let (of, held) = self.network?;
        let fused = &step.placed.fused;
        let node = fused.weights.or(fused.norm)?;
        let (known, folded) = self.steps.get(&graph.nodes()[node].name)?;
        let other = &known.placed.fused;
        let nodes = [
            (fused.weights, other.weights),
            (fused.norm, other.norm),
            (fused.shift(), other.shift()),
        ];
        let same_layers = nodes.into_iter().all(|pair| match pair {
            (Some(own), Some(other)) => same(((graph, weights), own), ((of, held), other)),
            (own, other) => own == other,
        });
        // Scores also use masks and factors of other layers.
        let is_attention = matches!(fused.tensors.as_deref(), Some(TensorForm::Attention(_)));
        (same_layers && is_packed_as(step, known) && !is_attention).then_some(*folded)
    }
}

/// Returns whether two layers have the same parameters, under one name.
fn same(
    ((graph, weights), node): ((&Graph, &Weights), usize),
    ((of, held), other): ((&Graph, &Weights), usize),
) -> bool {
    let [own, known] = [&graph.nodes()[node], &of.nodes()[other]];
    let parameters = graph.node_parameters(node);
    let shared = parameters.iter().all(|p| weights.share(held, &p.name));
    own.name == known.name && own.op == known.op && shared
}

/// Returns the weights of all steps from the weights of the steps without a twin.
pub(super) fn with_twins(
    own: Vec<Arc<StepWeights>>,
    twins: &[Option<usize>],
) -> Vec<Arc<StepWeights>> {
    let mut own = own.into_iter();
    let mut all: Vec<Arc<StepWeights>> = Vec::with_capacity(twins.len());
    for twin in twins {
        let known = twin.and_then(|at| all.get(at).map(Arc::clone));
        all.extend(known.or_else(|| own.next()));
    }
    all
}
