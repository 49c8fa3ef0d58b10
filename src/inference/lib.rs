//! The interface by which models answer requests, whichever protocol brings them.
//!
//! A server of a protocol knows models by the trait [`service::ModelService`] alone. The trait is
//! implemented by [`ensemble::EnsembleService`] over an engine, and by crates above this one: tasks
//! implement it too. [`protocol`] holds the requests and answers of the Open Inference Protocol,
//! with tensors in the buffers that they arrived in, [`bounds`] the limits of one request, and
//! [`error`] the kinds of failures with their statuses. Nothing here opens a connection.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod bounds;
pub mod ensemble;
pub mod error;
pub mod protocol;
pub mod service;
