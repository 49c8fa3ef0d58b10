//! What each worker did when: spans in a bounded ring.

mod chrome;
mod ring;

pub use chrome::{Names, chrome};
pub use ring::SpanRing;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a worker was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanKind {
    /// The oldest sample of the batch waited in the queue.
    Wait,
    /// Samples copied from the pool to the worker.
    CopyIn,
    /// Samples copied to the device's memory before a lane takes them.
    CopyAhead,
    Compute,
    /// Answers copied from the device's memory.
    CopyOut,
    /// Answers folded by the accumulator.
    Send,
}

impl SpanKind {
    /// Its name on the screen and in exports.
    pub fn name(self) -> &'static str {
        match self {
            SpanKind::Wait => "wait",
            SpanKind::CopyIn => "copy in",
            SpanKind::CopyAhead => "copy ahead",
            SpanKind::Compute => "compute",
            SpanKind::CopyOut => "copy out",
            SpanKind::Send => "send",
        }
    }
}

/// One step of one batch. Times count from the engine's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub device: usize,
    pub member: usize,
    pub batch_size: usize,
    /// The worker's lane, counted from its smallest.
    pub lane: usize,
    pub kind: SpanKind,
    pub start: Duration,
    pub end: Duration,
    /// Samples in the batch.
    pub samples: usize,
    /// The batch, by its number since the engine's start; a copy ahead has none.
    pub batch: Option<u64>,
    /// The request of its first sample, by its number since the engine's start.
    pub request: u64,
    /// How many requests it has samples of.
    pub requests: u32,
}
