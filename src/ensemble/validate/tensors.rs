//! Samples of several named tensors, and which of them a member takes.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;

use crate::ensemble::Input;
use crate::ensemble::manifest::{EnsembleError, InputTable, ManifestSource};
use crate::network::Shape;
use crate::onnx::{OnnxModel, OnnxNetwork};
use crate::tensor::TensorSpec;

/// Why a builder is refused.
pub(super) const NO_BUILDER: &str =
    "expected an .onnx file, since the ensemble's input has named tensors or is text";

/// Checks the tensors of a sample, and returns the shape of the row that they make.
pub(super) fn shape(
    source: &ManifestSource<'_>,
    table: &InputTable,
    written: &Spanned<Vec<TensorSpec>>,
) -> Result<Shape, EnsembleError> {
    let at = written.span().start;
    let wrong = |why: String| Err(source.wrong(at, format!("input.tensors: {why}")));
    let steps = [&table.scale, &table.shift, &table.mean, &table.std];
    if steps.iter().any(|step| step.is_some()) {
        return wrong(
            "values of several tensors are taken as they are; leave out scale, shift, mean and std"
                .into(),
        );
    }
    let mut names = HashSet::new();
    let mut values = 0usize;
    for spec in written.get_ref() {
        source.check_name(at, "input.tensors.name", &spec.name)?;
        if !names.insert(&spec.name) {
            return wrong(format!("two are named `{}`", spec.name));
        }
        if spec.data_type.size().is_none() {
            return wrong(format!(
                "`{}`: no network takes {}",
                spec.name, spec.data_type
            ));
        }
        let Some(size) = spec.elements().filter(|size| *size > 0) else {
            return wrong(format!(
                "`{}`: expected dimensions of at least 1, found {spec}",
                spec.name
            ));
        };
        values = values.saturating_add(size);
    }
    let shape = Shape::vector(values);
    if shape.is_reasonable() {
        return Ok(shape);
    }
    wrong(format!(
        "expected tensors of 1 to 2^28 values in all, found {values}"
    ))
}

/// Returns the network of a model for the tensors that it takes of a sample, and its input.
///
/// # Errors
/// It takes others, or it is no network that can be computed; in words.
pub(super) fn network(
    model: &OnnxModel,
    tensors: &[TensorSpec],
) -> Result<(OnnxNetwork, Input), String> {
    let given: Vec<(&str, Vec<usize>)> = tensors
        .iter()
        .filter(|spec| model.input_names().any(|name| name == spec.name))
        .map(|spec| (spec.name.as_str(), batched(spec)))
        .collect();
    let network = model.network_of(&given).map_err(|e| e.to_string())?;
    let signature = network.graph.signature();
    let runs = signature.inputs.iter().map(|wanted| run(tensors, wanted));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let input = Input::of_runs(network.graph.input(), runs);
    Ok((network, input))
}

/// Returns a tensor's dimensions with a batch of 1.
fn batched(spec: &TensorSpec) -> Vec<usize> {
    let sizes = spec.dims.iter().map(|d| d.size().unwrap_or(1));
    std::iter::once(1).chain(sizes).collect()
}

/// Returns the run of a sample's values that is the tensor `wanted`.
fn run(tensors: &[TensorSpec], wanted: &TensorSpec) -> Result<Range<usize>, String> {
    let mut first = 0;
    for spec in tensors {
        let end = first + spec.elements().unwrap_or(0);
        if spec.name == wanted.name {
            return match spec == wanted {
                true => Ok(first..end),
                false => Err(format!(
                    "input `{}` is {wanted}, the ensemble's is {spec}",
                    spec.name
                )),
            };
        }
        first = end;
    }
    let known: Vec<&str> = tensors.iter().map(|spec| spec.name.as_str()).collect();
    Err(format!(
        "it takes `{}`, the ensemble's input has {}",
        wanted.name,
        known.join(", ")
    ))
}
