//! The samples of a pool by the time at which their requests are due.

use std::collections::BTreeMap;
use std::time::Duration;

/// Times are told apart by so many milliseconds.
const SLOT: u128 = 16;

/// The samples that a pool holds for requests of the most urgent level.
#[derive(Debug, Default)]
pub(super) struct DueSamples {
    /// Those of requests that name no time by which they are to be answered: they go first.
    at_once: usize,
    /// Those of others, by the slot of that time.
    slots: BTreeMap<u128, usize>,
}

impl DueSamples {
    /// Adds samples of a request.
    pub(super) fn hold(&mut self, due: Option<Duration>, samples: usize) {
        match due {
            None => self.at_once += samples,
            Some(due) => *self.slots.entry(slot(due)).or_default() += samples,
        }
    }

    /// Takes them off.
    pub(super) fn free(&mut self, due: Option<Duration>, samples: usize) {
        let Some(slot) = due.map(slot) else {
            self.at_once = self.at_once.saturating_sub(samples);
            return;
        };
        if let Some(held) = self.slots.get_mut(&slot) {
            *held = held.saturating_sub(samples);
            if *held == 0 {
                self.slots.remove(&slot);
            }
        }
    }

    /// Returns the samples that go before those of a request which is due by a time.
    pub(super) fn before(&self, due: Duration) -> usize {
        let sooner = self.slots.range(..=slot(due));
        self.at_once + sooner.map(|(_, samples)| samples).sum::<usize>()
    }
}

fn slot(due: Duration) -> u128 {
    due.as_millis() / SLOT
}
