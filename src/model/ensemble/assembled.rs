//! Assembles an ensemble from an existing pipeline and the members for its models.

use std::sync::Arc;

use crate::pipeline::{Pipeline, StepRole};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::MemberIndex;
use divisi_runtime::network::{Graph, GraphError, NetworkByLength, Shape, Weights};
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{RowCheck, Signature};

use super::InterfaceNames;
use super::precision::MemberPrecision;
use super::{
    AnswerKind, AnswerWidth, BatchSizes, DEFAULT_SEGMENT, Ensemble, ImageFit, ImageLayout, Input,
    Member, OutputKind, PolicyKind, RuleKind, Samples, Temperature, VoteWeight,
};

impl Member {
    /// Creates a model of a pipeline: a member that takes and returns its own tensors, concatenated
    /// in a row.
    ///
    /// # Errors
    /// The network has too many layers.
    pub fn from_model(
        name: String,
        graph: Graph,
        by_length: Option<Arc<dyn NetworkByLength>>,
        weights: Weights,
    ) -> Result<Self, GraphError> {
        let graph = graph.flattened()?;
        Ok(Member {
            name,
            input: Input::from_value_ranges(Vec::new()).with_shape(graph.input()),
            graph: Arc::new(graph),
            by_length,
            weights: Arc::new(weights),
            precision: MemberPrecision::default(),
            calibration: None,
            outputs: OutputKind::Values,
            ends_in: None,
            vote_weight: Some(VoteWeight::default()),
            temperature: Temperature::ONE,
        })
    }
}

impl Ensemble {
    /// Creates the ensemble `name` that answers with `pipeline`, whose models are `members`. Its
    /// answers are values and its samples are the tensors of the pipeline. All other settings have
    /// the manifest's defaults.
    ///
    /// # Errors
    /// The pipeline has steps of other members, two members have the same name, or samples or
    /// answers are too large.
    pub fn from_pipeline(
        name: String,
        members: Vec<Arc<Member>>,
        pipeline: Pipeline,
    ) -> Result<Self, ReadError> {
        check_members(&members, &pipeline)?;
        let signature = Signature {
            inputs: pipeline.inputs().to_vec(),
            outputs: Vec::new(),
            lengths: pipeline.lengths().cloned(),
        };
        let found = signature.input_width(signature.largest_length());
        let shape = Some(Shape::vector(found)).filter(|shape| shape.is_reasonable());
        let shape = shape.ok_or_else(|| {
            ReadError::new(format_args!(
                "a sample has {found} values, expected 1 to 2^28"
            ))
        })?;
        let answers = AnswerKind::Values {
            count: answer_width(&pipeline)?,
            normalise: false,
        };
        Ok(Ensemble {
            members,
            input: Input::from_value_ranges(Vec::new()).with_shape(shape),
            row_check: RowCheck::new(&signature),
            tensors: Some(signature.inputs.clone()),
            lengths: signature.lengths.clone(),
            answers,
            rule: RuleKind::usual(answers),
            pipeline: Some(Arc::new(pipeline)),
            apart: false,
            calibration: made_up(&signature, found),
            ..Ensemble::without_members(name)
        })
    }
}

impl Ensemble {
    /// Creates the ensemble `name` without members, which answers nothing.
    pub fn without_members(name: String) -> Self {
        let answers = AnswerKind::Values {
            count: AnswerWidth::LEAST,
            normalise: false,
        };
        let signature = Signature {
            inputs: Vec::new(),
            outputs: Vec::new(),
            lengths: None,
        };
        Ensemble {
            name,
            members: Vec::new(),
            input: Input::from_value_ranges(Vec::new()).with_shape(Shape::vector(1)),
            row_check: RowCheck::new(&signature),
            tensors: None,
            text: None,
            lengths: None,
            layout: ImageLayout::default(),
            image_fit: ImageFit::default(),
            answers,
            answer_names: None,
            tensor_names: InterfaceNames::default(),
            rule: RuleKind::usual(answers),
            pipeline: None,
            apart: true,
            segment_size: DEFAULT_SEGMENT,
            batch_sizes: BatchSizes::default(),
            policy: PolicyKind::NoWait,
            queueing: None,
            precision: Precision::default(),
            devices: Vec::new(),
            calibration: None,
        }
    }
}

/// The maximum number of values of synthetic samples together: 1 MiB.
const VALUES: usize = 1 << 18;

/// The maximum number of synthetic samples.
const ROWS: usize = 256;

/// Creates synthetic samples of `width` values.
fn made_up(signature: &Signature, width: usize) -> Option<Arc<Samples>> {
    let rows = (VALUES / width.max(1)).clamp(1, ROWS);
    Samples::synthetic_tensors(signature, rows)
        .ok()
        .map(Arc::new)
}

fn check_members(members: &[Arc<Member>], pipeline: &Pipeline) -> Result<(), ReadError> {
    let twice = MemberIndex::enumerate(members).find(|(at, member)| {
        let mut before = members[..at.get()].iter();
        before.any(|other| other.name == member.name)
    });
    if let Some((_, member)) = twice {
        let wrong = format_args!("two members are named `{}`", member.name);
        return Err(ReadError::new(wrong));
    }
    let stray = pipeline.steps().iter().find_map(|step| match step.role {
        StepRole::Model(member) if member.get() >= members.len() => Some((step, member.get())),
        _ => None,
    });
    match stray {
        None => Ok(()),
        Some((step, member)) => {
            let expected = format_args!("a member below {}", members.len());
            let wrong = ReadError::expected(expected, member);
            Err(wrong.at(format_args!("step `{}`", step.name)))
        }
    }
}

fn answer_width(pipeline: &Pipeline) -> Result<AnswerWidth, ReadError> {
    let found = pipeline.width();
    let width = u32::try_from(found)
        .ok()
        .and_then(|n| AnswerWidth::new(n).ok());
    width.ok_or_else(|| {
        ReadError::new(format_args!(
            "an answer has {found} values, expected 1 to 2^24"
        ))
    })
}
