//! One task of one step: operands, weights, and the memory it may use.

use crate::compute::buffers::TensorView;
use crate::compute::family::Family;
use crate::compute::fuse::FusedStep;

use super::buffer::Buffer;
use super::memory::BatchMemory;

/// A fused step with its operands placed in the arena.
#[derive(Clone, Debug)]
pub(in crate::compute) struct PlacedStep {
    pub fused: FusedStep,
    pub inputs: Vec<TensorView>,
    pub residual: Option<TensorView>,
    pub output: TensorView,
}

/// Folded weights of one step.
#[derive(Debug)]
pub(in crate::compute) struct StepWeights {
    /// Weights as the step's method reads them, or the scale of a step of scale and shift.
    pub packed: Buffer,
    /// A value for each output channel, and zeros up to a whole vector; empty if there is no
    /// bias.
    pub bias: Vec<f32>,
}

/// Scratch of a step, in floats but for `offsets`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::compute) struct Scratch {
    /// For each thread.
    pub own: usize,
    /// For all threads together.
    pub shared: usize,
    /// Row offsets for each thread.
    pub offsets: usize,
}

impl Scratch {
    /// Returns scratch that suffices for both, one after the other.
    pub(crate) fn or(self, other: Scratch) -> Scratch {
        Scratch {
            own: self.own.max(other.own),
            shared: self.shared.max(other.shared),
            offsets: self.offsets.max(other.offsets),
        }
    }
}

/// The most phases of a step.
pub(in crate::compute) const MAX_PHASES: usize = 3;

/// One task of one step.
pub(in crate::compute) struct Call<'a> {
    pub step: &'a PlacedStep,
    pub weights: &'a StepWeights,
    pub family: Family,
    pub memory: BatchMemory<'a>,
    pub samples: usize,
    pub threads: usize,
    /// The thread that runs it, for its scratch.
    pub thread: usize,
    /// That thread's row offsets.
    pub offsets: &'a mut Vec<usize>,
}
