//! How each value of a network lies in the arena: as floats, as numbers of fewer bits, or both.
//!
//! Products of reduced precision read reduced numbers and take them, or floats, as the sum that is
//! added; all other steps read floats. Whoever makes a value writes each form that is read.

use super::buffers::{TensorView, ValueBuffers, ValuePlace};
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::kernels::{KernelTarget, reads_reduced, writes_reduced};
use super::reduced::ReducedNumbers;

/// The forms that a value lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ValueForm {
    pub float: bool,
    pub reduced: Option<ReducedNumbers>,
}

impl ValueForm {
    /// Floats alone.
    pub(super) const FLOATS: ValueForm = ValueForm {
        float: true,
        reduced: None,
    };

    /// Returns the forms that are in either.
    pub(super) fn or(self, other: ValueForm) -> ValueForm {
        ValueForm {
            float: self.float || other.float,
            reduced: self.reduced.or(other.reduced),
        }
    }
}

/// How the readers that are known so far read a value.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    floats: bool,
    reduced: bool,
}

/// Returns the forms of all values; `entry` is the step that reads samples channels-first.
pub(super) fn value_forms(
    buffers: &ValueBuffers,
    steps: &[FusedStep],
    (answer, entry): (ValueId, Option<usize>),
    target: KernelTarget,
) -> Vec<ValueForm> {
    let mut forms = vec![ValueForm::FLOATS; buffers.count()];
    let Some(numbers) = target.reduced_numbers() else {
        return forms;
    };
    let mut wanted = vec![Wanted::default(); buffers.count()];
    wanted[answer].floats = true;
    // Backwards, so that all who read a value are known when the step comes that makes it.
    for (at, step) in steps.iter().enumerate().rev() {
        let step = StepOfValues {
            step,
            buffers,
            target,
            is_entry: entry == Some(at),
        };
        let made = step.made(wanted[step.step.output], numbers);
        forms[step.step.output] = made;
        step.want(made, &mut wanted);
    }
    forms
}

/// A step among the values that it reads and makes.
struct StepOfValues<'a> {
    step: &'a FusedStep,
    buffers: &'a ValueBuffers,
    target: KernelTarget,
    is_entry: bool,
}

impl StepOfValues<'_> {
    fn view(&self, value: ValueId) -> TensorView {
        let place = match value {
            0 => ValuePlace::Input,
            _ => ValuePlace::Nowhere,
        };
        self.buffers.placed(value, place)
    }

    fn views(&self) -> (TensorView, TensorView) {
        (self.view(self.step.inputs[0]), self.view(self.step.output))
    }

    fn reads_reduced(&self) -> bool {
        let (input, output) = self.views();
        !self.is_entry && reads_reduced(self.step, input, output, self.target)
    }

    /// Whether it writes reduced numbers without floats.
    fn writes_reduced(&self) -> bool {
        if self.passes_on() {
            return self.step.inputs.iter().all(|&input| input != 0);
        }
        let (input, output) = self.views();
        writes_reduced(self.step, input, output, (self.target, self.is_entry))
    }

    /// Whether its answer lies as its inputs do: joined, or where its input is.
    fn passes_on(&self) -> bool {
        self.step.kernel == StepKernel::Concat || self.buffers.is_free(self.step)
    }

    /// Returns the forms of the value that it makes.
    fn made(&self, wanted: Wanted, numbers: ReducedNumbers) -> ValueForm {
        let view = self.view(self.step.output);
        let is_whole = view.channels.is_multiple_of(numbers.group())
            && view.pitch.is_multiple_of(numbers.group());
        let is_reduced = is_whole && (wanted.reduced || !wanted.floats && self.writes_reduced());
        ValueForm {
            float: wanted.floats || !is_reduced || !self.writes_reduced(),
            reduced: is_reduced.then_some(numbers),
        }
    }

    /// Notes how it reads its inputs, once it is known how its answer lies.
    fn want(&self, made: ValueForm, wanted: &mut [Wanted]) {
        let reads = match (self.passes_on(), self.reads_reduced()) {
            (true, _) => Wanted {
                floats: made.float,
                reduced: made.reduced.is_some(),
            },
            (false, reduced) => Wanted {
                floats: !reduced,
                reduced,
            },
        };
        for &input in &self.step.inputs {
            wanted[input].floats |= reads.floats;
            wanted[input].reduced |= reads.reduced;
        }
        // Products of reduced precision add what is there.
        if let Some(residual) = self.step.residual.filter(|_| !self.reads_reduced()) {
            wanted[residual].floats = true;
        }
    }
}
