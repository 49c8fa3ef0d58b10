//! The counters outside the core, and checkpoints of them, which later readings are
//! compared with.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::serving::core::{MOMENT, MOMENTS};
use crate::serving::events::EngineEvent;
use crate::serving::flaws::FlawTally;
use divisi_model::metrics::{Latency, LatencyTally, LatencyView, RateRing, Reading};
use divisi_runtime::lock::Ranked;

use super::locks::{AnsweredRank, CheckpointsRank, LatencyRank, LatencyTallyRank, Leaf};
use super::promise::Failure;

/// Everything that is counted outside the core.
pub(crate) struct EngineCounters {
    /// Since the last reload or clearing, to three digits.
    pub latency: Ranked<LatencyRank, Latency>,
    /// Lately and since then, and where the time went.
    pub tally: Ranked<LatencyTallyRank, LatencyTally>,
    pub answered: Ranked<AnsweredRank, (RateRing, RateRing)>,
    pub failed: AtomicU64,
    /// Why the last one failed.
    pub failure: Leaf<Option<Failure>>,
    pub cancelled: AtomicU64,
    pub restarts: AtomicU64,
    /// Plans of other setups.
    pub plans: AtomicU64,
    /// Beginnings and ends of changes of the numbers that members are computed in.
    pub recomputed: AtomicU64,
    /// Events that nobody has taken yet, with their times.
    pub events: Leaf<Vec<(Duration, EngineEvent)>>,
    pub checkpoints: Ranked<CheckpointsRank, Checkpoints>,
    pub graded: Arc<Graded>,
    /// Rows that were not what they should be.
    pub flaws: FlawTally,
}

/// The outcomes of the requests of one entry of the catalogue.
#[derive(Debug)]
pub(crate) struct EntryTally {
    /// Requests that failed.
    pub failed: u64,
    /// Requests that were not let in.
    pub refused: u64,
    requests: RateRing,
    samples: RateRing,
    latency: LatencyTally,
}

impl Default for EntryTally {
    fn default() -> Self {
        EntryTally {
            failed: 0,
            refused: 0,
            requests: RateRing::new(MOMENT, MOMENTS),
            samples: RateRing::new(MOMENT, MOMENTS),
            latency: LatencyTally::default(),
        }
    }
}

/// The figures of one entry of the catalogue.
#[derive(Clone, Debug)]
pub struct EntryStats {
    /// Requests answered since the start.
    pub answered: u64,
    /// Samples answered since the start.
    pub samples: u64,
    /// Requests that were let in and failed.
    pub failed: u64,
    /// Requests that were not let in, be it by the engine or by whoever reads them for it.
    pub refused: u64,
    /// Requests answered a second, over the last second.
    pub requests_per_s: f64,
    /// Samples answered a second, over the last second.
    pub samples_per_s: f64,
    /// Of requests, from submission to answer.
    pub latency: LatencyView,
}

impl EntryTally {
    /// A request of `samples` was answered.
    pub(super) fn answered(&mut self, now: Duration, latency: Duration, samples: usize) {
        self.requests.add(now, 1.0);
        self.samples.add(now, samples as f64);
        let lately = self.latency.slot(now);
        lately.record(latency.as_micros() as u64, 1);
    }

    /// Returns the figures as of `now`.
    pub(super) fn stats(&mut self, now: Duration) -> EntryStats {
        let lately = Duration::from_secs(1);
        EntryStats {
            answered: self.requests.total() as u64,
            samples: self.samples.total() as u64,
            failed: self.failed,
            refused: self.refused,
            requests_per_s: self.requests.rate(now, lately),
            samples_per_s: self.samples.rate(now, lately),
            latency: self.latency.view(now, None),
        }
    }
}

/// Answers whose label was known, by whoever sent their requests.
#[derive(Debug, Default)]
pub struct Graded {
    labelled: AtomicU64,
    right: AtomicU64,
}

impl Graded {
    /// Counts samples, and those of them that were answered rightly.
    pub fn count(&self, labelled: usize, right: usize) {
        self.labelled.fetch_add(labelled as u64, Ordering::Relaxed);
        self.right.fetch_add(right as u64, Ordering::Relaxed);
    }

    /// Samples so far, and those answered rightly.
    pub fn so_far(&self) -> (u64, u64) {
        let right = self.right.load(Ordering::Relaxed);
        (self.labelled.load(Ordering::Relaxed), right)
    }
}

impl EngineCounters {
    pub(super) fn new(members: usize) -> Self {
        let ring = || RateRing::new(MOMENT, MOMENTS);
        EngineCounters {
            latency: Ranked::new(Latency::new()),
            tally: Ranked::default(),
            answered: Ranked::new((ring(), ring())),
            failed: AtomicU64::new(0),
            failure: Leaf::default(),
            cancelled: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            recomputed: AtomicU64::new(0),
            plans: AtomicU64::new(0),
            events: Leaf::default(),
            checkpoints: Ranked::default(),
            graded: Arc::default(),
            flaws: FlawTally::new(members),
        }
    }

    /// Keeps an event until it is taken.
    pub(super) fn keep_event(&self, at: Duration, event: EngineEvent) {
        let mut events = self.events.lock();
        if events.len() < MOST_EVENTS {
            events.push((at, event));
        } else if let Some((_, last)) = events.last_mut() {
            // The first ones tell most; the last says that there were more.
            *last = EngineEvent::EventsDropped;
        }
    }
}

/// The most events that are kept for whoever takes them.
const MOST_EVENTS: usize = 256;

/// Counters of answers since the start, and how they stood every few seconds.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// Counters that answers add to; the rest is filled in when it is read.
    answers: Reading,
    /// Number of the last moment in which anything was answered.
    moment: Option<u128>,
    kept: VecDeque<Reading>,
}

/// Kept so often while anything is answered, and so many: ten minutes.
const READINGS_APART: Duration = Duration::from_secs(5);
const MOST_READINGS: usize = 120;

impl Checkpoints {
    /// A request of `samples` was answered.
    pub(super) fn answered(&mut self, now: Duration, latency: Duration, samples: usize) {
        let moment = now.as_nanos() / MOMENT.as_nanos();
        if self.moment.replace(moment) != Some(moment) {
            self.answers.active += MOMENT;
        }
        self.answers.answered += 1;
        self.answers.samples += samples as u64;
        self.answers.latency.record(latency.as_micros() as u64, 1);
    }

    /// Answers so far.
    pub(super) fn answers(&self) -> Reading {
        self.answers.clone()
    }

    /// Whether a reading is to be kept now.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.kept
            .back()
            .is_none_or(|last| now >= last.at + READINGS_APART)
    }

    /// Keeps a reading; the oldest makes room.
    pub(super) fn keep(&mut self, reading: Reading) {
        if self.kept.len() >= MOST_READINGS {
            self.kept.pop_front();
        }
        self.kept.push_back(reading);
    }

    /// Those taken after `from` and before `until`, oldest first.
    pub(super) fn between(&self, from: Duration, until: Duration) -> Vec<Reading> {
        let within = |reading: &&Reading| from < reading.at && reading.at < until;
        self.kept.iter().filter(within).cloned().collect()
    }

    /// The newest reading that was taken at `at` or before.
    pub(super) fn before(&self, at: Duration) -> Option<&Reading> {
        self.kept.iter().rev().find(|reading| reading.at <= at)
    }
}
