//! Registration for model-less serving: an ensemble becomes the variants of a task.
//!
//! A [`registration`] runs labelled rows through every member in every precision, counts how often
//! each sub-ensemble is right, measures what members take on each kind of device, composes the
//! [`profiles`] of variants of these, and leaves out those that another one beats in everything.
//! The [`store`] keeps them: one file, written in transactions. Profiles that were made by other
//! kernels or weights are found [stale](records::StaleProfile) and not used.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod counts;
pub mod profiles;
pub mod records;
pub mod registration;
pub mod store;
