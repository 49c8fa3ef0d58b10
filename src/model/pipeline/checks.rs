//! Checks of the tensors of a step, and of their origin.

use crate::dataflow::StepIndex;
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{Dimension, TensorSpec};

use super::error::PipelineError;
use super::{RowOrigin, TensorSource};

/// Checks that a model has all tensors that a step names.
pub(super) fn has_all(
    step: &str,
    side: &'static str,
    named: &[(String, String)],
    own: &[TensorSpec],
) -> Result<(), ReadError> {
    let unknown = named
        .iter()
        .find(|(name, _)| !own.iter().any(|o| o.name == *name));
    match unknown {
        None => Ok(()),
        Some((name, _)) => {
            let known: Vec<&str> = own.iter().map(|o| &*o.name).collect();
            Err(ReadError::new(format_args!(
                "step `{step}`: its model has no {side} `{name}`; it has: {}",
                known.join(", ")
            )))
        }
    }
}

pub(super) fn fits(step: &str, own: &TensorSpec, tensor: &TensorSpec) -> Result<(), PipelineError> {
    if own.data_type == tensor.data_type && own.dims == tensor.dims {
        return Ok(());
    }
    Err(PipelineError::Unfit {
        step: step.to_owned(),
        input: own.name.clone(),
        expected: own.to_string().into(),
        tensor: tensor.name.clone(),
        found: tensor.to_string().into(),
        one_varies: own.varies() != tensor.varies(),
    })
}

/// Returns the error of a tensor whose dimensions vary without permission.
pub(super) fn varies(spec: &TensorSpec) -> ReadError {
    let wrong = ReadError::expected("fixed dimensions in a pipeline", spec);
    wrong.at(format_args!("`{}`", spec.name))
}

/// Returns the steps that make tensors, each once and in order.
pub(super) fn origins(sources: &[TensorSource]) -> Vec<StepIndex> {
    let steps = sources.iter().filter_map(|source| match source.origin {
        RowOrigin::Step(step) => Some(step),
        RowOrigin::Request => None,
    });
    let mut steps: Vec<StepIndex> = steps.collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// Returns the fixed dimensions.
pub(super) fn fixed(spec: &TensorSpec) -> Vec<usize> {
    spec.dims
        .iter()
        .copied()
        .filter_map(Dimension::size)
        .collect()
}
