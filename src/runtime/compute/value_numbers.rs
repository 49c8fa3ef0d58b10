//! The reduced numbers that stand for each value of a network, where it may lie as such.

use super::calibration::{Calibration, MOST_BYTE};
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::precision::CpuPrecision;
use super::reduced::{ByteNumbers, ReducedNumbers};

/// Returns the numbers of each of `count` values: those that the network itself rounds to, else those
/// of the precision that was asked for.
pub(super) fn value_numbers(
    count: usize,
    steps: &[FusedStep],
    precision: CpuPrecision,
    calibration: Option<&Calibration>,
) -> Vec<Option<ReducedNumbers>> {
    let usual = |value: ValueId| match precision {
        CpuPrecision::F32 => None,
        CpuPrecision::Bf16 => Some(ReducedNumbers::Bf16),
        CpuPrecision::Int8 => calibrated(calibration?, value),
    };
    let mut values = NumberedValues {
        numbers: (0..count).map(usual).collect(),
        rounded: vec![false; count],
    };
    steps.iter().for_each(|step| values.round(step));
    // Backwards, so that what is joined twice lies as one value, too.
    steps.iter().rev().for_each(|step| values.join(step));
    steps.iter().for_each(|step| values.pass_on(step));
    values.numbers
}

/// Values with their numbers.
struct NumberedValues {
    numbers: Vec<Option<ReducedNumbers>>,
    /// Whether the network itself rounds each value to its numbers.
    rounded: Vec<bool>,
}

impl NumberedValues {
    /// Takes the numbers that a step rounds its answer to, or those of its inputs if these are rounded.
    fn round(&mut self, step: &FusedStep) {
        let own = ByteNumbers::of(step.activation).map(ReducedNumbers::Bytes);
        let first = self.numbers[step.inputs[0]];
        let is_rounded = |&input: &ValueId| self.rounded[input] && self.numbers[input] == first;
        let passed = answers_values_of_its_inputs(step) && step.inputs.iter().all(is_rounded);
        if let Some(numbers) = own.or(first.filter(|_| passed)) {
            self.numbers[step.output] = Some(numbers);
            self.rounded[step.output] = true;
        }
    }

    /// Has what is joined lie as one value, unless the network rounds it.
    fn join(&mut self, step: &FusedStep) {
        if step.kernel != StepKernel::Concat || self.rounded[step.output] {
            return;
        }
        for &input in step.inputs.iter().filter(|&&input| input != 0) {
            if !self.rounded[input] {
                self.numbers[input] = self.numbers[step.output];
            }
        }
    }

    /// Has the answer of a step that answers values of its input lie as that.
    fn pass_on(&mut self, step: &FusedStep) {
        if answers_values_of_its_inputs(step) && step.kernel != StepKernel::Concat {
            self.numbers[step.output] = self.numbers[step.inputs[0]];
        }
    }
}

/// Whether the answer of a step has no other values than its inputs.
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
