//! The samples of a pool by the time at which their requests are due.

use std::collections::BTreeMap;
use std::time::Duration;

/// Times are told apart by so many milliseconds.
const SLOT: u128 = 16;

/// The turn that a request takes among those that its pool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DueTurn {
    /// First: it is of the most urgent level, and names no time by which it is to be answered.
    First,
    /// As it is due by that time, among those of the most urgent level.
    Due(Duration),
    /// Behind those of another level.
    Behind,
}

/// The samples that a pool holds for requests of the most urgent level.
#[derive(Debug, Default)]
pub(super) struct DueSamples {
    /// Those of requests that go first.
    first: usize,
    /// Those of others, by the slot of the time by which they are due.
    slots: BTreeMap<u128, usize>,
}

impl DueSamples {
    /// Adds samples of a request.
    pub(super) fn hold(&mut self, turn: DueTurn, samples: usize) {
        match turn {
            DueTurn::First => self.first += samples,
            DueTurn::Due(due) => *self.slots.entry(slot(due)).or_default() += samples,
            DueTurn::Behind => {}
        }
    }

    /// Takes them off.
    pub(super) fn free(&mut self, turn: DueTurn, samples: usize) {
        match turn {
            DueTurn::First => self.first = self.first.saturating_sub(samples),
            DueTurn::Due(due) => self.free_slot(slot(due), samples),
            DueTurn::Behind => {}
        }
    }

    fn free_slot(&mut self, slot: u128, samples: usize) {
        if let Some(held) = self.slots.get_mut(&slot) {
            *held = held.saturating_sub(samples);
            if *held == 0 {
                self.slots.remove(&slot);
            }
        }
    }

    /// Returns the samples that go before those of a request, or `None` where another level does.
    pub(super) fn before(&self, turn: DueTurn) -> Option<usize> {
        match turn {
            DueTurn::First => Some(0),
            DueTurn::Due(due) => {
                let sooner = self.slots.range(..=slot(due));
                Some(self.first + sooner.map(|(_, samples)| samples).sum::<usize>())
            }
            DueTurn::Behind => None,
        }
    }
}

fn slot(due: Duration) -> u128 {
    due.as_millis() / SLOT
}
