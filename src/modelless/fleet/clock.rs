//! Events in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::placement::DeviceSlot;
use crate::variants::VariantIndex;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FleetEvent {
    /// The batch of this number ends.
    BatchEnds(usize),
    /// An instance has been loaded.
    Loaded(DeviceSlot, VariantIndex),
    /// The machine of this number is there.
    WorkerStarted(usize),
    /// The next query arrives.
    Arrives(usize),
    /// A job is submitted.
    Submitted(usize),
    /// The slow loop decides.
    Tick,
}

/// Virtual time. Events of the same time come in the order in which they were planned.
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

    /// Goes on to the next event.
    pub(super) fn next(&mut self) -> Option<FleetEvent> {
        let Reverse((at, _, event)) = self.events.pop()?;
        self.now = at;
        Some(event)
    }
}
