//! gRPC requests for inference, and their answers.

use std::collections::HashMap;
use std::vec::IntoIter;

use bytes::Bytes;
use divisi_runtime::tensor::DataType;
use prost::Message;

use crate::proto::inference::infer_parameter::ParameterChoice;
use crate::proto::inference::model_infer_request::InferInputTensor;
use crate::proto::inference::model_infer_response::InferOutputTensor;
use crate::proto::inference::{InferParameter, ModelInferRequest, ModelInferResponse};
use divisi_inference::bounds::RequestBounds;
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::{
    ByteRope, CallInput, CallOutput, CallParameters, InferenceCall, InferenceReply, ModelId,
    ParameterValue, ReplyOutput, ReplyPlace,
};

use super::codec::RefusedMessage;
use super::contents::bytes_of;

/// The names in a request, which are read even if the rest of it is refused.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestNames {
    #[prost(string, tag = "1")]
    model_name: String,
    #[prost(string, tag = "2")]
    model_version: String,
    /// The id of the request.
    #[prost(string, tag = "3")]
    pub(super) id: String,
}

impl RequestNames {
    /// Returns the names of a received request.
    pub(super) fn from_read(read: &Result<ModelInferRequest, RefusedMessage>) -> Self {
        match read {
            Ok(request) => RequestNames {
                model_name: request.model_name.clone(),
                model_version: request.model_version.clone(),
                id: request.id.clone(),
            },
            Err(refused) => RequestNames::decode(&*refused.bytes).unwrap_or_default(),
        }
    }

    /// Returns the requested model.
    pub(super) fn model(&self) -> ModelId {
        ModelId::new(&*self.model_name, &*self.model_version)
    }
}

/// Reads a received request, unless it was refused.
///
/// # Errors
/// Returns an error if the request was refused, and the errors of [`read_call`].
pub(super) fn read_received(
    read: Result<ModelInferRequest, RefusedMessage>,
    limits: &RequestBounds,
) -> Result<InferenceCall, ServiceError> {
    read.map_or_else(
        |refused| Err(refused.error),
        |request| read_call(request, limits),
    )
}

/// Reads a request. Raw contents stay in their receive buffer.
///
/// # Errors
/// Returns an error if the request is invalid or exceeds a bound.
pub fn read_call(
    request: ModelInferRequest,
    limits: &RequestBounds,
) -> Result<InferenceCall, ServiceError> {
    let model = ModelId::new(request.model_name, request.model_version);
    let mut call = InferenceCall::new(model, request.id, &parameters(request.parameters))?;
    let mut raw = RawContents::new(request.raw_input_contents);
    for tensor in request.inputs {
        call.inputs.push(input(tensor, &mut raw, limits)?);
    }
    raw.check_end()?;
    for output in request.outputs {
        let wanted = CallOutput::new(output.name, &parameters(output.parameters))?;
        call.outputs.push(wanted);
    }
    call.check(limits)?;
    Ok(call)
}

/// Raw contents that no input has used yet.
struct RawContents {
    left: IntoIter<Bytes>,
    /// Whether there are any; inputs then have no contents of their own.
    there: bool,
}

impl RawContents {
    fn new(all: Vec<Bytes>) -> Self {
        RawContents {
            there: !all.is_empty(),
            left: all.into_iter(),
        }
    }

    fn check_end(&self) -> Result<(), ServiceError> {
        match self.left.len() {
            0 => Ok(()),
            left => Err(ServiceError::bad(format!(
                "`raw_input_contents`: found {left} more elements than inputs"
            ))),
        }
    }
}

fn input(
    tensor: InferInputTensor,
    raw: &mut RawContents,
    limits: &RequestBounds,
) -> Result<CallInput, ServiceError> {
    let (name, contents) = (tensor.name, tensor.contents);
    let wrong = |why: String| ServiceError::bad(format!("input `{name}`: {why}"));
    let data_type: DataType = tensor.datatype.parse().map_err(|e| wrong(format!("{e}")))?;
    let dims = tensor.shape.iter().map(|size| usize::try_from(*size));
    let dims: Vec<usize> = dims.collect::<Result<_, _>>().map_err(|_| {
        let shape = &tensor.shape;
        wrong(format!("expected a shape of sizes, found {shape:?}"))
    })?;
    let parameters = parameters(tensor.parameters);
    if contents.is_some() && parameters.get("shared_memory_region").is_some() {
        return Err(wrong(
            "expected `contents` or `shared_memory_region`, found both".to_owned(),
        ));
    }
    let here = |of: &str| match (contents, raw.there) {
        (None, _) => raw.left.next().map(ByteRope::from).ok_or_else(|| {
            ServiceError::bad(format!(
                "{of}: expected `contents` or raw contents, found neither"
            ))
        }),
        (Some(contents), false) => {
            bytes_of(of, data_type, &contents, limits.elements).map(ByteRope::from)
        }
        (Some(_), true) => Err(ServiceError::bad(format!(
            "{of}: expected raw contents as for other inputs, found `contents`"
        ))),
    };
    CallInput::new(name.clone(), data_type, dims, &parameters, here)
}

fn parameters(written: HashMap<String, InferParameter>) -> CallParameters {
    let values = written.into_iter().filter_map(|(name, parameter)| {
        let value = match parameter.parameter_choice? {
            ParameterChoice::BoolParam(value) => ParameterValue::Bool(value),
            ParameterChoice::Int64Param(value) => ParameterValue::Integer(value),
            ParameterChoice::Uint64Param(value) => ParameterValue::Unsigned(value),
            ParameterChoice::DoubleParam(value) => ParameterValue::Float(value),
            ParameterChoice::StringParam(value) => ParameterValue::Text(value),
        };
        Some((name, value))
    });
    CallParameters {
        values: values.collect(),
    }
}

/// Writes an answer. Outputs are raw contents, empty for those in shared memory.
pub(super) fn write_reply(reply: InferenceReply) -> ModelInferResponse {
    let raw = reply.outputs.iter().map(|output| match &output.place {
        ReplyPlace::Region(_) => Bytes::new(),
        ReplyPlace::Written | ReplyPlace::Binary => output.tensor.bytes(),
    });
    let parameters = reply.parameters.into_iter();
    let parameters = parameters.map(|(name, value)| parameter(name, value));
    ModelInferResponse {
        raw_output_contents: raw.collect(),
        outputs: reply.outputs.iter().map(output).collect(),
        model_name: reply.model,
        model_version: reply.version,
        id: reply.id,
        parameters: parameters.collect(),
    }
}

pub(super) fn parameter(name: &str, value: ParameterValue) -> (String, InferParameter) {
    let choice = match value {
        ParameterValue::Bool(value) => ParameterChoice::BoolParam(value),
        ParameterValue::Integer(value) => ParameterChoice::Int64Param(value),
        ParameterValue::Unsigned(value) => ParameterChoice::Uint64Param(value),
        ParameterValue::Float(value) => ParameterChoice::DoubleParam(value),
        ParameterValue::Text(value) => ParameterChoice::StringParam(value),
    };
    let parameter_choice = Some(choice);
    (name.to_owned(), InferParameter { parameter_choice })
}

fn output(output: &ReplyOutput) -> InferOutputTensor {
    let tensor = &output.tensor;
    let mut parameters = HashMap::new();
    let mut say = |name: &str, value: ParameterChoice| {
        let parameter_choice = Some(value);
        parameters.insert(name.to_owned(), InferParameter { parameter_choice });
    };
    if let ReplyPlace::Region(part) = &output.place {
        let size = |size: usize| ParameterChoice::Int64Param(size as i64);
        let region = ParameterChoice::StringParam(part.region.clone());
        say("shared_memory_region", region);
        say("shared_memory_byte_size", size(tensor.size()));
        say("shared_memory_offset", size(part.offset));
    }
    InferOutputTensor {
        name: output.name.clone(),
        datatype: tensor.data_type().name().to_owned(),
        shape: tensor.dims().iter().map(|size| *size as i64).collect(),
        parameters,
        contents: None,
    }
}
