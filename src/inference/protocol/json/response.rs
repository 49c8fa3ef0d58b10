//! An answer in JSON, followed by outputs as binary data.

use std::io::{self, Write};

use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

use crate::error::{ErrorKind, ServiceError};
use crate::protocol::GrowingBytes;
use crate::protocol::call::{InferenceReply, ReplyOutput, ReplyPlace};
use crate::protocol::elements::{WrittenElements, non_finite};
use crate::protocol::parameters::ParameterValue;

/// An answer: its JSON and the binary data after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonReply {
    /// The JSON.
    pub head: Bytes,
    /// The outputs as binary data, in their computed buffers.
    pub tail: Vec<Bytes>,
}

/// Writes an answer.
///
/// # Errors
/// Returns an error if a string is not valid text, which JSON cannot represent.
pub fn write_reply(reply: &InferenceReply) -> Result<JsonReply, ServiceError> {
    let outputs = reply.outputs.iter();
    let written = outputs.filter(|output| output.place == ReplyPlace::Written);
    let words = NonFiniteWords(written.flat_map(|output| non_finite(&output.tensor)));
    let mut head = GrowingBytes::default();
    let mut json = serde_json::Serializer::with_formatter(&mut head, words);
    WrittenReply(reply).serialize(&mut json).map_err(|e| {
        let message = format!("the answer cannot be written as JSON ({e}); request binary data");
        ServiceError::new(ErrorKind::BadInput, message)
    })?;
    let binary = reply
        .outputs
        .iter()
        .filter(|o| o.place == ReplyPlace::Binary);
    Ok(JsonReply {
        head: head.freeze(),
        tail: binary.map(|output| output.tensor.bytes()).collect(),
    })
}

/// Writes non-finite numbers in order: `serde_json` writes each as null, and an answer has no other
/// nulls.
struct NonFiniteWords<I>(I);

impl<I: Iterator<Item = &'static str>> Formatter for NonFiniteWords<I> {
    fn write_null<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(self.0.next().unwrap_or("null").as_bytes())
    }
}

struct WrittenReply<'a>(&'a InferenceReply);

impl Serialize for WrittenReply<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reply = self.0;
        let mut map = serializer.serialize_map(None)?;
        if !reply.id.is_empty() {
            map.serialize_entry("id", &reply.id)?;
        }
        map.serialize_entry("model_name", &reply.model)?;
        map.serialize_entry("model_version", &reply.version)?;
        if !reply.parameters.is_empty() {
            map.serialize_entry("parameters", &WrittenParameters(&reply.parameters))?;
        }
        let outputs: Vec<_> = reply.outputs.iter().map(WrittenOutput).collect();
        map.serialize_entry("outputs", &outputs)?;
        map.end()
    }
}

struct WrittenParameters<'a>(&'a [(&'static str, ParameterValue)]);

impl Serialize for WrittenParameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            match value {
                ParameterValue::Bool(value) => map.serialize_entry(name, value)?,
                ParameterValue::Integer(value) => map.serialize_entry(name, value)?,
                ParameterValue::Unsigned(value) => map.serialize_entry(name, value)?,
                ParameterValue::Float(value) => map.serialize_entry(name, value)?,
                ParameterValue::Text(value) => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

struct WrittenOutput<'a>(&'a ReplyOutput);

impl Serialize for WrittenOutput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ReplyOutput {
            name,
            tensor,
            place,
        } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("datatype", tensor.data_type().name())?;
        map.serialize_entry("shape", tensor.dims())?;
        match place {
            ReplyPlace::Written => map.serialize_entry("data", &WrittenElements(tensor))?,
            ReplyPlace::Binary => {
                let size = BinarySize {
                    binary_data_size: tensor.size(),
                };
                map.serialize_entry("parameters", &size)?;
            }
            // The client knows the region; additional fields break some clients.
            ReplyPlace::Region(_) => {}
        }
        map.end()
    }
}

#[derive(Serialize)]
struct BinarySize {
    binary_data_size: usize,
}
