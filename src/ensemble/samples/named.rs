//! Samples of several named tensors: JSON as in a request of the Open Inference Protocol, or an
//! `.npz` with an array for each tensor.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::network::{Dims, Shape};
use crate::tensor::{Signature, TensorSpec, TensorValue, WrittenInputs, WrittenTensor};

use super::error::{JsonError, SamplesError};
use super::form::SampleForm;
use super::rows::Samples;

/// The largest number up to which float32 holds all integers.
const EXACT: f32 = 16_777_216.0;

/// The field that a request has.
#[derive(Deserialize)]
struct RequestField {
    inputs: Option<IgnoredAny>,
}

/// Whether a document is an object with `inputs`.
pub(super) fn is_request(bytes: &[u8]) -> bool {
    // An array of one text would do as the fields of a struct, too.
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    let has_inputs = |document: RequestField| document.inputs.is_some();
    is_object && serde_json::from_slice(bytes).is_ok_and(has_inputs)
}

/// Reads `{"inputs": [{"name", "datatype", "shape", "data"}, …]}`.
pub(super) fn of_json(bytes: &[u8], tensors: &[TensorSpec]) -> Result<Samples, SamplesError> {
    let place = |e: serde_json::Error| JsonError::Place {
        line: e.line(),
        column: e.column(),
        reason: super::json::reason(&e),
    };
    let written: WrittenInputs = serde_json::from_slice(bytes).map_err(place)?;
    let read = written.inputs.into_iter().map(WrittenTensor::read);
    let read: Vec<(String, TensorValue)> = read.collect::<Result<_, _>>()?;
    let signature = Signature {
        inputs: tensors.to_vec(),
        outputs: Vec::new(),
    };
    let (rows, samples) = signature.rows(&read)?;
    let width = rows.len() / samples.max(1);
    Samples::new(rows, width, None)
}

/// Joins the samples of one array for each tensor, which `read` reads by its name in a form.
pub(super) fn joined(
    tensors: &[TensorSpec],
    mut read: impl FnMut(&str, &SampleForm<'_>) -> Result<Samples, SamplesError>,
) -> Result<Samples, SamplesError> {
    let mut parts = Vec::new();
    for spec in tensors {
        let sizes: Vec<usize> = spec.dims.iter().filter_map(|d| d.size()).collect();
        let shape = Dims::new(&sizes).map_or(Shape::vector(1), Shape::tensor);
        let part = read(&spec.name, &SampleForm::new(shape))?;
        if spec.data_type.is_integer()
            && let Some(at) = part.values().iter().position(|v| v.abs() > EXACT)
        {
            return Err(SamplesError::Integer {
                tensor: spec.name.clone(),
                sample: at / shape.elements(),
            });
        }
        parts.push((shape.elements(), part));
    }
    let samples = parts.first().map_or(0, |(_, part)| part.len());
    if let Some(((_, part), spec)) = parts
        .iter()
        .zip(tensors)
        .find(|((_, p), _)| p.len() != samples)
    {
        return Err(SamplesError::Unequal {
            tensor: spec.name.clone(),
            found: part.len(),
            first: tensors[0].name.clone(),
            expected: samples,
        });
    }
    let mut rows = Vec::new();
    for row in 0..samples {
        for (width, part) in &parts {
            rows.extend_from_slice(&part.values()[row * width..][..*width]);
        }
    }
    let width = parts.iter().map(|(width, _)| width).sum();
    Samples::new(rows, width, None)
}
