//! A request for inference as HTTP and gRPC both write it, and the answer to it.

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

/// A request: whom it asks, with which tensors, and for what.
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceCall {
    /// The model that is asked.
    pub model: ModelId,
    /// The client's name for it, which the answer carries.
    pub id: String,
    /// The time until it is given up, or until its model's queue does with it as its policy says.
    pub timeout: Option<Duration>,
    /// Its priority; 0 for its model's default.
    pub priority: u64,
    /// The goals that it names in place of a certain model.
    pub goals: RequestGoals,
    /// Its inputs.
    pub inputs: Vec<CallInput>,
    /// The outputs that are wanted; empty for all.
    pub outputs: Vec<CallOutput>,
    /// Whether outputs that do not say how they are wanted are sent as binary data.
    pub binary: bool,
}

/// An input of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallInput {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// Its dimensions, that of the batch first.
    pub dims: Vec<usize>,
    /// Where its values are.
    pub source: InputSource,
}

/// Where the values of an input are.
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
    /// The first byte, counted from the region's first.
    pub offset: usize,
    /// The bytes.
    pub size: usize,
}

/// An output that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOutput {
    /// Its name.
    pub name: String,
    /// Whether it is sent as binary data; `None` to do as the request says.
    pub binary: Option<bool>,
    /// How many of the largest values are wanted in place of all.
    pub classes: Option<NonZeroUsize>,
    /// The shared memory that it is written to.
    pub region: Option<RegionPart>,
}

/// An answer as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceReply {
    /// The model that was asked.
    pub model: String,
    /// Its version.
    pub version: String,
    /// The client's name for the request.
    pub id: String,
    /// Its parameters, by name.
    pub parameters: Vec<(&'static str, ParameterValue)>,
    /// The outputs, in the order in which they were asked for.
    pub outputs: Vec<ReplyOutput>,
}

impl InferenceReply {
    /// Returns the bytes of the outputs whose values are written in JSON.
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
    /// Where its values go.
    pub place: ReplyPlace,
}

/// Where the values of an output go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPlace {
    /// Into the answer, as numbers where that is told in JSON.
    Written,
    /// Into the answer, as binary data.
    Binary,
    /// Into shared memory, where they are already.
    Region(RegionPart),
}

/// Parameters that make a request one of a sequence.
const SEQUENCE: [&str; 3] = ["sequence_id", "sequence_start", "sequence_end"];

impl InferenceCall {
    /// Creates a request from its parameters.
    ///
    /// # Errors
    /// A parameter is wrong, or asks for what is not served.
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
            goals: RequestGoals::of(parameters)?,
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

    /// Checks the length of the id, how many tensors there are, and that none is there twice.
    ///
    /// # Errors
    /// The id is too long, there are too many tensors, or one is there twice.
    pub fn check(&self, limits: &RequestBounds) -> Result<(), ServiceError> {
        check_id(&self.id, limits)?;
        let inputs: Vec<&str> = self.inputs.iter().map(|input| &*input.name).collect();
        let outputs: Vec<&str> = self.outputs.iter().map(|output| &*output.name).collect();
        check_names("inputs", &inputs, limits)?;
        check_names("outputs", &outputs, limits)
    }
}

/// The id is written to the answer and to the records of calls.
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

/// Returns the error of a request with more tensors than the bound.
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
    /// Creates an input whose values are in shared memory if its parameters say so, and else
    /// those that `here` returns.
    ///
    /// # Errors
    /// A parameter is wrong, or the values are not there.
    pub fn new(
        (name, data_type, dims): (String, DataType, Vec<usize>),
        parameters: &CallParameters,
        here: impl FnOnce(&str) -> Result<ByteRope, ServiceError>,
    ) -> Result<Self, ServiceError> {
        let of = format!("input `{name}`");
        let source = match RegionPart::of(parameters, &of)? {
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

    /// Returns the part of shared memory that has its values, if one has.
    pub fn region(&self) -> Option<&RegionPart> {
        match &self.source {
            InputSource::Here(_) => None,
            InputSource::Region(part) => Some(part),
        }
    }
}

impl CallOutput {
    /// Creates an output that is wanted from its parameters.
    ///
    /// # Errors
    /// A parameter is wrong.
    pub fn new(name: String, parameters: &CallParameters) -> Result<Self, ServiceError> {
        let of = format!("output `{name}`");
        let classes = parameters.size("classification", &of)?;
        let wanted = CallOutput {
            binary: parameters.flag("binary_data", &of)?,
            classes: classes.and_then(NonZeroUsize::new),
            region: RegionPart::of(parameters, &of)?,
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
    /// Returns the part of shared memory that parameters name, or `None` if they name none.
    fn of(parameters: &CallParameters, of: &str) -> Result<Option<Self>, ServiceError> {
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
