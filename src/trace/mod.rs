//! Spans: the times that each worker spent on each step, in a bounded ring.

mod chrome;

use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lock::lock;

pub use chrome::{TraceNames, chrome};

/// The step of a batch that a span is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanKind {
    /// The wait of the batch's oldest sample in the queue.
    Wait,
    /// The copy of samples from the pool to the worker.
    CopyIn,
    /// The copy of samples to the device's memory before a lane takes them.
    CopyAhead,
    /// The computation.
    Compute,
    /// The copy of answers from the device's memory.
    CopyOut,
    /// The folding of answers by the accumulator.
    Send,
}

impl SpanKind {
    /// Returns its name on the screen and in exports.
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
    /// The device.
    pub device: usize,
    /// The member.
    pub member: usize,
    /// The worker's batch size.
    pub batch_size: usize,
    /// The worker's lane, counted from its smallest.
    pub lane: usize,
    /// The step.
    pub kind: SpanKind,
    /// Its start.
    pub start: Duration,
    /// Its end.
    pub end: Duration,
    /// The number of samples in the batch.
    pub samples: usize,
    /// The number of the batch since the engine's start; `None` for a copy ahead.
    pub batch: Option<u64>,
    /// The number, since the engine's start, of the request of its first sample.
    pub request: u64,
    /// The number of requests that it has samples of.
    pub requests: u32,
}

/// A bounded ring of spans, written by one device's thread and emptied by a reader. It
/// keeps the newest spans and counts those that were not read in time.
///
/// The lock is held for one push or one swap, so that neither side waits for the other's
/// work. A console that reads slowly loses old spans and is told how many.
#[derive(Debug)]
pub struct SpanRing {
    inner: Mutex<RingState>,
    bound: usize,
}

/// The spans, guarded by the lock.
#[derive(Debug, Default)]
struct RingState {
    spans: Vec<Span>,
    /// The index of the oldest span once the ring is full.
    head: usize,
    dropped: u64,
}

impl SpanRing {
    /// Creates a ring of at most `bound` spans (at least one).
    pub fn new(bound: usize) -> Self {
        SpanRing {
            inner: Mutex::default(),
            bound: bound.max(1),
        }
    }

    /// Adds spans, in place of the oldest if the ring is full.
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

    /// Moves all spans to `into`, oldest first. Returns the number lost since the start.
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
