//! Counts of what was asked and how it went: the statistics of the protocol, and the same in
//! Prometheus' text format under the names that Triton has for them.

mod prometheus;
mod tally;

pub(crate) use prometheus::exposition;
pub(crate) use tally::{CacheUse, ModelStatistics, Tallies, TimedCount};
