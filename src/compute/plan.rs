//! The arena plan: where every intermediate value lives, known before anything runs.
//!
//! Activations are channels-last. A value is a view into a slot of the arena;
//! the inputs of a concatenation are written straight into its slot where that is
//! safe, and slots are reused once their last reader is done.

use crate::network::{Graph, Op, Shape};

use super::fuse::{FusedStep, Kernel, Value, fuse};
use super::homes::{Homes, Slots};
use super::kernels::tile_floats;
use super::view::View;

/// A fused step with its operands placed.
#[derive(Clone, Debug)]
pub(super) struct PlannedStep {
    pub fused: FusedStep,
    pub inputs: Vec<View>,
    pub residual: Option<View>,
    pub output: View,
}

/// The whole plan of one network, independent of the batch.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub steps: Vec<PlannedStep>,
    /// Floats per sample of each slot.
    pub slots: Vec<usize>,
    /// The network's answer.
    pub answer: View,
}

/// How a batch is split over threads: arenas, and rows of each.
pub(super) fn split(batch: usize, threads: usize) -> (usize, usize) {
    let share = batch.div_ceil(threads.max(1)).max(1);
    (batch.div_ceil(share).max(1), share)
}

impl Plan {
    pub fn new(graph: &Graph) -> Self {
        let steps = with_entry(graph, fuse(graph));
        let answer = graph.nodes().len();
        let homes = Homes::new(graph, &steps);
        let slots = Slots::assign(&homes, &steps, answer);
        let view = |value: Value| homes.view(&slots, value);
        let planned = steps
            .iter()
            .map(|fused| PlannedStep {
                inputs: fused.inputs.iter().map(|&v| view(v)).collect(),
                residual: fused.residual.map(view),
                output: view(fused.output),
                fused: fused.clone(),
            })
            .collect();
        Plan {
            steps: planned,
            answer: view(answer),
            slots: slots.sizes,
        }
    }

    /// Floats of scratch that the widest convolution gathers a tile in.
    pub fn tile(&self, graph: &Graph) -> usize {
        let nodes = self.steps.iter().filter_map(|step| step.fused.weights);
        let depths = nodes.filter_map(|node| match graph.nodes()[node].op {
            Op::Conv2d(conv) => {
                let input = graph.shape(graph.nodes()[node].inputs[0]);
                let Shape::Image { channels, .. } = input else {
                    return None;
                };
                Some(tile_floats(conv, channels))
            }
            _ => None,
        });
        depths.max().unwrap_or(0)
    }
}

/// Samples arrive channels-first; where that differs from channels-last, a first
/// step turns them and everybody reads its answer instead.
fn with_entry(graph: &Graph, mut steps: Vec<FusedStep>) -> Vec<FusedStep> {
    let turned = match graph.input() {
        Shape::Image {
            channels,
            height,
            width,
        } => channels > 1 && height * width > 1,
        Shape::Vector { .. } => false,
    };
    if !turned {
        return steps;
    }
    let entered = graph.nodes().len() + 1;
    for step in &mut steps {
        for value in step.inputs.iter_mut().chain(&mut step.residual) {
            if *value == 0 {
                *value = entered;
            }
        }
    }
    steps.insert(
        0,
        FusedStep {
            kernel: Kernel::Enter,
            weights: None,
            norm: None,
            inputs: vec![0],
            scale: 1.0,
            residual: None,
            activation: None,
            output: entered,
        },
    );
    steps
}
