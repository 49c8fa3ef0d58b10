//! Counts of requests and their outcomes: the statistics of the protocol, and Triton's metrics in
//! Prometheus' text format.

mod batches;
mod host;
mod inner;
mod prometheus;
mod tally;
mod timed;

pub(crate) use batches::BatchStatistics;
pub(crate) use host::host_gauges;
pub(crate) use prometheus::exposition;
pub(crate) use tally::{CacheUse, ModelStatistics, Tallies};
pub(crate) use timed::TimedCount;
