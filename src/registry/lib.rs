//! Measures and stores the variants of tasks.
//!
//! A [`registration`] runs labelled samples through every member of an ensemble in every precision,
//! counts the accuracy of each sub-ensemble, and measures the time of each member on each kind of
//! device. [`profiles`] are composed of these times. Variants that another variant beats in
//! accuracy, cost and time are left out. The [`store`] is one file, written in transactions. A
//! profile measured with other kernels or weights is reported as [stale](records::StaleProfile) and
//! not used.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod counts;
pub mod profiles;
pub mod records;
pub mod registration;
pub mod store;
