//! Who asks, in virtual time.

use std::time::Duration;

use crate::load::{Arrivals, LoadError, LoadPattern};

use super::Workload;

/// Requests still to come.
pub(super) struct ArrivingRequests {
    /// Samples still to send.
    left: usize,
    kind: ArrivalKind,
}

enum ArrivalKind {
    /// Requests of so many samples, as many at once as are let in.
    Eager { samples: usize },
    /// So many clients that wait for nothing, each with a request of so many samples.
    Closed { idle: usize, samples: usize },
    /// One sample at a time, the next at its time.
    Open {
        arrivals: Box<Arrivals>,
        next: Duration,
    },
}

impl ArrivingRequests {
    /// `segment`: samples of a request where the workload leaves it open.
    ///
    /// # Errors
    /// A recording that is to be replayed cannot be read.
    pub fn new(workload: &Workload, segment: usize) -> Result<Self, LoadError> {
        let (left, kind) = match workload {
            Workload::Saturate { samples } => (*samples, ArrivalKind::Eager { samples: segment }),
            Workload::Pattern {
                pattern,
                samples,
                seed,
            } => (*samples, of_pattern(pattern, *seed)?),
        };
        Ok(ArrivingRequests { left, kind })
    }

    /// Whether everything was sent.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// When the next request comes, if time alone brings it.
    pub fn next(&self) -> Option<Duration> {
        match &self.kind {
            ArrivalKind::Open { next, .. } if self.left > 0 => Some(*next),
            _ => None,
        }
    }

    /// Samples of a request that comes now.
    pub fn due(&self, now: Duration) -> Option<usize> {
        let samples = match &self.kind {
            ArrivalKind::Eager { samples } => *samples,
            ArrivalKind::Closed { idle: 0, .. } => return None,
            ArrivalKind::Closed { samples, .. } => *samples,
            ArrivalKind::Open { next, .. } if *next <= now => 1,
            ArrivalKind::Open { .. } => return None,
        };
        Some(samples.min(self.left)).filter(|&s| s > 0)
    }

    /// A request of `samples` was sent. One that was refused by an open pattern is
    /// lost; others knock again.
    pub fn sent(&mut self, samples: usize) {
        self.left -= samples;
        match &mut self.kind {
            ArrivalKind::Eager { .. } => {}
            ArrivalKind::Closed { idle, .. } => *idle -= 1,
            ArrivalKind::Open { arrivals, next } => *next += arrivals.next_gap(),
        }
    }

    /// Whether a request that is refused is not sent again.
    pub fn gives_up(&self) -> bool {
        matches!(self.kind, ArrivalKind::Open { .. })
    }

    /// A request is over.
    pub fn answered(&mut self) {
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
