//! Events in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::placement::DeviceSlot;
use crate::variants::VariantIndex;

/// An event of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FleetEvent {
    /// The batch of this number ends.
    BatchEnds(usize),
    /// An instance is loaded.
    Loaded(DeviceSlot, VariantIndex),
    /// The machine with this number has started.
    WorkerStarted(usize),
    /// The next query arrives.
    Arrives(usize),
    /// A job is submitted.
    Submitted(usize),
    /// The slow loop decides.
    Tick,
}

/// Virtual time. Simultaneous events come in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(super) struct VirtualClock {
    now: Duration,
    planned: u64,
    events: BinaryHeap<Reverse<(Duration, u64, FleetEvent)>>,
}

impl VirtualClock {
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    pub(super) fn plan(&mut self, at: Duration, event: FleetEvent) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, event)));
    }

    /// Advances to the next event.
    pub(super) fn next(&mut self) -> Option<FleetEvent> {
        let Reverse((at, _, event)) = self.events.pop()?;
        self.now = at;
        Some(event)
    }
}
