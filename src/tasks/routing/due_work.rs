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
    pub(super) fn new((shortest, longest): (Duration, Duration)) -> Self {
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
mod tests {
    use std::time::Duration;

    use super::{DueTime, DueWork};

    const MILLI: u64 = 1_000_000;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn work() -> DueWork {
        DueWork::new((ms(2), ms(100)))
    }

    #[test]
    fn work_goes_before_what_is_due_later_and_in_the_same_slot() {
        let mut work = work();
        for (due, millis) in [(100, 1), (10, 2), (50, 4), (11, 8), (1500, 16)] {
            work.add(ms(due), millis * MILLI, 0);
        }
        let before = [0, 9, 10, 11, 50, 99, 101, 1600];
        let found = before.map(|due| work.work_before(ms(due)) / MILLI);
        assert_eq!(found, [0, 0, 10, 10, 14, 14, 15, 31]);
        assert_eq!(work.total() / MILLI, 31);
    }

    #[test]
    fn what_is_overdue_goes_first_until_it_is_taken_off() {
        let mut work = work();
        let slots = [(10, 2), (50, 4)].map(|(due, millis)| {
            let slot = work.add(ms(due), millis * MILLI, 0);
            (slot, millis * MILLI)
        });
        work.pass(ms(30));
        assert_eq!(work.work_before(ms(30)) / MILLI, 2);
        work.pass(ms(60_000));
        assert_eq!(work.work_before(ms(60_000)) / MILLI, 6);
        for (slot, taken) in slots {
            work.remove(slot, taken);
        }
        assert_eq!(work.total(), 0);
    }

    #[test]
    fn as_much_may_go_before_queries_as_leaves_them_in_time() {
        let mut work = work();
        // Two queries of 30 ms each have a deadline at 99 ms and are answered 10 ms after their
        // batch begins: the last one may wait for 90 ms, to the end of its slot.
        for _ in 0..2 {
            work.add(ms(99), 30 * MILLI, 10 * MILLI);
        }
        let slack = |work: &DueWork, due| work.slack(ms(due), 0, 1.0) / MILLI as i64;
        assert_eq!(slack(&work, 50), 60);
        assert_eq!(
            work.slack(ms(50), 0, 0.5) / MILLI as i64,
            15,
            "of a slower device"
        );
        let first = work.slack(ms(50), 40 * MILLI, 1.0);
        assert_eq!(first / MILLI as i64, 20, "what goes before all");
        assert_eq!(work.slack(ms(99), 0, 1.0), i64::MAX, "it goes behind them");
        work.pass(ms(90));
        assert_eq!(slack(&work, 92), -30);
    }

    #[test]
    fn what_came_later_and_went_before_is_known_even_once_it_is_overdue() {
        let mut work = work();
        let slot = work.add(ms(100), MILLI, 0);
        assert_eq!(slot, DueTime::At(100 * MILLI));
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

    #[test]
    fn slots_grow_with_the_latest_time_and_are_short_again_once_nothing_waits() {
        let mut work = work();
        let due = [(10, 1), (21, 2), (40_000, 4), (9, 8), (90_000_000, 16)];
        let added = due.map(|(due, millis)| (work.add(ms(due), millis * MILLI, 0), millis));
        let before = [10, 39_000, 41_000, 80_000_000].map(|due| work.work_before(ms(due)) / MILLI);
        // Deadlines in 40 s need slots of 64 ms; deadlines in years are not distinguished.
        assert_eq!(before, [11, 11, 15, 31]);
        work.pass(ms(200));
        assert_eq!(work.work_before(ms(200)) / MILLI, 11, "it is overdue");
        for (due, millis) in added {
            work.remove(due, millis * MILLI);
        }
        assert_eq!(work.total(), 0);
        for (due, millis) in [(210, 1), (213, 2)] {
            work.add(ms(due), millis * MILLI, 0);
        }
        assert_eq!(work.work_before(ms(211)) / MILLI, 1);
    }

    #[test]
    fn what_is_taken_off_is_what_was_added_however_slots_grew() {
        let mut work = work();
        let mut added = Vec::new();
        // Deadlines from a linear congruential generator.
        let mut state = 1_u64;
        for step in 0..20_000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let within = (state >> 33) % [20, 500, 5_000, 100_000][(step / 500 % 4) as usize];
            work.pass(ms(step / 4));
            let at = work.add(ms(step / 4 + within), state % MILLI, 0);
            added.push((at, state % MILLI));
            if step % 3 != 0 {
                let (at, taken) = added.swap_remove((state >> 20) as usize % added.len());
                work.remove(at, taken);
            }
            let left: u64 = added.iter().map(|(_, work)| work).sum();
            assert_eq!(work.total(), left, "after step {step}");
            if step % 2000 == 1999 {
                added
                    .drain(..)
                    .for_each(|(at, taken)| work.remove(at, taken));
            }
        }
    }
}
