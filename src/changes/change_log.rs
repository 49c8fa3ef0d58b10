//! What ran when, how it did, and what changed.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::Reading;
use crate::serving::Setup;

use super::judge::Baseline;

/// What a probation compares, and what history remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Requests answered.
    pub answered: u64,
    /// Requests that failed or were refused.
    pub failed: u64,
    pub samples_per_s: f64,
    /// Microseconds; none while nothing was answered.
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    /// 0 to 1, where labels are known.
    pub accuracy: Option<f64>,
}

/// One setup that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// Counted from 1 since the engine's start; never reused.
    pub number: u64,
    pub setup: Setup,
    /// Time since the engine's start.
    pub from: Duration,
    /// None while it runs.
    pub until: Option<Duration>,
    /// How it came: `start`, `applied`, `undo`, `search`, `evacuation`, `rolled back: …`.
    pub why: String,
    pub did: Measured,
}

/// Something that changed how serving goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Time since the engine's start.
    pub at: Duration,
    pub kind: MarkKind,
    /// A few words.
    pub text: String,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MarkKind {
    Reload,
    Policy,
    Combination,
    Load,
    Device,
    Rollback,
}

/// Marks, setups that ran, and what can be brought back. All bounded.
#[derive(Clone, Debug)]
pub(super) struct ChangeLog {
    marks: VecDeque<Mark>,
    ran: VecDeque<Ran>,
    /// When what runs began.
    since: Reading,
    /// Answers mean something, so that labels do.
    graded: bool,
}

const MOST_MARKS: usize = 64;
const MOST_RAN: usize = 32;

impl ChangeLog {
    /// Begins with what runs and what was done by now.
    pub(super) fn new(setup: Setup, since: Reading, graded: bool) -> Self {
        let mut new = ChangeLog {
            marks: VecDeque::new(),
            ran: VecDeque::new(),
            since: Reading::default(),
            graded,
        };
        new.runs(setup, since, "start".into());
        new
    }

    /// Writes down that something changed.
    pub(super) fn mark(&mut self, at: Duration, kind: MarkKind, text: String) {
        if self.marks.len() >= MOST_MARKS {
            self.marks.pop_front();
        }
        self.marks.push_back(Mark { at, kind, text });
    }

    /// Returns what changed, oldest first.
    pub(super) fn marks(&self) -> Vec<Mark> {
        self.marks.iter().cloned().collect()
    }

    /// Another setup runs from now on.
    pub(super) fn runs(&mut self, setup: Setup, now: Reading, why: String) {
        let did = self.measured(&now.since(&self.since));
        let mut number = 1;
        if let Some(last) = self.ran.back_mut() {
            number = last.number + 1;
            last.until = Some(now.at);
            last.did = did;
        }
        if self.ran.len() >= MOST_RAN {
            self.ran.pop_front();
        }
        self.ran.push_back(Ran {
            number,
            setup,
            from: now.at,
            until: None,
            why,
            did: Measured::default(),
        });
        self.since = now;
    }

    /// What ran, oldest first; the last one runs, and did what it did until `now`.
    pub(super) fn history(&self, now: &Reading) -> Vec<Ran> {
        let mut ran: Vec<Ran> = self.ran.iter().cloned().collect();
        if let Some(last) = ran.last_mut() {
            last.did = self.measured(&now.since(&self.since));
        }
        ran
    }

    /// When what runs began.
    pub(super) fn since(&self) -> &Reading {
        &self.since
    }

    /// The same without labels where those say nothing.
    pub(super) fn graded(&self, mut period: Reading) -> Reading {
        if !self.graded {
            (period.labelled, period.right) = (0, 0);
        }
        period
    }

    /// The same of what was done before a change.
    pub(super) fn graded_baseline(&self, before: Baseline) -> Baseline {
        let pieces = before.pieces.into_iter();
        Baseline {
            whole: self.graded(before.whole),
            pieces: pieces.map(|piece| self.graded(piece)).collect(),
        }
    }

    /// What happened in a time, as history remembers it.
    pub(super) fn measured(&self, period: &Reading) -> Measured {
        let [p50, p90, p99] = period.latency.quantiles([0.5, 0.9, 0.99]);
        let answered = period.answered > 0;
        Measured {
            answered: period.answered,
            failed: period.failed + period.refused,
            samples_per_s: period.samples_per_s(),
            p50: answered.then_some(p50),
            p90: answered.then_some(p90),
            p99: answered.then_some(p99),
            accuracy: period.accuracy().filter(|_| self.graded),
        }
    }
}
