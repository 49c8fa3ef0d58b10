//! The log of changes: previous setups with their figures, and marks of changes.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::deployment::Handover;
use crate::serving::{SettingChange, Setup};
use divisi_model::allocation::UndoHistory;
use divisi_model::catalogue::{ModelCopy, ServedCopies};
use divisi_model::metrics::Reading;
use divisi_model::setup::SetupDiff;

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
    /// The setup. With other models it has other columns than the running matrix.
    pub setup: Setup,
    /// When the setup began to serve, after the engine's start.
    pub from: Duration,
    /// When another setup replaced it, or `None` if it is running.
    pub until: Option<Duration>,
    /// The origin of the setup: `start`, `applied`, `undo`, `search`, `evacuation`, `follow the
    /// load`, `rolled back: …`, or a vote or change of models in words.
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

/// A setup that undo or redo restores.
#[derive(Clone, Debug)]
pub(super) struct PastSetup {
    pub setup: Setup,
    /// How the engine of other models took over from it, and takes over for it.
    pub handover: Handover,
}

/// A change from one setup to another.
pub(super) struct MadeChange<'a> {
    pub old: &'a Setup,
    pub new: &'a Setup,
    pub origin: &'a ChangeOrigin,
    /// How the engine of other models took over.
    pub handover: Handover,
}

/// Marks, previous setups, and the undo history. All are bounded.
#[derive(Clone, Debug)]
pub(super) struct ChangeLog {
    marks: VecDeque<Mark>,
    entries: VecDeque<HistoryEntry>,
    /// The reading at the time when the running setup began to serve.
    since: Reading,
    running: Setup,
    /// Whether answers can be compared with labels.
    graded: bool,
    undo: UndoHistory<PastSetup>,
    /// Whether the last change was a policy's. Successive changes of a policy are one step to undo.
    follows_policy: bool,
    /// The copies of models that were rolled back. They stay out until they are requested by name.
    held_off: Vec<ModelCopy>,
}

const MOST_MARKS: usize = 64;
const MOST_ENTRIES: usize = 32;
/// The most sets of models to undo and redo. Each keeps its models in memory.
const MOST_MODELS: usize = 8;
/// The most copies of models that stay out. Older ones may be served again.
const MOST_HELD_OFF: usize = 1024;

impl ChangeLog {
    /// Creates a log with the running setup as its first entry.
    pub(super) fn new(setup: Setup, since: Reading, graded: bool) -> Self {
        let mut new = ChangeLog {
            marks: VecDeque::new(),
            entries: VecDeque::new(),
            since: Reading::default(),
            running: setup.clone(),
            graded,
            undo: UndoHistory::default(),
            follows_policy: false,
            held_off: Vec::new(),
        };
        new.begin_entry(setup, since, "start".into());
        new
    }

    /// Returns the running setup.
    pub(super) fn running(&self) -> &Setup {
        &self.running
    }

    /// Returns the setups that undo and redo bring back.
    pub(super) fn undo(&self) -> &UndoHistory<PastSetup> {
        &self.undo
    }

    /// Records that another setup runs: `period` was measured under the old one, and the new one
    /// began at `reading`.
    pub(super) fn remember(&mut self, change: &MadeChange<'_>, period: Reading, reading: Reading) {
        let (old, new, origin) = (change.old, change.new, change.origin);
        if old == new {
            // Only retired workers are back, or another engine counts from zero.
            if reading.answered < self.since.answered {
                self.since = reading;
            }
            return;
        }
        let diff = SetupDiff::between(old, new);
        for (kind, text) in marks(&diff, &new.matrix.frame().members, origin) {
            self.mark(reading.at, kind, text);
        }
        self.hold_off(&diff, new, origin);
        self.step(change);
        let did = self.measured(&period.since(&self.since));
        self.runs(new.clone(), did, reading, origin.to_string());
    }

    /// Drops the step of an undo or redo that changed nothing, for example because its models failed
    /// their warm-up.
    pub(super) fn drop_step(&mut self, origin: &ChangeOrigin) {
        match origin {
            ChangeOrigin::Undo => self.undo.drop_undo(),
            ChangeOrigin::Redo => self.undo.drop_redo(),
            _ => return,
        }
        self.follows_policy = false;
    }

    /// Records the step that undo takes back.
    fn step(&mut self, change: &MadeChange<'_>) {
        let past = PastSetup {
            setup: change.old.clone(),
            handover: change.handover,
        };
        let last = self.undo.to_undo();
        let is_last = last.is_some_and(|last| last.setup == *change.new);
        match change.origin {
            ChangeOrigin::Redo => self.undo.redone(past),
            ChangeOrigin::Undo => self.undo.undone(past),
            ChangeOrigin::Policy | ChangeOrigin::RolledBack(_) if self.follows_policy => {
                // A rollback may keep a part of the policy's changes.
                match is_last {
                    true => self.undo.retract(),
                    false => self.undo.extend(),
                }
                self.follows_policy = !is_last;
                return;
            }
            ChangeOrigin::RolledBack(_) if is_last => self.undo.undone(past),
            _ => self.undo.push(past),
        }
        self.follows_policy = matches!(change.origin, ChangeOrigin::Policy);
        self.undo
            .forget_while(|past| model_sets(past) > MOST_MODELS);
    }

    /// Holds off the models that a change takes back, and no longer those that serve.
    fn hold_off(&mut self, diff: &SetupDiff, new: &Setup, origin: &ChangeOrigin) {
        self.held_off.retain(|held| !new.models.contains(held));
        let takes_back = match origin {
            ChangeOrigin::Undo => true,
            // A policy holds its own changes off.
            ChangeOrigin::RolledBack(_) => !self.follows_policy,
            _ => false,
        };
        if takes_back {
            self.held_off.extend(diff.went.iter().cloned());
            let over = self.held_off.len().saturating_sub(MOST_HELD_OFF);
            self.held_off.drain(..over);
        }
    }

    /// Returns the copies of models that stay out until they are requested by name.
    pub(super) fn held_off(&self) -> &[ModelCopy] {
        &self.held_off
    }

    /// Returns the models of the setups that undo and redo restore.
    pub(super) fn models(&self) -> impl Iterator<Item = &ServedCopies> {
        self.undo.values().map(|past| &past.setup.models)
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
    fn runs(&mut self, setup: Setup, did: Measured, now: Reading, why: String) {
        if let Some(last) = self.entries.back_mut() {
            last.until = Some(now.at);
            last.did = did;
        }
        self.begin_entry(setup, now, why);
    }

    fn begin_entry(&mut self, setup: Setup, now: Reading, why: String) {
        self.running = setup.clone();
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

    /// Records whether answers can be compared with labels.
    pub(super) fn set_graded(&mut self, graded: bool) {
        self.graded = graded;
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

/// Returns the number of different sets of models.
fn model_sets(past: &[&PastSetup]) -> usize {
    let mut sets: Vec<&ServedCopies> = Vec::new();
    for models in past.iter().map(|past| &past.setup.models) {
        if !sets.contains(&models) {
            sets.push(models);
        }
    }
    sets.len()
}

/// Returns the number of changed entries of a matrix, in words.
pub(super) fn changed_entries(diff: &SetupDiff) -> String {
    match diff.entries {
        1 => "1 entry changed".into(),
        changed => format!("{changed} entries changed"),
    }
}

/// Returns the marks that a change leaves.
fn marks(diff: &SetupDiff, members: &[String], origin: &ChangeOrigin) -> Vec<(MarkKind, String)> {
    if matches!(origin, ChangeOrigin::RolledBack(_)) {
        return vec![(MarkKind::Rollback, origin.to_string())];
    }
    if diff.models {
        return vec![(MarkKind::Models, origin.to_string())];
    }
    let entries = (diff.entries > 0).then(|| (MarkKind::Reload, changed_entries(diff)));
    let settings = diff
        .settings
        .iter()
        .flat_map(|change| setting_marks(change, members));
    entries.into_iter().chain(settings).collect()
}

fn setting_marks(change: &SettingChange, members: &[String]) -> Vec<(MarkKind, String)> {
    let kind = match change {
        SettingChange::Policy(old, new) => {
            return vec![(MarkKind::Policy, format!("{old} → {new}"))];
        }
        SettingChange::Combination(..) => MarkKind::Combination,
        SettingChange::Precision(..) => MarkKind::Reload,
        SettingChange::Segment(..) => MarkKind::Policy,
    };
    let words = change.words(members).into_iter();
    words.map(|said| (kind, said)).collect()
}
