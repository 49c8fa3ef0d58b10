//! The form of each value of a network in the arena: floats, numbers of fewer bits, or both.
//!
//! Products of reduced precision read reduced numbers. Steps that go from pixel to pixel read
//! either form, and all other steps read floats. A value is written in each form that is read.

use super::buffers::{ReducedView, TensorView, ValueBuffers, ValuePlace};
use super::calibration::Calibration;
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::kernels::{
    KernelTarget, StepReads, adds_any, reads_any, suits_reduced, suits_reducing, writes_reduced,
};
use super::precision::CpuPrecision;
use super::reduced::{ReducedNumbers, ValueForm};
use super::value_numbers::value_numbers;
use crate::network::Graph;

/// The forms in which the readers found so far read a value.
#[derive(Clone, Copy, Debug, Default)]
struct ReadForms {
    floats: bool,
    reduced: bool,
}

/// The forms of all values, and how steps read them.
pub(super) struct ValueForms {
    pub values: Vec<ValueForm>,
    /// How each step reads its first input.
    pub reads: Vec<StepReads>,
}

/// The facts that forms are chosen by.
#[derive(Clone, Copy)]
pub(super) struct LoweringFacts<'a> {
    pub graph: &'a Graph,
    pub target: KernelTarget,
    pub calibration: Option<&'a Calibration>,
    /// The numbers to which the network rounds samples first, if the readers of the samples are to
    /// round them.
    pub samples: Option<ReducedNumbers>,
    /// The step that reads samples channels-first.
    pub entry: Option<usize>,
}

impl ValueForms {
    /// Chooses the forms of the values of `steps`.
    pub(super) fn new(
        buffers: &ValueBuffers,
        steps: &[FusedStep],
        choice: LoweringFacts<'_>,
    ) -> Self {
        let LoweringFacts {
            graph,
            target,
            calibration,
            ..
        } = choice;
        let mut numbers = value_numbers(buffers.count(), steps, target.precision, calibration);
        numbers[0] = choice.samples.or(numbers[0]);
        for step in steps.iter().filter(|step| buffers.is_free(step)) {
            keep_as_view(buffers, step, &mut numbers);
        }
        let mut forms = ValueForms {
            values: vec![ValueForm::FLOATS; buffers.count()],
            reads: vec![StepReads::Floats; steps.len()],
        };
        if let Some(entry) = choice.entry {
            forms.reads[entry] = StepReads::Entry;
        }
        if numbers.iter().all(Option::is_none) {
            return forms;
        }
        let mut wanted = vec![ReadForms::default(); buffers.count()];
        wanted[graph.nodes().len()].floats = true;
        // Backwards, so that all readers of a value are known before the step that makes it.
        for (at, step) in steps.iter().enumerate().rev() {
            let step = StepOfValues {
                step,
                buffers,
                numbers: &numbers,
                choice,
                is_entry: choice.entry == Some(at),
            };
            let made = step.made(wanted[step.step.output]);
            forms.values[step.step.output] = made;
            forms.reads[at] = step.reads();
            step.want(made, &mut wanted);
        }
        forms
    }
}

/// Removes the numbers of a view whose input cannot have the same numbers, because no step writes
/// the view's values.
fn keep_as_view(buffers: &ValueBuffers, step: &FusedStep, numbers: &mut [Option<ReducedNumbers>]) {
    let lies = |&input: &ValueId| {
        numbers[input] == numbers[step.output]
            && numbers[input].is_none_or(|of| is_whole(buffers, input, of))
    };
    if !step.inputs.iter().all(lies) {
        numbers[step.output] = None;
    }
}

/// Returns whether the pixels of a value are whole groups of numbers.
fn is_whole(buffers: &ValueBuffers, value: ValueId, numbers: ReducedNumbers) -> bool {
    let view = buffers.placed(value, ValuePlace::Nowhere);
    let whole = |count: usize| count.is_multiple_of(numbers.group());
    whole(view.channels) && whole(view.pitch)
}

/// A step among the values that it reads and makes.
struct StepOfValues<'a> {
    step: &'a FusedStep,
    buffers: &'a ValueBuffers,
    numbers: &'a [Option<ReducedNumbers>],
    choice: LoweringFacts<'a>,
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

    /// Returns how it reads its first input.
    fn reads(&self) -> StepReads {
        let floats = match self.is_entry {
            true => StepReads::Entry,
            false => StepReads::Floats,
        };
        let numbers = self.numbers[self.step.inputs[0]];
        let Some(numbers) = numbers.filter(|&numbers| self.may_reduce(numbers)) else {
            return floats;
        };
        let ((input, output), target) = (self.views(), self.choice.target);
        let reduced = ReducedView {
            view: input,
            numbers,
        };
        if !self.is_entry && suits_reduced(self.step, reduced, output, target) {
            return StepReads::Reduced;
        }
        match suits_reducing(self.step, input, numbers, output, target) {
            true => StepReads::Reducing(numbers, self.is_entry),
            false => floats,
        }
    }

    /// Returns whether weights may be reduced like values: it was requested, or it loses nothing.
    fn may_reduce(&self, numbers: ReducedNumbers) -> bool {
        let LoweringFacts {
            graph,
            target,
            calibration,
            ..
        } = self.choice;
        let Some(node) = self.step.weights else {
            return false;
        };
        let is_asked = target.precision == CpuPrecision::Int8
            && calibration.is_some_and(|known| !known.keeps(node));
        numbers == ReducedNumbers::Bf16 || is_asked || graph.has_stepped_weights(node)
    }

    /// Returns whether it can write reduced numbers without floats.
    fn writes_reduced(&self) -> bool {
        if self.step.kernel == StepKernel::Concat {
            return self.passes_on();
        }
        let (input, output) = self.views();
        self.passes_on()
            || self.reads().is_product()
            || writes_reduced(self.step, input, output, self.choice.target, self.is_entry)
    }

    /// Returns whether it reads either form, floats or reduced numbers.
    fn reads_any(&self) -> bool {
        let (input, output) = self.views();
        let kept = self.choice.calibration.zip(self.step.weights);
        let is_kept = kept.is_some_and(|(known, node)| known.keeps(node));
        !is_kept && reads_any(self.step, input, output, self.choice.target)
    }

    /// Returns whether an input is one row for all pixels of the answer. Such rows are read as
    /// floats.
    fn shares(&self, input: ValueId) -> bool {
        let pixels = |value: ValueId| self.view(value).pixels();
        matches!(self.step.kernel, StepKernel::Paired(_))
            && pixels(input) != pixels(self.step.output)
    }

    /// Returns whether its answer has the form of its inputs: joined inputs, their maxima, or a
    /// view of an input.
    fn passes_on(&self) -> bool {
        let made = self.numbers[self.step.output];
        let alike = |&input: &ValueId| {
            input != 0
                && self.numbers[input] == made
                && made.is_none_or(|n| is_whole(self.buffers, input, n))
        };
        let keeps = matches!(
            self.step.kernel,
            StepKernel::Concat | StepKernel::MaxPool(_)
        );
        (keeps || self.buffers.is_free(self.step)) && self.step.inputs.iter().all(alike)
    }

    /// Returns whether it looks up the bytes of its input in a table.
    fn looks_bytes_up(&self) -> bool {
        let input = self.step.inputs[0];
        let numbers = self.numbers[input].filter(|&of| is_whole(self.buffers, input, of));
        matches!(self.step.kernel, StepKernel::Table(_)) && numbers.is_some()
    }

    /// Returns the forms of the value that it makes.
    fn made(&self, wanted: ReadForms) -> ValueForm {
        let Some(numbers) = self.numbers[self.step.output] else {
            return ValueForm::FLOATS;
        };
        let is_whole = is_whole(self.buffers, self.step.output, numbers);
        let is_reduced = is_whole && (wanted.reduced || !wanted.floats && self.writes_reduced());
        ValueForm {
            float: wanted.floats || !is_reduced || !self.writes_reduced(),
            reduced: is_reduced.then_some(numbers),
        }
    }

    /// Notes the forms in which it reads its inputs, given the form of its answer.
    fn want(&self, made: ValueForm, wanted: &mut [ReadForms]) {
        let from = self.reads();
        let reduced = from == StepReads::Reduced;
        let reads = match self.passes_on() {
            true => ReadForms {
                floats: made.float,
                reduced: made.reduced.is_some(),
            },
            false if self.looks_bytes_up() => ReadForms {
                floats: false,
                reduced: true,
            },
            false => ReadForms {
                floats: !reduced && (from.is_product() || !self.reads_any()),
                reduced,
            },
        };
        for &input in &self.step.inputs {
            wanted[input].floats |= reads.floats || self.shares(input);
            wanted[input].reduced |= reads.reduced;
        }
        // These steps add either form.
        let adds_any = from.is_product() || adds_any(self.step);
        if let Some(residual) = self.step.residual.filter(|_| !adds_any) {
            wanted[residual].floats = true;
        }
    }
}
