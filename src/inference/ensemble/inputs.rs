//! The tensors of a request as samples of an ensemble.

use std::sync::Arc;

use divisi_engine::serving::{Refused, Request, SharedSamples};
use divisi_model::ensemble::{Ensemble, SharedMemory};
use divisi_runtime::tensor::{DataType, Signature, SignatureError, TensorSpec, TensorValue};

use crate::error::ServiceError;
use crate::protocol::{NamedTensor, WireTensor};

/// The name of the input of an ensemble with unnamed samples.
const INPUT: &str = "input";

/// Returns the inputs of an ensemble.
pub(super) fn specs(ensemble: &Ensemble, network: bool) -> Vec<TensorSpec> {
    if let Some(tensors) = &ensemble.tensors {
        return tensors.clone();
    }
    let own = ensemble.members[0].graph.signature().inputs;
    if let (true, [single]) = (network, &own[..]) {
        return vec![single.clone()];
    }
    let dims: Vec<usize> = ensemble.input.shape.into();
    let name = ensemble.tensor_names.input.as_deref().unwrap_or(INPUT);
    vec![TensorSpec::fixed(name, DataType::Fp32, &dims)]
}

/// Samples, row after row.
pub(super) struct SampleRows {
    values: RowValues,
    /// The length of the samples; 0 if all have the same length.
    pub length: usize,
}

/// The location of the values of samples.
enum RowValues {
    /// In the receive buffer.
    Received(SharedSamples),
    /// Converted from other types, or joined from several tensors.
    Made(Vec<f32>),
}

impl SampleRows {
    /// Returns a request with these samples.
    pub(super) fn request(&self) -> Request<'_> {
        match &self.values {
            RowValues::Received(memory) => Request::shared(memory),
            RowValues::Made(values) => Request::new(values),
        }
    }
}

/// Returns the samples of a request. Values that already have the layout of samples stay in the
/// receive buffer. With `single`, the first dimension was not sent by the client.
///
/// # Errors
/// Returns an error if the tensors do not match the signature.
pub(super) fn sample_rows(
    signature: &Signature,
    inputs: &[NamedTensor],
    single: bool,
) -> Result<SampleRows, ServiceError> {
    if let ([input], [spec]) = (inputs, &signature.inputs[..])
        && is_rows(spec, input)
    {
        return Ok(SampleRows {
            values: RowValues::Received(received(&input.tensor)),
            length: 0,
        });
    }
    let values = inputs.iter().map(|input| {
        let tensor = &input.tensor;
        let (data_type, dims) = (tensor.data_type(), tensor.dims().to_vec());
        let value = TensorValue::new(data_type, dims, tensor.bytes().to_vec());
        let value = value.map_err(|e| ServiceError::bad(format!("input `{}`: {e}", input.name)))?;
        Ok((input.name.clone(), value))
    });
    let tensors = values.collect::<Result<Vec<_>, ServiceError>>()?;
    let rows = signature.rows(&tensors);
    let (rows, _) = rows.map_err(|error| not_taken(error, single))?;
    let lengths = signature.lengths.as_ref();
    Ok(SampleRows {
        length: lengths.and_then(|l| l.row_length(&rows)).unwrap_or(0),
        values: RowValues::Made(rows),
    })
}

/// Returns the error of tensors that do not match a signature, with the dimensions that the client
/// sent.
fn not_taken(error: SignatureError, single: bool) -> ServiceError {
    match error {
        SignatureError::Dims {
            name,
            expected,
            found,
        } if single => {
            let sent = found.get(1..).unwrap_or_default();
            ServiceError::bad(format!(
                "input `{name}`: expected {expected}, found {sent:?}"
            ))
        }
        SignatureError::Sample(fault) => ServiceError::coded(&Refused::from(fault)),
        error => ServiceError::bad(error),
    }
}

/// Returns the values of a tensor in the receive buffer.
fn received(tensor: &WireTensor) -> SharedSamples {
    let pieces = tensor.pieces().cloned();
    SharedSamples::of_pieces(pieces.map(|piece| Arc::new(piece) as SharedMemory))
}

/// Returns the error of a request that the engine refused, with the input in question if there is
/// one.
pub(super) fn refusal(signature: &Signature, refused: &Refused) -> ServiceError {
    let error = ServiceError::coded(refused);
    let input = match refused {
        Refused::NotFinite { value, .. } => signature.input_of(*value),
        _ => None,
    };
    match input {
        Some(spec) => ServiceError::new(error.kind(), format!("input `{}`: {error}", spec.name)),
        None => error,
    }
}

/// Returns whether an input is float32 with the dimensions of samples.
fn is_rows(spec: &TensorSpec, input: &NamedTensor) -> bool {
    let tensor = &input.tensor;
    let [batch, sample @ ..] = tensor.dims() else {
        return false;
    };
    let is_named = input.name == spec.name && !spec.varies();
    let is_float = [spec.data_type, tensor.data_type()] == [DataType::Fp32; 2];
    is_named && is_float && *batch > 0 && spec.fits(sample)
}
