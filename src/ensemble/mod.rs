//! The ensemble to serve: its manifest, members, samples and combination rules.

mod alone;
mod batching;
mod combination;
mod evaluation;
mod input;
mod manifest;
mod member;
mod rule;
pub mod samples;
mod validate;

use std::sync::Arc;

use crate::compute::gpu::Precision;
use crate::device::MemberIndex;

pub use batching::{BatchSize, BatchSizes, BatchSizesError, PolicyError, PolicyKind, Wait};
pub use combination::{Combination, CombinationError, RuleKind};
pub use evaluation::{MemberEvaluation, MemberFigures};
pub use input::{
    Affine, Input, Normalisation, NormalisationSteps, NotFinite, PerChannel, Transforms,
};
pub use manifest::{EnsembleError, Files};
pub use member::{Member, OutputKind};
pub use rule::{
    Average, AverageLogits, CombinationRule, MajorityVote, Temperature, VoteWeight, label_of,
};
pub use samples::{Classes, ImageFit, ImageLayout, SampleForm, Samples};

/// A validated ensemble, weights read and checked.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// Its name.
    pub name: String,
    /// Its members, one a column of the matrix.
    pub members: Vec<Arc<Member>>,
    /// The input that clients send, and that of members without one of their own.
    pub input: Input,
    /// The order in which files of samples hold the values of images.
    pub layout: ImageLayout,
    /// How images of another size become samples.
    pub image_fit: ImageFit,
    /// The number of classes.
    pub classes: usize,
    /// The classes' names, if the manifest has them.
    pub labels: Option<Vec<String>>,
    /// The combination rule.
    pub rule: RuleKind,
    /// Samples in a segment and in an extent of the pool (the paper's N).
    pub segment_size: usize,
    /// The batch sizes that entries of the matrix may have.
    pub batch_sizes: BatchSizes,
    /// The batching policy.
    pub policy: PolicyKind,
    /// The numbers that GPUs compute in; CPU partitions compute in float32.
    pub precision: Precision,
    /// The devices named by the manifest; empty for all of the machine.
    pub devices: Vec<String>,
    /// Samples for benchmarks, with labels where they are known.
    pub calibration: Option<Arc<Samples>>,
}

impl Ensemble {
    /// Returns the ensemble with one member alone.
    pub fn only(&self, member: MemberIndex) -> Self {
        let mut alone = Arc::clone(&self.members[member]);
        if alone.vote_weight.is_none() {
            Arc::make_mut(&mut alone).vote_weight = Some(VoteWeight::default());
        }
        Ensemble {
            members: vec![alone],
            // A weight means nothing for a member alone.
            rule: RuleKind::Average,
            ..self.clone()
        }
    }

    /// Returns the combination of its manifest: members of weight 0 do not vote.
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

    /// Checks that its members can be combined so.
    ///
    /// # Errors
    /// As [`Combination::check`] and [`Combination::check_outputs`].
    pub fn check_combination(&self, combination: &Combination) -> Result<(), CombinationError> {
        combination.check(self.members.len())?;
        let outputs: Vec<OutputKind> = self.members.iter().map(|m| m.outputs).collect();
        combination.check_outputs(&outputs, &self.member_names())
    }

    /// Returns the distinct inputs of the members.
    pub fn transforms(&self) -> Transforms {
        Transforms::new(
            self.input.shape,
            self.members.iter().map(|m| m.input.clone()),
        )
    }

    /// Returns the names of the members in order.
    pub fn member_names(&self) -> Vec<String> {
        self.members.iter().map(|m| m.name.clone()).collect()
    }

    /// Returns the form of files of samples for it.
    pub fn sample_form(&self) -> SampleForm<'_> {
        SampleForm {
            shape: self.input.shape,
            layout: self.layout,
            classes: Classes {
                count: self.classes,
                names: self.labels.as_deref(),
            },
            image_fit: self.image_fit,
        }
    }

    /// Whether every member's rows are probabilities, by themselves or by a softmax.
    pub fn gives_probabilities(&self) -> bool {
        self.members.iter().all(|m| m.outputs != OutputKind::Values)
    }

    /// Whether any member has synthetic weights, so that accuracies mean nothing.
    pub fn is_synthetic(&self) -> bool {
        self.members.iter().any(|m| m.weights.is_synthetic())
    }
}
