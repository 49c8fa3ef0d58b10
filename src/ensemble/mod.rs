//! What is to be served: the manifest, its members, samples and combination rules.

mod batch_sizes;
mod combination;
mod evaluation;
mod files;
mod input;
mod logits;
mod manifest;
mod member;
mod normalisation;
mod policy;
mod rule;
pub mod samples;
mod validate;

use std::sync::Arc;

use crate::compute::gpu::Precision;

pub use batch_sizes::{BatchSize, BatchSizes};
pub use combination::{Combination, RuleKind};
pub use evaluation::{MemberEvaluation, MemberFigures};
pub use files::{EnsembleError, Files};
pub use input::{Input, Transforms};
pub use logits::{AverageLogits, Temperature};
pub use member::{Member, OutputKind, VoteWeight, VoteWeightError};
pub use normalisation::{Affine, Normalisation, NormalisationSteps, PerChannel};
pub use policy::{PolicyKind, Wait};
pub use rule::{Average, CombinationRule, MajorityVote, label_of};
pub use samples::{Classes, ImageLayout, SampleForm, Samples};

/// A validated ensemble, weights read and checked.
#[derive(Clone, Debug)]
pub struct Ensemble {
    pub name: String,
    pub members: Vec<Arc<Member>>,
    /// What clients send, and how members take it that say nothing else.
    pub input: Input,
    /// In which order files of samples hold images.
    pub layout: ImageLayout,
    pub classes: usize,
    /// One name a class where the manifest gives them.
    pub labels: Option<Vec<String>>,
    pub rule: RuleKind,
    /// Samples in a segment and in an extent of the pool (the paper's N).
    pub segment_size: usize,
    pub batch_sizes: BatchSizes,
    pub policy: PolicyKind,
    /// In which numbers GPUs compute; CPU partitions compute in float32.
    pub precision: Precision,
    /// Devices named by the manifest; empty means what there is.
    pub devices: Vec<String>,
    /// Samples for benchmarks, with labels where they are known.
    pub calibration: Option<Arc<Samples>>,
}

impl Ensemble {
    /// Reads and checks the manifest in `files`.
    ///
    /// # Errors
    /// The first thing that is wrong: file, line, field and what was expected.
    pub fn read(files: &Files) -> Result<Self, EnsembleError> {
        validate::read(files)
    }

    /// The same ensemble with member number `member` alone.
    pub fn only(&self, member: usize) -> Self {
        let mut alone = Arc::clone(&self.members[member]);
        if alone.vote_weight.is_none() {
            Arc::make_mut(&mut alone).vote_weight = Some(VoteWeight::default());
        }
        Ensemble {
            members: vec![alone],
            // A weight of its own says nothing about a member alone.
            rule: RuleKind::Average,
            ..self.clone()
        }
    }

    /// How its manifest combines members: those of weight 0 do not vote.
    pub fn combination(&self) -> Combination {
        let weights = self.members.iter().map(|m| m.vote_weight);
        let temperatures = self.members.iter().map(|m| m.temperature);
        Combination {
            rule: self.rule,
            voting: weights.clone().map(|w| w.is_some()).collect(),
            weights: weights.map(Option::unwrap_or_default).collect(),
            temperatures: temperatures.collect(),
        }
    }

    /// Whether its members could be combined so.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check_combination(&self, combination: &Combination) -> Result<(), String> {
        combination.check(self.members.len())?;
        let outputs: Vec<OutputKind> = self.members.iter().map(|m| m.outputs).collect();
        combination.check_outputs(&outputs, &self.member_names())
    }

    /// The distinct inputs of the members.
    pub fn transforms(&self) -> Transforms {
        Transforms::new(
            self.input.shape,
            self.members.iter().map(|m| m.input.clone()),
        )
    }

    /// Names of the members in order.
    pub fn member_names(&self) -> Vec<String> {
        self.members.iter().map(|m| m.name.clone()).collect()
    }

    /// What files of samples for it hold.
    pub fn sample_form(&self) -> SampleForm<'_> {
        SampleForm {
            shape: self.input.shape,
            layout: self.layout,
            classes: Classes {
                count: self.classes,
                names: self.labels.as_deref(),
            },
        }
    }

    /// Whether every member's rows are probabilities, as given or made so by a softmax.
    pub fn gives_probabilities(&self) -> bool {
        self.members.iter().all(|m| m.outputs != OutputKind::Values)
    }

    /// Whether any member has made-up weights, so that no accuracy means anything.
    pub fn is_synthetic(&self) -> bool {
        self.members.iter().any(|m| m.weights.is_synthetic())
    }
}
