//! The interface between models and protocols.
//!
//! A server accesses models only through the trait [`service::ModelService`].
//! [`ensemble::EnsembleService`] implements it over an engine, and higher crates implement it for
//! tasks. [`protocol`] has the requests and answers of the Open Inference Protocol, with tensors in
//! their receive buffers, [`bounds`] the limits of a request, and [`error`] the kinds of failures
//! with their statuses. This crate opens no connections.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod bounds;
pub mod ensemble;
pub mod error;
pub mod protocol;
pub mod service;
