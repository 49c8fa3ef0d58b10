//! What is counted outside the core.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock::lock;
use crate::metrics::{Latency, LatencyTally, RateRing};
use crate::serving::core::{MOMENT, MOMENTS};
use crate::serving::flaws::FlawTally;

use super::checkpoints::Checkpoints;
use super::client::Failure;

/// What is counted outside the core.
pub struct EngineCounters {
    /// Since the last reload or clearing, to three digits.
    pub latency: Mutex<Latency>,
    /// Lately and since then, and where the time went.
    pub tally: Mutex<LatencyTally>,
    pub answered: Mutex<(RateRing, RateRing)>,
    pub failed: AtomicU64,
    /// Why the last one failed.
    pub failure: Mutex<Option<Failure>>,
    pub cancelled: AtomicU64,
    pub restarts: AtomicU64,
    /// Things an operator should read, drained by whoever shows them.
    pub notices: Mutex<Vec<(Duration, String)>>,
    pub checkpoints: Mutex<Checkpoints>,
    pub graded: Arc<Graded>,
    /// Rows that were not what they should be.
    pub flaws: FlawTally,
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
    pub fn new(members: usize) -> Self {
        let ring = || RateRing::new(MOMENT, MOMENTS);
        EngineCounters {
            latency: Mutex::new(Latency::new()),
            tally: Mutex::default(),
            answered: Mutex::new((ring(), ring())),
            failed: AtomicU64::new(0),
            failure: Mutex::default(),
            cancelled: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            notices: Mutex::default(),
            checkpoints: Mutex::default(),
            graded: Arc::default(),
            flaws: FlawTally::new(members),
        }
    }

    /// Keeps what an operator should read.
    pub fn notice(&self, at: Duration, text: String) {
        let mut notices = lock(&self.notices);
        if notices.len() < MOST_NOTICES {
            notices.push((at, text));
        } else if let Some((_, last)) = notices.last_mut() {
            // The first ones tell most; the last says that there were more.
            *last = "warning: there were more notices than are kept".into();
        }
    }
}

/// Notices that wait for somebody to read them, at most.
const MOST_NOTICES: usize = 256;
