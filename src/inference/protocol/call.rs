//! Inference requests and answers, common to HTTP and gRPC.

use std::num::NonZeroUsize;
use std::time::Duration;

use divisi_runtime::tensor::DataType;

use super::goals::RequestGoals;
use super::model_id::ModelId;
use super::parameters::{CallParameters, ParameterValue};
use super::rope::ByteRope;
use super::tensor::WireTensor;
use crate::bounds::RequestBounds;
use crate::error::{ErrorKind, ServiceError};

/// An inference request.
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceCall {
    /// The requested model.
    pub model: ModelId,
    /// The client's id of the request, repeated in the answer.
    pub id: String,
    /// The time limit of the request, or its limit in the queue if its model's policy applies one.
    pub timeout: Option<Duration>,
    /// Its priority; 0 for its model's default.
    pub priority: u64,
    /// The goals that it names instead of a model.
    pub goals: RequestGoals,
    /// Its inputs.
    pub inputs: Vec<CallInput>,
    /// The requested outputs; empty for all.
    pub outputs: Vec<CallOutput>,
    /// Whether outputs are sent as binary data by default.
    pub binary: bool,
}

/// An input of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallInput {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// Its dimensions, starting with the batch.
    pub dims: Vec<usize>,
    /// The location of its values.
    pub source: InputSource,
}

/// The location of an input's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// In the request.
    Here(ByteRope),
    /// In shared memory.
    Region(RegionPart),
}

/// A part of a region of shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionPart {
    /// The region's name.
    pub region: String,
    /// The offset of the first byte in the region.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
}

/// A requested output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOutput {
    /// Its name.
    pub name: String,
    /// Whether it is sent as binary data; `None` for the request's default.
    pub binary: Option<bool>,
    /// The number of top values to return instead of all values.
    pub classes: Option<NonZeroUsize>,
    /// The shared memory to write it to.
    pub region: Option<RegionPart>,
}

/// An answer to send.
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceReply {
    /// The model that answered.
    pub model: String,
    /// Its version.
    pub version: String,
    /// The client's id of the request.
    pub id: String,
    /// Its parameters, by name.
    pub parameters: Vec<(&'static str, ParameterValue)>,
    /// The outputs, in the requested order.
    pub outputs: Vec<ReplyOutput>,
}

impl InferenceReply {
    /// Returns the bytes of the outputs that are written in JSON.
    pub fn written_bytes(&self) -> usize {
        let written = self.outputs.iter();
        let written = written.filter(|output| output.place == ReplyPlace::Written);
        written.map(|output| output.tensor.size()).sum()
    }
}

/// An output of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyOutput {
    /// Its name.
    pub name: String,
    /// Its type, dimensions and values.
    pub tensor: WireTensor,
    /// The destination of its values.
    pub place: ReplyPlace,
}

/// The destination of an output's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPlace {
    /// The answer, as numbers if it is JSON.
    Written,
    /// The answer, as binary data.
    Binary,
    /// Shared memory, which already contains them.
    Region(RegionPart),
}

/// The parameters of request sequences.
const SEQUENCE: [&str; 3] = ["sequence_id", "sequence_start", "sequence_end"];

impl InferenceCall {
    /// Creates a request from its parameters.
    ///
    /// # Errors
    /// Returns an error if a parameter is invalid or not supported.
    pub fn new(
        model: ModelId,
        id: String,
        parameters: &CallParameters,
    ) -> Result<Self, ServiceError> {
        for name in SEQUENCE {
            refuse_sequence(name, parameters.get(name))?;
        }
        let priority = parameters.count("priority", "the request")?;
        let timeout = parameters.count("timeout", "the request")?;
        let timeout = timeout.filter(|micros| *micros > 0);
        Ok(InferenceCall {
            model,
            id,
            timeout: timeout.map(Duration::from_micros),
            priority: priority.unwrap_or_default(),
            goals: RequestGoals::from_parameters(parameters)?,
            inputs: Vec::new(),
            outputs: Vec::new(),
            binary: parameters
                .flag("binary_data_output", "the request")?
                .unwrap_or_default(),
        })
    }

    /// Returns the bytes of the inputs' values that are not in shared memory.
    pub fn bytes(&self) -> usize {
        let bytes = self.inputs.iter().map(|input| match &input.source {
            InputSource::Here(bytes) => bytes.len(),
            InputSource::Region(_) => 0,
        });
        bytes.sum()
    }

    /// Returns the bytes of the inputs' values that are in shared memory.
    pub fn region_bytes(&self) -> usize {
        let parts = self.inputs.iter().filter_map(CallInput::region);
        parts.fold(0, |bytes, part| bytes.saturating_add(part.size))
    }

    /// Checks the length of the id, the number of tensors, and that their names are distinct.
    ///
    /// # Errors
    /// Returns an error if the id is too long, there are too many tensors, or a name occurs twice.
    pub fn check(&self, limits: &RequestBounds) -> Result<(), ServiceError> {
        check_id(&self.id, limits)?;
        let inputs: Vec<&str> = self.inputs.iter().map(|input| &*input.name).collect();
        let outputs: Vec<&str> = self.outputs.iter().map(|output| &*output.name).collect();
        check_names("inputs", &inputs, limits)?;
        check_names("outputs", &outputs, limits)
    }
}

/// The id is bounded because it is repeated in the answer and in records.
fn check_id(id: &str, limits: &RequestBounds) -> Result<(), ServiceError> {
    let (most, found) = (limits.id, id.len());
    match found <= most {
        true => Ok(()),
        false => Err(ServiceError::bad(format!(
            "`id`: expected at most {most} bytes, found {found}; send a shorter id"
        ))),
    }
}

fn check_names(of: &str, names: &[&str], limits: &RequestBounds) -> Result<(), ServiceError> {
    if names.len() > limits.tensors {
        return Err(too_many_tensors(of, limits));
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(ServiceError::bad(format!(
            "{of}: `{}` is there twice",
            pair[0]
        ))),
    }
}

/// Returns the error of a request with too many tensors.
pub(crate) fn too_many_tensors(of: &str, limits: &RequestBounds) -> ServiceError {
    let most = limits.tensors;
    ServiceError::new(
        ErrorKind::TooLarge,
        format!("{of}: expected at most {most}"),
    )
}

fn refuse_sequence(name: &str, value: Option<&ParameterValue>) -> Result<(), ServiceError> {
    let none = match value {
        None | Some(ParameterValue::Bool(false) | ParameterValue::Integer(0)) => true,
        Some(ParameterValue::Unsigned(0)) => true,
        Some(ParameterValue::Text(text)) => text.is_empty(),
        Some(_) => false,
    };
    match none {
        true => Ok(()),
        false => Err(ServiceError::unsupported(format!(
            "parameter `{name}`: request sequences are not supported"
        ))),
    }
}

impl CallInput {
    /// Creates an input with values in shared memory if its parameters say so, or else with the
    /// values returned by `here`.
    ///
    /// # Errors
    /// Returns an error if a parameter is invalid or the values are missing.
    pub fn new(
        name: String,
        data_type: DataType,
        dims: Vec<usize>,
        parameters: &CallParameters,
        here: impl FnOnce(&str) -> Result<ByteRope, ServiceError>,
    ) -> Result<Self, ServiceError> {
        let of = format!("input `{name}`");
        let source = match RegionPart::from_parameters(parameters, &of)? {
            Some(part) => InputSource::Region(part),
            None => InputSource::Here(here(&of)?),
        };
        Ok(CallInput {
            name,
            data_type,
            dims,
            source,
        })
    }

    /// Returns the shared memory of its values, if it has one.
    pub fn region(&self) -> Option<&RegionPart> {
        match &self.source {
            InputSource::Here(_) => None,
            InputSource::Region(part) => Some(part),
        }
    }
}

impl CallOutput {
    /// Creates a requested output from its parameters.
    ///
    /// # Errors
    /// Returns an error if a parameter is invalid.
    pub fn new(name: String, parameters: &CallParameters) -> Result<Self, ServiceError> {
        let of = format!("output `{name}`");
        let classes = parameters.size("classification", &of)?;
        let wanted = CallOutput {
            binary: parameters.flag("binary_data", &of)?,
            classes: classes.and_then(NonZeroUsize::new),
            region: RegionPart::from_parameters(parameters, &of)?,
            name,
        };
        match (&wanted.region, wanted.classes) {
            (Some(_), Some(_)) => Err(ServiceError::bad(format!(
                "{of}: classes cannot be written to shared memory"
            ))),
            _ => Ok(wanted),
        }
    }
}

impl RegionPart {
    /// Returns the shared memory in the parameters, or `None` without any.
    fn from_parameters(
        parameters: &CallParameters,
        of: &str,
    ) -> Result<Option<Self>, ServiceError> {
        let Some(region) = parameters.text("shared_memory_region", of)? else {
            return Ok(None);
        };
        let size = parameters.size("shared_memory_byte_size", of)?;
        let Some(size) = size else {
            return Err(ServiceError::bad(format!(
                "{of}: parameter `shared_memory_byte_size` is missing"
            )));
        };
        Ok(Some(RegionPart {
            region: region.to_owned(),
            offset: parameters.size("shared_memory_offset", of)?.unwrap_or(0),
            size,
        }))
    }
}
