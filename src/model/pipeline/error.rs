//! Errors in the steps of a pipeline.

use thiserror::Error;

use super::host::HostStepError;
use crate::dataflow::DataflowError;

/// An error in the steps of a pipeline. Names the step and the tensor.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PipelineError {
    /// Two steps have the same name.
    #[error("step `{step}` appears twice")]
    Twice {
        /// The name.
        step: String,
    },
    /// No step makes a tensor.
    #[error("step `{step}`: no step makes `{tensor}`; expected one of {}", known.join(", "))]
    Missing {
        /// The step, or `outputs`.
        step: String,
        /// The tensor that it reads.
        tensor: String,
        /// The existing tensors.
        known: Vec<String>,
    },
    /// Two steps make the same tensor.
    #[error("`{tensor}` is made by both `{first}` and `{second}`")]
    TwoWriters {
        /// The tensor.
        tensor: String,
        /// One of them, or `input` for the pipeline's own tensors.
        first: String,
        /// The other.
        second: String,
    },
    /// Steps wait for each other.
    #[error("steps wait for each other in a cycle: {}", steps.join(" → "))]
    Cycle {
        /// Their names, each after a step that it needs.
        steps: Vec<String>,
    },
    /// A model has no such tensor.
    #[error("step `{step}`: its model has no {side} `{name}`; it has: {}", known.join(", "))]
    NoSuch {
        /// The step.
        step: String,
        /// `input` or `output`.
        side: &'static str,
        /// The name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// A tensor has another type or shape.
    #[error("step `{step}`, input `{input}`: expected {expected}, but `{tensor}` is {found}")]
    Unfit {
        /// The step.
        step: String,
        /// Its input.
        input: String,
        /// The tensor that it reads.
        tensor: String,
        /// The type and shape of the input.
        expected: Box<str>,
        /// The type and shape of the tensor.
        found: Box<str>,
        /// Whether only one of them has a varying dimension.
        one_varies: bool,
    },
    /// Dimensions that vary.
    #[error("`{tensor}`: expected fixed dimensions in a pipeline, found {found}")]
    Varies {
        /// The tensor.
        tensor: String,
        /// Its dimensions.
        found: String,
    },
    /// A model's samples have other lengths than the pipeline's.
    #[error(
        "step `{step}`: expected samples of lengths up to {expected}, as in the pipeline, found \
         up to {found}"
    )]
    Lengths {
        /// The step.
        step: String,
        /// The pipeline's largest length.
        expected: usize,
        /// The model's.
        found: usize,
    },
    /// A host step cannot take its inputs.
    #[error("step `{step}`: {error}")]
    Host {
        /// The step.
        step: String,
        /// The reason.
        error: HostStepError,
    },
    /// A condition's tensor has several numbers instead of one.
    #[error(
        "step `{step}`, when: expected one number, but `{tensor}` is {found}; compare \
             `max({tensor})`, for example"
    )]
    Condition {
        /// The step.
        step: String,
        /// The tensor.
        tensor: String,
        /// Its type and shape.
        found: String,
    },
    /// An output is named twice.
    #[error("outputs: `{output}` appears twice")]
    OutputTwice {
        /// The output.
        output: String,
    },
    /// An output does not exist for all samples.
    #[error(
        "output `{output}` does not exist for samples that skip `{step}`; merge it with a tensor \
         that always exists, in a step `first`"
    )]
    Absent {
        /// The output.
        output: String,
        /// The step that some samples skip.
        step: String,
    },
    /// A step that is not a combination has a quorum.
    #[error("step `{step}`: `{kind}` needs all of its inputs and cannot have a quorum")]
    NoQuorum {
        /// The step.
        step: String,
        /// Its kind.
        kind: String,
    },
    /// A quorum is larger than the number of results that its step reads.
    #[error(
        "step `{step}`: expected a quorum of at most {of}, the number of steps that it reads, \
             found {least}"
    )]
    Quorum {
        /// The step.
        step: String,
        /// The quorum.
        least: usize,
        /// The number of steps whose results it reads.
        of: usize,
    },
    /// The graph itself.
    #[error(transparent)]
    Graph(#[from] DataflowError),
}
