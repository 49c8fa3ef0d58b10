//! Who asks, in virtual time.

use std::time::Duration;

use crate::load::{Arrivals, LoadError, LoadPattern};

use super::Workload;

/// Requests still to come.
pub(super) struct Arriving {
    /// Samples still to send.
    left: usize,
    kind: Kind,
}

enum Kind {
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

impl Arriving {
    /// `segment`: samples of a request where the workload leaves it open.
    ///
    /// # Errors
    /// A recording that is to be replayed cannot be read.
    pub fn new(workload: &Workload, segment: usize) -> Result<Self, LoadError> {
        let (left, kind) = match workload {
            Workload::Saturate { samples } => (*samples, Kind::Eager { samples: segment }),
            Workload::Pattern {
                pattern,
                samples,
                seed,
            } => (*samples, of_pattern(pattern, *seed)?),
        };
        Ok(Arriving { left, kind })
    }

    /// Whether everything was sent.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// When the next request comes, if time alone brings it.
    pub fn next(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Open { next, .. } if self.left > 0 => Some(*next),
            _ => None,
        }
    }

    /// Samples of a request that comes now.
    pub fn due(&self, now: Duration) -> Option<usize> {
        let samples = match &self.kind {
            Kind::Eager { samples } => *samples,
            Kind::Closed { idle: 0, .. } => return None,
            Kind::Closed { samples, .. } => *samples,
            Kind::Open { next, .. } if *next <= now => 1,
            Kind::Open { .. } => return None,
        };
        Some(samples.min(self.left)).filter(|&s| s > 0)
    }

    /// A request of `samples` was sent. One that was refused by an open pattern is
    /// lost; others knock again.
    pub fn sent(&mut self, samples: usize) {
        self.left -= samples;
        match &mut self.kind {
            Kind::Eager { .. } => {}
            Kind::Closed { idle, .. } => *idle -= 1,
            Kind::Open { arrivals, next } => *next += arrivals.next_gap(),
        }
    }

    /// Whether a request that is refused is not sent again.
    pub fn gives_up(&self) -> bool {
        matches!(self.kind, Kind::Open { .. })
    }

    /// A request is over.
    pub fn answered(&mut self) {
        if let Kind::Closed { idle, .. } = &mut self.kind {
            *idle += 1;
        }
    }
}

fn of_pattern(pattern: &LoadPattern, seed: u64) -> Result<Kind, LoadError> {
    Ok(match (pattern, Arrivals::new(pattern, seed)?) {
        (LoadPattern::Closed { clients, samples }, _) => Kind::Closed {
            idle: clients.count(),
            samples: samples.count(),
        },
        (_, Some(arrivals)) => Kind::Open {
            arrivals: Box::new(arrivals),
            next: Duration::ZERO,
        },
        (_, None) => Kind::Eager { samples: 1 },
    })
}
