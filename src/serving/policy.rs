//! The batching policies: what a free worker does with what waits.

use std::time::Duration;

use crate::ensemble::{BatchSize, PolicyKind};

/// What a worker sees of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Samples waiting.
    pub samples: usize,
    /// When the oldest arrived.
    pub oldest: Option<Duration>,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run `samples` now, as a batch of `rows`.
    Run { samples: usize, rows: usize },
    /// Take the segment at the front.
    TakeSegment,
    /// Nothing before this time unless more arrives.
    WaitUntil(Duration),
    /// Nothing waits.
    Idle,
}

/// Decides for one free worker of batch size `size`.
pub fn decide(policy: PolicyKind, size: BatchSize, queue: QueueState, now: Duration) -> Decision {
    let Some(oldest) = queue.oldest else {
        return Decision::Idle;
    };
    let full = size.get();
    let samples = queue.samples.min(full);
    match policy {
        PolicyKind::NoWait => Decision::Run {
            samples,
            rows: samples,
        },
        PolicyKind::Segment { .. } => Decision::TakeSegment,
        PolicyKind::OptWait { wait } | PolicyKind::Static { wait } => {
            let due = oldest + wait;
            if samples < full && now < due {
                return Decision::WaitUntil(due);
            }
            let padded = matches!(policy, PolicyKind::Static { .. });
            Decision::Run {
                samples,
                rows: if padded { full } else { samples },
            }
        }
    }
}
