//! The ensemble: its manifest, members, samples and combination rules.

mod alone;
mod answer_floats;
mod answers;
mod answers_table;
mod assembled;
mod average_precision;
mod batch_sizes;
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
mod tensor_names;
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
pub use batch_sizes::{BatchSize, BatchSizes};
pub use batching::{MemberPolicy, PolicyError, PolicyKind, Wait};
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
pub use tensor_names::InterfaceNames;
pub use value_rules::{Median, ValueMean};

/// The default number of samples of a segment (the paper, section III).
pub const DEFAULT_SEGMENT: usize = 128;

/// A validated ensemble with its weights read and checked.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// Its name.
    pub name: String,
    /// Its members, one per column of the matrix.
    pub members: Vec<Arc<Member>>,
    /// The input that clients send. Also the input of members without their own.
    pub input: Input,
    /// The named tensors of a sample, concatenated in its row, or `None` if a sample is a single
    /// tensor of float32.
    pub tensors: Option<Vec<TensorSpec>>,
    /// The conversion of texts to these tensors, if samples are texts.
    pub text: Option<TextInput>,
    /// The lengths of samples, if dimensions of the tensors vary. A sample's length is the first
    /// value of its row.
    pub lengths: Option<Lengths>,
    /// The check for invalid numbers in samples: ids beyond a member's table.
    pub row_check: RowCheck,
    /// The order in which files of samples hold the values of images.
    pub layout: ImageLayout,
    /// The conversion of images of other sizes to samples.
    pub image_fit: ImageFit,
    /// The kind of its answers.
    pub answers: AnswerKind,
    /// The names of the classes, values or labels, if set.
    pub answer_names: Option<Vec<String>>,
    /// The names of its input and output on the network.
    pub tensor_names: InterfaceNames,
    /// The combination rule.
    pub rule: RuleKind,
    /// The steps over the members, or `None` if the members run in parallel and the rule combines
    /// them.
    pub pipeline: Option<Arc<Pipeline>>,
    /// Whether its members answer separate requests, without a combination.
    pub apart: bool,
    /// The samples of a segment and of an extent of the pool (the paper's N).
    pub segment_size: usize,
    /// The allowed batch sizes of the matrix.
    pub batch_sizes: BatchSizes,
    /// The batching policy.
    pub policy: PolicyKind,
    /// The queue settings, or `None` for arrival order without limits.
    pub queueing: Option<Arc<Queueing>>,
    /// The GPU precision of members without their own.
    pub precision: Precision,
    /// The devices named by the manifest; empty for all devices of the machine.
    pub devices: Vec<String>,
    /// Samples for benchmarks, with labels if they are known.
    pub calibration: Option<Arc<Samples>>,
}

impl Ensemble {
    /// Sets the precision of all members, in place of their manifest's.
    pub fn compute_in(&mut self, precision: MemberPrecision) {
        self.precision = precision.on_gpus(self.precision);
        for member in &mut self.members {
            Arc::make_mut(member).precision = precision;
        }
    }

    /// Returns the ensemble with other precisions, one per member.
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

    /// Returns the precisions of its members on this machine.
    pub fn precisions(&self) -> Vec<MemberPrecision> {
        let members = self.members.iter();
        let resolved = members.map(|member| member.precision.resolved(self.precision));
        resolved.collect()
    }

    /// Returns remarks on devices that compute members in another precision than requested, or
    /// without native instructions for it.
    pub fn precision_remarks(&self, devices: &Devices) -> Vec<PrecisionRemark> {
        let precisions = self.members.iter().map(|member| member.precision);
        PrecisionRemark::for_members(precisions, devices, self.precision)
    }

    /// Returns the network of a member, with the manifest's precision.
    pub fn network(&self, member: MemberIndex) -> ComputedMember {
        ComputedMember {
            member,
            precision: self.members[member].precision,
        }
    }

    /// Returns an ensemble of a single member.
    pub fn single_member(&self, member: MemberIndex) -> Self {
        let mut alone = Arc::clone(&self.members[member]);
        if alone.vote_weight.is_none() {
            Arc::make_mut(&mut alone).vote_weight = Some(VoteWeight::default());
        }
        Ensemble {
            members: vec![alone],
            // A single member needs no weight.
            rule: RuleKind::usual(self.answers),
            // A single member takes the input of its step.
            input: match &self.pipeline {
                Some(_) => self.members[member].input.clone(),
                None => self.input.clone(),
            },
            pipeline: None,
            ..self.clone()
        }
    }

    /// Returns an ensemble `name` of some of its members, combined by its rule.
    pub fn sub_ensemble(&self, name: String, members: &[MemberIndex]) -> Self {
        let members = members.iter().map(|at| Arc::clone(&self.members[*at]));
        Ensemble {
            name,
            members: members.collect(),
            ..self.clone()
        }
    }

    /// Returns the manifest's combination. Members of weight 0 do not vote.
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

    /// Checks a combination for its members.
    ///
    /// # Errors
    /// As [`Combination::check`] and [`Combination::check_outputs`].
    pub fn check_combination(&self, combination: &Combination) -> Result<(), CombinationError> {
        combination.check(self.members.len())?;
        if !self.is_combined() {
            // The rule is never used.
            return Ok(());
        }
        combination.check_outputs(self.answers, &self.outputs(), &self.member_names())
    }

    /// Returns whether the combination rule makes the answers: there are no pipeline steps, and the
    /// members answer the same requests.
    pub fn is_combined(&self) -> bool {
        self.pipeline.is_none() && !self.apart
    }

    /// Builds the rule of a combination for the members' rows.
    pub fn build_rule(&self, combination: &Combination) -> Arc<dyn CombinationRule> {
        combination.build_for(self.answers, &self.outputs())
    }

    /// Returns the kind of numbers that each member's network returns.
    pub fn outputs(&self) -> Vec<OutputKind> {
        self.members.iter().map(|m| m.outputs).collect()
    }

    /// Returns the converter of members' rows to answers of their own.
    pub fn own_answers(&self) -> OwnAnswers {
        let temperatures: Vec<Temperature> = self.members.iter().map(|m| m.temperature).collect();
        OwnAnswers::new(self.answers, &self.outputs(), &temperatures)
    }

    /// Returns the number of numbers in an answer.
    pub fn answer_width(&self) -> usize {
        self.answers.width()
    }

    /// Returns the order of work: the members in parallel, or a pipeline's steps.
    pub fn dataflow(&self) -> Arc<Dataflow> {
        match &self.pipeline {
            Some(pipeline) => Arc::clone(pipeline.flow()),
            None => Arc::new(Dataflow::ensemble(self.transforms().by_member())),
        }
    }

    /// Returns the distinct inputs of the members. For a pipeline, returns the planes made only
    /// from a sample, then the whole sample.
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
                    PlaneRows::Request(runs) => Input::from_value_ranges(runs.clone()),
                    PlaneRows::Gathered(_) => Input::from_value_ranges(Vec::new()),
                });
            return Transforms::from_inputs(self.input.shape, planes.collect());
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

    /// Returns the form of sample files for the ensemble.
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

    /// Returns the number of tokens of a sample from its row, or `None` if all samples have the
    /// same number.
    pub fn token_count(&self, row: &[f32]) -> Option<usize> {
        self.sample_form().tokens_of(row)
    }

    /// Returns whether any member has synthetic weights, so that accuracies are meaningless.
    pub fn is_synthetic(&self) -> bool {
        self.members.iter().any(|m| m.weights.is_synthetic())
    }
}
