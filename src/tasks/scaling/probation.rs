//! A policy's change that is watched, and taken back where goals are missed because of it.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_engine::changes::{Baseline, Judge, JudgeVerdict, Terms};
use divisi_model::metrics::Reading;
use divisi_modelless::placement::HostedInstances;

use super::barred::BarredChanges;
use crate::routing::StreamInterval;

/// The seconds before a change that it is compared with, and those that it is watched for.
const SECONDS: usize = 10;
/// The part of queries that may miss their goals beyond that before the change.
const MORE_MISSED: f64 = 0.01;
/// How much more may be asked than before the change: what is missed of more is not its fault.
const MORE_ASKED: f64 = 1.1;

/// The queries of a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuerySecond {
    /// How many arrive a second.
    pub rate: f64,
    /// Those that are over.
    pub over: u32,
    /// Those of them that missed a goal.
    pub missed: u32,
}

/// A change that did worse than what ran before.
#[derive(Clone, Debug)]
pub struct FailedChange {
    /// The instances that ran before.
    pub before: HostedInstances,
    /// The goals that were missed, in words.
    pub why: String,
}

/// Judges changes from seconds that it is told of.
#[derive(Clone, Debug, Default)]
pub struct ChangeProbation {
    seconds: VecDeque<QuerySecond>,
    trial: Option<ChangeTrial>,
    barred: BarredChanges,
}

/// A change that is watched, with those that followed it meanwhile.
#[derive(Clone, Debug)]
struct ChangeTrial {
    before: HostedInstances,
    after: HostedInstances,
    judge: Judge,
    missed_before: f64,
    most_asked: f64,
    seen: Reading,
    /// The seconds in which more was missed than may be.
    worse: u32,
    /// The second of a change is told next: what waited meanwhile is not its fault.
    is_new: bool,
}

impl QuerySecond {
    /// Returns the queries of an interval of a second.
    pub fn of(streams: &[StreamInterval]) -> Self {
        QuerySecond {
            rate: streams.iter().map(|s| s.demand.rate.get()).sum(),
            over: streams.iter().map(|s| s.over).sum(),
            missed: streams.iter().map(|s| s.missed).sum(),
        }
    }
}

impl ChangeProbation {
    /// Begins to watch a change from `before` to `after`. One that follows another that is watched is
    /// judged with it. Where too few queries came before to compare with, none is watched.
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

    /// Takes what became of queries in the last second. Returns the change that is to be taken back, if
    /// it did worse; it is barred from then on.
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

    /// Forgets what is watched: somebody else changed what runs.
    pub fn end(&mut self) {
        self.trial = None;
        self.seconds.clear();
    }

    /// Forgets what is watched, and what was taken back: another policy decides.
    pub fn forget(&mut self) {
        self.trial = None;
        self.barred = BarredChanges::default();
    }

    /// Returns the changes that were taken back lately.
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
    /// Counts a second. What is missed of more queries than before is not the change's fault; a single bad
    /// second is chance.
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

/// Returns a second as a judge counts it: a missed goal is a failure.
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
