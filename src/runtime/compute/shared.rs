//! Folded weights that the networks of several lengths share.
//!
//! A step shares those of a step of the known network that has the same operation, the same
//! parameters at the same place of memory, and a method that packs them alike. So memory does not
//! grow with the number of lengths, but for what depends on them, as rows of position tables do.

use std::collections::HashMap;
use std::sync::Arc;

use super::ComputeError;
use super::fold::fold;
use super::kernels::{PlannedStep, StepWeights};
use super::lowered::Lowered;
use super::tensors::TensorForm;
use crate::network::{Graph, Weights};

/// The folded weights of a network, by the layers that they are of.
#[derive(Debug, Default)]
pub(super) struct KnownWeights<'a> {
    network: Option<(&'a Graph, &'a Weights)>,
    steps: HashMap<String, (&'a PlannedStep, &'a Arc<StepWeights>)>,
}

impl<'a> KnownWeights<'a> {
    /// Lists those of a lowered network.
    pub(super) fn of(graph: &'a Graph, weights: &'a Weights, lowered: &'a Lowered) -> Self {
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
        let nodes = [(fused.weights, other.weights), (fused.norm, other.norm)];
        let same_layers = nodes.into_iter().all(|pair| match pair {
            (Some(own), Some(other)) => same(((graph, weights), own), ((of, held), other)),
            (own, other) => own == other,
        });
        // Scores have masks and factors of other layers.
        let is_attention = matches!(fused.tensors.as_deref(), Some(TensorForm::Attention(_)));
        let alike = fused.scale == other.scale
            && step.placed.output.channels == known.placed.output.channels
            && step.method.packs_as(&known.method);
        (same_layers && alike && !is_attention).then_some(*folded)
    }
}

/// Whether two layers have the same parameters, under one name.
fn same(
    ((graph, weights), node): ((&Graph, &Weights), usize),
    ((of, held), other): ((&Graph, &Weights), usize),
) -> bool {
    let [own, known] = [&graph.nodes()[node], &of.nodes()[other]];
    let parameters = graph.node_parameters(node);
    let shared = parameters.iter().all(|p| weights.share(held, &p.name));
    own.name == known.name && own.op == known.op && shared
}
