//! How batches form, as far as it decides what a worker can do: the rows that they have
//! and how many run at once.

use crate::ensemble::{BatchSize, Ensemble, PolicyKind};
use crate::serving::{Setup, lane_sizes};

/// A batching policy with the size of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    pub policy: PolicyKind,
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
    /// What an ensemble is served by.
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
