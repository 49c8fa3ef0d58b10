//! The protocol over gRPC.

mod body;
mod contents;
mod infer;
mod serve;
mod service;
mod status;
mod stream;
mod views;

pub use infer::read_call;
pub(crate) use serve::serve;
