//! Errors in the steps of a pipeline.

use thiserror::Error;

use divisi_runtime::reading::ReadError;

use crate::dataflow::DataflowError;

/// An error in the steps of a pipeline. Names the step and the tensor.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PipelineError {
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
    /// Steps wait for each other.
    #[error("steps wait for each other in a cycle: {}", steps.join(" → "))]
    Cycle {
        /// Their names, each after a step that it needs.
        steps: Vec<String>,
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
    /// Another error.
    #[error(transparent)]
    Other(#[from] ReadError),
    /// The graph itself.
    #[error(transparent)]
    Graph(#[from] DataflowError),
}
