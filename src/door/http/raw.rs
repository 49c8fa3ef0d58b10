//! Raw requests: the body has only the values of a model's single input.

use divisi_inference::bounds::RequestBounds;
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::{
    ByteRope, CallInput, CallParameters, InferenceCall, InputSource, ModelId,
};
use divisi_inference::service::ModelDescription;

/// Reads a request whose body is the input of one sample. The outputs are sent as binary data too.
///
/// # Errors
/// Returns an error if the model has several inputs or one of strings, or if the bytes are not a
/// sample.
pub(super) fn read_raw(
    model: ModelId,
    described: &ModelDescription,
    body: ByteRope,
    limits: &RequestBounds,
) -> Result<InferenceCall, ServiceError> {
    let [input] = &described.signature.inputs[..] else {
        let found = described.signature.inputs.len();
        return Err(ServiceError::bad(format!(
            "a request without JSON: expected a model with one input, found {found} inputs"
        )));
    };
    let sizes = input.dims.iter().map(|dim| dim.size());
    let sizes: Vec<Option<usize>> = rows(described).into_iter().chain(sizes).collect();
    let bytes = input.data_type.size();
    let dims = bytes.and_then(|size| closed_dims(&sizes, body.len(), size));
    let Some(dims) = dims else {
        let (name, data_type, found) = (&input.name, input.data_type, body.len());
        return Err(ServiceError::bad(format!(
            "input `{name}`: expected the bytes of one sample of {data_type}, found {found}"
        )));
    };
    let mut call = InferenceCall::new(model, String::new(), &CallParameters::default())?;
    call.binary = true;
    call.inputs.push(CallInput {
        name: input.name.clone(),
        data_type: input.data_type,
        dims,
        source: InputSource::Here(body),
    });
    call.check(limits)?;
    Ok(call)
}

/// Returns the first dimension of a sample, if the model's tensors have one more dimension than
/// their specifications: the inner `None` if it is open.
fn rows(described: &ModelDescription) -> Option<Option<usize>> {
    let is_open = described.one_sample && described.exactly.is_none();
    let rows = described.exactly.or((!is_open).then_some(1));
    described.batch.map(|_| rows)
}

/// Returns the dimensions of a tensor of this many bytes, one of which may be open.
fn closed_dims(sizes: &[Option<usize>], bytes: usize, size: usize) -> Option<Vec<usize>> {
    let mut known = sizes.iter().flatten();
    let known = known.try_fold(size, |all, &size| all.checked_mul(size))?;
    let open = sizes.iter().filter(|size| size.is_none()).count();
    let rest = bytes.checked_div(known).filter(|_| open == 1);
    sizes.iter().map(|size| size.or(rest)).collect()
}
