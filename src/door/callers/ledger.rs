//! The calls of each caller and all that was refused, as one state without clock and lock.

use std::collections::HashMap;
use std::time::Duration;

use crate::error::ErrorKind;

use super::moments::{MOMENT, MomentCounts};
use super::who::{CallerName, RATE_MOMENTS};

/// The callers that are told apart; calls of more are counted together.
const MOST_CALLERS: usize = 256;

/// The callers that are shown one by one.
const SHOWN: usize = 32;

/// The calls of somebody.
#[derive(Clone, Debug, Default)]
struct CallCounts {
    calls: MomentCounts,
    failed: MomentCounts,
}

impl CallCounts {
    fn add(&mut self, now: Duration, has_failed: bool) {
        self.calls.add(now);
        if has_failed {
            self.failed.add(now);
        }
    }

    fn figures(&mut self, now: Duration) -> CallFigures {
        self.calls.advance(now);
        self.failed.advance(now);
        CallFigures {
            per_second: self.calls.rate(RATE_MOMENTS),
            calls: self.calls.sum(),
            failed: self.failed.sum(),
        }
    }
}

/// The calls of somebody within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallFigures {
    /// Calls a second in the last [`RATE_MOMENTS`].
    pub per_second: f64,
    /// Calls in all moments.
    pub calls: u64,
    /// Those of them that were refused or failed.
    pub failed: u64,
}

impl CallFigures {
    fn add(&mut self, other: CallFigures) {
        self.per_second += other.per_second;
        self.calls += other.calls;
        self.failed += other.failed;
    }
}

/// The counts at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallersSeen {
    /// The busiest callers of the window, busiest first.
    pub callers: Vec<(CallerName, CallFigures)>,
    /// The calls of all others together, and how many of them are known; `None` if there are none.
    pub others: Option<(usize, CallFigures)>,
    /// The refusals and failures by kind: in all, and in each moment of the window.
    pub refusals: Vec<(ErrorKind, u64, Vec<u32>)>,
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct CallerLedger {
    callers: HashMap<CallerName, CallCounts>,
    /// When it was last looked for callers that ask no more.
    looked: Duration,
    /// Those for whom there was no room.
    nameless: CallCounts,
    refusals: HashMap<ErrorKind, (u64, MomentCounts)>,
}

impl CallerLedger {
    /// Counts a call that was over at `now`; `failed` says how, where it did.
    pub fn count(&mut self, now: Duration, who: &CallerName, failed: Option<ErrorKind>) {
        self.counts_of(now, who).add(now, failed.is_some());
        if let Some(kind) = failed {
            self.refuse(now, kind);
        }
    }

    /// Counts what was refused at `now`, whoever asked.
    pub fn refuse(&mut self, now: Duration, kind: ErrorKind) {
        let (total, moments) = self.refusals.entry(kind).or_default();
        *total += 1;
        moments.add(now);
    }

    fn counts_of(&mut self, now: Duration, who: &CallerName) -> &mut CallCounts {
        let is_full = self.callers.len() >= MOST_CALLERS && !self.callers.contains_key(who);
        // Nobody becomes idle between two moments.
        if is_full && now >= self.looked + MOMENT {
            self.looked = now;
            self.forget_idle(now);
        }
        if self.callers.len() >= MOST_CALLERS && !self.callers.contains_key(who) {
            return &mut self.nameless;
        }
        // An entry needs a name of its own, which is made for new callers alone.
        if !self.callers.contains_key(who) {
            self.callers.insert(who.clone(), CallCounts::default());
        }
        match self.callers.get_mut(who) {
            Some(counts) => counts,
            None => &mut self.nameless,
        }
    }

    /// Makes room: whoever asked nothing within the window goes.
    fn forget_idle(&mut self, now: Duration) {
        self.callers.retain(|_, counts| {
            counts.calls.advance(now);
            counts.calls.sum() > 0
        });
    }

    /// Returns what was counted by `now`.
    pub fn seen(&mut self, now: Duration) -> CallersSeen {
        self.forget_idle(now);
        let callers = self.callers.iter_mut();
        let mut callers: Vec<(CallerName, CallFigures)> = callers
            .map(|(who, counts)| (who.clone(), counts.figures(now)))
            .collect();
        callers.sort_by(|(a, one), (b, other)| other.calls.cmp(&one.calls).then_with(|| a.cmp(b)));
        let beyond = callers.split_off(callers.len().min(SHOWN));
        CallersSeen {
            others: self.others(now, &beyond),
            callers,
            refusals: self.refusals(now),
        }
    }

    fn others(
        &mut self,
        now: Duration,
        beyond: &[(CallerName, CallFigures)],
    ) -> Option<(usize, CallFigures)> {
        let mut all = self.nameless.figures(now);
        beyond.iter().for_each(|(_, figures)| all.add(*figures));
        (all.calls > 0).then_some((beyond.len(), all))
    }

    fn refusals(&mut self, now: Duration) -> Vec<(ErrorKind, u64, Vec<u32>)> {
        let kinds = ErrorKind::ALL.into_iter();
        let mut refusals: Vec<(ErrorKind, u64, Vec<u32>)> = kinds
            .filter_map(|kind| {
                let (total, moments) = self.refusals.get_mut(&kind)?;
                moments.advance(now);
                Some((kind, *total, moments.series()))
            })
            .collect();
        let lately = |series: &[u32]| series.iter().map(|n| u64::from(*n)).sum::<u64>();
        refusals.sort_by_key(|(_, total, series)| std::cmp::Reverse((lately(series), *total)));
        refusals
    }
}
