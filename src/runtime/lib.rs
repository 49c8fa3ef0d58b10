//! Networks on devices: graphs and weights, the code that computes them, and devices with
//! their memory. Members and requests are unknown here; the engine that decides and serves is
//! a crate above this one.
//!
//! This is the only crate with `unsafe`: in kernels, in CUDA, for page-locked memory, and where
//! weights are mapped.

#![warn(missing_docs, unreachable_pub)]

pub mod compute;
pub mod device;
pub mod lock;
pub mod network;
pub mod onnx;
pub mod reading;
pub mod tensor;
pub mod words;
