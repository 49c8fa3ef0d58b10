//! Steps with the forms of their values, before these have a place.

use super::buffers::ValueBuffers;
use super::forms::{LoweringFacts, ValueForms};
use super::fuse::FusedStep;
use super::kernels::StepReads;
use super::reduced::ReducedNumbers;
use super::rounded_sums::RoundedSums;

/// Steps, with the buffers and the forms of their values.
pub(super) struct FormedSteps<'a> {
    pub steps: Vec<FusedStep>,
    facts: LoweringFacts<'a>,
    pub buffers: ValueBuffers,
    pub forms: ValueForms,
}

impl<'a> FormedSteps<'a> {
    pub(super) fn new(steps: Vec<FusedStep>, facts: LoweringFacts<'a>) -> Self {
        let buffers = ValueBuffers::new(facts.graph, &steps);
        let forms = ValueForms::new(&buffers, &steps, facts);
        FormedSteps {
            steps,
            facts,
            buffers,
            forms,
        }
    }

    /// Returns whether all readers of the samples round them to bytes.
    pub(super) fn rounds_samples(&self) -> bool {
        let mut steps = self.steps.iter().zip(&self.forms.reads);
        steps.all(|(step, &reads)| {
            let reads_samples = step.reads().any(|value| value == 0);
            !reads_samples || matches!(reads, StepReads::Reducing(ReducedNumbers::Bytes(_), _))
        })
    }

    /// Returns the same with rounded sums in the ends of products.
    pub(super) fn with_rounded_sums(self) -> Self {
        let Some(sums) = RoundedSums::new(self.facts.graph, &self.steps, &self.forms) else {
            return self;
        };
        let facts = LoweringFacts {
            entry: self.facts.entry.map(|at| sums.place(at)),
            ..self.facts
        };
        let fused = FormedSteps::new(sums.steps, facts);
        // Only a product of bytes rounds before it adds.
        let mut steps = fused.steps.iter().zip(&fused.forms.reads);
        let adds = |reads: StepReads| reads == StepReads::Reduced;
        match steps.all(|(step, &reads)| adds(reads) || step.rounding.is_none()) {
            true => fused,
            false => self,
        }
    }
}
