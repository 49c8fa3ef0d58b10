//! Rates over time and latency distributions.

pub mod bounds;
mod latency;
mod log_histogram;
mod rate;
mod reading;
pub mod stats;
mod tally;

pub use latency::{Bucket, Latency, LatencySummary, LatencyWhole};
pub use log_histogram::LogHistogram;
pub use rate::{Growth, RateRing};
pub use reading::Reading;
pub use tally::{
    Distribution, LatencySlot, LatencySplit, LatencyTally, LatencyView, SplitMeans, SplitTally,
    WINDOW,
};
