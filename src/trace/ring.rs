//! A bounded ring of spans, written by one device's thread, emptied by a reader.

use std::sync::Mutex;

use crate::lock::lock;

use super::Span;

/// Keeps the newest spans up to its bound and counts what nobody read in time.
///
/// The lock is held for one push or one swap, so neither side waits for the other's
/// work; a console that reads slowly loses old spans and is told how many.
#[derive(Debug)]
pub struct SpanRing {
    inner: Mutex<Inner>,
    bound: usize,
}

#[derive(Debug, Default)]
struct Inner {
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
