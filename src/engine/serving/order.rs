//! The order in which samples run: by priority, then by deadline, then by arrival.
//!
//! All steps of a request keep the place of the request: later steps of older requests run before
//! first steps of newer requests.

use std::time::Duration;

/// Place of a sample in the order in which samples run, over all requests: by urgency, then by the time by
/// which its request is to be answered (earliest deadline first), then by arrival.
///
/// Requests that name no such time go before those of their urgency that do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleOrder {
    /// Below 0 for those that hurry.
    urgency: i16,
    /// Those that waited too long are behind all others of their urgency.
    is_delayed: bool,
    due: Option<Duration>,
    arrival: u64,
}

impl SampleOrder {
    pub(super) fn new(urgency: i16, is_delayed: bool, due: Option<Duration>, arrival: u64) -> Self {
        SampleOrder {
            urgency,
            is_delayed,
            due,
            arrival,
        }
    }

    /// Returns the place of the sample that comes `samples` later in its request.
    pub(super) fn plus(self, samples: usize) -> Self {
        SampleOrder {
            arrival: self.arrival + samples as u64,
            ..self
        }
    }

    /// Returns the place of the same sample behind all others of its urgency.
    pub(super) fn delayed(self) -> Self {
        SampleOrder {
            is_delayed: true,
            ..self
        }
    }
}
