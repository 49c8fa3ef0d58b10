//! Samples that a network rounds before its first products. The products round them while copying.
//!
//! A quantised network begins with a rounding to bytes. A convolution that copies an image of few
//! channels as bytes rounds the same way, so no separate step over the floats is needed.

use super::fuse::{FusedStep, StepKernel};
use super::reduced::{ByteNumbers, ReducedNumbers};

/// Steps without the rounding of the samples, and the numbers that these are rounded to.
pub(super) struct RoundedSamples {
    pub steps: Vec<FusedStep>,
    pub numbers: ReducedNumbers,
}

impl RoundedSamples {
    /// Returns the steps with the samples instead of their rounded values, or `None` if another
    /// step than a convolution reads these, or the samples are read elsewhere. The caller reads the
    /// value `answer`.
    pub(super) fn new(steps: &[FusedStep], answer: usize) -> Option<Self> {
        let mut readers = steps.iter().filter(|step| step.reads().any(|v| v == 0));
        let (only, None) = (readers.next()?, readers.next()) else {
            return None;
        };
        let numbers = ByteNumbers::from_activation(only.activation)?;
        let rounds_alone = only.kernel == StepKernel::Copy && only.residual.is_none();
        let rounded = only.output;
        let convolves = |step: &FusedStep| {
            matches!(step.kernel, StepKernel::Convolution(_)) && step.residual != Some(rounded)
        };
        let mut later = steps.iter().filter(|s| s.reads().any(|v| v == rounded));
        if !rounds_alone || rounded == answer || !later.all(convolves) {
            return None;
        }
        let left = steps.iter().filter(|step| step.output != rounded);
        Some(RoundedSamples {
            steps: left.map(|step| reading_samples(step, rounded)).collect(),
            numbers: ReducedNumbers::Bytes(numbers),
        })
    }
}

/// Returns a step that reads the samples instead of another value.
fn reading_samples(step: &FusedStep, value: usize) -> FusedStep {
    let mut step = step.clone();
    for input in step.inputs.iter_mut().filter(|input| **input == value) {
        *input = 0;
    }
    step
}
