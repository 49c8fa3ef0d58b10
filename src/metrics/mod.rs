//! Rates over time and latency distributions.

mod latency;
mod rate;
mod split;
pub mod stats;

pub use latency::{Bucket, Latency, LatencySummary};
pub use rate::RateRing;
pub use split::{LatencySplit, SplitMeans, SplitTally};
