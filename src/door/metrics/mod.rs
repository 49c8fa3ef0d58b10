//! Counts of requests and their outcomes: the statistics of the protocol, and metrics for
//! Prometheus.

mod batches;
mod errors;
mod family;
mod format;
mod histogram;
mod host;
mod inner;
mod protobuf;
mod tally;
mod text;
mod timed;

pub(crate) use batches::BatchStatistics;
pub(crate) use errors::error_gauges;
pub(crate) use family::{SeriesFamily, families};
pub(crate) use format::MetricsFormat;
pub(crate) use host::host_gauges;
pub(crate) use protobuf::{PROTOBUF, protobuf};
pub(crate) use tally::{CacheUse, ModelStatistics, Tallies};
pub(crate) use text::{TEXT, text};
pub(crate) use timed::TimedCount;
