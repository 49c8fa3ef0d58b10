//! The arena plan: where every intermediate value lives, known before anything runs.
//!
//! Activations are channels-last. A value is a view into a slot of the arena;
//! the inputs of a concatenation are written straight into its slot where that is
//! safe, and slots are reused once their last reader is done.

use crate::network::{Conv2d, Graph, Shape};

use super::chunks::{Chunks, together};
use super::fuse::{FusedStep, StepKernel, ValueId, fuse};
use super::homes::{Homes, Slots};
use super::kernels::{self, Convolution, Filters, Scratch, TileShape, Winograd};
use super::view::TensorView;

/// A fused step with its operands placed.
#[derive(Clone, Debug)]
pub(super) struct PlannedStep {
    pub fused: FusedStep,
    pub inputs: Vec<TensorView>,
    pub residual: Option<TensorView>,
    pub output: TensorView,
    pub method: StepMethod,
}

/// How a step is computed.
#[derive(Clone, Debug)]
pub(super) enum StepMethod {
    /// A pass over the output's pixels, whatever the kernel.
    Simple,
    Convolution(Box<Convolution>),
    Winograd(Box<Winograd>),
}

impl StepMethod {
    /// Floats of the step's weights as the method reads them.
    pub fn weight_floats(&self) -> usize {
        match self {
            StepMethod::Simple => 0,
            StepMethod::Convolution(c) => c.weight_floats(),
            StepMethod::Winograd(w) => w.weight_floats(),
        }
    }

    /// The convolution it computes, if it is one.
    pub fn conv(&self) -> Option<Conv2d> {
        match self {
            StepMethod::Simple => None,
            StepMethod::Convolution(c) => Some(c.conv),
            StepMethod::Winograd(w) => Some(w.conv),
        }
    }

    /// Lays weights out; `packed` has [`StepMethod::weight_floats`] zeros.
    pub fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self {
            StepMethod::Simple => {}
            StepMethod::Convolution(c) => c.pack(filters, packed),
            StepMethod::Winograd(w) => w.pack(filters, packed),
        }
    }

    fn zeros(&self) -> usize {
        match self {
            StepMethod::Simple | StepMethod::Winograd(_) => 0,
            StepMethod::Convolution(c) => c.zeros(),
        }
    }
}

/// The whole plan of one network, independent of the batch.
#[derive(Clone, Debug)]
pub(super) struct ArenaPlan {
    pub steps: Vec<PlannedStep>,
    /// Floats per sample of each slot.
    pub slots: Vec<usize>,
    /// Which slots are written and read only before the cut.
    pub early: Vec<bool>,
    pub chunks: Chunks,
    /// The network's answer.
    pub answer: TensorView,
    /// Zeros that steps read for what lies outside of an image.
    pub zeros: usize,
}

impl ArenaPlan {
    /// Plans `graph` for kernels whose tiles are of `shape`.
    pub fn new(graph: &Graph, shape: TileShape) -> Self {
        let mut steps = fuse(graph);
        let entry = enter(graph, &mut steps);
        let answer = graph.nodes().len();
        let homes = Homes::new(graph, &steps);
        let chunks = Chunks::new(graph, &homes, &steps);
        let slots = Slots::assign(&homes, &steps, answer, chunks.cut);
        let view = |value: ValueId| homes.view(&slots, value);
        let planned: Vec<PlannedStep> = steps
            .iter()
            .enumerate()
            .map(|(at, fused)| {
                let inputs: Vec<TensorView> = fused.inputs.iter().map(|&v| view(v)).collect();
                let output = view(fused.output);
                PlannedStep {
                    method: method(fused.kernel, &inputs, output, entry == Some(at), shape),
                    inputs,
                    residual: fused.residual.map(view),
                    output,
                    fused: fused.clone(),
                }
            })
            .collect();
        ArenaPlan {
            zeros: planned.iter().map(|s| s.method.zeros()).max().unwrap_or(0),
            steps: planned,
            answer: view(answer),
            slots: slots.sizes,
            early: slots.early,
            chunks,
        }
    }

    /// Scratch that is enough for every step.
    pub fn scratch(&self, samples: usize, threads: usize) -> Scratch {
        let (early, late) = self.steps.split_at(self.chunks.cut);
        let of = |samples| move |step| kernels::scratch(step, samples, threads);
        let early = early.iter().map(of(self.chunks.most(samples)));
        let each = early.chain(late.iter().map(of(samples)));
        each.fold(Scratch::default(), Scratch::or)
    }

    /// Floats of the slots for `samples` samples.
    pub fn slot_floats(&self, slot: usize, samples: usize) -> usize {
        let samples = if self.early[slot] {
            self.chunks.most(samples)
        } else {
            samples
        };
        self.slots[slot] * samples
    }

    /// Samples of a batch of `batch` that are run together.
    pub fn together(&self, batch: usize) -> usize {
        let late = (0..self.slots.len()).filter(|&s| !self.early[s]);
        together(batch, late.map(|s| self.slots[s]).sum())
    }

    /// Floats of all weights once they are folded and laid out.
    pub fn weight_floats(&self) -> usize {
        self.steps.iter().map(super::fold::floats).sum()
    }
}

fn method(
    kernel: StepKernel,
    inputs: &[TensorView],
    output: TensorView,
    entry: bool,
    shape: TileShape,
) -> StepMethod {
    let conv = match kernel {
        StepKernel::Convolution(conv) => conv,
        StepKernel::Linear => Conv2d::new(output.channels, 1),
        _ => return StepMethod::Simple,
    };
    let winograd = Winograd::new(conv, inputs[0], output, shape);
    if let Some(winograd) = winograd.filter(|_| !entry) {
        return StepMethod::Winograd(Box::new(winograd));
    }
    let convolution = Convolution::new(conv, inputs[0], output, entry, shape);
    StepMethod::Convolution(Box::new(convolution))
}

/// Inputs of at most this many channels are turned by the convolution that reads them.
const ENTRY_CHANNELS: usize = 4;

/// Floats of one sample in an arena that holds every value for a whole batch.
pub(super) fn whole_arena(graph: &Graph) -> usize {
    let mut steps = fuse(graph);
    if channels_first(graph) {
        turn(graph, &mut steps);
    }
    let homes = Homes::new(graph, &steps);
    let slots = Slots::assign(&homes, &steps, graph.nodes().len(), 0);
    slots.sizes.iter().sum()
}

/// Whether samples are images whose values lie otherwise when channels come last.
fn channels_first(graph: &Graph) -> bool {
    matches!(graph.input(), Shape::Image { channels, height, width }
        if channels > 1 && height * width > 1)
}

/// Samples arrive channels-first. Where that differs from channels-last, the one
/// convolution that reads them turns them as it reads (its place is given back), or a
/// first step turns them for everybody.
fn enter(graph: &Graph, steps: &mut Vec<FusedStep>) -> Option<usize> {
    if !channels_first(graph) {
        return None;
    }
    let mut readers = (0..steps.len()).filter(|&i| steps[i].reads().any(|v| v == 0));
    if let (Some(only), None) = (readers.next(), readers.next()) {
        let step = &steps[only];
        let conv = matches!(step.kernel, StepKernel::Convolution(c) if c.groups == 1);
        let few =
            matches!(graph.input(), Shape::Image { channels, .. } if channels <= ENTRY_CHANNELS);
        if conv && step.residual != Some(0) && few {
            return Some(only);
        }
    }
    turn(graph, steps);
    None
}

/// A first step that turns the samples, whose answer everybody reads instead.
pub(super) fn turn(graph: &Graph, steps: &mut Vec<FusedStep>) {
    let entered = graph.nodes().len() + 1;
    for step in steps.iter_mut() {
        for value in step.inputs.iter_mut().chain(&mut step.residual) {
            if *value == 0 {
                *value = entered;
            }
        }
    }
    steps.insert(
        0,
        FusedStep {
            kernel: StepKernel::Enter,
            weights: None,
            norm: None,
            inputs: vec![0],
            scale: 1.0,
            residual: None,
            activation: None,
            output: entered,
        },
    );
}
