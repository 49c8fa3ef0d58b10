//! Named, typed tensors: what a network takes and answers, and values of them.
//!
//! Networks compute in float32, so every value becomes one on the way in. Integers are exact up
//! to 2²⁴, larger ones are refused; float64 is rounded.

mod data_type;
mod lengths;
mod rows;
mod signature;
mod value;
mod written;

pub use data_type::{DataType, UnknownDataType};
pub use lengths::{Lengths, LengthsError};
pub use signature::{Dimension, Signature, SignatureError, TensorSpec};
pub use value::{TensorError, TensorValue};
pub use written::{WrittenInputs, WrittenOutputs, WrittenTensor, WrittenTensorError};
