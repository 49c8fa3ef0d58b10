//! Watches a policy's change and rolls it back if it makes queries miss their goals.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_engine::changes::{Baseline, Judge, JudgeVerdict, Terms};
use divisi_model::metrics::Reading;
use divisi_modelless::placement::HostedInstances;

use super::barred::BarredChanges;
use crate::routing::StreamInterval;

/// The number of seconds before a change to compare with, and after it to watch.
const SECONDS: usize = 10;
/// The additional share of queries that may miss their goals after a change.
const MORE_MISSED: f64 = 0.01;
/// The growth of the load up to which misses are attributed to the change.
const MORE_ASKED: f64 = 1.1;

/// The queries of a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuerySecond {
    /// The arrival rate in queries per second.
    pub rate: f64,
    /// The finished queries.
    pub over: u32,
    /// The finished queries that missed a goal.
    pub missed: u32,
}

/// A change that did worse than the previous instances.
#[derive(Clone, Debug)]
pub struct FailedChange {
    /// The instances before the change.
    pub before: HostedInstances,
    /// The missed goals, in words.
    pub why: String,
}

/// Judges changes from the outcomes of each second.
#[derive(Clone, Debug, Default)]
pub struct ChangeProbation {
    seconds: VecDeque<QuerySecond>,
    trial: Option<ChangeTrial>,
    barred: BarredChanges,
}

/// A watched change, including later changes.
#[derive(Clone, Debug)]
struct ChangeTrial {
    before: HostedInstances,
    after: HostedInstances,
    judge: Judge,
    missed_before: f64,
    most_asked: f64,
    seen: Reading,
    /// The number of seconds with too many misses.
    worse: u32,
    /// Whether the next second is that of the change: queries that waited for the change are not
    /// attributed to it.
    is_new: bool,
}

impl QuerySecond {
    /// Returns the queries of an interval of a second.
    pub fn from_intervals(streams: &[StreamInterval]) -> Self {
        QuerySecond {
            rate: streams.iter().map(|s| s.demand.rate.get()).sum(),
            over: streams.iter().map(|s| s.over).sum(),
            missed: streams.iter().map(|s| s.missed).sum(),
        }
    }
}

impl ChangeProbation {
    /// Starts to watch a change from `before` to `after`. A later change is judged together with
    /// it. A change is not watched if there were too few queries before it.
    pub fn begin(&mut self, now: Duration, before: HostedInstances, after: &HostedInstances) {
        if let Some(trial) = &mut self.trial {
            trial.after = after.clone();
            trial.is_new = true;
            return;
        }
        let pieces: Vec<Reading> = self.seconds.iter().map(reading).collect();
        let whole = pieces.iter().fold(Reading::default(), sum);
        let counted = whole.answered + whole.failed;
        if counted < Judge::LEAST {
            return;
        }
        let asked = self.seconds.iter().map(|second| second.rate);
        let terms = Terms {
            lasts: Duration::from_secs(SECONDS as u64),
            p99: None,
            failures: Some(MORE_MISSED),
            accuracy: None,
        };
        self.trial = Some(ChangeTrial {
            before,
            after: after.clone(),
            missed_before: whole.failed as f64 / counted as f64,
            most_asked: MORE_ASKED * asked.fold(0.0, f64::max),
            judge: Judge::new(terms, &Baseline { whole, pieces }, now),
            seen: Reading::default(),
            worse: 0,
            is_new: true,
        });
    }

    /// Records the outcomes of the last second. Returns the change to roll back if it did worse; it
    /// is then barred.
    pub fn second(&mut self, now: Duration, second: QuerySecond) -> Option<FailedChange> {
        let Some(trial) = &mut self.trial else {
            self.remember(second);
            return None;
        };
        if std::mem::take(&mut trial.is_new) {
            return None;
        }
        let verdict = trial.judged(now, second);
        self.remember(second);
        match verdict {
            JudgeVerdict::Watching => None,
            JudgeVerdict::Failed(_) => self.fail(now),
            JudgeVerdict::Passed(_) => {
                self.trial = None;
                None
            }
        }
    }

    /// Stops watching: the running setup was changed otherwise.
    pub fn end(&mut self) {
        self.trial = None;
        self.seconds.clear();
    }

    /// Forgets the watched change and the rolled back ones: the policy has changed.
    pub fn forget(&mut self) {
        self.trial = None;
        self.barred = BarredChanges::default();
    }

    /// Returns the recently rolled back changes.
    pub fn barred(&self) -> &BarredChanges {
        &self.barred
    }

    fn fail(&mut self, now: Duration) -> Option<FailedChange> {
        let trial = self.trial.take()?;
        self.seconds.clear();
        self.barred.bar(now, &trial.before, &trial.after);
        let counted = (trial.seen.answered + trial.seen.failed).max(1);
        let missed = 100.0 * trial.seen.failed as f64 / counted as f64;
        let before = 100.0 * trial.missed_before;
        Some(FailedChange {
            before: trial.before,
            why: format!("{missed:.1} % missed a goal, {before:.1} % before"),
        })
    }

    fn remember(&mut self, second: QuerySecond) {
        if self.seconds.len() >= SECONDS {
            self.seconds.pop_front();
        }
        self.seconds.push_back(second);
    }
}

impl ChangeTrial {
    /// Counts a second. Misses under a higher load are not attributed to the change, and a single
    /// bad second is not enough.
    fn judged(&mut self, now: Duration, second: QuerySecond) -> JudgeVerdict {
        self.seen = sum(std::mem::take(&mut self.seen), &reading(&second));
        let missed = f64::from(second.missed) / f64::from(second.over.max(1));
        self.worse += u32::from(missed > self.missed_before + MORE_MISSED);
        if second.rate > self.most_asked {
            return JudgeVerdict::Passed(None);
        }
        match self.judge.step(now, &self.seen, 0) {
            JudgeVerdict::Failed(_) if self.worse < 2 => JudgeVerdict::Watching,
            verdict => verdict,
        }
    }
}

/// Returns a second in the units of the judge: a missed goal is a failure.
fn reading(second: &QuerySecond) -> Reading {
    Reading {
        answered: u64::from(second.over.saturating_sub(second.missed)),
        failed: u64::from(second.missed),
        ..Reading::default()
    }
}

fn sum(all: Reading, more: &Reading) -> Reading {
    Reading {
        answered: all.answered + more.answered,
        failed: all.failed + more.failed,
        ..all
    }
}
