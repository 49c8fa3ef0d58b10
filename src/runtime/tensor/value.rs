//! Tensors as bytes with a type and dimensions, and their values as float32.

use half::{bf16, f16};
use thiserror::Error;

use crate::reading::ReadError;

use super::data_type::DataType;
use super::written::Number;

/// A tensor: values in row-major order as little-endian bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorValue {
    data_type: DataType,
    dims: Vec<usize>,
    bytes: Vec<u8>,
}

/// The reason why a network cannot take the values of a tensor.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TensorError {
    /// An integer that float32 does not hold exactly.
    #[error("value {at}: expected an integer from -{MOST_EXACT} to {MOST_EXACT}, found {value}")]
    Inexact {
        /// Its position.
        at: usize,
        /// The integer.
        value: i128,
    },
    /// Another mismatch.
    #[error(transparent)]
    Other(#[from] ReadError),
}

/// The largest integer up to which float32 holds every integer exactly.
pub const MOST_EXACT: u32 = 1 << 24;

impl TensorValue {
    /// Creates a tensor from its bytes.
    ///
    /// # Errors
    /// The number of bytes does not match the dimensions, or the type's values vary in size.
    pub fn new(data_type: DataType, dims: Vec<usize>, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let size = data_type.size().ok_or_else(no_numbers)?;
        let expected = dims.iter().try_fold(size, |all, &d| all.checked_mul(d));
        match expected {
            Some(expected) if expected == bytes.len() => Ok(TensorValue {
                data_type,
                dims,
                bytes,
            }),
            Some(expected) => Err(ReadError::new(format_args!(
                "{data_type} of {dims:?} has {expected} bytes, found {}",
                bytes.len()
            ))),
            None => Err(ReadError::new(format_args!(
                "dimensions of {dims:?} hold too many values"
            ))),
        }
    }

    /// Returns the type of the values.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Returns the dimensions, the slowest first.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns the values as little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the values as float32; false is 0 and true 1.
    ///
    /// # Errors
    /// An integer is beyond ±2²⁴, or a finite FP64 beyond float32.
    pub fn floats(&self) -> Result<Vec<f32>, TensorError> {
        /// Reads values of a type from their bytes.
        macro_rules! read {
            ($type:ty) => {
                self.bytes
                    .as_chunks::<{ size_of::<$type>() }>()
                    .0
                    .iter()
                    .map(|bytes| <$type>::from_le_bytes(*bytes))
            };
        }
        match self.data_type {
            DataType::Bool => Ok(self
                .bytes
                .iter()
                .map(|b| f32::from(u8::from(*b != 0)))
                .collect()),
            DataType::Uint8 => Ok(read!(u8).map(f32::from).collect()),
            DataType::Int8 => Ok(read!(i8).map(f32::from).collect()),
            DataType::Uint16 => Ok(read!(u16).map(f32::from).collect()),
            DataType::Int16 => Ok(read!(i16).map(f32::from).collect()),
            DataType::Uint32 => exact(read!(u32).map(i128::from)),
            DataType::Int32 => exact(read!(i32).map(i128::from)),
            DataType::Uint64 => exact(read!(u64).map(i128::from)),
            DataType::Int64 => exact(read!(i64).map(i128::from)),
            DataType::Fp16 => Ok(read!(u16).map(|b| f16::from_bits(b).to_f32()).collect()),
            DataType::Bf16 => Ok(read!(u16).map(|b| bf16::from_bits(b).to_f32()).collect()),
            DataType::Fp32 => Ok(read!(f32).collect()),
            DataType::Fp64 => rounded(read!(f64)),
            DataType::Bytes => Err(no_numbers().into()),
        }
    }

    /// Returns the values as they are written in JSON, booleans as integers.
    pub(super) fn numbers(&self) -> Vec<Number> {
        /// Reads values of a type from their bytes as one kind of number.
        macro_rules! read {
            ($type:ty, $kind:path, $as:ty) => {
                self.bytes
                    .as_chunks::<{ size_of::<$type>() }>()
                    .0
                    .iter()
                    .map(|bytes| $kind(<$as>::from(<$type>::from_le_bytes(*bytes))))
                    .collect()
            };
        }
        match self.data_type {
            DataType::Bool | DataType::Uint8 | DataType::Bytes => read!(u8, Number::Integer, i128),
            DataType::Int8 => read!(i8, Number::Integer, i128),
            DataType::Uint16 => read!(u16, Number::Integer, i128),
            DataType::Int16 => read!(i16, Number::Integer, i128),
            DataType::Uint32 => read!(u32, Number::Integer, i128),
            DataType::Int32 => read!(i32, Number::Integer, i128),
            DataType::Uint64 => read!(u64, Number::Integer, i128),
            DataType::Int64 => read!(i64, Number::Integer, i128),
            DataType::Fp16 => read!(f16, Number::Float, f64),
            DataType::Bf16 => read!(bf16, Number::Float, f64),
            DataType::Fp32 => read!(f32, Number::Float, f64),
            DataType::Fp64 => read!(f64, Number::Float, f64),
        }
    }

    /// Creates a tensor from the values of a network. Integers are rounded towards zero and
    /// kept in their range, NaN becomes 0 of them.
    ///
    /// # Errors
    /// As for [`TensorValue::new`].
    pub fn of_floats(
        data_type: DataType,
        dims: Vec<usize>,
        values: &[f32],
    ) -> Result<Self, ReadError> {
        /// Writes values as a type's bytes.
        macro_rules! write {
            ($convert:expr) => {
                values.iter().flat_map(|&v| $convert(v)).collect()
            };
        }
        let bytes: Vec<u8> = match data_type {
            DataType::Bool => write!(|v: f32| [u8::from(v != 0.0)]),
            DataType::Uint8 => write!(|v: f32| [v as u8]),
            DataType::Int8 => write!(|v: f32| (v as i8).to_le_bytes()),
            DataType::Uint16 => write!(|v: f32| (v as u16).to_le_bytes()),
            DataType::Int16 => write!(|v: f32| (v as i16).to_le_bytes()),
            DataType::Uint32 => write!(|v: f32| (v as u32).to_le_bytes()),
            DataType::Int32 => write!(|v: f32| (v as i32).to_le_bytes()),
            DataType::Uint64 => write!(|v: f32| (v as u64).to_le_bytes()),
            DataType::Int64 => write!(|v: f32| (v as i64).to_le_bytes()),
            DataType::Fp16 => write!(|v: f32| f16::from_f32(v).to_le_bytes()),
            DataType::Bf16 => write!(|v: f32| bf16::from_f32(v).to_le_bytes()),
            DataType::Fp32 => write!(f32::to_le_bytes),
            DataType::Fp64 => write!(|v: f32| f64::from(v).to_le_bytes()),
            DataType::Bytes => return Err(no_numbers()),
        };
        TensorValue::new(data_type, dims, bytes)
    }
}

/// Returns the error of strings, which no network takes.
fn no_numbers() -> ReadError {
    ReadError::new("networks take numbers, not BYTES")
}

fn exact(values: impl Iterator<Item = i128>) -> Result<Vec<f32>, TensorError> {
    let each = values.enumerate().map(|(at, value)| {
        let fits = value.unsigned_abs() <= u128::from(MOST_EXACT);
        fits.then_some(value as f32)
            .ok_or(TensorError::Inexact { at, value })
    });
    each.collect()
}

fn rounded(values: impl Iterator<Item = f64>) -> Result<Vec<f32>, TensorError> {
    let each = values.enumerate().map(|(at, value)| {
        let narrow = value as f32;
        let fits = narrow.is_finite() || !value.is_finite();
        fits.then_some(narrow).ok_or_else(|| {
            let expected = format_args!("a number from -{most} to {most}", most = f32::MAX);
            let wrong = ReadError::expected(expected, format_args!("{value:e}"));
            wrong.at(format_args!("value {at}")).into()
        })
    });
    each.collect()
}
