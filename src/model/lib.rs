//! The data types of Divisi: ensembles, samples, pipelines, matrices.
//!
//! An [`ensemble`] is read from a manifest: its members, their networks and weights, samples, and
//! the rule that combines answers. A [`pipeline`] is a graph of models, and [`dataflow`] determines
//! the order of its steps. A [`catalogue`] holds all models that one engine serves. [`allocation`]
//! is the matrix of devices and members with its memory, and [`profile`] the time of each member on
//! each device; a [`setup`] is all that an operator can change. [`metrics`] and [`trace`] hold
//! measured latencies and runs, [`codes`] the stable names of errors, [`error_kind`] their kinds for
//! clients, and [`wall_clock`] the time of day. This crate does not serve requests.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod allocation;
pub mod catalogue;
pub mod codes;
pub mod dataflow;
pub mod ensemble;
pub mod error_kind;
pub mod metrics;
pub mod pipeline;
pub mod profile;
pub mod ranged;
pub mod replace;
pub mod setup;
pub mod trace;
pub mod user_folders;
pub mod wall_clock;
