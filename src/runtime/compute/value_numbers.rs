//! The reduced numbers that can represent each value of a network.

use super::calibration::{Calibration, MOST_BYTE};
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::precision::CpuPrecision;
use super::reduced::{ByteNumbers, ReducedNumbers};

/// Returns the numbers of each of `count` values: those that the network itself rounds to, else
/// those of the requested precision.
pub(super) fn value_numbers(
    count: usize,
    steps: &[FusedStep],
    precision: CpuPrecision,
    calibration: Option<&Calibration>,
) -> Vec<Option<ReducedNumbers>> {
    let numbers = match (precision, calibration) {
        (CpuPrecision::Bf16, _) => vec![Some(ReducedNumbers::Bf16); count],
        (CpuPrecision::Int8, Some(calibration)) => calibrated_inputs(count, steps, calibration),
        (CpuPrecision::F32 | CpuPrecision::Int8, _) => vec![None; count],
    };
    let mut reads = vec![0; count];
    let all = steps.iter().flat_map(FusedStep::reads);
    all.for_each(|value| reads[value] += 1);
    let mut values = NumberedValues {
        numbers,
        reads,
        rounded: vec![false; count],
    };
    steps.iter().for_each(|step| values.round(step));
    // Backwards, so that values in nested concatenations also become one value.
    steps.iter().rev().for_each(|step| values.join(step));
    steps.iter().for_each(|step| values.pass_on(step));
    values.numbers
}

/// Returns the bytes of the values that a layer in int8 reads. Other values are not rounded,
/// because their readers would lose accuracy that the calibration does not account for.
fn calibrated_inputs(
    count: usize,
    steps: &[FusedStep],
    calibration: &Calibration,
) -> Vec<Option<ReducedNumbers>> {
    let mut numbers = vec![None; count];
    for step in steps {
        if step.weights.is_some_and(|node| !calibration.keeps(node)) {
            numbers[step.inputs[0]] = calibrated(calibration, step.inputs[0]);
        }
    }
    numbers
}

/// Values with their numbers.
struct NumberedValues {
    numbers: Vec<Option<ReducedNumbers>>,
    /// How often each value is read.
    reads: Vec<usize>,
    /// Whether the network itself rounds each value to its numbers.
    rounded: Vec<bool>,
}

impl NumberedValues {
    /// Gives the answer of a step the numbers that it is rounded to, or the inputs' numbers if
    /// these are rounded.
    fn round(&mut self, step: &FusedStep) {
        let own = ByteNumbers::from_activation(step.activation).map(ReducedNumbers::Bytes);
        let first = self.numbers[step.inputs[0]];
        let is_rounded = |&input: &ValueId| self.rounded[input] && self.numbers[input] == first;
        let passed = answers_values_of_its_inputs(step) && step.inputs.iter().all(is_rounded);
        if let Some(numbers) = own.or(first.filter(|_| passed)) {
            self.numbers[step.output] = Some(numbers);
            self.rounded[step.output] = true;
        }
    }

    /// Gives the inputs of a step that only forwards values the numbers of its answer. The step
    /// must be their only reader, and the network must round neither.
    fn join(&mut self, step: &FusedStep) {
        if !answers_values_of_its_inputs(step) || self.rounded[step.output] {
            return;
        }
        for &input in step.inputs.iter().filter(|&&input| input != 0) {
            if !self.rounded[input] && self.reads[input] == 1 {
                self.numbers[input] = self.numbers[step.output];
            }
        }
    }

    /// If a step forwards rounded values of its input, assigns its answer the same numbers.
    fn pass_on(&mut self, step: &FusedStep) {
        let first = self.numbers[step.inputs[0]];
        if answers_values_of_its_inputs(step)
            && step.kernel != StepKernel::Concat
            && first.is_some()
        {
            self.numbers[step.output] = first;
        }
    }
}

/// Returns whether the answer of a step has only values of its inputs.
fn answers_values_of_its_inputs(step: &FusedStep) -> bool {
    let kept = match step.kernel {
        StepKernel::Concat | StepKernel::MaxPool(_) | StepKernel::Flatten => true,
        StepKernel::ChannelShuffle(_) | StepKernel::Channels(_) => true,
        StepKernel::Tensor(op) => op.moves_values(),
        _ => false,
    };
    kept && step.activation.is_none() && step.residual.is_none()
}

/// Returns the bytes of a value whose range is known; its numbers have 7 bits.
fn calibrated(calibration: &Calibration, value: ValueId) -> Option<ReducedNumbers> {
    let range = calibration.range(value)?;
    let (scale, zero_point) = (range.scale(), range.zero_point());
    (scale.is_normal() && scale.recip().is_normal()).then_some(ReducedNumbers::Bytes(ByteNumbers {
        scale,
        zero_point,
        most: MOST_BYTE,
    }))
}
