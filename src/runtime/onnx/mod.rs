//! ONNX files as networks: decoded, checked, constants folded, and each node turned into operations
//! of a [`Graph`](crate::network::Graph) with its weights.
//!
//! A file is untrusted until it is checked. Every size in it is compared with the available bytes
//! before anything is allocated, and external values are read only from the model's own folder.

mod activation;
mod arrange;
mod batch;
mod beside;
mod budget;
mod constants;
mod ends;
mod error;
mod floats;
mod fold;
mod follow;
mod import;
mod indices;
mod integers;
mod kinds;
mod layout;
mod lengths;
mod model;
mod node;
mod open_dims;
mod operators;
mod partial;
mod patterns;
mod proto;
mod scaled;
mod shapes;
mod tensor;
mod types;

pub use ends::OnnxTensor;
pub use error::{ModelFault, NodeFault, NodeLabel, OnnxError, Unsupported};
pub use import::OnnxNetwork;
pub use lengths::{OpenLengths, VaryingModel};
pub use model::OnnxModel;
