//! The calls of each of several callers, of whom a bounded number is told apart.

use std::collections::HashMap;
use std::time::Duration;

use super::counts::{CallCounts, CallFigures};
use super::moments::MOMENT;
use super::who::CallerName;

/// The callers that are shown one by one, and of how many others all calls together; `None` if there
/// are no others.
pub(super) type ListedCallers = (Vec<(CallerName, CallFigures)>, Option<(usize, CallFigures)>);

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct CallerTable {
    /// The callers that are told apart; calls of more are counted together.
    most: usize,
    callers: HashMap<CallerName, CallCounts>,
    /// When it was last looked for callers that ask no more.
    looked: Duration,
    /// Those for whom there was no room.
    nameless: CallCounts,
}

impl CallerTable {
    /// Creates a table that tells at most so many callers apart.
    pub(super) fn of(most: usize) -> Self {
        CallerTable {
            most,
            callers: HashMap::new(),
            looked: Duration::ZERO,
            nameless: CallCounts::default(),
        }
    }

    /// Counts a call that was over at `now`.
    pub(super) fn count(&mut self, now: Duration, who: &CallerName, has_failed: bool) {
        self.counts_of(now, who).add(now, has_failed);
    }

    fn counts_of(&mut self, now: Duration, who: &CallerName) -> &mut CallCounts {
        let is_full = self.callers.len() >= self.most && !self.callers.contains_key(who);
        // Nobody becomes idle between two moments.
        if is_full && now >= self.looked + MOMENT {
            self.looked = now;
            self.forget_idle(now);
        }
        if self.callers.len() >= self.most && !self.callers.contains_key(who) {
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
        self.callers.retain(|_, counts| !counts.is_idle(now));
    }

    /// Returns whether nobody asked within the window before `now`.
    pub(super) fn is_idle(&mut self, now: Duration) -> bool {
        self.forget_idle(now);
        self.callers.is_empty() && self.nameless.is_idle(now)
    }

    /// Returns the callers of the window, the busiest first, of whom `shown` are listed one by one.
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
