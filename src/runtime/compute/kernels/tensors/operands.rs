//! The operands of kernels on tensors: their sources and places.

use super::super::memory::OutputFloats;
use super::super::task::Call;
use crate::compute::buffers::TensorView;
use crate::compute::tensors::Strided;

/// The source of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An input of the step.
    Input(usize),
    /// The step's parameters.
    Parameters,
}

impl Source {
    /// Returns the operand's floats, from the first sample that is worked on.
    ///
    /// # Safety
    /// Nothing writes to them meanwhile.
    pub(super) unsafe fn floats<'a>(self, call: &Call<'a>) -> &'a [f32] {
        match self {
            Source::Parameters => call.weights.packed.values(),
            Source::Input(at) => {
                let view = call.step.inputs[at];
                // SAFETY: guaranteed by the caller.
                let all = unsafe { call.memory.source(view) };
                &all.data[view.first..]
            }
        }
    }
}

/// Returns the floats that a step writes to.
pub(super) fn output<'a>(call: &Call<'a>) -> OutputFloats<'a> {
    call.memory.output(call.step.output)
}

/// The operands of a step and their places in the slots of their values.
pub(super) struct PlacedOperands<'a> {
    pub inputs: &'a [TensorView],
    pub output: TensorView,
}

impl PlacedOperands<'_> {
    /// Returns the place of an operand in the slot of input `at`, and the floats from one sample to
    /// the next, or `None` if the distances are not even.
    pub(super) fn input(&self, at: usize, of: Strided) -> Option<(Strided, usize)> {
        let view = self.inputs.get(at)?;
        let of = of.pitched(view.channels.max(1), view.pitch)?;
        Some((of, view.sample_stride()))
    }

    /// As [`PlacedOperands::input`], of the answer.
    pub(super) fn output(&self, of: Strided) -> Option<(Strided, usize)> {
        let view = self.output;
        let of = of.pitched(view.channels.max(1), view.pitch)?;
        Some((of.moved(view.first), view.sample_stride()))
    }
}
