//! How batches form, as far as it decides what a worker can do: the rows that they have
//! and how many run at once; and what those of one member cost on one device that they
//! have to themselves.

use crate::serving::{Setup, lane_sizes};
use divisi_model::ensemble::{BatchSize, Ensemble, PolicyKind};
use divisi_model::profile::{Alone, Costs};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// A batching policy with the size of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The policy.
    pub policy: PolicyKind,
    /// Samples of a segment.
    pub segment: usize,
}

impl From<&Setup> for Batching {
    fn from(setup: &Setup) -> Self {
        Batching {
            policy: setup.policy,
            segment: setup.segment_size,
        }
    }
}

impl Batching {
    /// Returns the batching of an ensemble's manifest.
    pub fn of(ensemble: &Ensemble) -> Self {
        Batching {
            policy: ensemble.policy,
            segment: ensemble.segment_size,
        }
    }

    /// Whether samples are on the device before a batch begins.
    pub(super) fn copies_ahead(&self, side_by_side: bool) -> bool {
        side_by_side && self.policy.copies_ahead()
    }

    /// Whether a worker has several batches in execution.
    pub(super) fn is_laned(&self, side_by_side: bool) -> bool {
        side_by_side && matches!(self.policy, PolicyKind::Elastic { .. })
    }

    /// Rows of the batches that a worker runs at once while enough samples wait, the
    /// largest first. Each lane runs one after another of them.
    pub(super) fn lanes(&self, size: BatchSize, side_by_side: bool) -> Vec<usize> {
        let mut room = self.most_alive();
        if !self.is_laned(side_by_side) {
            return vec![size.get().min(room)];
        }
        let mut lanes = Vec::new();
        for &lane in lane_sizes(self.policy, size, side_by_side).iter().rev() {
            if lane <= room {
                room -= lane;
                lanes.push(lane);
            }
        }
        lanes
    }

    /// Rows of the batches that a lane of `rows` runs in turn while enough samples wait:
    /// a segment ends with what is left of it.
    pub(super) fn turns(&self, rows: usize) -> Vec<usize> {
        let PolicyKind::Segment { .. } = self.policy else {
            return vec![rows];
        };
        let full = self.segment / rows;
        let rest = self.segment % rows;
        let turns = std::iter::repeat_n(rows, full);
        turns.chain((rest > 0).then_some(rest)).collect()
    }

    /// Rows that any batch of a worker may have, whatever waits, the fewest first.
    pub(super) fn rows(&self, size: BatchSize, side_by_side: bool) -> Vec<usize> {
        if self.is_laned(side_by_side) {
            let lanes = lane_sizes(self.policy, size, side_by_side);
            return lanes
                .into_iter()
                .filter(|l| *l <= self.most_alive())
                .collect();
        }
        let most = size.get().min(self.most_alive());
        match self.policy {
            PolicyKind::Static { .. } => vec![size.get()],
            PolicyKind::Segment { .. } => (1..=most.min(self.segment)).collect(),
            _ => (1..=most).collect(),
        }
    }

    /// Samples that one device may have in execution at most.
    pub(super) fn most_alive(&self) -> usize {
        match self.policy {
            PolicyKind::Elastic { max_inf: Some(n) } => n.get() as usize,
            _ => usize::MAX,
        }
    }
}

/// Nothing is faster than this, in seconds a sample: costs of zero have no solution.
pub(super) const LEAST: f64 = 1e-12;

/// The costs of one member's batches on one device that they have to themselves.
pub(super) struct EntryCosts<'a> {
    costs: &'a Costs,
    batching: Batching,
    side_by_side: bool,
    /// The member.
    pub member: MemberIndex,
    /// The device.
    pub device: DeviceIndex,
}

impl<'a> EntryCosts<'a> {
    /// A worker of `member` on `device`.
    pub(crate) fn new(
        costs: &'a Costs,
        batching: Batching,
        member: MemberIndex,
        device: DeviceIndex,
    ) -> Self {
        EntryCosts {
            costs,
            batching,
            side_by_side: costs.is_shared(device),
            member,
            device,
        }
    }

    /// A batch of `rows`.
    pub(crate) fn batch(&self, rows: usize) -> Alone {
        match self.batching.copies_ahead(self.side_by_side) {
            true => self.costs.alone_copied(self.member, self.device, rows),
            false => self.costs.alone(self.member, self.device, rows),
        }
    }

    /// Seconds of the whole device that a sample takes in a lane of `rows`.
    pub(crate) fn seconds_of_turns(&self, rows: usize) -> f64 {
        let turns = self.turns(rows);
        let occupied = turns.iter().map(|&rows| self.batch(rows).occupied);
        occupied.sum::<f64>() / turns.iter().sum::<usize>() as f64
    }

    /// Samples a second of batches of `rows`, one after another.
    pub(crate) fn pace(&self, rows: usize) -> f64 {
        let samples = rows as f64;
        samples / self.batch(rows).latency.max(LEAST * samples)
    }

    /// As [`Batching::lanes`].
    pub(crate) fn lanes(&self, size: BatchSize) -> Vec<usize> {
        self.batching.lanes(size, self.side_by_side)
    }

    /// As [`Batching::turns`].
    pub(crate) fn turns(&self, rows: usize) -> Vec<usize> {
        self.batching.turns(rows)
    }

    /// As [`Batching::rows`].
    pub(crate) fn rows(&self, size: BatchSize) -> Vec<usize> {
        self.batching.rows(size, self.side_by_side)
    }

    /// Samples a second of all that a worker has in execution at once, at most.
    pub(crate) fn fastest(&self, size: BatchSize) -> f64 {
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
    pub(crate) fn most_alive(&self) -> f64 {
        match (self.side_by_side, self.batching.most_alive()) {
            (false, _) | (_, usize::MAX) => f64::INFINITY,
            (true, most) => most as f64,
        }
    }
}
