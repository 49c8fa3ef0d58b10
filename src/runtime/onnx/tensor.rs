//! Constant tensors of ONNX files, read from the file's own bytes or from an external file.

use half::{bf16, f16};
use prost::bytes::Bytes;

use super::beside::{FilesBeside, location};
use super::floats::Floats;
use super::integers::Integers;
use super::kinds;
use super::proto::TensorProto;
use crate::network::EncodedValues;
use crate::reading::ReadError;

/// The most values of a tensor; more are taken for a mistake.
const MAX_VALUES: usize = 1 << 31;

/// The largest product of the other dimensions of an empty tensor. Derived tensors may keep only
/// these dimensions.
const MAX_EMPTY: usize = 1 << 20;

/// A constant: dimensions and values, the last dimension fastest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constant {
    pub(super) dims: Vec<usize>,
    pub(super) values: Values,
}

/// The values of a constant, in the widest type of their kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Floats(Floats),
    Integers(Integers),
    Booleans(Vec<bool>),
}

impl Constant {
    /// Creates a vector of integers, as shapes and axes are.
    pub(super) fn integers(values: Vec<i64>) -> Self {
        Constant {
            dims: vec![values.len()],
            values: Values::Integers(values.into()),
        }
    }

    /// Creates a single float.
    pub(super) fn float(value: f32) -> Self {
        Constant {
            dims: Vec::new(),
            values: Values::Floats(vec![value].into()),
        }
    }

    /// Creates a single boolean.
    pub(super) fn boolean(value: bool) -> Self {
        Constant {
            dims: Vec::new(),
            values: Values::Booleans(vec![value]),
        }
    }

    /// Returns the integers, or `None` if the values are of another kind.
    pub(super) fn as_integers(&self) -> Option<&[i64]> {
        match &self.values {
            Values::Integers(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the floats, or `None` if the values are of another kind.
    pub(super) fn as_floats(&self) -> Option<&[f32]> {
        match &self.values {
            Values::Floats(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the values as floats: integers rounded, false as 0.
    pub(super) fn to_floats(&self) -> Vec<f32> {
        match &self.values {
            Values::Floats(values) => values.to_vec(),
            Values::Integers(values) => values.to_floats(),
            Values::Booleans(values) => values.iter().map(|v| f32::from(u8::from(*v))).collect(),
        }
    }

    /// Returns the value as a float, or `None` unless there is exactly one value.
    pub(super) fn as_scalar(&self) -> Option<f32> {
        match &self.values {
            // Other values are not decoded just to count them.
            values if values.len() != 1 => None,
            Values::Floats(v) => v.first().copied(),
            Values::Integers(v) => v.first().map(|v| *v as f32),
            Values::Booleans(v) => v.first().map(|v| f32::from(u8::from(*v))),
        }
    }

    /// Reads a tensor of the file, or of one `beside` it. Values that lie `in_file` stay there.
    pub(super) fn read(
        tensor: &TensorProto,
        beside: Option<&FilesBeside>,
        in_file: Option<Values>,
    ) -> Result<Self, ReadError> {
        let dims = dims(&tensor.dims)?;
        let count = dims.iter().product();
        let kind = Kind::from_number(tensor.data_type.unwrap_or_default())?;
        let values = if let Some(values) = in_file {
            values
        } else if tensor.data_location == Some(EXTERNAL) {
            let beside = beside.ok_or_else(|| {
                let file = location(tensor);
                ReadError::new(format_args!(
                    "its values are in `{file}`, but the model was not read from a folder"
                ))
            })?;
            let raw = beside.bytes(tensor, count, kind.size())?;
            kind.in_file(&raw).unwrap_or_else(|| kind.decode(&raw))
        } else if let Some(raw) = &tensor.raw_data {
            kind.decode(raw)
        } else {
            kinds::check_narrow(tensor)?;
            kind.listed(tensor)
        };
        let found = values.len();
        if found != count {
            return Err(ReadError::expected(format_args!("{count} values"), found));
        }
        Ok(Constant { dims, values })
    }
}

impl Values {
    /// Returns values of a mapped file that stay there until the first read, or `None` for types
    /// that are decoded at once.
    pub(super) fn in_file(data_type: i32, raw: &Bytes) -> Option<Self> {
        Kind::from_number(data_type).ok()?.in_file(raw)
    }

    fn of_bytes(bytes: Bytes, is_signed: bool) -> Self {
        Values::Integers(Integers::of_bytes(bytes, is_signed))
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        match self {
            Values::Floats(values) => values.len(),
            Values::Integers(values) => values.len(),
            Values::Booleans(values) => values.len(),
        }
    }
}

/// Returns the dimensions, if their product is plausible.
fn dims(written: &[i64]) -> Result<Vec<usize>, ReadError> {
    let wrong = || {
        ReadError::new(format_args!(
            "dimensions {written:?} are negative or too large"
        ))
    };
    let dims = written.iter().map(|&d| usize::try_from(d));
    let dims: Vec<usize> = dims.collect::<Result<_, _>>().map_err(|_| wrong())?;
    match are_bounded(&dims) {
        true => Ok(dims),
        false => Err(wrong()),
    }
}

/// Returns whether the dimensions give few enough values, also with every 0 counted as 1.
pub(super) fn are_bounded(dims: &[usize]) -> bool {
    let product = |least: usize| {
        let mut each = dims.iter().map(|d| *d.max(&least));
        each.try_fold(1usize, usize::checked_mul)
    };
    let most = match product(0) {
        Some(0) => MAX_EMPTY,
        _ => MAX_VALUES,
    };
    dims.len() <= 16 && product(1).is_some_and(|count| count <= most)
}

/// The types of values that are read, by their numbers in `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Uint8,
    Int8,
    Uint16,
    Int16,
    Int32,
    Int64,
    Bool,
    Float16,
    Double,
    Uint32,
    Uint64,
    Bfloat16,
}

/// The names of all types of values, by number.
const TYPES: [&str; 25] = [
    "UNDEFINED",
    "FLOAT",
    "UINT8",
    "INT8",
    "UINT16",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "BOOL",
    "FLOAT16",
    "DOUBLE",
    "UINT32",
    "UINT64",
    "COMPLEX64",
    "COMPLEX128",
    "BFLOAT16",
    "FLOAT8E4M3FN",
    "FLOAT8E4M3FNUZ",
    "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ",
    "UINT4",
    "INT4",
    "FLOAT4E2M1",
    "FLOAT8E8M0",
];

/// Returns the name of a type of values.
pub(super) fn type_name(number: i32) -> String {
    let name = usize::try_from(number).ok().and_then(|n| TYPES.get(n));
    name.map_or_else(|| format!("number {number}"), |n| (*n).to_owned())
}

impl Kind {
    fn from_number(number: i32) -> Result<Self, ReadError> {
        Ok(match number {
            1 => Kind::Float,
            2 => Kind::Uint8,
            3 => Kind::Int8,
            4 => Kind::Uint16,
            5 => Kind::Int16,
            6 => Kind::Int32,
            7 => Kind::Int64,
            9 => Kind::Bool,
            10 => Kind::Float16,
            11 => Kind::Double,
            12 => Kind::Uint32,
            13 => Kind::Uint64,
            16 => Kind::Bfloat16,
            other => {
                return Err(ReadError::new(format_args!(
                    "values of type {} are not supported; expected FLOAT, FLOAT16, BFLOAT16, \
                     DOUBLE, BOOL or integers of 8 to 64 bits",
                    type_name(other)
                )));
            }
        })
    }

    /// Returns the bytes of one value.
    const fn size(self) -> usize {
        match self {
            Kind::Uint8 | Kind::Int8 | Kind::Bool => 1,
            Kind::Uint16 | Kind::Int16 | Kind::Float16 | Kind::Bfloat16 => 2,
            Kind::Float | Kind::Int32 | Kind::Uint32 => 4,
            Kind::Int64 | Kind::Double | Kind::Uint64 => 8,
        }
    }

    /// Returns values of a mapped file that stay there: floats, and integers of one byte.
    fn in_file(self, raw: &Bytes) -> Option<Values> {
        let raw = raw.clone();
        match self {
            Kind::Float => Some(Values::Floats(Floats::InFile(EncodedValues::new(raw)))),
            Kind::Uint8 | Kind::Int8 => Some(Values::of_bytes(raw, self == Kind::Int8)),
            _ => None,
        }
    }

    /// Decodes values in little-endian order, as files hold them.
    fn decode(self, raw: &[u8]) -> Values {
        match self {
            Kind::Float => floats(raw, f32::from_le_bytes),
            Kind::Double => floats(raw, |b| f64::from_le_bytes(b) as f32),
            Kind::Float16 => floats(raw, |b| f16::from_le_bytes(b).to_f32()),
            Kind::Bfloat16 => floats(raw, |b| bf16::from_le_bytes(b).to_f32()),
            Kind::Uint8 | Kind::Int8 => {
                let bytes = Bytes::copy_from_slice(raw);
                Values::of_bytes(bytes, self == Kind::Int8)
            }
            Kind::Uint16 => integers(raw, |b| u16::from_le_bytes(b).into()),
            Kind::Int16 => integers(raw, |b| i16::from_le_bytes(b).into()),
            Kind::Int32 => integers(raw, |b| i32::from_le_bytes(b).into()),
            Kind::Uint32 => integers(raw, |b| u32::from_le_bytes(b).into()),
            Kind::Int64 => integers(raw, i64::from_le_bytes),
            Kind::Uint64 => integers(raw, |b| u64::from_le_bytes(b).cast_signed()),
            Kind::Bool => Values::Booleans(raw.iter().map(|b| *b != 0).collect()),
        }
    }

    /// Returns the values from the typed field that holds this kind.
    fn listed(self, tensor: &TensorProto) -> Values {
        let small = || tensor.int32_data.iter();
        // Halves lie in the lower bits of their field.
        let half = |v: &i32| (*v & 0xffff) as u16;
        match self {
            Kind::Float => Values::Floats(tensor.float_data.clone().into()),
            Kind::Double => Values::Floats(tensor.double_data.iter().map(|v| *v as f32).collect()),
            Kind::Float16 => {
                Values::Floats(small().map(|v| f16::from_bits(half(v)).into()).collect())
            }
            Kind::Bfloat16 => {
                Values::Floats(small().map(|v| bf16::from_bits(half(v)).into()).collect())
            }
            Kind::Int64 => Values::Integers(tensor.int64_data.clone().into()),
            Kind::Uint32 | Kind::Uint64 => {
                let values = tensor.uint64_data.iter();
                Values::Integers(values.map(|v| v.cast_signed()).collect())
            }
            Kind::Bool => Values::Booleans(small().map(|v| *v != 0).collect()),
            _ => Values::Integers(small().map(|v| i64::from(*v)).collect()),
        }
    }
}

fn floats<const N: usize>(raw: &[u8], decode: impl Fn([u8; N]) -> f32) -> Values {
    Values::Floats(raw.as_chunks().0.iter().map(|b| decode(*b)).collect())
}

fn integers<const N: usize>(raw: &[u8], decode: impl Fn([u8; N]) -> i64) -> Values {
    Values::Integers(raw.as_chunks().0.iter().map(|b| decode(*b)).collect())
}

/// `TensorProto.DataType` of float32.
pub(super) const FLOATS: i32 = 1;

/// `TensorProto.DataLocation` of values in another file.
pub(super) const EXTERNAL: i32 = 1;
