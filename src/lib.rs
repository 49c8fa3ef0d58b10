//! Divisi serves ensembles of deep neural networks on one machine.
//!
//! The engine: it has no screen and prints nothing. `ARCHITECTURE.md` describes
//! the layers; a module may only use those below it. What computes networks is a crate of
//! its own, which is part of this one's interface.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub use divisi_runtime::{compute, device, lock, network, onnx, reading, tensor, words};

pub mod allocation;
pub mod catalogue;
pub mod changes;
pub mod codes;
pub mod dataflow;
pub mod deployment;
pub mod ensemble;
pub mod load;
pub mod metrics;
pub mod pipeline;
pub mod profile;
pub mod ranged;
pub mod replace;
pub mod search;
pub mod serving;
pub mod session;
pub mod simulation;
pub mod trace;
pub mod user_folders;
