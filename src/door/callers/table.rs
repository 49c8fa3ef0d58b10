//! The calls of a bounded number of distinct clients.

use std::collections::HashMap;
use std::time::Duration;

use divisi_model::metrics::MOMENT;

use super::counts::{CallCounts, CallFigures};
use super::who::CallerName;

/// The listed clients, and the number and total calls of the others, or `None` if there are none.
pub(super) type ListedCallers = (Vec<(CallerName, CallFigures)>, Option<(usize, CallFigures)>);

/// The calls of each client.
#[derive(Clone, Debug)]
pub(super) struct CallerTable {
    /// The number of distinct clients; calls of further clients are counted together.
    most: usize,
    callers: HashMap<CallerName, CallCounts>,
    /// The time of the last search for idle clients.
    looked: Duration,
    /// The calls of clients without room in the table.
    nameless: CallCounts,
}

impl CallerTable {
    /// Creates a table for at most `most` distinct clients.
    pub(super) fn with_limit(most: usize) -> Self {
        CallerTable {
            most,
            callers: HashMap::new(),
            looked: Duration::ZERO,
            nameless: CallCounts::default(),
        }
    }

    /// Counts a call that ended at `now`.
    pub(super) fn count(&mut self, now: Duration, who: &CallerName, has_failed: bool) {
        self.counts_of(now, who).add(now, has_failed);
    }

    fn counts_of(&mut self, now: Duration, who: &CallerName) -> &mut CallCounts {
        let is_full = self.callers.len() >= self.most && !self.callers.contains_key(who);
        // Clients become idle only at the end of an interval.
        if is_full && now >= self.looked + MOMENT {
            self.looked = now;
            self.forget_idle(now);
        }
        if self.callers.len() >= self.most && !self.callers.contains_key(who) {
            return &mut self.nameless;
        }
        // The name is only cloned for new clients.
        if !self.callers.contains_key(who) {
            self.callers.insert(who.clone(), CallCounts::default());
        }
        match self.callers.get_mut(who) {
            Some(counts) => counts,
            None => &mut self.nameless,
        }
    }

    /// Removes the clients without calls within the window.
    fn forget_idle(&mut self, now: Duration) {
        self.callers.retain(|_, counts| !counts.is_idle(now));
    }

    /// Returns whether there was no call within the window before `now`.
    pub(super) fn is_idle(&mut self, now: Duration) -> bool {
        self.forget_idle(now);
        self.callers.is_empty() && self.nameless.is_idle(now)
    }

    /// Returns the clients of the window, the busiest first, of which `shown` are listed.
    pub(super) fn listed(&mut self, now: Duration, shown: usize) -> ListedCallers {
        self.forget_idle(now);
        let callers = self.callers.iter_mut();
        let mut callers: Vec<(CallerName, CallFigures)> = callers
            .map(|(who, counts)| (who.clone(), counts.figures(now)))
            .collect();
        callers.sort_by(|(a, one), (b, other)| other.calls.cmp(&one.calls).then_with(|| a.cmp(b)));
        let beyond = callers.split_off(callers.len().min(shown));
        let mut all = self.nameless.figures(now);
        beyond.iter().for_each(|(_, figures)| all.add(*figures));
        let others = (all.calls > 0).then_some((beyond.len(), all));
        (callers, others)
    }
}
