//! The counters outside the core, and checkpoints of them for later comparison.

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
use super::recent::RecentRequests;

/// All counters outside the core.
pub(crate) struct EngineCounters {
    /// Latencies since the last reload or clearing, to three digits.
    pub latency: Ranked<LatencyRank, Latency>,
    /// Recent latencies and those since then, with their parts.
    pub tally: Ranked<LatencyTallyRank, LatencyTally>,
    pub answered: Ranked<AnsweredRank, (RateRing, RateRing)>,
    pub failed: AtomicU64,
    pub cancelled: AtomicU64,
    pub restarts: AtomicU64,
    /// The number of plans of other setups.
    pub plans: AtomicU64,
    /// Beginnings and ends of changes of precisions.
    pub recomputed: AtomicU64,
    /// Events that have not been taken yet, with their times.
    pub events: Leaf<Vec<(Duration, EngineEvent)>>,
    pub checkpoints: Ranked<CheckpointsRank, Checkpoints>,
    pub graded: Arc<Graded>,
    /// Flawed rows.
    pub flaws: FlawTally,
    /// The slowest requests, and failed ones.
    pub recent: RecentRequests,
}

/// The answered requests of one entry of the catalogue.
#[derive(Debug)]
pub(crate) struct EntryTally {
    requests: RateRing,
    samples: RateRing,
    latency: LatencyTally,
}

impl Default for EntryTally {
    fn default() -> Self {
        EntryTally {
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
    /// Requests answered per second, over the last second.
    pub requests_per_s: f64,
    /// Samples answered per second, over the last second.
    pub samples_per_s: f64,
    /// Latencies of requests, from submission to answer.
    pub latency: LatencyView,
}

impl EntryTally {
    /// Counts an answered request of `samples`.
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
            requests_per_s: self.requests.rate(now, lately),
            samples_per_s: self.samples.rate(now, lately),
            latency: self.latency.view(now, None),
        }
    }
}

/// Answers to samples whose senders know the labels.
#[derive(Debug, Default)]
pub struct Graded {
    labelled: AtomicU64,
    right: AtomicU64,
}

impl Graded {
    /// Counts samples, and those with the right answer.
    pub fn count(&self, labelled: usize, right: usize) {
        self.labelled.fetch_add(labelled as u64, Ordering::Relaxed);
        self.right.fetch_add(right as u64, Ordering::Relaxed);
    }

    /// Returns the number of samples, and of those with the right answer.
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
            cancelled: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            recomputed: AtomicU64::new(0),
            plans: AtomicU64::new(0),
            events: Leaf::default(),
            checkpoints: Ranked::default(),
            graded: Arc::default(),
            flaws: FlawTally::new(members),
            recent: RecentRequests::default(),
        }
    }

    /// Keeps an event until it is taken.
    pub(super) fn keep_event(&self, at: Duration, event: EngineEvent) {
        let mut events = self.events.lock();
        if events.len() < MOST_EVENTS {
            events.push((at, event));
        } else if let Some((_, last)) = events.last_mut() {
            // The first events are the most informative. The last one reports that others were
            // dropped.
            *last = EngineEvent::EventsDropped;
        }
    }
}

/// The most events kept until they are taken.
const MOST_EVENTS: usize = 256;

/// Counters of answers since the start, and their values every few seconds.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// Counters of answers. The other fields are set on reading.
    answers: Reading,
    /// The number of the last moment with answers.
    moment: Option<u128>,
    kept: VecDeque<Reading>,
}

/// The interval of readings while requests are answered, and the number kept: ten minutes.
const READINGS_APART: Duration = Duration::from_secs(5);
const MOST_READINGS: usize = 120;

impl Checkpoints {
    /// Counts an answered request of `samples`.
    pub(super) fn answered(&mut self, now: Duration, latency: Duration, samples: usize) {
        let moment = now.as_nanos() / MOMENT.as_nanos();
        if self.moment.replace(moment) != Some(moment) {
            self.answers.active += MOMENT;
        }
        self.answers.answered += 1;
        self.answers.samples += samples as u64;
        self.answers.latency.record(latency.as_micros() as u64, 1);
    }

    /// Returns the answers so far.
    pub(super) fn answers(&self) -> Reading {
        self.answers.clone()
    }

    /// Returns whether a reading is due.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.kept
            .back()
            .is_none_or(|last| now >= last.at + READINGS_APART)
    }

    /// Keeps a reading, and drops the oldest one if there are too many.
    pub(super) fn keep(&mut self, reading: Reading) {
        if self.kept.len() >= MOST_READINGS {
            self.kept.pop_front();
        }
        self.kept.push_back(reading);
    }

    /// Returns the readings after `from` and before `until`, oldest first.
    pub(super) fn readings_between(&self, from: Duration, until: Duration) -> Vec<Reading> {
        let within = |reading: &&Reading| from < reading.at && reading.at < until;
        self.kept.iter().filter(within).cloned().collect()
    }

    /// Returns the newest reading at or before `at`.
    pub(super) fn reading_before(&self, at: Duration) -> Option<&Reading> {
        self.kept.iter().rev().find(|reading| reading.at <= at)
    }
}
