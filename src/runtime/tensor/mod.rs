//! Named, typed tensors: the inputs and answers of networks, and their values.
//!
//! Networks compute in float32, so every value becomes one on the way in. Integers are exact up to
//! 2²⁴; larger ones are refused. Float64 is rounded.

mod data_type;
mod ids;
mod lengths;
mod row_check;
mod rows;
mod signature;
mod value;
mod written;

pub use data_type::DataType;
pub use ids::{IdRange, IdRanges};
pub use lengths::Lengths;
pub use row_check::{RowCheck, SampleFault};
pub use signature::{Dimension, Signature, SignatureError, TensorSpec};
pub use value::{MOST_EXACT, TensorError, TensorValue};
pub use written::{WrittenInputs, WrittenOutputs, WrittenTensor};
