//! The fate of every request: each must be answered exactly once.

use std::collections::HashMap;

use divisi_engine::serving::{Batch, Finished, Owed, RequestKey};

/// One request that was let in.
#[derive(Clone, Debug)]
pub struct Asked {
    samples: usize,
    answered: u32,
    failed: u32,
    withdrawn: bool,
    /// Samples that each member has run and folded.
    ran: Vec<usize>,
}

/// Figures of one run, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub events: u64,
    pub requests: u64,
    pub refused: u64,
    pub answered: u64,
    pub failed: u64,
    pub withdrawn: u64,
    pub lost: u64,
    pub twice: u64,
    /// Answers of requests of which a member ran a sample never, or more than once.
    pub wrong: u64,
    /// Moments at which a device slept that could have run what waited.
    pub idle: u64,
    pub panics: u64,
    pub losses: u64,
    pub drains: u64,
    pub cancels: u64,
}

impl Figures {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Figures) {
        let pairs = [
            (&mut self.events, other.events),
            (&mut self.requests, other.requests),
            (&mut self.refused, other.refused),
            (&mut self.answered, other.answered),
            (&mut self.failed, other.failed),
            (&mut self.withdrawn, other.withdrawn),
            (&mut self.lost, other.lost),
            (&mut self.twice, other.twice),
            (&mut self.wrong, other.wrong),
            (&mut self.idle, other.idle),
            (&mut self.panics, other.panics),
            (&mut self.losses, other.losses),
            (&mut self.drains, other.drains),
            (&mut self.cancels, other.cancels),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }

    /// Whether every request was answered exactly once, and by the right samples.
    pub fn are_right(&self) -> bool {
        self.lost + self.twice + self.wrong + self.idle == 0
            && self.requests == self.answered + self.failed + self.withdrawn
    }
}

/// Every request by its key.
#[derive(Debug, Default)]
pub struct Ledger {
    asked: HashMap<RequestKey, Asked>,
}

impl Ledger {
    /// A request was let in.
    pub fn let_in(&mut self, key: RequestKey, samples: usize, members: usize) {
        let asked = Asked {
            samples,
            answered: 0,
            failed: 0,
            withdrawn: false,
            ran: vec![0; members],
        };
        let known = self.asked.insert(key, asked);
        assert!(known.is_none(), "a key is given out once");
    }

    /// Its caller took it back before it was queued.
    pub fn withdrawn(&mut self, key: RequestKey) {
        if let Some(asked) = self.asked.get_mut(&key) {
            asked.withdrawn = true;
        }
    }

    /// A batch was folded.
    pub fn folded(&mut self, batch: &Batch<u64>) {
        for placed in &batch.ranges {
            if let Some(asked) = self.asked.get_mut(&placed.range.request) {
                asked.ran[batch.member] += placed.range.len;
            }
        }
    }

    /// These are complete.
    pub fn answered(&mut self, owed: Owed<u64>) {
        owed.pay(|done| self.asked_by(&done).answered += 1);
    }

    /// These were given up.
    pub fn failed(&mut self, owed: Owed<u64>) {
        owed.pay(|done| self.asked_by(&done).failed += 1);
    }

    fn asked_by(&mut self, done: &Finished<u64>) -> &mut Asked {
        let asked = self.asked.get_mut(&done.request);
        let asked = asked.expect("only what was let in is over");
        assert_eq!(asked.samples, done.samples, "samples of a request");
        asked
    }

    /// Returns the counts of what became of all.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        for asked in self.asked.values() {
            figures.requests += 1;
            figures.answered += u64::from(asked.answered);
            figures.failed += u64::from(asked.failed);
            figures.withdrawn += u64::from(asked.withdrawn);
            let times = asked.answered + asked.failed + u32::from(asked.withdrawn);
            figures.lost += u64::from(times == 0);
            figures.twice += u64::from(times > 1);
            let whole = asked.ran.iter().all(|ran| *ran == asked.samples);
            figures.wrong += u64::from(asked.answered > 0 && !whole);
        }
        figures
    }
}
