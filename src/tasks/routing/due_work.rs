//! The work of a device by deadline.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of slots in the future and in the past.
const SLOTS: usize = 1_000;

/// A deadline, at the resolution of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DueTime {
    /// A deadline in nanoseconds.
    At(u64),
    /// A deadline beyond the last slot.
    Later,
}

/// The work for queries with deadlines in nanoseconds, earliest deadline first.
///
/// Deadlines are grouped into slots, within which the order of queries is undefined. Slots grow
/// with the latest deadline, and become short again once no query waits.
#[derive(Clone, Debug)]
pub(super) struct DueWork {
    /// The length of a slot.
    slot: u64,
    /// The shortest and longest slot length.
    lengths: (u64, u64),
    now: u64,
    /// The current slot.
    current: u64,
    /// The time before which work is overdue. Slots in the past stay overdue when slots grow.
    overdue_before: u64,
    /// The overdue work.
    overdue: u64,
    /// The work with a deadline from now on, by slot.
    due: VecDeque<SlotWork>,
    later: u64,
    /// The total work ever added that was overdue.
    entered: u64,
    /// The total work ever added before each of the last slots, the latest one last.
    entered_before: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SlotWork {
    waits: u64,
    entered: u64,
    /// The largest work added at once.
    largest: u64,
    /// The longest time between the start of a query's batch and its answer.
    answering: u64,
}

impl SlotWork {
    fn join(&mut self, other: SlotWork) {
        self.waits += other.waits;
        self.entered += other.entered;
        self.largest = self.largest.max(other.largest);
        self.answering = self.answering.max(other.answering);
    }
}

impl DueWork {
    /// Creates a device without work, with slots between two lengths.
    pub(super) fn new(shortest: Duration, longest: Duration) -> Self {
        let shortest = nanoseconds(shortest).max(1);
        DueWork {
            slot: shortest,
            lengths: (shortest, nanoseconds(longest).max(shortest)),
            now: 0,
            current: 0,
            overdue_before: 0,
            overdue: 0,
            due: VecDeque::new(),
            later: 0,
            entered: 0,
            entered_before: VecDeque::new(),
        }
    }

    /// Advances the time.
    pub(super) fn pass(&mut self, now: Duration) {
        self.now = self.now.max(nanoseconds(now));
        let current = self.now / self.slot;
        let passed = current - self.current;
        for _ in 0..passed.min(SLOTS as u64) {
            self.note_entered();
            let past = self.due.pop_front().unwrap_or_default();
            self.overdue += past.waits;
            self.entered += past.entered;
        }
        self.current = current;
        self.overdue_before = self.overdue_before.max(current * self.slot);
    }

    /// Grows the slots until a deadline fits, up to the longest length, or shrinks them if no query
    /// waits.
    fn fit(&mut self, by: Duration) {
        if self.slot > self.lengths.0 && self.total() == 0 {
            self.regroup(self.lengths.0);
        }
        // Doubling keeps every old slot within one new slot.
        while self.place(by) >= SLOTS && 2 * self.slot <= self.lengths.1 {
            self.regroup(2 * self.slot);
        }
    }

    /// Changes the slot length. The work of an old slot moves to the slot of its end.
    fn regroup(&mut self, length: u64) {
        let slots = std::mem::take(&mut self.due);
        let ends = (self.current + 1..).map(|end| end * self.slot - 1);
        let slots: Vec<(u64, SlotWork)> = ends.zip(slots).collect();
        self.slot = length;
        self.current = self.now / length;
        // The split of this work among the new slots is unknown.
        self.entered_before.clear();
        for (end, work) in slots.into_iter().filter(|(_, work)| work.entered > 0) {
            let at = self.place(Duration::from_nanos(end)).min(SLOTS - 1);
            self.slot_at(at).join(work);
        }
    }

    fn slot_at(&mut self, at: usize) -> &mut SlotWork {
        if self.due.len() <= at {
            self.due.resize(at + 1, SlotWork::default());
        }
        &mut self.due[at]
    }

    /// Returns the slot of a deadline, relative to the current slot.
    fn place(&self, by: Duration) -> usize {
        let slots = (nanoseconds(by) / self.slot).saturating_sub(self.current);
        usize::try_from(slots).unwrap_or(usize::MAX)
    }

    fn note_entered(&mut self) {
        self.entered_before.push_back(self.entered);
        if self.entered_before.len() > SLOTS {
            self.entered_before.pop_front();
        }
    }

    /// Adds the work of a query with a deadline; its answer comes `answering` after its batch
    /// begins.
    pub(super) fn add(&mut self, by: Duration, work: u64, answering: u64) -> DueTime {
        self.fit(by);
        let at = self.place(by);
        if at >= SLOTS {
            self.later += work;
            return DueTime::Later;
        }
        self.slot_at(at).join(SlotWork {
            waits: work,
            entered: work,
            largest: work,
            answering,
        });
        DueTime::At(nanoseconds(by).max(self.now))
    }

    /// Removes work that was added.
    pub(super) fn remove(&mut self, due: DueTime, work: u64) {
        let waits = match due {
            DueTime::Later => &mut self.later,
            DueTime::At(at) if at < self.overdue_before => &mut self.overdue,
            DueTime::At(at) => {
                let place = self.place(Duration::from_nanos(at));
                match self.due.get_mut(place) {
                    Some(slot) => &mut slot.waits,
                    None => return,
                }
            }
        };
        *waits = waits.saturating_sub(work);
    }

    /// Returns the work ahead of a query with this deadline.
    pub(super) fn work_before(&self, by: Duration) -> u64 {
        let slots = self.place(by);
        let due = self.due.iter().take(slots.saturating_add(1));
        let waits = self.overdue + due.map(|slot| slot.waits).sum::<u64>();
        waits + if slots >= SLOTS { self.later } else { 0 }
    }

    /// Returns the total work.
    pub(super) fn total(&self) -> u64 {
        let due = self.due.iter();
        self.overdue + due.map(|slot| slot.waits).sum::<u64>() + self.later
    }

    /// Returns the work that may go ahead of the queries with later deadlines without making one
    /// late. `first` is the work ahead of all, and a device does `pace` of work a second. Negative
    /// if a query is late anyway.
    pub(super) fn slack(&self, by: Duration, first: u64, pace: f64) -> i64 {
        let at = self.place(by);
        let (mut ahead, mut slack) = (first + self.overdue, i64::MAX);
        for (place, due) in self.due.iter().enumerate() {
            ahead += due.waits;
            if place > at && due.waits > 0 {
                let end = (self.current + place as u64 + 1) * self.slot;
                // The last query does not wait for itself.
                let waits = ahead.saturating_sub(due.largest);
                let left = (end - self.now).saturating_sub(due.answering);
                slack = slack.min((pace * left as f64) as i64 - waits as i64);
            }
        }
        slack
    }

    /// Returns the total work ever added with a deadline before a slot. Its growth is the work that
    /// went ahead of the queries in the slot.
    pub(super) fn entered_before(&self, due: DueTime) -> u64 {
        let sum = |slots: usize| {
            let due = self.due.iter().take(slots);
            self.entered + due.map(|slot| slot.entered).sum::<u64>()
        };
        match due {
            DueTime::Later => sum(SLOTS),
            DueTime::At(at) if at >= self.overdue_before => {
                sum(self.place(Duration::from_nanos(at)))
            }
            DueTime::At(at) => {
                let passed = self.current.saturating_sub(at / self.slot) as usize;
                let known = self.entered_before.len();
                let place = known.checked_sub(passed);
                let oldest = self.entered_before.front();
                let entered = place.map_or(oldest, |place| self.entered_before.get(place));
                entered.copied().unwrap_or(self.entered)
            }
        }
    }
}

/// Returns a time in nanoseconds, capped at the maximum.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/due_work.rs"]
mod tests;
