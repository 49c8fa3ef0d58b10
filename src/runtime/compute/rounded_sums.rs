//! Sums of values that the network rounds before it adds them, in the end of the product that makes
//! the later one of the two.
//!
//! A network that was quantised rounds what each product answers, adds, and rounds once more. The
//! product of bytes does all three while its sums are in registers.

use super::forms::ValueForms;
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::kernels::StepReads;
use super::reduced::{ByteNumbers, ReducedNumbers};

/// Steps with such sums, and how many of the steps before are left out.
pub(super) struct RoundedSums {
    pub steps: Vec<FusedStep>,
    removed: Vec<usize>,
}

impl RoundedSums {
    /// Returns the steps with their rounded sums fused, or `None` if there are none.
    pub(super) fn new(steps: &[FusedStep], forms: &ValueForms) -> Option<Self> {
        let sums = SumsOfProducts::new(steps, forms);
        let mut fused = steps.to_vec();
        let mut removed = Vec::new();
        for at in 0..steps.len() {
            let Some((maker, added)) = sums.operands(at) else {
                continue;
            };
            let sum = &steps[at];
            let product = &mut fused[maker];
            product.rounding = product.activation;
            product.activation = sum.activation;
            product.residual = Some(added);
            product.output = sum.output;
            removed.push(at);
        }
        let left = |(at, step): (usize, FusedStep)| (!removed.contains(&at)).then_some(step);
        let steps = fused.into_iter().enumerate().filter_map(left).collect();
        (!removed.is_empty()).then_some(RoundedSums { steps, removed })
    }

    /// Returns the place among these steps of what was step `at`.
    pub(super) fn place(&self, at: usize) -> usize {
        at - self.removed.iter().filter(|&&removed| removed < at).count()
    }
}

/// Steps with the makers of their values.
struct SumsOfProducts<'a> {
    steps: &'a [FusedStep],
    forms: &'a ValueForms,
    /// The step that makes each value, and how many read it.
    makers: Vec<Option<usize>>,
    readers: Vec<usize>,
}

impl<'a> SumsOfProducts<'a> {
    fn new(steps: &'a [FusedStep], forms: &'a ValueForms) -> Self {
        let values = forms.values.len();
        let (mut makers, mut readers) = (vec![None; values], vec![0; values]);
        for (at, step) in steps.iter().enumerate() {
            makers[step.output] = Some(at);
            step.reads().for_each(|value| readers[value] += 1);
        }
        SumsOfProducts {
            steps,
            forms,
            makers,
            readers,
        }
    }

    /// Returns the product whose end a step can be, and the value that is added to it.
    fn operands(&self, at: usize) -> Option<(usize, ValueId)> {
        let step = &self.steps[at];
        let (one, other) = (step.inputs[0], step.residual?);
        if step.kernel != StepKernel::Copy || one == other {
            return None;
        }
        // The later of the two: the other has been made when it comes.
        let (later, earlier) = match self.makers[one] > self.makers[other] {
            true => (one, other),
            false => (other, one),
        };
        let product = self.makers[later]?;
        (self.readers[later] == 1 && self.is_rounded_product(product)).then_some((product, earlier))
    }

    /// Whether a step is a product of bytes whose answer is rounded to bytes.
    fn is_rounded_product(&self, at: usize) -> bool {
        let step = &self.steps[at];
        let is_grouped = matches!(step.kernel, StepKernel::Convolution(conv) if conv.groups > 1);
        let reads = self.forms.values[step.inputs[0]].reduced;
        let is_of_bytes = matches!(reads, Some(ReducedNumbers::Bytes(_)));
        let rounds = ByteNumbers::of(step.activation).is_some();
        let is_product = self.forms.reads[at] == StepReads::Reduced && !is_grouped;
        is_product && is_of_bytes && rounds && step.residual.is_none()
    }
}
