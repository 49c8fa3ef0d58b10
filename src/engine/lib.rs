//! Serves the requests of ensembles by an allocation matrix, and changes the matrix while serving.
//!
//! [`serving`] turns requests into answers: the core, a state machine, assigns samples to workers,
//! and drivers run the batches on devices. [`load`] sends requests, [`simulation`] serves them in
//! virtual time, and [`search`] finds a faster matrix. [`changes`] applies setups, undoes them and
//! puts them on probation. [`deployment`] loads and unloads models.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod changes;
pub mod deployment;
pub mod load;
pub mod search;
pub mod serving;
pub mod simulation;
