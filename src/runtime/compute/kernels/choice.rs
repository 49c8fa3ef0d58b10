//! Chooses whether steps read and write floats or reduced numbers, by expected speed.

use super::convolution;
use super::pass;
use super::quantized::Quantized;
use super::quantized_depthwise;
use super::reduced::{self, ReducedKernel, suits_prepared};
use super::target::KernelTarget;
use super::winograd::Winograd;
use crate::compute::buffers::{ReducedView, TensorView};
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::compute::reduced::{ByteNumbers, ReducedNumbers};
use crate::network::Conv2d;

/// Returns the convolution that a weighted step is.
pub(super) fn convolution_of(fused: &FusedStep, output: TensorView) -> Option<Conv2d> {
    match fused.kernel {
        StepKernel::Convolution(conv) => Some(conv),
        StepKernel::Linear => Some(Conv2d::new(output.channels, 1)),
        _ => None,
    }
}

/// Returns the bytes that a weighted step multiplies, if it is a depthwise convolution of bytes.
pub(super) fn depthwise_bytes(
    fused: &FusedStep,
    input: ReducedView,
    output: TensorView,
    target: KernelTarget,
) -> Option<ByteNumbers> {
    let ReducedNumbers::Bytes(numbers) = input.numbers else {
        return None;
    };
    let conv = convolution_of(fused, output).filter(|_| fused.residual.is_none())?;
    quantized_depthwise::suits(conv, input.view, target.family).then_some(numbers)
}

/// Returns whether a weighted step is expected to be faster as a product of reduced numbers.
pub(in crate::compute) fn suits_reduced(
    fused: &FusedStep,
    input: ReducedView,
    output: TensorView,
    target: KernelTarget,
) -> bool {
    let product = |conv| {
        let times = ReducedKernel::for_numbers(target.family, input.numbers).speed();
        reduced::suits(conv, input.view, input.numbers.group())
            && !Winograd::is_faster(conv, input.view, output, target.shape, times)
    };
    depthwise_bytes(fused, input, output, target).is_some()
        || convolution_of(fused, output).is_some_and(product)
}

/// Returns whether a weighted step over an image of few channels is expected to be faster as a
/// product of reduced numbers that the step itself makes of floats.
pub(in crate::compute) fn suits_reducing(
    fused: &FusedStep,
    input: TensorView,
    numbers: ReducedNumbers,
    output: TensorView,
    target: KernelTarget,
) -> bool {
    let StepKernel::Convolution(conv) = fused.kernel else {
        return false;
    };
    let times = ReducedKernel::for_numbers(target.family, numbers).speed();
    times > 1.0
        && suits_prepared(conv, input, numbers)
        && !Winograd::is_faster(conv, input, output, target.shape, times)
}

/// Returns whether a step other than a product of reduced numbers can add both floats and reduced
/// numbers.
pub(in crate::compute) fn adds_any(fused: &FusedStep) -> bool {
    pass::is_pixelwise(fused)
}

/// Returns whether a step reads either form, floats or reduced numbers.
pub(in crate::compute) fn reads_any(
    fused: &FusedStep,
    input: TensorView,
    output: TensorView,
    target: KernelTarget,
) -> bool {
    let narrow = |conv| convolution::reads_any(conv, input, target.shape);
    let is_mean = fused.kernel == StepKernel::GlobalAvgPool;
    is_mean || pass::is_pixelwise(fused) || convolution_of(fused, output).is_some_and(narrow)
}

/// Returns whether a step other than a product of reduced numbers can write reduced numbers without
/// floats. `entry` is set if it reads samples channels-first.
pub(in crate::compute) fn writes_reduced(
    fused: &FusedStep,
    input: TensorView,
    output: TensorView,
    target: KernelTarget,
    entry: bool,
) -> bool {
    let quantized = |conv| !entry && Quantized::new(conv, input, output, target).is_some();
    match (fused.kernel, convolution_of(fused, output)) {
        (StepKernel::Tensor(_) | StepKernel::Concat, _) => false,
        (StepKernel::RangedBytes | StepKernel::RangedLinear { .. }, _) => false,
        (_, Some(conv)) => {
            entry || Winograd::new(conv, input, output, target.shape).is_none() && !quantized(conv)
        }
        _ => true,
    }
}

/// How a step reads its first input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::compute) enum StepReads {
    /// Floats.
    Floats,
    /// Samples channels-first.
    Entry,
    /// The reduced numbers of a product.
    Reduced,
    /// Floats that a product reduces to these numbers; the flag is set for channels-first samples.
    Reducing(ReducedNumbers, bool),
}

impl StepReads {
    /// Returns whether the step is a product of reduced numbers.
    pub(crate) fn is_product(self) -> bool {
        matches!(self, StepReads::Reduced | StepReads::Reducing(..))
    }
}
