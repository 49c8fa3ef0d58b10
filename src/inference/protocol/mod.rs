//! Requests and answers of the protocol, common to HTTP and gRPC: tensors in their receive buffers,
//! parameters, and the formats of tensors.

mod call;
mod classification;
mod elements;
mod goals;
mod growing;
pub mod json;
mod load;
mod model_id;
mod near;
mod parameters;
mod rope;
mod tensor;

pub use call::{CallInput, CallOutput, InferenceCall, InferenceReply, InputSource, RegionPart};
pub use call::{ReplyOutput, ReplyPlace};
pub use classification::classified;
pub use elements::beyond_range;
pub use elements::{ElementFault, ElementSink};
pub use goals::RequestGoals;
pub use growing::GrowingBytes;
pub use load::{LoadParameter, load_parameters};
pub use model_id::ModelId;
pub use parameters::{CallParameters, ParameterValue};
pub use rope::ByteRope;
pub use rope::RopeGatherer;
pub use tensor::{NamedTensor, WireTensor};
