//! Layers whose inputs the network rounds to bytes by their range in each sample.
//!
//! The step that rounds such a value writes bytes, with their scale and zero point after each row,
//! and the layers that read it multiply bytes. The operations between are not run.

use super::fuse::{FusedStep, StepKernel, ValueId};
use super::tensors;
use crate::network::{Graph, Shape};

/// A row of bytes by the range of a sample, as a row of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RangedRow {
    /// Floats of the bytes, filled up to a whole pair.
    pub bytes: usize,
}

impl RangedRow {
    /// Returns the row for some values.
    pub(super) fn for_values(values: usize) -> Self {
        RangedRow {
            bytes: values.div_ceil(4).next_multiple_of(2),
        }
    }

    /// Returns the floats of a row: bytes, then their scale and zero point, then their sum less as many
    /// zero points, then a float that fills up the pair.
    pub(super) fn floats(self) -> usize {
        self.bytes + 4
    }
}

/// The most values that are summed: 32 bits hold as many products of bytes.
const MOST_SUMMED: usize = 1 << 15;

/// Returns the steps, with bytes in all layers that can multiply them.
pub(super) fn in_bytes(graph: &Graph, mut steps: Vec<FusedStep>) -> Vec<FusedStep> {
    let mut found = false;
    for (value, of) in graph.roundings() {
        let is_made = of == 0 || steps.iter().any(|step| step.output == of);
        let Some(maker) = steps.iter().position(|step| step.output == value) else {
            continue;
        };
        if is_made && is_plain(&steps[maker]) && suits(graph, &steps, value, of) {
            round(&mut steps, value, maker, of, channels(graph, value));
            found = true;
        }
    }
    match found {
        true => tensors::without_unread(graph, steps),
        false => steps,
    }
}

fn channels(graph: &Graph, value: ValueId) -> usize {
    shape(graph, value).channels()
}

fn shape(graph: &Graph, value: ValueId) -> Shape {
    match value.checked_sub(1) {
        Some(node) => graph.nodes()[node].shape,
        None => graph.input(),
    }
}

/// Returns whether nothing was fused into the step that makes a value.
fn is_plain(step: &FusedStep) -> bool {
    step.residual.is_none() && step.activation.is_none()
}

/// Returns whether only layers read a value, and none of them as a residual.
fn suits(graph: &Graph, steps: &[FusedStep], value: ValueId, of: ValueId) -> bool {
    let is_layer = |step: &FusedStep| {
        step.kernel == StepKernel::Linear && step.inputs == [value] && step.residual != Some(value)
    };
    let mut readers = steps.iter().filter(|step| step.takes(value));
    let is_answer = value == graph.nodes().len();
    let alike = shape(graph, value) == shape(graph, of);
    let is_rows = !matches!(shape(graph, value), Shape::Image { .. });
    alike && is_rows && !is_answer && channels(graph, value) <= MOST_SUMMED && readers.all(is_layer)
}

/// Makes the step of a value round another value, and its layers read bytes.
fn round(steps: &mut [FusedStep], value: ValueId, maker: usize, of: ValueId, channels: usize) {
    for step in steps.iter_mut().filter(|step| step.takes(value)) {
        step.kernel = StepKernel::RangedLinear { inputs: channels };
    }
    steps[maker] = FusedStep {
        kernel: StepKernel::RangedBytes,
        weights: None,
        norm: None,
        inputs: vec![of],
        scale: 1.0,
        rounding: None,
        residual: None,
        activation: None,
        tensors: None,
        output: value,
    };
}
