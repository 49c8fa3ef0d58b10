//! Whether what is on probation does worse. No clock inside: a state machine that is told
//! the time and what was measured.

use std::time::Duration;

use super::guard::{Measured, Terms};

/// Compares what is measured since a change with what was measured before it.
///
/// Few requests decide nothing: a limit counts from [`Judge::LEAST`] requests on both
/// sides. Before the time is over only what is clear decides: a share that is above its
/// limit by three standard errors; half of the requests slower than p99 may be, or a
/// tenth of [`Judge::MANY`], ten times as many as may be.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    terms: Terms,
    before: Measured,
    since: Duration,
}

/// What waited while a change was made is over in so long.
const SETTLES: Duration = Duration::from_secs(3);

/// What a [`Judge`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Watching,
    /// It stays; with a remark where not all could be judged.
    Passed(Option<String>),
    /// It does worse; says why.
    Failed(String),
}

impl Judge {
    /// Requests under which nothing is decided.
    pub const LEAST: u64 = 30;
    /// Requests of which a tenth is no accident.
    pub const MANY: u64 = 100;

    /// Of a change that serves since `since` (after the engine's start).
    pub fn new(terms: Terms, before: Measured, since: Duration) -> Self {
        Judge {
            terms,
            before,
            since,
        }
    }

    /// What it comes to at `now`, with what was measured since, and how many requests are
    /// under way.
    pub fn step(&self, now: Duration, after: &Measured, in_flight: usize) -> Verdict {
        let over = now >= self.since.saturating_add(self.terms.lasts);
        let worse = self.failing(after, over);
        let worse = worse.or_else(|| self.slower(now, after, over));
        let worse = worse.or_else(|| self.less_right(after, over));
        match worse {
            Some(why) => Verdict::Failed(why),
            None if !over => Verdict::Watching,
            None if after.answered == 0 && in_flight > 0 => {
                Verdict::Failed(format!("none of {in_flight} requests was answered"))
            }
            None => Verdict::Passed(self.remark(after)),
        }
    }

    /// Requests that fail.
    fn failing(&self, after: &Measured, over: bool) -> Option<String> {
        let more = self.terms.failures?;
        let (share, requests) = failures(after);
        let before = failures(&self.before).0;
        let limit = (before + more).min(1.0);
        let least = share - margin(limit, requests, over);
        (requests >= Self::LEAST && least > limit).then(|| {
            format!(
                "{} of requests failed, {} before; at most {} was asked for",
                percent(share),
                percent(before),
                percent(limit)
            )
        })
    }

    /// A longer p99.
    fn slower(&self, now: Duration, after: &Measured, over: bool) -> Option<String> {
        let factor = self.terms.p99?;
        let limit = self.before.p99.filter(|_| self.compares(after))? as f64 * factor;
        // What waited while the change was made is over by then.
        let settles = (self.terms.lasts / 4).min(SETTLES);
        let settled = now >= self.since.saturating_add(settles);
        let clear = match after.answered >= Self::MANY {
            true => after.p90,
            false => after.p50,
        };
        let decides = match over {
            true => after.p99,
            false => clear.filter(|_| settled),
        };
        let p99 = after
            .p99
            .filter(|_| decides.is_some_and(|d| d as f64 > limit))?;
        Some(format!(
            "p99 {}, {} before; at most {factor} times that was asked for",
            millis(p99),
            millis(self.before.p99?)
        ))
    }

    /// A lower accuracy.
    fn less_right(&self, after: &Measured, over: bool) -> Option<String> {
        let less = self.terms.accuracy.filter(|_| self.compares(after))?;
        let (before, now) = (self.before.accuracy?, after.accuracy?);
        let limit = (before - less).max(0.0);
        (now + margin(limit, after.answered, over) < limit).then(|| {
            format!(
                "accuracy {}, {} before; at least {} was asked for",
                percent(now),
                percent(before),
                percent(limit)
            )
        })
    }

    fn compares(&self, after: &Measured) -> bool {
        after.answered >= Self::LEAST && self.before.answered >= Self::LEAST
    }

    fn remark(&self, after: &Measured) -> Option<String> {
        let requests = after.answered + after.failed;
        let few = |requests: u64, when: &str| match requests {
            0 => Some(format!("no request came {when}")),
            n if n < Self::LEAST => Some(format!("only {n} requests came {when}")),
            _ => None,
        };
        let before = self.before.answered + self.before.failed;
        few(requests, "meanwhile").or_else(|| few(before, "before"))
    }
}

/// Share of requests that failed, and of how many.
fn failures(measured: &Measured) -> (f64, u64) {
    let requests = measured.answered + measured.failed;
    (measured.failed as f64 / requests.max(1) as f64, requests)
}

/// How far from the limit a share of so many must lie: at the end it counts as it is.
fn margin(limit: f64, count: u64, over: bool) -> f64 {
    if over {
        return 0.0;
    }
    // Even where no failure is expected, the first ones are noise.
    let share = limit.clamp(0.01, 0.99);
    3.0 * (share * (1.0 - share) / count.max(1) as f64).sqrt()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}
