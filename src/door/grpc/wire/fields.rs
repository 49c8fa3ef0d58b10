//! The fields of messages of any size, and their memory.

use bytes::Bytes;
use prost::Message;

use crate::limits::ServerLimits;
use crate::proto::inference::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use crate::proto::inference::{
    InferParameter, ModelInferRequest, ModelRepositoryParameter, RepositoryModelLoadRequest,
};

use super::reader::WireValue;
use super::{MOST_FIELDS, WireFault};

/// A message whose size in memory is known before it is decoded.
pub trait BoundedMessage: Message + Default + 'static {
    /// Its fields with memory of their own.
    const FIELDS: &'static [WireField];
}

/// A field of a message.
#[derive(Debug)]
pub struct WireField {
    pub(super) number: u32,
    name: &'static str,
    pub(super) kind: FieldValues,
    /// The maximum number in a message; `None` if only memory limits it.
    most: Option<fn(&ServerLimits) -> usize>,
}

/// The values of a field, with the memory of each entry in bytes.
#[derive(Debug)]
pub enum FieldValues {
    /// A message with its own fields.
    Message(usize, &'static [WireField]),
    /// Copied bytes.
    Copied(usize),
    /// Bytes that stay in the receive buffer.
    Kept(usize),
    /// Numbers of variable length, packed or one by one.
    Varints(usize),
    /// Numbers of fixed length, packed or one by one.
    Fixed(usize),
}

impl FieldValues {
    /// Returns the number of entries of a value.
    pub(super) fn entries(&self, value: WireValue<'_>) -> usize {
        match (self, value) {
            // The last byte of each number is the one without the upper bit.
            (FieldValues::Varints(_), WireValue::Bytes(packed)) => {
                packed.iter().filter(|byte| **byte < 0x80).count()
            }
            (FieldValues::Fixed(each), WireValue::Bytes(packed)) => packed.len() / each,
            _ => 1,
        }
    }

    /// Returns the memory of the entries of a value.
    pub(super) fn size(&self, entries: usize, value: WireValue<'_>) -> usize {
        let length = match value {
            WireValue::Bytes(bytes) => bytes.len(),
            WireValue::Other => 0,
        };
        match self {
            FieldValues::Copied(each) => each + length,
            FieldValues::Message(each, _)
            | FieldValues::Kept(each)
            | FieldValues::Varints(each)
            | FieldValues::Fixed(each) => entries.saturating_mul(*each),
        }
    }
}

impl WireField {
    const fn new(number: u32, name: &'static str, kind: FieldValues) -> Self {
        WireField {
            number,
            name,
            kind,
            most: None,
        }
    }

    const fn at_most(self, most: fn(&ServerLimits) -> usize) -> Self {
        WireField {
            most: Some(most),
            ..self
        }
    }

    const fn text(number: u32, name: &'static str) -> Self {
        WireField::new(number, name, FieldValues::Copied(0))
    }

    /// Checks the number of entries in a message.
    pub(super) fn check(&self, found: usize, limits: &ServerLimits) -> Result<(), WireFault> {
        let name = self.name;
        match self.most.map(|most| most(limits)) {
            Some(most) if found > most => Err(WireFault::TooMany { name, most }),
            _ => Ok(()),
        }
    }
}

/// Returns the memory of a map entry; map tables are up to half empty.
const fn map_entry<V>() -> usize {
    2 * size_of::<(String, V)>()
}

const fn parameters(number: u32) -> WireField {
    let kind = FieldValues::Copied(map_entry::<InferParameter>());
    WireField::new(number, "parameters", kind)
}

fn tensors(limits: &ServerLimits) -> usize {
    limits.request.tensors
}

fn rank(limits: &ServerLimits) -> usize {
    limits.request.rank
}

/// The fields of `InferTensorContents`.
const CONTENTS: &[WireField] = &[
    WireField::new(1, "bool_contents", FieldValues::Varints(size_of::<bool>())),
    WireField::new(2, "int_contents", FieldValues::Varints(size_of::<i32>())),
    WireField::new(3, "int64_contents", FieldValues::Varints(size_of::<i64>())),
    WireField::new(4, "uint_contents", FieldValues::Varints(size_of::<u32>())),
    WireField::new(5, "uint64_contents", FieldValues::Varints(size_of::<u64>())),
    WireField::new(6, "fp32_contents", FieldValues::Fixed(size_of::<f32>())),
    WireField::new(7, "fp64_contents", FieldValues::Fixed(size_of::<f64>())),
    WireField::new(8, "bytes_contents", FieldValues::Kept(size_of::<Bytes>())),
];

/// The fields of `InferInputTensor`.
const INPUT: &[WireField] = &[
    WireField::text(1, "name"),
    WireField::text(2, "datatype"),
    WireField::new(3, "shape", FieldValues::Varints(size_of::<i64>())).at_most(rank),
    parameters(4),
    WireField::new(5, "contents", FieldValues::Message(0, CONTENTS)),
];

/// The fields of `InferRequestedOutputTensor`.
const OUTPUT: &[WireField] = &[WireField::text(1, "name"), parameters(2)];

/// The fields of `ModelInferRequest`.
const INFER: &[WireField] = &[
    WireField::text(1, "model_name"),
    WireField::text(2, "model_version"),
    WireField::text(3, "id"),
    parameters(4),
    WireField::new(
        5,
        "inputs",
        FieldValues::Message(size_of::<InferInputTensor>(), INPUT),
    )
    .at_most(tensors),
    WireField::new(
        6,
        "outputs",
        FieldValues::Message(size_of::<InferRequestedOutputTensor>(), OUTPUT),
    )
    .at_most(tensors),
    WireField::new(
        7,
        "raw_input_contents",
        FieldValues::Kept(size_of::<Bytes>()),
    )
    .at_most(tensors),
];

/// The fields of `RepositoryModelLoadRequest`.
const LOAD: &[WireField] = &[
    WireField::text(1, "repository_name"),
    WireField::text(2, "model_name"),
    WireField::new(
        3,
        "parameters",
        FieldValues::Copied(map_entry::<ModelRepositoryParameter>()),
    ),
];

const _: () = assert!(CONTENTS.len() <= MOST_FIELDS && INFER.len() <= MOST_FIELDS);

impl BoundedMessage for ModelInferRequest {
    const FIELDS: &'static [WireField] = INFER;
}

impl BoundedMessage for RepositoryModelLoadRequest {
    const FIELDS: &'static [WireField] = LOAD;
}
