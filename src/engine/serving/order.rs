//! The order in which samples run: by priority, then by deadline, then by arrival.
//!
//! All steps of a request keep the place of the request: later steps of older requests run before
//! first steps of newer requests.

use std::time::Duration;

/// The position of a sample in the order of execution, over all requests: by urgency, then by due
/// time (earliest deadline first), then by arrival.
///
/// Requests without a due time go before others of the same urgency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleOrder {
    /// The urgency, below 0 for more urgent requests.
    urgency: i16,
    /// Whether the sample waited too long and moved behind all others of its urgency.
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

    /// Returns the position of the sample that comes `samples` later in its request.
    pub(super) fn plus(self, samples: usize) -> Self {
        SampleOrder {
            arrival: self.arrival + samples as u64,
            ..self
        }
    }

    /// Returns the position of the same sample behind all others of its urgency.
    pub(super) fn delayed(self) -> Self {
        SampleOrder {
            is_delayed: true,
            ..self
        }
    }
}
