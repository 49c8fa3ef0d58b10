//! Counts of what was asked and how it went: the statistics of the protocol, and the same in
//! Prometheus' text format under the names that Triton has for them.

mod batches;
mod inner;
mod prometheus;
mod tally;
mod timed;

pub(crate) use batches::BatchStatistics;
pub(crate) use prometheus::exposition;
pub(crate) use tally::{CacheUse, ModelStatistics, Tallies};
pub(crate) use timed::TimedCount;
