//! The judge of a probation: its terms, and whether the change does worse. A state machine without
//! a clock: the caller passes the time and the measurements.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::metrics::Reading;
use divisi_model::ranged::{FieldOutOfRange, checked_when_read, within};

use super::limit::{self, Limit};

/// Compares the measurements since a change with those before it.
///
/// Each limit is a count: requests above the latency limit, failed requests, or wrong answers. The
/// judge tests whether a count is higher than chance explains. The probability of rolling back a
/// change that does no worse than its terms allow is at most [`Judge::RISK`], over all limits and
/// checks together. A third of this risk is for the uncertainty of the baseline, a third for the
/// checks during the probation, and a third for the final check.
///
/// Requests share batches and queues, so many may be late together. The judge therefore divides
/// counts by their overdispersion before the change.
#[derive(Clone, Debug)]
pub struct Judge {
    terms: Terms,
    since: Duration,
    limits: Vec<Limit>,
    /// Requests before the change.
    before: u64,
}

/// The terms of a probation: its length and its limits. Each limit compares the time since the
/// change with the time before it. `None` disables a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Terms {
    /// The length of the probation.
    pub lasts: Duration,
    /// The highest p99, as a multiple of its earlier value.
    pub p99: Option<f64>,
    /// The largest rise in the share of failed or refused requests, 0 to 1.
    pub failures: Option<f64>,
    /// The largest drop in accuracy, 0 to 1. Applies only if labels are known.
    pub accuracy: Option<f64>,
}

checked_when_read!(Terms);

/// The readings before a change, for comparison.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The reading of the whole period.
    pub whole: Reading,
    /// The same period in pieces of a few seconds, which show the variation of counts.
    pub pieces: Vec<Reading>,
}

/// The verdict of a [`Judge`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeVerdict {
    /// The probation is still running.
    Watching,
    /// The change stays; holds a remark if some limits could not be checked.
    Passed(Option<String>),
    /// The change does worse; holds the reason.
    Failed(String),
}

/// The longest time after a change in which the judge ignores latencies.
const SETTLES: Duration = Duration::from_secs(3);

impl Judge {
    /// The upper bound of the probability of rolling back a change that does no worse.
    pub const RISK: f64 = 0.01;
    /// The fewest requests before a change for a comparison.
    pub const LEAST: u64 = 100;
    /// The probability of detecting a breach of a limit after enough requests.
    ///
    /// A breach is a share beyond the limit that exceeds the allowed share by at least 0.01. For
    /// failures and accuracy it is 1.5 times the allowed share if that is more.
    pub const POWER: f64 = 0.95;

    /// Creates the judge of a change that began to serve at `since` (after the engine's start).
    pub fn new(terms: Terms, before: &Baseline, since: Duration) -> Self {
        Judge {
            terms,
            since,
            limits: limit::limits(&terms, before),
            before: before.whole.answered + before.whole.failed + before.whole.refused,
        }
    }

    /// Creates the judge of a policy's change. Readings count queries, and missed goals as failures.
    /// Times count from the change.
    pub(super) fn of_goals(terms: Terms, before: &Baseline) -> Self {
        Judge {
            limits: limit::of_goals(&terms, before),
            ..Judge::new(terms, before, Duration::ZERO)
        }
    }

    /// Returns the state of each limit. `after` is the reading since the change.
    pub fn checks(&self, after: &Reading) -> Vec<Check> {
        self.limits.iter().map(|l| l.check(after)).collect()
    }

    /// Returns the verdict at `now`. `after` is the reading since the change, and `in_flight` is
    /// the number of requests under way.
    pub fn step(&self, now: Duration, after: &Reading, in_flight: usize) -> JudgeVerdict {
        let over = now >= self.since.saturating_add(self.terms.lasts);
        let worse = self.limits.iter().find(|limit| match over {
            true => limit.is_passed_at_the_end(after),
            false => self.has_settled(now, limit) && limit.is_passed_meanwhile(after),
        });
        match worse {
            Some(limit) => JudgeVerdict::Failed(limit.why(after)),
            None if !over => JudgeVerdict::Watching,
            None if after.answered == 0 && in_flight > 0 => {
                JudgeVerdict::Failed(format!("none of {in_flight} requests was answered"))
            }
            None => JudgeVerdict::Passed(self.remark(after)),
        }
    }

    /// Returns whether the limit can be checked yet. Requests that were queued during the change
    /// are late through no fault of the new setup, so p99 is ignored at first.
    fn has_settled(&self, now: Duration, limit: &Limit) -> bool {
        let settles = (self.terms.lasts / 4).min(SETTLES);
        limit.what != Limited::P99 || now >= self.since.saturating_add(settles)
    }

    fn remark(&self, after: &Reading) -> Option<String> {
        if self.limits.is_empty() && self.terms == self.terms.of_nothing() {
            return None;
        }
        match (after.answered + after.failed + after.refused, self.before) {
            (0, _) => return Some("no requests arrived during it".into()),
            (_, 0) => return Some("no requests arrived before it".into()),
            (_, n) if n < Self::LEAST => {
                return Some(format!("only {n} requests arrived before it"));
            }
            _ => {}
        }
        let checks = self.checks(after);
        let most = checks.iter().max_by_key(|check| check.missing)?;
        let (missing, name) = (most.missing, most.what.name());
        let asked = missing + most.counted;
        (missing > 0)
            .then(|| format!("judging {name} takes {asked} requests, {missing} were missing"))
    }
}

impl Terms {
    /// The shortest and the longest probation. The longest is a day.
    pub const LASTS: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(86_400));

    /// Checks that every term is within its range.
    ///
    /// # Errors
    /// A term is out of range. The error names the term and its range.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let (least, most) = Self::LASTS;
        within("a probation's time", self.lasts, least, most)?;
        let limit = |name, found: Option<f64>, least, most| {
            found.map_or(Ok(()), |found| within(name, found, least, most))
        };
        limit("p99", self.p99, f64::MIN_POSITIVE, 1e6)?;
        limit("failures", self.failures, 0.0, 1.0)?;
        limit("accuracy", self.accuracy, 0.0, 1.0)
    }

    /// Returns terms of the same length without any limit.
    fn of_nothing(self) -> Self {
        Terms {
            p99: None,
            failures: None,
            accuracy: None,
            ..self
        }
    }
}

/// The limited quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limited {
    /// The 99th percentile of latency.
    P99,
    /// The share of requests that failed or were refused.
    Failures,
    /// The share of queries that missed a goal.
    Goals,
    /// The share of right answers among samples with labels.
    Accuracy,
}

impl Limited {
    /// Returns the name: `p99`, `failures`, `missed goals` or `accuracy`.
    pub fn name(self) -> &'static str {
        match self {
            Limited::P99 => "p99",
            Limited::Failures => "failures",
            Limited::Goals => "missed goals",
            Limited::Accuracy => "accuracy",
        }
    }

    /// Formats a value with its unit: `12.3 ms`, `1.8 %`. Latencies are in microseconds.
    pub fn text(self, value: f64) -> String {
        match self {
            Limited::P99 => format!("{:.1} ms", value / 1e3),
            Limited::Failures | Limited::Goals | Limited::Accuracy => {
                format!("{:.1} %", 100.0 * value)
            }
        }
    }
}

/// The state of one limit of a probation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The limited quantity.
    pub what: Limited,
    /// The value since the change: microseconds for p99, shares otherwise. `None` if nothing
    /// was counted yet.
    pub value: Option<f64>,
    /// The limit, in the unit of the value.
    pub limit: f64,
    /// The value before the change, if there were enough requests.
    pub baseline: Option<f64>,
    /// Requests (for accuracy: samples) beyond the limit.
    pub beyond: u64,
    /// Requests (for accuracy: samples) counted in all.
    pub counted: u64,
    /// The largest allowed share beyond the limit, including the uncertainty of the baseline.
    pub allowed: f64,
    /// The number of further counts that are needed to tell an excess from chance (see
    /// [`Judge::POWER`]).
    pub missing: u64,
}
