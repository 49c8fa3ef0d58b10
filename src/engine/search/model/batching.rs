//! The formation of batches, as far as it limits a worker: their rows and the number in execution
//! at once. Also the costs of one member's batches on a device of their own.

use crate::serving::{Setup, lane_sizes};
use divisi_model::ensemble::{BatchSize, Ensemble, PolicyKind};
use divisi_model::profile::{Alone, Costs};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// A batching policy with its segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The policy.
    pub policy: PolicyKind,
    /// The samples of a segment.
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
    pub fn from_ensemble(ensemble: &Ensemble) -> Self {
        Batching {
            policy: ensemble.policy,
            segment: ensemble.segment_size,
        }
    }

    /// Returns whether samples are on the device before a batch begins.
    pub(super) fn copies_ahead(&self, side_by_side: bool) -> bool {
        side_by_side && self.policy.copies_ahead()
    }

    /// Returns whether a worker has several batches in execution.
    pub(super) fn is_laned(&self, side_by_side: bool) -> bool {
        side_by_side && matches!(self.policy, PolicyKind::Elastic { .. })
    }

    /// Returns the rows of the batches that a worker runs at once while enough samples wait, the
    /// largest first. Each lane runs its batches one after another.
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

    /// Returns the rows of the batches that a lane of `rows` runs in turn while enough samples
    /// wait. The last batch of a segment has the remaining rows.
    pub(super) fn turns(&self, rows: usize) -> Vec<usize> {
        let PolicyKind::Segment { .. } = self.policy else {
            return vec![rows];
        };
        let full = self.segment / rows;
        let rest = self.segment % rows;
        let turns = std::iter::repeat_n(rows, full);
        turns.chain((rest > 0).then_some(rest)).collect()
    }

    /// Returns the possible rows of a worker's batches for any queue, the fewest first.
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

    /// Returns the most samples in execution on one device.
    pub(super) fn most_alive(&self) -> usize {
        match self.policy {
            PolicyKind::Elastic { max_inf: Some(n) } => n.get() as usize,
            _ => usize::MAX,
        }
    }
}

/// The fewest seconds per sample. Costs of zero have no solution.
pub(super) const LEAST: f64 = 1e-12;

/// The costs of one member's batches on a device of their own.
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
    /// Creates the costs of a worker of `member` on `device`.
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

    /// Returns the costs of a batch of `rows`.
    pub(crate) fn batch(&self, rows: usize) -> Alone {
        match self.batching.copies_ahead(self.side_by_side) {
            true => self.costs.alone_copied(self.member, self.device, rows),
            false => self.costs.alone(self.member, self.device, rows),
        }
    }

    /// Returns the seconds of the whole device per sample in a lane of `rows`.
    pub(crate) fn seconds_of_turns(&self, rows: usize) -> f64 {
        let turns = self.turns(rows);
        let occupied = turns.iter().map(|&rows| self.batch(rows).occupied);
        occupied.sum::<f64>() / turns.iter().sum::<usize>() as f64
    }

    /// Returns the samples per second of consecutive batches of `rows`.
    pub(crate) fn pace(&self, rows: usize) -> f64 {
        let samples = rows as f64;
        samples / self.batch(rows).latency.max(LEAST * samples)
    }

    /// Returns [`Batching::lanes`] for this device.
    pub(crate) fn lanes(&self, size: BatchSize) -> Vec<usize> {
        self.batching.lanes(size, self.side_by_side)
    }

    /// Returns [`Batching::turns`].
    pub(crate) fn turns(&self, rows: usize) -> Vec<usize> {
        self.batching.turns(rows)
    }

    /// Returns [`Batching::rows`] for this device.
    pub(crate) fn rows(&self, size: BatchSize) -> Vec<usize> {
        self.batching.rows(size, self.side_by_side)
    }

    /// Returns the most samples per second of all batches that a worker has in execution at once.
    pub(crate) fn fastest(&self, size: BatchSize) -> f64 {
        let rows = self.rows(size);
        if !self.batching.is_laned(self.side_by_side) {
            return rows.iter().map(|&rows| self.pace(rows)).fold(0.0, f64::max);
        }
        // If the samples in execution are limited, small lanes use the limit best, because their
        // batches finish first.
        let mut room = self.batching.most_alive();
        let paces = rows.iter().map(|&rows| {
            let alive = rows.min(room);
            room -= alive;
            self.pace(rows) * alive as f64 / rows as f64
        });
        paces.sum()
    }

    /// Returns the most samples in execution on the device, or infinity without a limit.
    pub(crate) fn most_alive(&self) -> f64 {
        match (self.side_by_side, self.batching.most_alive()) {
            (false, _) | (_, usize::MAX) => f64::INFINITY,
            (true, most) => most as f64,
        }
    }
}
