//! The work of a device by the time at which its answers are due.

use std::collections::VecDeque;
use std::time::Duration;

/// The times that are told apart, from now on and before now.
const SLOTS: usize = 1_000;

/// When the answer to a query is due, as far as it is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DueSlot {
    /// In a slot of time, counted from the start.
    At(u64),
    /// Later than what is told apart.
    Later,
}

/// The work for queries that are due by certain times, in nanoseconds, earliest deadline first.
///
/// Times are told apart in slots: of queries that are due in the same one any may go first.
#[derive(Clone, Debug)]
pub(super) struct DueWork {
    /// The length of a slot.
    slot: u64,
    now: u64,
    /// The slot of now.
    current: u64,
    /// Work that was due before.
    overdue: u64,
    /// Work that is due from now on, slot by slot.
    due: VecDeque<SlotWork>,
    later: u64,
    /// All work that was ever added for what was due before.
    entered: u64,
    /// The same, before each of the last slots, the latest one last.
    entered_before: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SlotWork {
    waits: u64,
    entered: u64,
    /// The most that was added at once.
    largest: u64,
    /// The most time between the beginning of a query's batch and its answer.
    answering: u64,
}

impl DueWork {
    /// Creates a device without work, of slots of a length.
    pub(super) fn new(slot: Duration) -> Self {
        DueWork {
            slot: nanoseconds(slot).max(1),
            now: 0,
            current: 0,
            overdue: 0,
            due: VecDeque::new(),
            later: 0,
            entered: 0,
            entered_before: VecDeque::new(),
        }
    }

    /// Lets time pass.
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
    }

    /// Returns how many slots after now's that of a time is.
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

    /// Adds the work of a query that is due by a time, and is answered `answering` after its batch begins.
    pub(super) fn add(&mut self, by: Duration, work: u64, answering: u64) -> DueSlot {
        let at = self.place(by);
        if at >= SLOTS {
            self.later += work;
            return DueSlot::Later;
        }
        if self.due.len() <= at {
            self.due.resize(at + 1, SlotWork::default());
        }
        let slot = &mut self.due[at];
        slot.waits += work;
        slot.entered += work;
        slot.largest = slot.largest.max(work);
        slot.answering = slot.answering.max(answering);
        DueSlot::At(self.current + at as u64)
    }

    /// Takes work off that was added.
    pub(super) fn remove(&mut self, slot: DueSlot, work: u64) {
        let waits = match slot {
            DueSlot::Later => &mut self.later,
            DueSlot::At(at) if at < self.current => &mut self.overdue,
            DueSlot::At(at) => match self.due.get_mut((at - self.current) as usize) {
                Some(slot) => &mut slot.waits,
                None => return,
            },
        };
        *waits = waits.saturating_sub(work);
    }

    /// Returns the work that goes before a query which is due by a time.
    pub(super) fn before(&self, by: Duration) -> u64 {
        let slots = self.place(by);
        let due = self.due.iter().take(slots.saturating_add(1));
        let waits = self.overdue + due.map(|slot| slot.waits).sum::<u64>();
        waits + if slots >= SLOTS { self.later } else { 0 }
    }

    /// Returns all work.
    pub(super) fn all(&self) -> u64 {
        let due = self.due.iter();
        self.overdue + due.map(|slot| slot.waits).sum::<u64>() + self.later
    }

    /// Returns how much work may go before those that are due after a time without making one late, where
    /// a device does `pace` of work a second; below 0 where one is late anyway.
    pub(super) fn slack(&self, by: Duration, pace: f64) -> i64 {
        let at = self.place(by);
        let (mut ahead, mut slack) = (self.overdue, i64::MAX);
        for (place, due) in self.due.iter().enumerate() {
            ahead += due.waits;
            if place > at && due.waits > 0 {
                let end = (self.current + place as u64 + 1) * self.slot;
                // The last one does not wait for itself.
                let waits = ahead.saturating_sub(due.largest);
                let left = (end - self.now).saturating_sub(due.answering);
                slack = slack.min((pace * left as f64) as i64 - waits as i64);
            }
        }
        slack
    }

    /// Returns all work that was ever added for what was due before a slot. What that grows by has gone
    /// before those that are due in the slot.
    pub(super) fn entered_before(&self, slot: DueSlot) -> u64 {
        let sum = |slots: usize| {
            let due = self.due.iter().take(slots);
            self.entered + due.map(|slot| slot.entered).sum::<u64>()
        };
        match slot {
            DueSlot::Later => sum(SLOTS),
            DueSlot::At(at) if at >= self.current => sum((at - self.current) as usize),
            DueSlot::At(at) => {
                let passed = (self.current - at) as usize;
                let known = self.entered_before.len();
                let place = known.checked_sub(passed);
                let oldest = self.entered_before.front();
                let entered = place.map_or(oldest, |place| self.entered_before.get(place));
                entered.copied().unwrap_or(self.entered)
            }
        }
    }
}

/// Returns a time in nanoseconds: what is longer than centuries is that long.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DueSlot, DueWork};

    const MILLI: u64 = 1_000_000;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn work() -> DueWork {
        DueWork::new(ms(2))
    }

    #[test]
    fn work_goes_before_what_is_due_later_and_in_the_same_slot() {
        let mut work = work();
        for (due, millis) in [(100, 1), (10, 2), (50, 4), (11, 8), (9000, 16)] {
            work.add(ms(due), millis * MILLI, 0);
        }
        let before = [0, 9, 10, 11, 50, 99, 101, 8000];
        let found = before.map(|due| work.before(ms(due)) / MILLI);
        assert_eq!(found, [0, 0, 10, 10, 14, 14, 15, 31]);
        assert_eq!(work.all() / MILLI, 31);
    }

    #[test]
    fn what_is_overdue_goes_first_until_it_is_taken_off() {
        let mut work = work();
        let slots = [(10, 2), (50, 4)].map(|(due, millis)| {
            let slot = work.add(ms(due), millis * MILLI, 0);
            (slot, millis * MILLI)
        });
        work.pass(ms(30));
        assert_eq!(work.before(ms(30)) / MILLI, 2);
        work.pass(ms(60_000));
        assert_eq!(work.before(ms(60_000)) / MILLI, 6);
        for (slot, taken) in slots {
            work.remove(slot, taken);
        }
        assert_eq!(work.all(), 0);
    }

    #[test]
    fn as_much_may_go_before_queries_as_leaves_them_in_time() {
        let mut work = work();
        // Two of 30 ms each, due at 99 ms and answered 10 ms after their batch begins: the last one may
        // wait for 90 ms, to the end of its slot.
        for _ in 0..2 {
            work.add(ms(99), 30 * MILLI, 10 * MILLI);
        }
        let slack = |work: &DueWork, due| work.slack(ms(due), 1.0) / MILLI as i64;
        assert_eq!(slack(&work, 50), 60);
        assert_eq!(
            work.slack(ms(50), 0.5) / MILLI as i64,
            15,
            "of a slower device"
        );
        assert_eq!(work.slack(ms(99), 1.0), i64::MAX, "it goes behind them");
        work.pass(ms(90));
        assert_eq!(slack(&work, 92), -30);
    }

    #[test]
    fn what_came_later_and_went_before_is_known_even_once_it_is_overdue() {
        let mut work = work();
        let slot = work.add(ms(100), MILLI, 0);
        assert_eq!(slot, DueSlot::At(50));
        let known = work.entered_before(slot);
        let overtaken = |work: &DueWork| (work.entered_before(slot) - known) / MILLI;
        work.add(ms(40), 3 * MILLI, 0);
        work.add(ms(100), 5 * MILLI, 0);
        work.add(ms(140), 7 * MILLI, 0);
        assert_eq!(overtaken(&work), 3);
        for now in [50, 101, 120, 1000] {
            work.pass(ms(now));
            assert_eq!(overtaken(&work), 3, "at {now} ms");
        }
    }
}
