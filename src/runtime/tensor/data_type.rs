//! The types of values that tensors hold.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::reading::ReadError;

/// A type of values, named as in the Open Inference Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DataType {
    Bool,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    Fp16,
    Bf16,
    Fp32,
    Fp64,
    /// Strings of bytes of any length. Networks do not take them; earlier pipeline steps do.
    Bytes,
}

impl DataType {
    /// All types.
    pub const ALL: [DataType; 14] = [
        DataType::Bool,
        DataType::Uint8,
        DataType::Uint16,
        DataType::Uint32,
        DataType::Uint64,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Fp16,
        DataType::Bf16,
        DataType::Fp32,
        DataType::Fp64,
        DataType::Bytes,
    ];

    /// Returns the name in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            DataType::Bool => "BOOL",
            DataType::Uint8 => "UINT8",
            DataType::Uint16 => "UINT16",
            DataType::Uint32 => "UINT32",
            DataType::Uint64 => "UINT64",
            DataType::Int8 => "INT8",
            DataType::Int16 => "INT16",
            DataType::Int32 => "INT32",
            DataType::Int64 => "INT64",
            DataType::Fp16 => "FP16",
            DataType::Bf16 => "BF16",
            DataType::Fp32 => "FP32",
            DataType::Fp64 => "FP64",
            DataType::Bytes => "BYTES",
        }
    }

    /// Returns the bytes of one value, or `None` if they vary.
    pub const fn size(self) -> Option<usize> {
        match self {
            DataType::Bool | DataType::Uint8 | DataType::Int8 => Some(1),
            DataType::Uint16 | DataType::Int16 | DataType::Fp16 | DataType::Bf16 => Some(2),
            DataType::Uint32 | DataType::Int32 | DataType::Fp32 => Some(4),
            DataType::Uint64 | DataType::Int64 | DataType::Fp64 => Some(8),
            DataType::Bytes => None,
        }
    }

    /// Returns whether values are whole numbers.
    pub const fn is_integer(self) -> bool {
        !matches!(
            self,
            DataType::Bool
                | DataType::Fp16
                | DataType::Bf16
                | DataType::Fp32
                | DataType::Fp64
                | DataType::Bytes
        )
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DataType {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        let found = DataType::ALL.into_iter().find(|t| t.name() == text);
        found.ok_or_else(|| {
            let expected = "a type of values such as FP32 or INT64";
            ReadError::expected(expected, format_args!("`{text}`"))
        })
    }
}
