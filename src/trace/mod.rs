//! What each worker did when: spans in a bounded ring.

mod chrome;

use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lock::lock;

pub use chrome::{TraceNames, chrome};

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

/// Keeps the newest spans up to its bound and counts what nobody read in time.
///
/// The lock is held for one push or one swap, so neither side waits for the other's
/// work; a console that reads slowly loses old spans and is told how many.
#[derive(Debug)]
pub struct SpanRing {
    inner: Mutex<RingState>,
    bound: usize,
}

#[derive(Debug, Default)]
struct RingState {
    spans: Vec<Span>,
    /// Where the oldest is once the ring is full.
    head: usize,
    dropped: u64,
}

impl SpanRing {
    /// A ring of at most `bound` spans (at least one).
    pub fn new(bound: usize) -> Self {
        SpanRing {
            inner: Mutex::default(),
            bound: bound.max(1),
        }
    }

    /// Adds spans; the oldest make room.
    pub fn push(&self, spans: &[Span]) {
        let mut inner = lock(&self.inner);
        for &span in spans {
            if inner.spans.len() < self.bound {
                inner.spans.push(span);
            } else {
                let head = inner.head;
                inner.spans[head] = span;
                inner.head = (head + 1) % self.bound;
                inner.dropped += 1;
            }
        }
    }

    /// Takes all spans, oldest first, and how many were lost since the start.
    pub fn drain(&self, into: &mut Vec<Span>) -> u64 {
        let (spans, head, dropped) = {
            let mut inner = lock(&self.inner);
            let spans = std::mem::take(&mut inner.spans);
            (spans, std::mem::take(&mut inner.head), inner.dropped)
        };
        into.extend_from_slice(&spans[head..]);
        into.extend_from_slice(&spans[..head]);
        dropped
    }
}
