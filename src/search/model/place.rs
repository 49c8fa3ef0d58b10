//! One member on one device: what its batches cost there with the device to themselves.

use crate::ensemble::BatchSize;
use crate::profile::{Alone, Costs};

use super::batching::Batching;

/// Nothing is faster than this, in seconds a sample: costs of zero have no solution.
pub(super) const LEAST: f64 = 1e-12;

/// See the module's text.
pub(super) struct Place<'a> {
    costs: &'a Costs,
    batching: Batching,
    side_by_side: bool,
    pub member: usize,
    pub device: usize,
}

impl<'a> Place<'a> {
    /// A worker of `member` on `device`.
    pub fn new(costs: &'a Costs, batching: Batching, member: usize, device: usize) -> Self {
        Place {
            costs,
            batching,
            side_by_side: costs.is_shared(device),
            member,
            device,
        }
    }

    /// A batch of `rows`.
    pub fn batch(&self, rows: usize) -> Alone {
        match self.batching.copies_ahead(self.side_by_side) {
            true => self.costs.alone_copied(self.member, self.device, rows),
            false => self.costs.alone(self.member, self.device, rows),
        }
    }

    /// Seconds of the whole device that a sample takes in a lane of `rows`.
    pub fn seconds_of_turns(&self, rows: usize) -> f64 {
        let turns = self.turns(rows);
        let occupied = turns.iter().map(|&rows| self.batch(rows).occupied);
        occupied.sum::<f64>() / turns.iter().sum::<usize>() as f64
    }

    /// Samples a second of batches of `rows`, one after another.
    pub fn pace(&self, rows: usize) -> f64 {
        let samples = rows as f64;
        samples / self.batch(rows).latency.max(LEAST * samples)
    }

    /// As [`Batching::lanes`].
    pub fn lanes(&self, size: BatchSize) -> Vec<usize> {
        self.batching.lanes(size, self.side_by_side)
    }

    /// As [`Batching::turns`].
    pub fn turns(&self, rows: usize) -> Vec<usize> {
        self.batching.turns(rows)
    }

    /// As [`Batching::rows`].
    pub fn rows(&self, size: BatchSize) -> Vec<usize> {
        self.batching.rows(size, self.side_by_side)
    }

    /// Samples a second of all that a worker has in execution at once, at most.
    pub fn fastest(&self, size: BatchSize) -> f64 {
        let rows = self.rows(size);
        if !self.batching.is_laned(self.side_by_side) {
            return rows.iter().map(|&rows| self.pace(rows)).fold(0.0, f64::max);
        }
        // Where only so many samples may be alive, those of small lanes count most: their
        // batches are over soonest.
        let mut room = self.batching.most_alive();
        let paces = rows.iter().map(|&rows| {
            let alive = rows.min(room);
            room -= alive;
            self.pace(rows) * alive as f64 / rows as f64
        });
        paces.sum()
    }

    /// Samples that the device may have in execution at most; infinite where it may any.
    pub fn most_alive(&self) -> f64 {
        match (self.side_by_side, self.batching.most_alive()) {
            (false, _) | (_, usize::MAX) => f64::INFINITY,
            (true, most) => most as f64,
        }
    }
}
