//! Latencies of the last seconds and of all the time before, in bounded memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::{Bucket, LatencySummary};
use super::log_histogram::LogHistogram;
use super::split::{LatencySplit, SplitMeans, SplitTally};

/// What "now" means of latencies: they are of answers given so lately, or since the last
/// reload or clearing where that is later.
pub const WINDOW: Duration = Duration::from_secs(SLOTS as u64);

/// One a second; the one that is still filling is among them.
const SLOTS: usize = 10;

/// Bars for each doubling.
const BARS_PER_OCTAVE: u32 = 4;

/// What is shown of a distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub summary: LatencySummary,
    /// Bars on a logarithmic axis; those without any are left out.
    pub buckets: Vec<Bucket>,
    /// Where the mean latency went, in microseconds.
    pub split: SplitMeans,
    /// Share that took longer than the target, where one is set.
    pub missed: Option<f64>,
}

/// Latencies lately, and over a longer time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyView {
    /// Of the last [`WINDOW`].
    pub now: Distribution,
    /// Since the last reload or clearing, or the start.
    pub since: Distribution,
}

/// Counts latencies second by second. No clock inside.
///
/// A distribution a second is kept for the window; what leaves it is added to one of all
/// the time before. So a latency is counted once, whatever is shown of it.
#[derive(Clone, Debug, Default)]
pub struct LatencyTally {
    /// By their second, round and round.
    slots: [Slot; SLOTS],
    /// The second that is filling.
    second: u64,
    /// What left the window.
    past: Slot,
}

/// Latencies of one second.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    histogram: LogHistogram,
    split: SplitTally,
}

impl Slot {
    /// Counts a latency in microseconds, `times` times.
    pub fn record(&mut self, micros: u64, times: u64) {
        self.histogram.record(micros, times);
    }

    /// Counts where the time of as many latencies went.
    pub fn record_split(&mut self, split: LatencySplit, times: u64) {
        match times {
            1 => self.split.record(split),
            times => self.split.add_times(split, times),
        }
    }

    fn add(&mut self, other: &Slot) {
        self.histogram.add(&other.histogram);
        self.split.add(&other.split);
    }

    fn clear(&mut self) {
        self.histogram.clear();
        self.split = SplitTally::default();
    }

    fn shown(&self, limit: Option<Duration>) -> Distribution {
        let histogram = &self.histogram;
        Distribution {
            summary: histogram.summary(),
            buckets: histogram.buckets(BARS_PER_OCTAVE),
            split: self.split.means(),
            missed: limit.and_then(|l| histogram.share_above(l.as_micros() as u64)),
        }
    }
}

impl LatencyTally {
    /// Where latencies of answers given `now` are counted; those of the past count in the
    /// newest second.
    pub fn slot(&mut self, now: Duration) -> &mut Slot {
        let second = now.as_secs();
        if second > self.second {
            self.advance(second);
        }
        &mut self.slots[(self.second % SLOTS as u64) as usize]
    }

    /// What is shown at `now`; missed are those that took longer than `limit`.
    pub fn view(&mut self, now: Duration, limit: Option<Duration>) -> LatencyView {
        self.slot(now);
        let mut lately = Slot::default();
        self.slots.iter().for_each(|slot| lately.add(slot));
        let now = lately.shown(limit);
        lately.add(&self.past);
        LatencyView {
            now,
            since: lately.shown(limit),
        }
    }

    /// Empties the slots of the seconds up to `second`, which it is now.
    fn advance(&mut self, second: u64) {
        let over = (second - self.second).min(SLOTS as u64);
        for step in 1..=over {
            let slot = &mut self.slots[((self.second + step) % SLOTS as u64) as usize];
            self.past.add(slot);
            slot.clear();
        }
        self.second = second;
    }
}
