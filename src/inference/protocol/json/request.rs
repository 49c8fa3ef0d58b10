//! A request in JSON, followed by the binary data of inputs.

use std::fmt;

use divisi_runtime::tensor::DataType;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::bounds::RequestBounds;
use crate::error::{ErrorKind, ServiceError};
use crate::protocol::call::{CallInput, CallOutput, InferenceCall};
use crate::protocol::model_id::ModelId;
use crate::protocol::parameters::CallParameters;
use crate::protocol::rope::ByteRope;

use super::data::JsonReading;
use super::fields::SeenFields;
use super::input::{JsonData, JsonTensor, TensorsSeed};
use super::words::{MarkedJson, unmarked};

/// Reads a request with the JSON `head` and the binary data `tail` of its inputs.
///
/// # Errors
/// Returns an error if the request is malformed, invalid or exceeds a bound.
pub fn read_call(
    model: ModelId,
    head: &[u8],
    tail: ByteRope,
    limits: &RequestBounds,
) -> Result<InferenceCall, ServiceError> {
    let written = read(head, limits)?;
    let mut call = InferenceCall::new(model, written.id, &written.parameters)?;
    let mut tail = BinaryTail(tail);
    for tensor in written.inputs.unwrap_or_default() {
        call.inputs.push(input(tensor, &mut tail)?);
    }
    tail.check_end()?;
    for tensor in written.outputs.unwrap_or_default() {
        let output = CallOutput::new(tensor.name, &tensor.parameters)?;
        call.outputs.push(output);
    }
    call.check(limits)?;
    Ok(call)
}

/// Reads the JSON. If that fails, the text is searched for words for NaN and infinities and read
/// again.
fn read(head: &[u8], limits: &RequestBounds) -> Result<JsonCall, ServiceError> {
    let error = match read_typed(head, limits, 0) {
        Err(error) if error.kind() == ErrorKind::BadInput => error,
        read => return read,
    };
    match MarkedJson::replace_words(head) {
        Some(marked) => read_typed(&marked.text, limits, marked.words),
        None => Err(error),
    }
}

/// Reads JSON with `words` replaced words, and reads it again if the data of an input came before
/// its type.
fn read_typed(head: &[u8], limits: &RequestBounds, words: usize) -> Result<JsonCall, ServiceError> {
    let reading = |types| JsonReading::new(limits, types).with_words(words);
    let (call, untyped) = read_once(head, reading(Vec::new()))?;
    if !untyped {
        return Ok(call);
    }
    let inputs = call.inputs.as_deref().unwrap_or_default();
    let types = inputs.iter().map(data_type);
    let types = types.collect::<Result<_, _>>()?;
    Ok(read_once(head, reading(types))?.0)
}

fn read_once(head: &[u8], reading: JsonReading<'_>) -> Result<(JsonCall, bool), ServiceError> {
    let mut json = serde_json::Deserializer::from_slice(head);
    let read = CallSeed(&reading).deserialize(&mut json);
    match read.and_then(|call| json.end().map(|()| call)) {
        Ok(call) if reading.took_all_words() => Ok((call, reading.untyped.get())),
        Ok(_) => Err(ServiceError::bad(
            "the request's JSON: expected `NaN`, `Infinity` and `-Infinity` only as values of \
             floating-point tensors",
        )),
        Err(error) => {
            let error = unmarked(&error.to_string());
            let malformed = || ServiceError::bad(format!("the request's JSON: {error}"));
            Err(reading.into_refusal().unwrap_or_else(malformed))
        }
    }
}

fn data_type(input: &JsonTensor) -> Result<DataType, ServiceError> {
    let missing = || ServiceError::bad(format!("input `{}`: `datatype` is missing", input.name));
    input.data_type.ok_or_else(missing)
}

fn input(tensor: JsonTensor, tail: &mut BinaryTail) -> Result<CallInput, ServiceError> {
    let data_type = data_type(&tensor)?;
    let JsonTensor {
        name,
        shape,
        parameters,
        data,
        ..
    } = tensor;
    let Some(dims) = shape else {
        return Err(ServiceError::bad(format!(
            "input `{name}`: `shape` is missing"
        )));
    };
    if data.is_some() && parameters.get("shared_memory_region").is_some() {
        return Err(ServiceError::bad(format!(
            "input `{name}`: expected `data` or the parameter `shared_memory_region`, found both"
        )));
    }
    let shape = dims.clone();
    CallInput::new(name, data_type, dims, &parameters, |of| {
        match (parameters.size("binary_data_size", of)?, data) {
            (Some(size), None) => tail.take(size, of),
            (None, Some(data)) => values(data, &shape, of),
            (None, None) => Err(ServiceError::bad(format!(
                "{of}: expected `data`, or the parameter `binary_data_size` or \
                 `shared_memory_region`"
            ))),
            (Some(_), Some(_)) => Err(ServiceError::bad(format!(
                "{of}: expected `data` or the parameter `binary_data_size`, found both"
            ))),
        }
    })
}

/// Returns the values of a tensor with a shape.
///
/// # Errors
/// Returns an error if the number of values or their lists do not match the shape.
fn values(data: JsonData, shape: &[usize], of: &str) -> Result<ByteRope, ServiceError> {
    let expected = shape.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    if expected != Some(data.count) {
        let count = data.count;
        let why = format!("{of}: found {count} values for the shape {shape:?}");
        return Err(ServiceError::bad(why));
    }
    let lists = data.lists.check(shape);
    lists.map_err(|why| ServiceError::bad(format!("{of}: {why}")))?;
    Ok(data.bytes.into())
}

/// The remaining binary data after the JSON.
struct BinaryTail(ByteRope);

impl BinaryTail {
    fn take(&mut self, size: usize, of: &str) -> Result<ByteRope, ServiceError> {
        let left = self.0.len();
        if size > left {
            return Err(ServiceError::bad(format!(
                "{of}: `binary_data_size` is {size}, but only {left} bytes of the body are left"
            )));
        }
        Ok(self.0.split_to(size))
    }

    fn check_end(&self) -> Result<(), ServiceError> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(ServiceError::bad(format!(
                "{left} bytes of the body belong to no input"
            ))),
        }
    }
}

/// The JSON of a request.
#[derive(Default)]
struct JsonCall {
    id: String,
    parameters: CallParameters,
    inputs: Option<Vec<JsonTensor>>,
    outputs: Option<Vec<JsonTensor>>,
}

/// The fields of a request; others are skipped.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum CallField {
    Id,
    Parameters,
    Inputs,
    Outputs,
    #[serde(other)]
    Other,
}

const CALL_FIELDS: [&str; 4] = ["id", "parameters", "inputs", "outputs"];

struct CallSeed<'a, 'l>(&'a JsonReading<'l>);

impl<'de> DeserializeSeed<'de> for CallSeed<'_, '_> {
    type Value = JsonCall;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<JsonCall, D::Error> {
        from.deserialize_map(self)
    }
}

/// Adds the name of the field to an error.
fn of_field<E: Error>(field: &'static str) -> impl Fn(E) -> E {
    move |why| E::custom(format_args!("`{field}`: {why}"))
}

impl<'de> Visitor<'de> for CallSeed<'_, '_> {
    type Value = JsonCall;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request with `inputs`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<JsonCall, A::Error> {
        let mut call = JsonCall::default();
        let tensors = |of| TensorsSeed {
            reading: self.0,
            of,
        };
        let mut seen = SeenFields::default();
        while let Some(field) = fields.next_key()? {
            seen.note(field as usize, &CALL_FIELDS)?;
            match field {
                CallField::Id => call.id = fields.next_value().map_err(of_field("id"))?,
                CallField::Parameters => {
                    call.parameters = fields.next_value().map_err(of_field("parameters"))?;
                }
                CallField::Inputs => call.inputs = Some(fields.next_value_seed(tensors("inputs"))?),
                CallField::Outputs => {
                    call.outputs = Some(fields.next_value_seed(tensors("outputs"))?);
                }
                CallField::Other => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(call)
    }
}
