//! The log of changes: previous setups with their figures, and marks of changes.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::serving::{Plan, SettingChange, Setup};
use divisi_model::allocation::UndoHistory;
use divisi_model::metrics::Reading;

use super::event::ChangeOrigin;
use super::judge::Baseline;

/// The figures of one period, shown for a probation and kept in history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Requests answered.
    pub answered: u64,
    /// Requests that failed or were refused.
    pub failed: u64,
    /// Samples answered per second of the time in which anything was answered.
    pub samples_per_s: f64,
    /// The median latency in microseconds, or `None` if nothing was answered.
    pub p50: Option<u64>,
    /// The 90th percentile of latency in microseconds, or `None` if nothing was answered.
    pub p90: Option<u64>,
    /// The 99th percentile of latency in microseconds, or `None` if nothing was answered.
    pub p99: Option<u64>,
    /// The share of right answers, 0 to 1, or `None` without labels.
    pub accuracy: Option<f64>,
}

/// One setup that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The number of the setup, from 1 since the engine's start. Numbers are never reused.
    pub number: u64,
    /// The setup. An entry from before a change of models has other columns than the running
    /// matrix.
    pub setup: Setup,
    /// When the setup began to serve, after the engine's start.
    pub from: Duration,
    /// When another setup replaced it, or `None` if it is running.
    pub until: Option<Duration>,
    /// The origin of the setup: `start`, `applied`, `undo`, `search`, `evacuation`, `rolled back:
    /// …`.
    pub why: String,
    /// The figures of the period in which the setup served.
    pub did: Measured,
}

/// An event that affects serving.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Time since the engine's start.
    pub at: Duration,
    /// The kind of change.
    pub kind: MarkKind,
    /// A short description.
    pub text: String,
}

/// The kind of a [`Mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MarkKind {
    /// Another matrix serves.
    Reload,
    /// The batching policy or the segment size changed.
    Policy,
    /// The combination of members changed.
    Combination,
    /// Generated load was started or stopped.
    Load,
    /// A device was lost or came back.
    Device,
    /// A setup was rolled back from probation.
    Rollback,
    /// Other models serve.
    Models,
}

/// The marks and entries of a log that the log for the next models continues.
#[derive(Clone, Debug, Default)]
pub(super) struct PastLog {
    marks: VecDeque<Mark>,
    entries: VecDeque<HistoryEntry>,
}

/// Marks, previous setups, and the undo history. All are bounded.
#[derive(Clone, Debug)]
pub(super) struct ChangeLog {
    marks: VecDeque<Mark>,
    entries: VecDeque<HistoryEntry>,
    /// The reading at the time when the running setup began to serve.
    since: Reading,
    /// Whether answers can be compared with labels.
    graded: bool,
    undo: UndoHistory<Setup>,
}

const MOST_MARKS: usize = 64;
const MOST_ENTRIES: usize = 32;

impl ChangeLog {
    /// Creates a log with the running setup as its first entry.
    pub(super) fn new(setup: Setup, since: Reading, graded: bool) -> Self {
        let mut new = ChangeLog {
            marks: VecDeque::new(),
            entries: VecDeque::new(),
            since: Reading::default(),
            graded,
            undo: UndoHistory::default(),
        };
        new.runs(setup, since, "start".into());
        new
    }

    /// Creates a log that continues `past` after a change of models; `why` describes the change.
    /// The undo history starts empty.
    pub(super) fn continuing(
        past: PastLog,
        (setup, why): (Setup, String),
        since: Reading,
        graded: bool,
    ) -> Self {
        let mut new = ChangeLog {
            marks: past.marks,
            entries: past.entries,
            since: since.clone(),
            graded,
            undo: UndoHistory::default(),
        };
        new.mark(since.at, MarkKind::Models, why.clone());
        new.begin_entry(setup, since, why);
        new
    }

    /// Ends the entry of the running setup and returns the part that the log for other models
    /// continues.
    pub(super) fn past(&self, now: &Reading) -> PastLog {
        let mut entries = self.entries.clone();
        if let Some(last) = entries.back_mut() {
            last.until = Some(now.at);
            last.did = self.measured(&now.since(&self.since));
        }
        PastLog {
            marks: self.marks.clone(),
            entries,
        }
    }

    /// Returns the setups that undo and redo bring back.
    pub(super) fn undo(&self) -> &UndoHistory<Setup> {
        &self.undo
    }

    /// Records that another setup runs since `reading`.
    pub(super) fn remember(&mut self, plan: &Plan, reading: Reading, origin: &ChangeOrigin) {
        let (old, new) = (plan.old_setup(), plan.new_setup());
        // A plan that only brings retired workers back does not change the setup.
        if old == new {
            return;
        }
        for (kind, text) in marks(plan, origin) {
            self.mark(reading.at, kind, text);
        }
        match origin {
            ChangeOrigin::Redo => self.undo.redone(old.clone()),
            ChangeOrigin::Undo => self.undo.undone(old.clone()),
            ChangeOrigin::RolledBack(_) if self.undo.to_undo() == Some(new) => {
                self.undo.undone(old.clone());
            }
            _ => self.undo.push(old.clone()),
        }
        self.runs(new.clone(), reading, origin.to_string());
    }

    /// Adds a mark and drops the oldest one if the list is full.
    pub(super) fn mark(&mut self, at: Duration, kind: MarkKind, text: String) {
        if self.marks.len() >= MOST_MARKS {
            self.marks.pop_front();
        }
        self.marks.push_back(Mark { at, kind, text });
    }

    /// Returns the marks, oldest first.
    pub(super) fn marks(&self) -> Vec<Mark> {
        self.marks.iter().cloned().collect()
    }

    /// Ends the entry of the running setup and begins one for `setup`.
    pub(super) fn runs(&mut self, setup: Setup, now: Reading, why: String) {
        let did = self.measured(&now.since(&self.since));
        if let Some(last) = self.entries.back_mut() {
            last.until = Some(now.at);
            last.did = did;
        }
        self.begin_entry(setup, now, why);
    }

    fn begin_entry(&mut self, setup: Setup, now: Reading, why: String) {
        let number = self.entries.back().map_or(1, |last| last.number + 1);
        if self.entries.len() >= MOST_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(HistoryEntry {
            number,
            setup,
            from: now.at,
            until: None,
            why,
            did: Measured::default(),
        });
        self.since = now;
    }

    /// Returns the setups that ran, oldest first. The last one is still running; its figures reach
    /// until `now`.
    pub(super) fn history(&self, now: &Reading) -> Vec<HistoryEntry> {
        let mut entries: Vec<HistoryEntry> = self.entries.iter().cloned().collect();
        if let Some(last) = entries.last_mut() {
            last.did = self.measured(&now.since(&self.since));
        }
        entries
    }

    /// Returns the reading at the time when the running setup began to serve.
    pub(super) fn since(&self) -> &Reading {
        &self.since
    }

    /// Returns `period`, without labels if answers cannot be compared with them.
    pub(super) fn graded(&self, mut period: Reading) -> Reading {
        if !self.graded {
            (period.labelled, period.right) = (0, 0);
        }
        period
    }

    /// Applies [`ChangeLog::graded`] to every reading of a baseline.
    pub(super) fn graded_baseline(&self, before: Baseline) -> Baseline {
        let pieces = before.pieces.into_iter();
        Baseline {
            whole: self.graded(before.whole),
            pieces: pieces.map(|piece| self.graded(piece)).collect(),
        }
    }

    /// Returns the figures of a period.
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

/// Returns the number of matrix entries that a plan changes, in words.
pub(super) fn changed_entries(plan: &Plan) -> String {
    match plan.reload().difference.changed().count() {
        1 => "1 entry changed".into(),
        changed => format!("{changed} entries changed"),
    }
}

/// Returns the marks that a plan leaves after it is applied.
fn marks(plan: &Plan, origin: &ChangeOrigin) -> Vec<(MarkKind, String)> {
    if matches!(origin, ChangeOrigin::RolledBack(_)) {
        return vec![(MarkKind::Rollback, origin.to_string())];
    }
    let mut marks = Vec::new();
    if plan.old_setup().matrix != plan.new_setup().matrix {
        marks.push((MarkKind::Reload, changed_entries(plan)));
    }
    let members = &plan.new_setup().matrix.frame().members;
    for change in plan.settings() {
        match change {
            SettingChange::Policy(old, new) => {
                marks.push((MarkKind::Policy, format!("{old} → {new}")));
            }
            SettingChange::Combination(..) => {
                let words = change.words(members).into_iter();
                marks.extend(words.map(|said| (MarkKind::Combination, said)));
            }
            SettingChange::Precision(..) => {
                let words = change.words(members).into_iter();
                marks.extend(words.map(|said| (MarkKind::Reload, said)));
            }
            SettingChange::Segment(..) => {
                let words = change.words(members).into_iter();
                marks.extend(words.map(|said| (MarkKind::Policy, said)));
            }
        }
    }
    marks
}
