//! The units of a simulated device, shared by operations in order of their start.

use super::executor::{JobId, seconds};
use super::law::Kernel;

/// Operations under way: an earlier one has all units it asks for, as far as there
/// are any; later ones get what is left and more as soon as it is free.
#[derive(Clone, Debug)]
pub(super) struct Units {
    units: u32,
    active: Vec<Active>,
    /// Until when progress is accounted for.
    at: u64,
}

#[derive(Clone, Debug)]
struct Active {
    job: JobId,
    units: u32,
    /// Seconds left with all its units.
    left: f64,
    /// Share of its units that it has.
    share: f64,
    ends: u64,
}

impl Units {
    /// Nothing under way.
    pub fn new(units: u32) -> Self {
        Units {
            units,
            active: Vec::new(),
            at: 0,
        }
    }

    /// An operation is ready to run.
    pub fn enter(&mut self, at: u64, job: JobId, kernel: Kernel) {
        self.progress(at);
        self.active.push(Active {
            job,
            units: kernel.units.clamp(1, self.units),
            left: kernel.seconds,
            share: 0.0,
            ends: u64::MAX,
        });
        self.share_out();
    }

    /// When the next operation is done.
    pub fn next_end(&self) -> Option<u64> {
        self.active.iter().map(|a| a.ends).min()
    }

    /// Takes out the operations that are done.
    pub fn take_done(&mut self, at: u64) -> Vec<JobId> {
        if self.next_end().is_none_or(|end| end > at) {
            return Vec::new();
        }
        self.progress(at);
        let done = self.active.extract_if(.., |a| a.ends <= at);
        let done = done.map(|a| a.job).collect();
        self.share_out();
        done
    }

    fn progress(&mut self, at: u64) {
        let passed = at.saturating_sub(self.at) as f64 / 1e9;
        for active in &mut self.active {
            active.left = (active.left - passed * active.share).max(0.0);
        }
        self.at = at;
    }

    fn share_out(&mut self) {
        let mut free = self.units;
        for active in &mut self.active {
            let got = active.units.min(free);
            free -= got;
            active.share = f64::from(got) / f64::from(active.units);
            active.ends = match got {
                0 => u64::MAX,
                _ => self.at.saturating_add(seconds(active.left / active.share)),
            };
        }
    }
}
