//! The work of a network's fused operations, for the laws of devices.

use crate::device::simulated::OpWork;
use crate::network::Graph;

use super::fuse::{FusedStep, StepKernel, ValueId, fuse};

/// Returns the work of each fused operation of `graph`, in order. Operations that move nothing
/// on a device, such as a concatenation in place, are left out.
pub fn work(graph: &Graph) -> Vec<OpWork> {
    let steps = fuse(graph);
    let steps = steps.iter().filter(|step| occupies_device(step.kernel));
    steps.map(|step| step_work(graph, step)).collect()
}

fn occupies_device(kernel: StepKernel) -> bool {
    !matches!(
        kernel,
        StepKernel::Enter | StepKernel::Concat | StepKernel::Flatten
    )
}

fn step_work(graph: &Graph, step: &FusedStep) -> OpWork {
    let read: usize = step.reads().map(|v| elements(graph, v)).sum();
    let written = elements(graph, step.output);
    OpWork {
        flops: flops(graph, step) as f64,
        bytes: 4.0 * (read + written) as f64,
        unfused_bytes: 4.0 * (unfused_passes(step) * written) as f64,
        weight_bytes: 4.0 * step.weights.map_or(0, |node| graph.node_weights(node)) as f64,
    }
}

/// Returns how many times more the result would be read and written if the step's batch norm,
/// sum and activation were layers of their own.
fn unfused_passes(step: &FusedStep) -> usize {
    let norm = step.norm.is_some() && step.weights.is_some();
    let sum = step.residual.is_some() && step.kernel != StepKernel::Copy;
    let activation = step.activation.is_some() && step.kernel != StepKernel::Copy;
    2 * (usize::from(norm) + usize::from(sum) + usize::from(activation))
}

fn elements(graph: &Graph, value: ValueId) -> usize {
    match value.checked_sub(1).and_then(|i| graph.nodes().get(i)) {
        Some(node) => node.shape.elements(),
        None => graph.input().elements(),
    }
}

/// Returns the FLOPs of the node whose kernel runs, and of the operations fused into it.
fn flops(graph: &Graph, step: &FusedStep) -> u64 {
    let main = step.weights.or(step.norm).unwrap_or(step.output - 1);
    let fused = u64::from(step.activation.is_some()) + u64::from(step.residual.is_some());
    graph.node_flops(main) + fused * elements(graph, step.output) as u64
}
