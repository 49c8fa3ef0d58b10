//! Tensors in the format of the protocol: values in row-major order as little-endian bytes, strings
//! preceded by their lengths.

use bytes::Bytes;
use divisi_runtime::tensor::DataType;

use crate::bounds::RequestBounds;
use crate::error::ServiceError;

use super::growing::GrowingBytes;
use super::rope::ByteRope;

/// The size of the length before each string in bytes.
const LENGTH: usize = 4;

/// A tensor in its receive buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireTensor {
    data_type: DataType,
    dims: Vec<usize>,
    bytes: ByteRope,
}

/// A tensor with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTensor {
    /// Its name.
    pub name: String,
    /// The tensor.
    pub tensor: WireTensor,
}

impl WireTensor {
    /// Creates a tensor from its bytes. `name` is used in errors.
    ///
    /// # Errors
    /// Returns an error if the bytes do not match the dimensions or exceed a bound.
    pub fn new(
        name: &str,
        data_type: DataType,
        dims: Vec<usize>,
        bytes: impl Into<ByteRope>,
        limits: &RequestBounds,
    ) -> Result<Self, ServiceError> {
        let mut bytes = bytes.into();
        let elements = WireTensor::check(name, data_type, &dims, bytes.len(), limits)?;
        if data_type.size().is_none() {
            let joined = bytes.joined();
            check_strings(name, &dims, elements, &joined)?;
            bytes = joined.into();
        }
        Ok(WireTensor {
            data_type,
            dims,
            bytes,
        })
    }

    /// Checks that a tensor may have this size, without its bytes. Returns the number of values.
    ///
    /// # Errors
    /// Returns an error if the size does not match the dimensions or exceeds a bound.
    pub fn check(
        name: &str,
        data_type: DataType,
        dims: &[usize],
        bytes: usize,
        limits: &RequestBounds,
    ) -> Result<usize, ServiceError> {
        let elements = limits.elements_of(name, dims)?;
        if let Some(size) = data_type.size() {
            check_size(name, data_type, dims, elements * size, bytes)?;
        }
        Ok(elements)
    }

    /// Creates a tensor from a model's output, whose bytes match its dimensions.
    pub fn of_values(data_type: DataType, dims: Vec<usize>, bytes: Bytes) -> Self {
        WireTensor {
            data_type,
            dims,
            bytes: bytes.into(),
        }
    }

    /// Creates a tensor of strings.
    pub fn of_strings<'s>(dims: Vec<usize>, strings: impl Iterator<Item = &'s [u8]>) -> Self {
        let mut bytes = GrowingBytes::default();
        for string in strings {
            put_string(&mut bytes, string);
        }
        WireTensor {
            data_type: DataType::Bytes,
            dims,
            bytes: bytes.freeze().into(),
        }
    }

    /// Returns the type of the values.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Returns the dimensions, slowest first.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns the values as bytes in one piece, copied if there are several.
    pub fn bytes(&self) -> Bytes {
        self.bytes.joined()
    }

    /// Returns the size of the values in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Iterates over the pieces of the bytes, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.bytes.pieces()
    }

    /// Returns the number of values.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Iterates over the strings of a BYTES tensor, which is in one piece.
    pub fn strings(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces().flat_map(|piece| Strings(piece))
    }
}

/// Appends a string with its length before it.
pub(super) fn put_string(to: &mut GrowingBytes, string: &[u8]) {
    to.extend_from_slice(&(string.len() as u32).to_le_bytes());
    to.extend_from_slice(string);
}

/// Splits complete strings off the front of bytes.
struct Strings<'a>(&'a [u8]);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<LENGTH>()?;
        let (string, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(string)
    }
}

fn check_size(
    name: &str,
    data_type: DataType,
    dims: &[usize],
    expected: usize,
    found: usize,
) -> Result<(), ServiceError> {
    match expected == found {
        true => Ok(()),
        false => Err(ServiceError::bad(format!(
            "tensor `{name}`: {data_type} of shape {dims:?} has {expected} bytes, found {found}"
        ))),
    }
}

fn check_strings(
    name: &str,
    dims: &[usize],
    expected: usize,
    bytes: &[u8],
) -> Result<(), ServiceError> {
    let mut strings = Strings(bytes);
    let found = strings.by_ref().count();
    match found == expected && strings.0.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::bad(format!(
            "tensor `{name}`: BYTES of shape {dims:?} are {expected} strings, each after its length \
             in four bytes; found {found} and {} bytes after them",
            strings.0.len()
        ))),
    }
}
