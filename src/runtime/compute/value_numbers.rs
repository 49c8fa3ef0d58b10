//! The reduced numbers that stand for each value of a network, where it may lie as such.

use super::calibration::{Calibration, MOST_BYTE};
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::precision::CpuPrecision;
use super::reduced::{ByteNumbers, ReducedNumbers};
use crate::network::TensorOp;

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
    let mut numbers: Vec<_> = (0..count).map(usual).collect();
    let mut fixed = vec![false; count];
    for step in steps {
        if let Some(bytes) = ByteNumbers::of(step.activation) {
            numbers[step.output] = Some(ReducedNumbers::Bytes(bytes));
            fixed[step.output] = true;
        } else if answers_values_of_its_inputs(step) {
            let first = numbers[step.inputs[0]];
            let alike = step.inputs.iter().all(|&i| fixed[i] && numbers[i] == first);
            if alike {
                numbers[step.output] = first;
                fixed[step.output] = true;
            }
        }
    }
    // What is joined lies as one value: backwards, so that what is joined twice does, too.
    for step in steps
        .iter()
        .rev()
        .filter(|s| answers_values_of_its_inputs(s))
    {
        for &input in step.inputs.iter().filter(|&&input| input != 0) {
            if !fixed[input] && !fixed[step.output] && step.kernel == StepKernel::Concat {
                numbers[input] = numbers[step.output];
            }
        }
    }
    for step in steps {
        if answers_values_of_its_inputs(step) && step.kernel != StepKernel::Concat {
            numbers[step.output] = numbers[step.inputs[0]];
        }
    }
    numbers
}

/// Whether the answer of a step has no other values than its inputs.
fn answers_values_of_its_inputs(step: &FusedStep) -> bool {
    let kept = matches!(
        step.kernel,
        StepKernel::Concat | StepKernel::MaxPool(_) | StepKernel::Tensor(TensorOp::View { .. })
    );
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
