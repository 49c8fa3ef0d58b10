//! Whether what is on probation does worse. No clock inside: a state machine that is told
//! the time and what was measured.

use std::time::Duration;

use crate::metrics::Reading;

use super::limit::{self, Limit};
use super::terms::{Check, Limited, Terms};

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

/// The readings before a change that it is compared with.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The reading of the whole period.
    pub whole: Reading,
    /// The same period in pieces of a few seconds, which show how much counts vary.
    pub pieces: Vec<Reading>,
}

/// The longest time after a change in which latencies are not judged.
const SETTLES: Duration = Duration::from_secs(3);

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
