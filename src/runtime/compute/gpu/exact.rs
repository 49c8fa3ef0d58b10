//! The values that must be exact whole numbers: indices, and the values they are computed from.

use crate::compute::buffers::ValueBuffers;
use crate::compute::fuse::{FusedStep, StepKernel, ValueId};
use crate::network::{Reduction, TensorOp};

/// Returns whether each value has to be exact. Values that lie in one buffer are so together.
pub(super) fn exact_values(steps: &[FusedStep], buffers: &ValueBuffers) -> Vec<bool> {
    let mut roots = vec![false; buffers.count()];
    for step in steps {
        if let Some(indices) = indices(step) {
            roots[buffers.root(indices)] = true;
        }
    }
    // A later step may share a buffer with an earlier one, so one pass may not be enough.
    while spread(steps, buffers, &mut roots) {}
    let is_exact = |value: ValueId| roots[buffers.root(value)];
    (0..buffers.count()).map(is_exact).collect()
}

/// Returns the value that holds a step's indices, or `None` if it takes none.
fn indices(step: &FusedStep) -> Option<ValueId> {
    match step.kernel {
        StepKernel::Tensor(TensorOp::Embedding { .. }) => step.inputs.first().copied(),
        StepKernel::Tensor(TensorOp::Gather { .. }) => step.inputs.get(1).copied(),
        _ => None,
    }
}

/// Goes one step back from exact values; returns whether more of them are known.
fn spread(steps: &[FusedStep], buffers: &ValueBuffers, roots: &mut [bool]) -> bool {
    let mut more = false;
    for step in steps.iter().rev() {
        if !roots[buffers.root(step.output)] || counts_positions(step) {
            continue;
        }
        // The samples themselves are float32.
        for value in step.reads().filter(|&v| v != 0) {
            let root = &mut roots[buffers.root(value)];
            more |= !*root;
            *root = true;
        }
    }
    more
}

/// Returns whether an answer stays exact however the values are rounded.
fn counts_positions(step: &FusedStep) -> bool {
    match step.kernel {
        StepKernel::Tensor(TensorOp::Reduce { kind, .. }) => {
            matches!(kind, Reduction::ArgMax | Reduction::ArgMin)
        }
        _ => false,
    }
}
