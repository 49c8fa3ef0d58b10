//! Tensors as they are written in JSON: as in the requests and responses of the Open Inference
//! Protocol, with a name, a type, dimensions with the batch's first, and numbers, nested or not.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::reading::ReadError;

use super::data_type::DataType;
use super::value::TensorValue;

/// A tensor as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenTensor {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub datatype: DataType,
    /// Its dimensions.
    pub shape: Vec<usize>,
    data: Numbers,
}

/// Several tensors, as `{"inputs": […]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenInputs {
    /// The tensors.
    pub inputs: Vec<WrittenTensor>,
}

/// Several tensors, as `{"outputs": […]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenOutputs {
    /// The tensors.
    pub outputs: Vec<WrittenTensor>,
}

impl WrittenTensor {
    /// Writes a tensor out.
    pub fn new(name: String, value: &TensorValue) -> Self {
        let numbers = match value.data_type() {
            DataType::Bool => value
                .bytes()
                .iter()
                .map(|b| Number::Bool(*b != 0))
                .collect(),
            _ => value.numbers(),
        };
        WrittenTensor {
            name,
            datatype: value.data_type(),
            shape: value.dims().to_vec(),
            data: Numbers(numbers),
        }
    }

    /// Reads the written tensor.
    ///
    /// # Errors
    /// A number does not fit the type, or there are too many or too few numbers.
    pub fn read(self) -> Result<(String, TensorValue), ReadError> {
        let WrittenTensor {
            name,
            datatype,
            shape,
            data: Numbers(numbers),
        } = self;
        let place = |error: ReadError| error.at(format_args!("tensor `{name}`"));
        let wanted = shape.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
        if wanted != Some(numbers.len()) {
            let found = numbers.len();
            let wrong = format_args!("{found} values do not fit the dimensions {shape:?}");
            return Err(place(ReadError::new(wrong)));
        }
        let mut bytes = Vec::with_capacity(numbers.len() * datatype.size().unwrap_or(0));
        for (at, number) in numbers.into_iter().enumerate() {
            if !number.write(datatype, &mut bytes) {
                let wrong = ReadError::expected(datatype, number);
                return Err(place(wrong.at(format_args!("value {at}"))));
            }
        }
        let value = TensorValue::new(datatype, shape, bytes).map_err(place)?;
        Ok((name, value))
    }
}

/// A number as JSON has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Bool(bool),
    Integer(i128),
    Float(f64),
}

impl Number {
    /// Appends the bytes of a type. Returns `false` if it does not hold the number.
    fn write(self, data_type: DataType, to: &mut Vec<u8>) -> bool {
        /// Appends an integer that is in the range of a type.
        macro_rules! integer {
            ($type:ty) => {
                match self {
                    Number::Integer(v) => match <$type>::try_from(v) {
                        Ok(v) => to.extend(v.to_le_bytes()),
                        Err(_) => return false,
                    },
                    _ => return false,
                }
            };
        }
        let float = match self {
            Number::Float(v) => Some(v),
            Number::Integer(v) => Some(v as f64),
            Number::Bool(_) => None,
        };
        match (data_type, self, float) {
            (DataType::Bool, Number::Bool(v), _) => to.push(u8::from(v)),
            (DataType::Bool, Number::Integer(v @ 0..=1), _) => to.push(v as u8),
            (DataType::Uint8, ..) => integer!(u8),
            (DataType::Uint16, ..) => integer!(u16),
            (DataType::Uint32, ..) => integer!(u32),
            (DataType::Uint64, ..) => integer!(u64),
            (DataType::Int8, ..) => integer!(i8),
            (DataType::Int16, ..) => integer!(i16),
            (DataType::Int32, ..) => integer!(i32),
            (DataType::Int64, ..) => integer!(i64),
            (DataType::Fp16, _, Some(v)) => to.extend(half::f16::from_f64(v).to_le_bytes()),
            (DataType::Bf16, _, Some(v)) => to.extend(half::bf16::from_f64(v).to_le_bytes()),
            (DataType::Fp32, _, Some(v)) => to.extend((v as f32).to_le_bytes()),
            (DataType::Fp64, _, Some(v)) => to.extend(v.to_le_bytes()),
            _ => return false,
        }
        true
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Bool(v) => v.fmt(f),
            Number::Integer(v) => v.fmt(f),
            Number::Float(v) => v.fmt(f),
        }
    }
}

/// Numbers one after another, however they are nested.
#[derive(Clone, Debug, Default, PartialEq)]
struct Numbers(Vec<Number>);

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|number| WrittenNumber(*number)))
    }
}

struct WrittenNumber(Number);

impl Serialize for WrittenNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Number::Bool(v) => serializer.serialize_bool(v),
            Number::Integer(v) => match i64::try_from(v) {
                Ok(v) => serializer.serialize_i64(v),
                Err(_) => serializer.serialize_u64(v as u64),
            },
            Number::Float(v) => serializer.serialize_f64(v),
        }
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut numbers = Vec::new();
        deserializer.deserialize_seq(Nested(&mut numbers))?;
        Ok(Numbers(numbers))
    }
}

/// Appends the numbers of nested lists to a list.
struct Nested<'a>(&'a mut Vec<Number>);

impl<'de> Visitor<'de> for Nested<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers, in lists or lists of lists")
    }

    fn visit_bool<E>(self, v: bool) -> Result<(), E> {
        self.0.push(Number::Bool(v));
        Ok(())
    }

    fn visit_i64<E>(self, v: i64) -> Result<(), E> {
        self.0.push(Number::Integer(v.into()));
        Ok(())
    }

    fn visit_u64<E>(self, v: u64) -> Result<(), E> {
        self.0.push(Number::Integer(v.into()));
        Ok(())
    }

    fn visit_f64<E>(self, v: f64) -> Result<(), E> {
        self.0.push(Number::Float(v));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(NestedSeed(self.0))?.is_some() {}
        Ok(())
    }
}

struct NestedSeed<'a>(&'a mut Vec<Number>);

impl<'de> serde::de::DeserializeSeed<'de> for NestedSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(Nested(self.0))
    }
}
