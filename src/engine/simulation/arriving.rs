//! The future requests of a simulation.

use std::time::Duration;

use crate::load::{Arrivals, EntryOrder, LoadError, LoadPattern};
use divisi_model::catalogue::Mix;

use super::Workload;

/// The requests that have not arrived yet.
pub(super) struct ArrivingRequests {
    /// The samples still to send.
    left: usize,
    kind: ArrivalKind,
    asked: EntryOrder,
}

/// The way in which requests arrive.
enum ArrivalKind {
    /// Requests of `samples` samples, as many at once as are admitted.
    Eager { samples: usize },
    /// Clients that each send a request of `samples` samples; `idle` of them have none under way.
    Closed { idle: usize, samples: usize },
    /// One sample at a time, each at its own time.
    Open {
        arrivals: Box<Arrivals>,
        next: Duration,
    },
}

impl ArrivingRequests {
    /// Creates the requests of a workload, of `segment` samples unless the workload specifies a
    /// size.
    ///
    /// # Errors
    /// A recording of arrivals cannot be read.
    pub(super) fn new(workload: &Workload, segment: usize, mix: &Mix) -> Result<Self, LoadError> {
        let (left, kind) = match workload {
            Workload::Saturate { samples } => (*samples, ArrivalKind::Eager { samples: segment }),
            Workload::Pattern {
                pattern,
                samples,
                seed,
            } => (*samples, of_pattern(pattern, *seed)?),
        };
        let asked = match workload {
            Workload::Saturate { .. } => EntryOrder::in_turn(mix),
            Workload::Pattern { pattern, seed, .. } => EntryOrder::for_pattern(pattern, mix, *seed),
        };
        Ok(ArrivingRequests { left, kind, asked })
    }

    /// Returns whether all samples were sent.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Returns the time of the next request, or `None` if it depends on answers.
    pub(super) fn next(&self) -> Option<Duration> {
        match &self.kind {
            ArrivalKind::Open { next, .. } if self.left > 0 => Some(*next),
            _ => None,
        }
    }

    /// Returns the samples of a request that is due, or `None`.
    pub(super) fn due(&self, now: Duration) -> Option<usize> {
        let samples = match &self.kind {
            ArrivalKind::Eager { samples } => self.asked.piece(*samples),
            ArrivalKind::Closed { idle: 0, .. } => return None,
            ArrivalKind::Closed { samples, .. } => *samples,
            ArrivalKind::Open { next, .. } if *next <= now => 1,
            ArrivalKind::Open { .. } => return None,
        };
        Some(samples.min(self.left)).filter(|&s| s > 0)
    }

    /// Returns the entry of the next request.
    pub(super) fn entry(&self) -> usize {
        self.asked.next()
    }

    /// Records that a request of `samples` was sent, or that one of an open pattern was refused and
    /// lost.
    pub(super) fn sent(&mut self, samples: usize) {
        self.left -= samples;
        self.asked.sent(samples);
        match &mut self.kind {
            ArrivalKind::Eager { .. } => {}
            ArrivalKind::Closed { idle, .. } => *idle -= 1,
            ArrivalKind::Open { arrivals, next } => *next += arrivals.next_gap(),
        }
    }

    /// Returns whether a refused request is lost instead of being sent again.
    pub(super) fn gives_up(&self) -> bool {
        matches!(self.kind, ArrivalKind::Open { .. })
    }

    /// Records that a request is over.
    pub(super) fn answered(&mut self) {
        if let ArrivalKind::Closed { idle, .. } = &mut self.kind {
            *idle += 1;
        }
    }
}

fn of_pattern(pattern: &LoadPattern, seed: u64) -> Result<ArrivalKind, LoadError> {
    Ok(match (pattern, Arrivals::new(pattern, seed)?) {
        (LoadPattern::Closed { clients, samples }, _) => ArrivalKind::Closed {
            idle: clients.count(),
            samples: samples.count(),
        },
        (_, Some(arrivals)) => ArrivalKind::Open {
            arrivals: Box::new(arrivals),
            next: Duration::ZERO,
        },
        (_, None) => ArrivalKind::Eager { samples: 1 },
    })
}
