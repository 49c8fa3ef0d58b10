//! Whether what is on probation does worse. No clock inside: a state machine that is told
//! the time and what was measured.

use std::time::Duration;

use crate::metrics::Reading;

use super::limit::{self, Limit};
use super::terms::{Check, Limited, Terms};

/// Compares what is measured since a change with what was measured before it.
///
/// Each limit is a count: requests above the limit of latency, failed ones, samples that
/// were answered wrongly. As many as chance brings about where nothing changed decide
/// nothing: where a change does no worse than its terms allow, [`Judge::RISK`] is the
/// probability at most that it is rolled back, for all limits and looks together. One
/// third of it is for what the time before does not tell exactly, one for looking while it
/// runs, one for the end.
///
/// Requests share batches and queues, so many may be late together: counts are taken for
/// as few as their spread before says.
#[derive(Clone, Debug)]
pub struct Judge {
    terms: Terms,
    since: Duration,
    limits: Vec<Limit>,
    /// Requests before the change.
    before: u64,
}

/// What was done before a change.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    pub whole: Reading,
    /// The same in pieces of a few seconds, which tell how much counts spread.
    pub pieces: Vec<Reading>,
}

/// What waited while a change was made is over in so long.
const SETTLES: Duration = Duration::from_secs(3);

/// What a [`Judge`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeVerdict {
    Watching,
    /// It stays; with a remark where not all could be judged.
    Passed(Option<String>),
    /// It does worse; says why.
    Failed(String),
}

impl Judge {
    /// Probability at most that a change is rolled back that does no worse.
    pub const RISK: f64 = 0.01;
    /// Requests before a change under which nothing is compared with them.
    pub const LEAST: u64 = 100;
    /// One request of a hundred more beyond a limit than may be (of failures and accuracy,
    /// half as many again where that is more) is found with this probability, once as many
    /// came as are asked for.
    pub const POWER: f64 = 0.95;

    /// Of a change that serves since `since` (after the engine's start).
    pub fn new(terms: Terms, before: &Baseline, since: Duration) -> Self {
        Judge {
            terms,
            since,
            limits: limit::limits(&terms, before),
            before: before.whole.answered + before.whole.failed + before.whole.refused,
        }
    }

    /// How each limit stands with what was measured since the change.
    pub fn checks(&self, after: &Reading) -> Vec<Check> {
        self.limits.iter().map(|l| l.check(after)).collect()
    }

    /// What it comes to at `now`, with what was measured since, and how many requests are
    /// under way.
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

    /// What waited while the change was made is late by no fault of the change.
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
