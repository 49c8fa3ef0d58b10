//! The ensemble to serve: its manifest, members, samples and combination rules.

mod alone;
mod answer_floats;
mod answers;
mod answers_table;
mod assembled;
mod average_precision;
mod batching;
mod box_outputs;
mod box_rules;
mod boxes;
mod combination;
mod evaluation;
mod files;
mod input;
mod label_reading;
mod label_rules;
mod lengths_table;
mod made_up;
mod manifest;
mod measure;
mod measure_counts;
mod measure_tally;
mod member;
mod member_remark;
mod own_answers;
mod padding_trial;
mod position_rules;
mod positions;
mod precision;
mod precision_remark;
mod queue_table;
mod queueing;
mod rule;
mod rule_kind;
mod sample_pieces;
mod sample_values;
pub mod samples;
mod steps_table;
mod tags;
mod text_table;
mod validate;
mod value_rules;

use std::sync::Arc;

use crate::dataflow::Dataflow;
use crate::pipeline::{Pipeline, PlaneRows};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{Devices, MemberIndex};
use divisi_runtime::tensor::{Lengths, RowCheck, TensorSpec};

pub use answer_floats::AnswerFloats;
pub use answers::{AnswerKind, AnswerWidth, BoxCount, MaskSide, Threshold, TokenCount};
pub use assembled::AssembledError;
pub use batching::{
    BatchSize, BatchSizes, BatchSizesError, MemberPolicy, PolicyError, PolicyKind, Wait,
};
pub use box_outputs::{BoxForm, BoxOutputs, BoxScores, BoxStrides};
pub use boxes::{BoxRows, Corners, ScoredBox, TargetBox};
pub use combination::{Combination, CombinationError};
pub use evaluation::{MemberEvaluation, MemberFigures};
pub use files::Files;
pub use input::{
    Affine, Input, Normalisation, NormalisationSteps, NotFinite, PerChannel, Transforms,
};
pub use label_rules::{AverageLabelLogits, LabelMajority};
pub use manifest::EnsembleError;
pub use measure::{Measure, Quality};
pub use measure_tally::{MeasureTally, is_right};
pub use member::{Member, OutputKind};
pub use member_remark::MemberRemark;
pub use own_answers::OwnAnswers;
pub use positions::PositionRows;
pub use precision::{ComputedMember, MemberPrecision, MemberPrecisionError};
pub use precision_remark::PrecisionRemark;
pub use queueing::{QueueLevel, QueuePolicy, QueueTimeout, Queueing, QueueingError, TimeoutAction};
pub use rule::{
    Average, AverageLogits, CombinationRule, MajorityVote, Temperature, VoteWeight, label_of,
};
pub use rule_kind::RuleKind;
pub use sample_pieces::{PiecedValues, SamplePiece, SharedMemory};
pub use sample_values::SampleValues;
pub use samples::{
    Classes, ImageFit, ImageLayout, SampleForm, SampleTarget, Samples, TargetColumns,
    TargetNumbers, Targets, TextInput,
};
pub use tags::TagScheme;
pub use value_rules::{Median, ValueMean};

/// The samples of a segment where nothing else is said (the paper, section III).
pub const DEFAULT_SEGMENT: usize = 128;

/// A validated ensemble, weights read and checked.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// Its name.
    pub name: String,
    /// Its members, one a column of the matrix.
    pub members: Vec<Arc<Member>>,
    /// The input that clients send, and that of members without one of their own.
    pub input: Input,
    /// The named tensors that a sample consists of, one after another in its row; `None` where
    /// it is a single one of float32.
    pub tensors: Option<Vec<TensorSpec>>,
    /// How texts become these tensors, where samples are texts.
    pub text: Option<TextInput>,
    /// The lengths of samples, where dimensions of those tensors vary; a sample's length is the
    /// first value of its row.
    pub lengths: Option<Lengths>,
    /// The check of samples, where some numbers are no samples: ids beyond a member's table.
    pub row_check: RowCheck,
    /// The order in which files of samples hold the values of images.
    pub layout: ImageLayout,
    /// How images of another size become samples.
    pub image_fit: ImageFit,
    /// The kind of its answers.
    pub answers: AnswerKind,
    /// The names of the classes, values or labels, if the manifest has them.
    pub answer_names: Option<Vec<String>>,
    /// The combination rule.
    pub rule: RuleKind,
    /// The steps over the members, where these are not run side by side and combined by the rule.
    pub pipeline: Option<Arc<Pipeline>>,
    /// Its members answer requests of their own: nothing combines them.
    pub apart: bool,
    /// Samples in a segment and in an extent of the pool (the paper's N).
    pub segment_size: usize,
    /// The batch sizes that entries of the matrix may have.
    pub batch_sizes: BatchSizes,
    /// The batching policy.
    pub policy: PolicyKind,
    /// How requests wait for their turn; `None` in the order of arrival, as long as they need.
    pub queueing: Option<Arc<Queueing>>,
    /// The numbers in which GPUs compute members that have none of their own.
    pub precision: Precision,
    /// The devices named by the manifest; empty for all of the machine.
    pub devices: Vec<String>,
    /// Samples for benchmarks, with labels where they are known.
    pub calibration: Option<Arc<Samples>>,
}

impl Ensemble {
    /// Has all members computed in other numbers than their manifest says.
    pub fn compute_in(&mut self, precision: MemberPrecision) {
        self.precision = precision.on_gpus(self.precision);
        for member in &mut self.members {
            Arc::make_mut(member).precision = precision;
        }
    }

    /// Returns the same with members computed in other numbers, one precision a member.
    #[must_use]
    pub fn in_precisions(&self, precisions: &[MemberPrecision]) -> Self {
        let mut changed = self.clone();
        for (member, precision) in changed.members.iter_mut().zip(precisions) {
            if member.precision != *precision {
                Arc::make_mut(member).precision = *precision;
            }
        }
        changed
    }

    /// Returns the numbers that its members are computed in on this machine.
    pub fn precisions(&self) -> Vec<MemberPrecision> {
        let members = self.members.iter();
        let resolved = members.map(|member| member.precision.resolved(self.precision));
        resolved.collect()
    }

    /// Returns where these devices compute members in other numbers than those that were asked for,
    /// or have no instructions for them.
    pub fn precision_remarks(&self, devices: &Devices) -> Vec<PrecisionRemark> {
        let precisions = self.members.iter().map(|member| member.precision);
        PrecisionRemark::all(precisions, devices, self.precision)
    }

    /// Returns the network of a member, computed as its manifest says.
    pub fn network(&self, member: MemberIndex) -> ComputedMember {
        ComputedMember {
            member,
            precision: self.members[member].precision,
        }
    }

    /// Returns the ensemble with one member alone.
    pub fn only(&self, member: MemberIndex) -> Self {
        let mut alone = Arc::clone(&self.members[member]);
        if alone.vote_weight.is_none() {
            Arc::make_mut(&mut alone).vote_weight = Some(VoteWeight::default());
        }
        Ensemble {
            members: vec![alone],
            // A weight means nothing for a member alone.
            rule: RuleKind::usual(self.answers),
            // Alone it takes what its step would hand it.
            input: match &self.pipeline {
                Some(_) => self.members[member].input.clone(),
                None => self.input.clone(),
            },
            pipeline: None,
            ..self.clone()
        }
    }

    /// Returns the ensemble called `name` of some of its members, which are combined by its rule.
    pub fn sub_ensemble(&self, name: String, members: &[MemberIndex]) -> Self {
        let members = members.iter().map(|at| Arc::clone(&self.members[*at]));
        Ensemble {
            name,
            members: members.collect(),
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
        if !self.is_combined() {
            // The rule is never asked.
            return Ok(());
        }
        combination.check_outputs(self.answers, &self.outputs(), &self.member_names())
    }

    /// Whether the combination rule says how its members are answered: no steps do, and its members
    /// are asked together.
    pub fn is_combined(&self) -> bool {
        self.pipeline.is_none() && !self.apart
    }

    /// Builds the rule of a combination, ready to fold the members' rows.
    pub fn rule_of(&self, combination: &Combination) -> Arc<dyn CombinationRule> {
        combination.build_for(self.answers, &self.outputs())
    }

    /// Returns the kind of numbers that each member's network returns.
    pub fn outputs(&self) -> Vec<OutputKind> {
        self.members.iter().map(|m| m.outputs).collect()
    }

    /// Returns the reader of members' rows as answers of their own.
    pub fn own_answers(&self) -> OwnAnswers {
        let temperatures: Vec<Temperature> = self.members.iter().map(|m| m.temperature).collect();
        OwnAnswers::new(self.answers, &self.outputs(), &temperatures)
    }

    /// Returns the number of numbers in an answer.
    pub fn answer_width(&self) -> usize {
        self.answers.width()
    }

    /// Returns the order of work: the members side by side, or a pipeline's steps.
    pub fn dataflow(&self) -> Arc<Dataflow> {
        match &self.pipeline {
            Some(pipeline) => Arc::clone(pipeline.flow()),
            None => Arc::new(Dataflow::ensemble(self.transforms().by_member())),
        }
    }

    /// Returns the distinct inputs of the members; of a pipeline those of its planes that are made
    /// of a sample alone, then the whole sample.
    pub fn transforms(&self) -> Transforms {
        if let Some(pipeline) = &self.pipeline {
            let width = self.input.shape.elements();
            let width = if pipeline.reads_samples() { width } else { 0 };
            let whole = PlaneRows::Request(std::iter::once(0..width).collect());
            let planes = pipeline
                .planes()
                .iter()
                .chain([&whole])
                .map(|plane| match plane {
                    PlaneRows::Request(runs) => Input::of_values(runs.clone()),
                    PlaneRows::Gathered(_) => Input::of_values(Vec::new()),
                });
            return Transforms::of_planes(self.input.shape, planes.collect());
        }
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
            layout: self.layout,
            image_fit: self.image_fit,
            tensors: self.tensors.as_deref(),
            text: self.text.as_ref(),
            lengths: self.lengths.as_ref(),
            check: Some(&self.row_check),
            ..SampleForm::new(self.input.shape).answers(self.answers, self.answer_names.as_deref())
        }
    }

    /// Returns the number of tokens of a sample by its row, or `None` where all samples have as
    /// many.
    pub fn tokens_of(&self, row: &[f32]) -> Option<usize> {
        self.sample_form().tokens_of(row)
    }

    /// Whether any member has synthetic weights, so that accuracies mean nothing.
    pub fn is_synthetic(&self) -> bool {
        self.members.iter().any(|m| m.weights.is_synthetic())
    }
}
