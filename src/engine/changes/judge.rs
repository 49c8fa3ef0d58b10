//! The judge of a probation: the terms that it is held to, and whether what is on probation
//! does worse. No clock inside: a state machine that is told the time and what was measured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::metrics::Reading;
use divisi_model::ranged::{FieldOutOfRange, checked_when_read, within};

use super::limit::{self, Limit};

/// Compares what is measured since a change with what was measured before it.
///
/// Each limit is a count: requests above the limit of latency, failed requests, samples
/// answered wrongly. The judge tests whether a count is higher than chance explains. A change
/// that does no worse than its terms allow is rolled back with a probability of at most
/// [`Judge::RISK`], over all limits and looks together. A third of that risk is for the
/// uncertainty of the baseline, a third for the looks while the probation runs, and a third
/// for the end.
///
/// Requests share batches and queues, so many may be late together. Counts are therefore
/// divided by their overdispersion before the change.
#[derive(Clone, Debug)]
pub struct Judge {
    terms: Terms,
    since: Duration,
    limits: Vec<Limit>,
    /// Requests before the change.
    before: u64,
}

/// The terms of a probation: its length and its limits. Each limit compares the time since
/// the change with the time before it; `None` sets no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Terms {
    /// The length of the probation.
    pub lasts: Duration,
    /// The most that p99 may be, as a multiple of what it was.
    pub p99: Option<f64>,
    /// The most that the share of failed or refused requests may rise, 0 to 1.
    pub failures: Option<f64>,
    /// The most that accuracy may fall, 0 to 1; judged only where labels are known.
    pub accuracy: Option<f64>,
}

checked_when_read!(Terms);

/// The readings before a change that it is compared with.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The reading of the whole period.
    pub whole: Reading,
    /// The same period in pieces of a few seconds, which show how much counts vary.
    pub pieces: Vec<Reading>,
}

/// The verdict of a [`Judge`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeVerdict {
    /// It is not decided yet.
    Watching,
    /// It stays; holds a remark if not all could be judged.
    Passed(Option<String>),
    /// It does worse; holds the reason.
    Failed(String),
}

/// The longest time after a change in which latencies are not judged.
const SETTLES: Duration = Duration::from_secs(3);

impl Judge {
    /// The upper bound of the probability that a change which does no worse is rolled back.
    pub const RISK: f64 = 0.01;
    /// The fewest requests before a change that it is compared with.
    pub const LEAST: u64 = 100;
    /// The probability that a breach of a limit is found, once enough requests were counted.
    /// A breach is a share beyond the limit that is at least 0.01 above the allowed one, or, for
    /// failures and accuracy, 1.5 times the allowed one if that is more.
    pub const POWER: f64 = 0.95;

    /// Creates the judge of a change that serves since `since` (after the engine's start).
    pub fn new(terms: Terms, before: &Baseline, since: Duration) -> Self {
        Judge {
            terms,
            since,
            limits: limit::limits(&terms, before),
            before: before.whole.answered + before.whole.failed + before.whole.refused,
        }
    }

    /// Returns how each limit stands, where `after` was measured since the change.
    pub fn checks(&self, after: &Reading) -> Vec<Check> {
        self.limits.iter().map(|l| l.check(after)).collect()
    }

    /// Returns the verdict at `now`, where `after` was measured since the change and
    /// `in_flight` requests are under way.
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

    /// Whether the limit may be judged yet. Requests that queued while the change was made are
    /// late by no fault of the new setup, so p99 is not judged at first.
    fn has_settled(&self, now: Duration, limit: &Limit) -> bool {
        let settles = (self.terms.lasts / 4).min(SETTLES);
        limit.what != Limited::P99 || now >= self.since.saturating_add(settles)
    }

    fn remark(&self, after: &Reading) -> Option<String> {
        if self.limits.is_empty() && self.terms == self.terms.of_nothing() {
            return None;
        }
        match (after.answered + after.failed + after.refused, self.before) {
            (0, _) => return Some("no request came meanwhile".into()),
            (_, 0) => return Some("no request came before".into()),
            (_, n) if n < Self::LEAST => return Some(format!("only {n} requests came before")),
            _ => {}
        }
        let checks = self.checks(after);
        let most = checks.iter().max_by_key(|check| check.missing)?;
        let (missing, name) = (most.missing, most.what.name());
        let asked = missing + most.counted;
        (missing > 0).then(|| format!("{missing} of {asked} requests were missing to judge {name}"))
    }
}

impl Terms {
    /// The shortest and the longest probation: up to a day.
    pub const LASTS: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(86_400));

    /// Checks that every term is within its range.
    ///
    /// # Errors
    /// A term is out of range; says which, and what was expected.
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

/// The quantity that a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limited {
    /// The 99th percentile of latency.
    P99,
    /// The share of requests that failed or were refused.
    Failures,
    /// The share of right answers among samples with labels.
    Accuracy,
}

impl Limited {
    /// Returns its name: `p99`, `failures` or `accuracy`.
    pub fn name(self) -> &'static str {
        match self {
            Limited::P99 => "p99",
            Limited::Failures => "failures",
            Limited::Accuracy => "accuracy",
        }
    }

    /// Formats a value of it with its unit: `12.3 ms`, `1.8 %`. Latencies are given in
    /// microseconds.
    pub fn text(self, value: f64) -> String {
        match self {
            Limited::P99 => format!("{:.1} ms", value / 1e3),
            Limited::Failures | Limited::Accuracy => format!("{:.1} %", 100.0 * value),
        }
    }
}

/// How one limit of a probation stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The quantity that is limited.
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
    /// The largest share allowed beyond the limit, including the uncertainty of the baseline.
    pub allowed: f64,
    /// How many more must be counted before an excess can be told from chance (see
    /// [`Judge::POWER`]).
    pub missing: u64,
}
