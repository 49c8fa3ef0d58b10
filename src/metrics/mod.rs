//! Rates over time and latency distributions.

mod latency;
mod rate;
pub mod stats;

pub use latency::{Bucket, Latency, LatencySummary};
pub use rate::RateRing;
