//! The interface by which models answer requests, whichever protocol brings them.
//!
//! A server of a protocol knows models by the trait [`service::ModelService`] alone. The trait is
//! implemented by [`ensemble::EnsembleService`] over an engine, and by crates above this one: tasks
//! answer by it too. [`protocol`] holds the requests and answers of the Open Inference Protocol,
//! tensors in the buffers that they arrived in among them; [`bounds`] says how large a request may
//! be, and [`error`] how a failure is reported. Nothing here opens a connection.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod bounds;
pub mod ensemble;
pub mod error;
pub mod protocol;
pub mod service;
