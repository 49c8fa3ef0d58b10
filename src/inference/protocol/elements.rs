//! The values of a tensor in JSON, parsed directly into bytes of its type, and written from them.

use bytes::Bytes;
use divisi_runtime::tensor::DataType;
use half::{bf16, f16};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use super::growing::GrowingBytes;
use super::tensor::{WireTensor, put_string};

/// Collects the values of a tensor.
#[derive(Debug)]
pub struct ElementSink {
    data_type: DataType,
    bytes: GrowingBytes,
    count: usize,
    most: usize,
}

/// A value that does not fit a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElementFault {
    /// The value has another type.
    Type(DataType),
    /// The number is finite, but infinite in the tensor's type.
    Range {
        /// The number.
        value: f64,
        /// The type.
        data_type: DataType,
    },
    /// There are too many values.
    TooMany(usize),
}

/// Describes a number outside of the range of its type.
pub fn beyond_range(at: usize, value: f64, data_type: DataType) -> String {
    let value = match value.abs() < 1e16 {
        true => format!("{value}"),
        false => format!("{value:e}"),
    };
    format!("value {at} is {value}, outside the range of {data_type}")
}

impl ElementSink {
    /// Creates an empty tensor for at most `most` values.
    pub fn new(data_type: DataType, most: usize) -> Self {
        ElementSink {
            data_type,
            bytes: GrowingBytes::default(),
            count: 0,
            most,
        }
    }

    /// Returns the values as bytes.
    pub fn into_bytes(self) -> Bytes {
        self.bytes.freeze()
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.count
    }

    fn count_one(&mut self) -> Result<(), ElementFault> {
        self.count += 1;
        match self.count <= self.most {
            true => Ok(()),
            false => Err(ElementFault::TooMany(self.most)),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ElementFault> {
        self.count_one()?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds a boolean.
    ///
    /// # Errors
    /// Returns an error if the tensor has another type or is full.
    pub fn bool(&mut self, value: bool) -> Result<(), ElementFault> {
        match self.data_type {
            DataType::Bool => self.put(&[u8::from(value)]),
            other => Err(ElementFault::Type(other)),
        }
    }

    /// Adds an integer.
    ///
    /// # Errors
    /// Returns an error if the number does not fit the type or the tensor is full.
    pub fn integer(&mut self, value: i128) -> Result<(), ElementFault> {
        /// Appends the number if it fits a type.
        macro_rules! whole {
            ($type:ty) => {
                match <$type>::try_from(value) {
                    Ok(value) => self.put(&value.to_le_bytes()),
                    Err(_) => Err(ElementFault::Type(self.data_type)),
                }
            };
        }
        match self.data_type {
            DataType::Bool if (0..=1).contains(&value) => self.put(&[value as u8]),
            DataType::Uint8 => whole!(u8),
            DataType::Uint16 => whole!(u16),
            DataType::Uint32 => whole!(u32),
            DataType::Uint64 => whole!(u64),
            DataType::Int8 => whole!(i8),
            DataType::Int16 => whole!(i16),
            DataType::Int32 => whole!(i32),
            DataType::Int64 => whole!(i64),
            _ => self.float(value as f64),
        }
    }

    /// Adds a floating-point number.
    ///
    /// # Errors
    /// Returns an error if the number does not fit the type or the tensor is full.
    pub fn float(&mut self, value: f64) -> Result<(), ElementFault> {
        match self.data_type {
            DataType::Fp16 => {
                let half = f16::from_f64(value);
                self.put_float(&half.to_le_bytes(), value, half.is_finite())
            }
            DataType::Bf16 => {
                let half = bf16::from_f64(value);
                self.put_float(&half.to_le_bytes(), value, half.is_finite())
            }
            DataType::Fp32 => {
                let single = value as f32;
                self.put_float(&single.to_le_bytes(), value, single.is_finite())
            }
            DataType::Fp64 => self.put(&value.to_le_bytes()),
            other => Err(ElementFault::Type(other)),
        }
    }

    /// Appends a number in a narrower type, in which it may be infinite.
    fn put_float(
        &mut self,
        bytes: &[u8],
        value: f64,
        stays_finite: bool,
    ) -> Result<(), ElementFault> {
        let data_type = self.data_type;
        match value.is_finite() && !stays_finite {
            true => Err(ElementFault::Range { value, data_type }),
            false => self.put(bytes),
        }
    }

    /// Adds a string.
    ///
    /// # Errors
    /// Returns an error if the tensor has another type or is full.
    pub fn string(&mut self, value: &[u8]) -> Result<(), ElementFault> {
        if self.data_type != DataType::Bytes {
            return Err(ElementFault::Type(self.data_type));
        }
        self.count_one()?;
        put_string(&mut self.bytes, value);
        Ok(())
    }
}

/// The values of a tensor in the form of JSON.
pub(super) struct WrittenElements<'a>(pub &'a WireTensor);

impl Serialize for WrittenElements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Writes converted values of a type.
        macro_rules! write {
            ($type:ty) => {
                write!($type, |v| v)
            };
            ($type:ty, $convert:expr) => {{
                let bytes = self.0.bytes();
                let (values, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                serializer.collect_seq(values.iter().map(|v| $convert(<$type>::from_le_bytes(*v))))
            }};
        }
        match self.0.data_type() {
            DataType::Bool => write!(u8, |v| v != 0),
            DataType::Uint8 => write!(u8),
            DataType::Uint16 => write!(u16),
            DataType::Uint32 => write!(u32),
            DataType::Uint64 => write!(u64),
            DataType::Int8 => write!(i8),
            DataType::Int16 => write!(i16),
            DataType::Int32 => write!(i32),
            DataType::Int64 => write!(i64),
            DataType::Fp16 => write!(f16, f16::to_f32),
            DataType::Bf16 => write!(bf16, bf16::to_f32),
            DataType::Fp32 => write!(f32),
            DataType::Fp64 => write!(f64),
            DataType::Bytes => self.strings(serializer),
        }
    }
}

/// Returns the values of a type other than strings; true is 1.
pub(super) fn numbers(data_type: DataType, bytes: &[u8]) -> Vec<f64> {
    /// Reads converted values of a type.
    macro_rules! read {
        ($type:ty, $convert:expr) => {{
            let (values, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            let values = values.iter().map(|v| <$type>::from_le_bytes(*v));
            values.map($convert).collect()
        }};
    }
    match data_type {
        DataType::Bool | DataType::Uint8 => read!(u8, f64::from),
        DataType::Uint16 => read!(u16, f64::from),
        DataType::Uint32 => read!(u32, f64::from),
        DataType::Uint64 => read!(u64, |v| v as f64),
        DataType::Int8 => read!(i8, f64::from),
        DataType::Int16 => read!(i16, f64::from),
        DataType::Int32 => read!(i32, f64::from),
        DataType::Int64 => read!(i64, |v| v as f64),
        DataType::Fp16 => read!(f16, f16::to_f64),
        DataType::Bf16 => read!(bf16, bf16::to_f64),
        DataType::Fp32 => read!(f32, f64::from),
        DataType::Fp64 => read!(f64, |v| v),
        DataType::Bytes => Vec::new(),
    }
}

/// Returns the values of a tensor that are not finite numbers, in order, in the notation of
/// RapidJSON and Python: JSON itself has none.
pub(super) fn non_finite(tensor: &WireTensor) -> Vec<&'static str> {
    /// Finds the non-finite values of a type.
    macro_rules! words {
        ($type:ty) => {{
            let bytes = tensor.bytes();
            let (values, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            let values = values.iter().map(|v| <$type>::from_le_bytes(*v));
            values.filter_map(|value| word(value.into())).collect()
        }};
    }
    match tensor.data_type() {
        DataType::Fp16 => words!(f16),
        DataType::Bf16 => words!(bf16),
        DataType::Fp32 => words!(f32),
        DataType::Fp64 => words!(f64),
        _ => Vec::new(),
    }
}

fn word(value: f64) -> Option<&'static str> {
    match value {
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        value => value.is_nan().then_some("NaN"),
    }
}

impl WrittenElements<'_> {
    fn strings<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.0.elements()))?;
        for string in self.0.strings() {
            let text = str::from_utf8(string);
            all.serialize_element(text.map_err(|_| S::Error::custom("no text"))?)?;
        }
        all.end()
    }
}
