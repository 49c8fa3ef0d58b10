//! Rates over time and latency distributions.

pub mod bounds;
mod growth;
mod latency;
mod log_histogram;
mod rate;
mod reading;
mod split;
pub mod stats;
pub mod student;
mod tally;

pub use growth::Growth;
pub use latency::{Bucket, Latency, LatencySummary, LatencyWhole};
pub use log_histogram::LogHistogram;
pub use rate::RateRing;
pub use reading::Reading;
pub use split::{LatencySplit, SplitMeans, SplitTally};
pub use tally::{Distribution, LatencyTally, LatencyView, Slot, WINDOW};
