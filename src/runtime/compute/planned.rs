//! The steps of a network's plan on processors, for reports.

use super::costs::step_work;
use super::family::Family;
use super::fuse::{FusedStep, StepKernel};
use super::kernels::PlannedStep;
use super::lowering::CpuLowering;
use crate::device::simulated::OpWork;
use crate::network::Graph;

/// A step of a network's plan on this processor.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCost {
    /// The layer whose kernel runs, or `samples` for a change of their layout.
    pub layer: String,
    /// The method of the kernels; `candle` for an operation without its own kernel.
    pub method: &'static str,
    /// Further operations that it applies to its result before that is written.
    pub ends: Vec<&'static str>,
    /// The work of a sample.
    pub work: OpWork,
}

/// Returns the steps of the plan of `graph` for the best kernels that this processor has. Views are
/// not steps.
pub fn planned_steps(graph: &Graph) -> Vec<PlannedCost> {
    let plan = CpuLowering::from(Family::best()).plan(graph);
    plan.steps.iter().map(|step| summary(graph, step)).collect()
}

/// Returns how many layers with weights are multiplied in bytes.
pub fn layers_in_bytes(graph: &Graph, lowering: CpuLowering<'_>) -> usize {
    let plan = lowering.plan(graph);
    let names = plan.steps.iter().map(|step| step.method.name());
    names.filter(|name| name.contains("int8")).count()
}

fn summary(graph: &Graph, step: &PlannedStep) -> PlannedCost {
    let fused = &step.placed.fused;
    if fused.kernel == StepKernel::Enter {
        return entered(graph);
    }
    let node = fused.weights.or(fused.norm).unwrap_or(fused.output - 1);
    PlannedCost {
        layer: graph.nodes()[node].name.clone(),
        method: step.method.name(),
        ends: end_name(fused).collect(),
        work: step_work(graph, fused),
    }
}

/// Summarises the step that lays samples out channels-last.
fn entered(graph: &Graph) -> PlannedCost {
    PlannedCost {
        layer: "samples".to_owned(),
        method: "moves",
        ends: Vec::new(),
        work: OpWork {
            bytes: 8.0 * graph.input().elements() as f64,
            ..OpWork::default()
        },
    }
}

fn end_name(fused: &FusedStep) -> impl Iterator<Item = &'static str> {
    let norm = fused.norm.is_some() && fused.weights.is_some();
    let sum = fused.residual.is_some();
    let activation = fused.activation.map(|activation| activation.name());
    let norm = norm.then_some("norm");
    norm.into_iter()
        .chain(sum.then_some("sum"))
        .chain(activation)
}
