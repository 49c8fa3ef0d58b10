//! The samples of a pool by the due time of their requests.

use std::collections::BTreeMap;
use std::time::Duration;

/// The resolution of due times, in milliseconds.
const SLOT: u128 = 16;

/// The turn of a request among the requests of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DueTurn {
    /// First: a request of the most urgent level without a due time.
    First,
    /// By this due time, among requests of the most urgent level.
    Due(Duration),
    /// After the requests of another level.
    Behind,
}

/// The samples in a pool for requests of the most urgent level.
#[derive(Debug, Default)]
pub(super) struct DueSamples {
    /// Samples of requests without a due time, which go first.
    first: usize,
    /// Samples of other requests, by the slot of their due time.
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

    /// Removes samples of a request.
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

    /// Returns the samples that go before a request, or `None` if another level does.
    pub(super) fn samples_before(&self, turn: DueTurn) -> Option<usize> {
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
