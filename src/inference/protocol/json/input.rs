//! The inputs and outputs of a request in JSON.

use std::fmt;

use bytes::Bytes;
use divisi_runtime::tensor::DataType;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::protocol::call::too_many_tensors;
use crate::protocol::elements::ElementSink;
use crate::protocol::parameters::CallParameters;

use super::data::{DataSeed, JsonReading};
use super::fields::SeenFields;
use super::lists::ListLengths;

/// A tensor in JSON: an input or a requested output.
#[derive(Debug, Default)]
pub(super) struct JsonTensor {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: Option<DataType>,
    /// Its dimensions.
    pub shape: Option<Vec<usize>>,
    /// Its parameters.
    pub parameters: CallParameters,
    /// Its values.
    pub data: Option<JsonData>,
}

/// The values of a tensor in JSON.
#[derive(Debug)]
pub(super) struct JsonData {
    /// Their bytes.
    pub bytes: Bytes,
    /// The number of values.
    pub count: usize,
    /// The lists around the values.
    pub lists: ListLengths,
}

/// The fields of a tensor; others are skipped.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum TensorField {
    Name,
    Datatype,
    Shape,
    Parameters,
    Data,
    #[serde(other)]
    Other,
}

const TENSOR_FIELDS: [&str; 5] = ["name", "datatype", "shape", "parameters", "data"];

/// Reads a list of tensors.
pub(super) struct TensorsSeed<'a, 'l> {
    /// The reading.
    pub reading: &'a JsonReading<'l>,
    /// `inputs` or `outputs`.
    pub of: &'static str,
}

impl<'de> DeserializeSeed<'de> for TensorsSeed<'_, '_> {
    type Value = Vec<JsonTensor>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TensorsSeed<'_, '_> {
    type Value = Vec<JsonTensor>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", self.of)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let mut tensors = Vec::new();
        let seed = |at: usize| TensorSeed {
            reading: self.reading,
            of: self.of,
            number: at + 1,
            known: self.reading.types.get(at).copied(),
        };
        while let Some(tensor) = all.next_element_seed(seed(tensors.len()))? {
            tensors.push(tensor);
            if tensors.len() > self.reading.limits.tensors {
                let why = too_many_tensors(self.of, self.reading.limits);
                return Err(self.reading.refuse(why));
            }
        }
        Ok(tensors)
    }
}

struct TensorSeed<'a, 'l> {
    reading: &'a JsonReading<'l>,
    /// `inputs` or `outputs`.
    of: &'static str,
    /// Its position in the list, from 1.
    number: usize,
    /// The type of its values, if known.
    known: Option<DataType>,
}

impl<'de> DeserializeSeed<'de> for TensorSeed<'_, '_> {
    type Value = JsonTensor;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<JsonTensor, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TensorSeed<'_, '_> {
    type Value = JsonTensor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor with name, datatype, shape and data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<JsonTensor, A::Error> {
        let mut tensor = JsonTensor::default();
        let mut seen = SeenFields::default();
        while let Some(field) = fields.next_key()? {
            seen.note(field as usize, &TENSOR_FIELDS)?;
            match field {
                TensorField::Data => self.read_data(&mut tensor, &mut fields)?,
                TensorField::Other => {
                    fields.next_value::<IgnoredAny>()?;
                }
                other => self.read_field(&mut tensor, other, &mut fields)?,
            }
        }
        match tensor.name.is_empty() {
            true => Err(A::Error::missing_field("name")),
            false => Ok(tensor),
        }
    }
}

impl TensorSeed<'_, '_> {
    /// Reads a field other than the data.
    fn read_field<'de, A: MapAccess<'de>>(
        &self,
        tensor: &mut JsonTensor,
        field: TensorField,
        fields: &mut A,
    ) -> Result<(), A::Error> {
        let read = match field {
            TensorField::Name => fields.next_value().map(|name| tensor.name = name),
            TensorField::Datatype => fields.next_value().map(|of| tensor.data_type = Some(of)),
            TensorField::Shape => {
                let shape = fields.next_value_seed(ShapeSeed);
                shape.map(|shape| tensor.shape = Some(shape))
            }
            _ => fields.next_value().map(|all| tensor.parameters = all),
        };
        read.map_err(|e| {
            let field = TENSOR_FIELDS[field as usize];
            A::Error::custom(format_args!("{}: `{field}`: {e}", self.shown(tensor)))
        })
    }

    /// Returns a tensor in words: by name, or by number if its name comes later.
    fn shown(&self, tensor: &JsonTensor) -> String {
        match &*tensor.name {
            "" => format!("tensor {} of `{}`", self.number, self.of),
            name => format!("tensor `{name}`"),
        }
    }

    /// Reads the data of a tensor, or skips it if its type is not known yet.
    fn read_data<'de, A: MapAccess<'de>>(
        &self,
        tensor: &mut JsonTensor,
        fields: &mut A,
    ) -> Result<(), A::Error> {
        let Some(data_type) = tensor.data_type.or(self.known) else {
            self.reading.untyped.set(true);
            fields.next_value::<IgnoredAny>()?;
            return Ok(());
        };
        let dims = tensor.shape.as_deref();
        let most = dims.and_then(|dims| dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d)));
        let bound = self.reading.limits.elements;
        let mut sink = ElementSink::new(data_type, most.map_or(bound, |most| most.min(bound)));
        let mut lists = ListLengths::default();
        let seed = DataSeed {
            reading: self.reading,
            sink: &mut sink,
            lists: &mut lists,
            depth: 0,
        };
        let read = fields.next_value_seed(seed);
        read.map_err(|e| A::Error::custom(format_args!("{}: {e}", self.shown(tensor))))?;
        tensor.data = Some(JsonData {
            count: sink.count(),
            bytes: sink.into_bytes(),
            lists,
        });
        Ok(())
    }
}

/// The maximum number of dimensions to read; the bound of requests is lower.
const MOST_DIMS: usize = 1024;

/// Reads a shape: integers that are not negative.
struct ShapeSeed;

impl<'de> DeserializeSeed<'de> for ShapeSeed {
    type Value = Vec<usize>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<usize>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ShapeSeed {
    type Value = Vec<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shape: a list of whole numbers that are not negative")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Vec<usize>, A::Error> {
        let mut dims = Vec::new();
        while let Some(size) = all.next_element::<i64>()? {
            let fault = || format!("`shape`: expected sizes that are not negative, found {size}");
            dims.push(usize::try_from(size).map_err(|_| A::Error::custom(fault()))?);
            if dims.len() > MOST_DIMS {
                return Err(A::Error::invalid_length(dims.len(), &self));
            }
        }
        Ok(dims)
    }
}
