//! The batching policies: what a worker with an idle lane does with what waits.

use std::time::Duration;

use crate::ensemble::{BatchSize, PolicyKind};

/// A worker's queue, as its policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Samples waiting.
    pub samples: usize,
    /// When the oldest arrived.
    pub oldest: Option<Duration>,
    /// Samples that its device may still take (`MaxInf − CurInf`).
    pub room: usize,
}

/// A policy's answer to a worker that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run `samples` now, as a batch of `rows`.
    Run {
        /// Samples that it takes.
        samples: usize,
        /// Rows that it runs: more where the policy pads.
        rows: usize,
    },
    /// Take the segment at the front.
    TakeSegment,
    /// Nothing before this time unless more arrives.
    WaitUntil(Duration),
    /// Nothing waits, or nothing more may be started.
    Idle,
}

/// Decides for one worker of batch size `size` with an idle lane for a full batch.
///
/// Under `elastic` that is a worker whose device runs one batch at a time: all lanes
/// that it would start at once become one batch, since none would run beside another.
/// Where they do run side by side, [`fitting`] says how much a lane takes.
pub fn decide(policy: PolicyKind, size: BatchSize, queue: QueueState, now: Duration) -> Decision {
    let Some(oldest) = queue.oldest else {
        return Decision::Idle;
    };
    let full = size.get();
    let samples = queue.samples.min(full);
    let run = |samples: usize| Decision::Run {
        samples,
        rows: samples,
    };
    match policy {
        PolicyKind::NoWait => run(samples),
        PolicyKind::Elastic { .. } => match samples.min(queue.room) {
            0 => Decision::Idle,
            samples => run(samples),
        },
        PolicyKind::Segment { .. } => Decision::TakeSegment,
        PolicyKind::OptWait { wait }
        | PolicyKind::PipelinedOptWait { wait }
        | PolicyKind::Static { wait } => {
            let due = oldest.saturating_add(wait.get());
            if samples < full && now < due {
                return Decision::WaitUntil(due);
            }
            match policy {
                PolicyKind::Static { .. } => Decision::Run {
                    samples,
                    rows: full,
                },
                _ => run(samples),
            }
        }
    }
}

/// Samples that an elastic worker may start now: `R = min(N, MaxInf − CurInf)`
/// (Ebird, algorithm 1). The largest idle lane of at most so many takes its size.
pub fn fitting(ready: usize, room: usize) -> usize {
    ready.min(room)
}
