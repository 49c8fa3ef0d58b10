//! A policy's change that is watched, and taken back where goals are missed because of it.

use std::collections::VecDeque;
use std::time::Duration;

use divisi::changes::{Baseline, Judge, JudgeVerdict, Terms};
use divisi::metrics::Reading;
use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::variants::VariantIndex;

use crate::routing::StreamInterval;

/// The seconds before a change that it is compared with, and those that it is watched for.
const SECONDS: usize = 10;
/// The part of queries that may miss their goals beyond that before the change.
const MORE_MISSED: f64 = 0.01;
/// How much more may be asked than before the change: what is missed of more is not its fault.
const MORE_ASKED: f64 = 1.1;
/// How long what was taken back is not tried again.
const BARRED: Duration = Duration::from_secs(300);

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

/// The variants of each device, however many instances of each are planned.
type HostedVariants = Vec<(DeviceSlot, VariantIndex)>;

/// Judges changes one after another, from seconds that it is told of.
#[derive(Clone, Debug, Default)]
pub struct ChangeProbation {
    seconds: VecDeque<QuerySecond>,
    trial: Option<ChangeTrial>,
    barred: Vec<(Duration, HostedVariants)>,
}

/// A change that is watched.
#[derive(Clone, Debug)]
struct ChangeTrial {
    before: HostedInstances,
    placement: HostedVariants,
    judge: Judge,
    missed_before: f64,
    most_asked: f64,
    after: Reading,
    /// The second of the change itself is told next: what waited meanwhile is not its fault.
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
    /// Begins to watch a change from `before` to `after`, in place of one that was watched.
    pub fn begin(&mut self, now: Duration, before: HostedInstances, after: &HostedInstances) {
        let pieces: Vec<Reading> = self.seconds.iter().map(reading).collect();
        let whole = pieces.iter().fold(Reading::default(), sum);
        let counted = (whole.answered + whole.failed).max(1);
        let asked = self.seconds.iter().map(|second| second.rate);
        let terms = Terms {
            lasts: Duration::from_secs(SECONDS as u64),
            p99: None,
            failures: Some(MORE_MISSED),
            accuracy: None,
        };
        self.trial = Some(ChangeTrial {
            before,
            placement: placement(after),
            missed_before: whole.failed as f64 / counted as f64,
            most_asked: MORE_ASKED * asked.fold(0.0, f64::max),
            judge: Judge::new(terms, &Baseline { whole, pieces }, now),
            after: Reading::default(),
            is_new: true,
        });
        self.seconds.clear();
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
        trial.after = sum(trial.after.clone(), &reading(&second));
        let verdict = trial.judge.step(now, &trial.after, 0);
        let is_comparable = second.rate <= trial.most_asked;
        self.remember(second);
        match verdict {
            JudgeVerdict::Watching if is_comparable => None,
            JudgeVerdict::Failed(_) if is_comparable => self.fail(now),
            _ => {
                self.trial = None;
                None
            }
        }
    }

    /// Forgets what was watched: somebody else changed what runs.
    pub fn end(&mut self) {
        self.trial = None;
        self.seconds.clear();
    }

    /// Whether these instances were taken back lately.
    pub fn bars(&self, now: Duration, wanted: &HostedInstances) -> bool {
        let wanted = placement(wanted);
        let barred = self.barred.iter().filter(|(until, _)| now < *until);
        barred.into_iter().any(|(_, barred)| *barred == wanted)
    }

    fn fail(&mut self, now: Duration) -> Option<FailedChange> {
        let trial = self.trial.take()?;
        self.seconds.clear();
        self.barred.retain(|(until, _)| now < *until);
        self.barred.push((now + BARRED, trial.placement));
        let counted = (trial.after.answered + trial.after.failed).max(1);
        let missed = 100.0 * trial.after.failed as f64 / counted as f64;
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

fn placement(hosted: &HostedInstances) -> HostedVariants {
    let devices = hosted.devices();
    let each = devices.flat_map(|device| {
        let on = hosted.hosted_on(device).filter(|(_, count)| *count > 0);
        on.map(move |(variant, _)| (device, variant))
    });
    each.collect()
}
