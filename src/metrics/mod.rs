//! Rates over time, latency distributions and statistics.
//!
//! [`LatencyTally`] holds a histogram for each of the last ten seconds, and one for the past: what
//! screens call *now* is those ten seconds, or what passed since a reload where that is less. [`Latency`],
//! to three digits, is the ensemble's alone. Each worker and each member has a
//! [`LogHistogram`], 16 counters for each doubling, which is cheap to record. A [`Reading`] holds
//! all that was ever counted and never decreases; the difference of two tells what happened between
//! them, which is how history and probation measure.

mod latency;
mod rate;
pub mod stats;
mod tally;

pub use latency::{Bucket, Latency, LatencySummary, LatencyWhole, LogHistogram, ScaledHistogram};
pub use rate::{Growth, RateRing, Reading};
pub use tally::{
    Distribution, LatencySlot, LatencySplit, LatencyTally, LatencyView, SplitMeans, SplitTally,
    WINDOW,
};
