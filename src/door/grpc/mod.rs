//! The protocol over gRPC.

mod answer;
mod body;
mod calls;
mod codec;
mod contents;
mod gather;
mod infer;
mod packed;
mod serve;
mod service;
mod status;
mod stream;
mod views;
mod wire;

pub use infer::read_call;
pub(crate) use serve::serve;
pub use wire::{BoundedMessage, FieldValues, WireFault, WireField, decoded_size};
