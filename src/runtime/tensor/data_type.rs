//! The types of values that tensors hold.

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    /// A type of values, named as in the Open Inference Protocol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum DataType, expected "a type of values such as FP32 or INT64" {
        Bool = "BOOL",
        Uint8 = "UINT8",
        Uint16 = "UINT16",
        Uint32 = "UINT32",
        Uint64 = "UINT64",
        Int8 = "INT8",
        Int16 = "INT16",
        Int32 = "INT32",
        Int64 = "INT64",
        Fp16 = "FP16",
        Bf16 = "BF16",
        Fp32 = "FP32",
        Fp64 = "FP64",
        /// Strings of bytes of any length. Networks do not take them; earlier pipeline steps do.
        Bytes = "BYTES",
    }
}

impl DataType {
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
