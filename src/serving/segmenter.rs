//! The paper's segments: up to N consecutive samples in order of arrival, closed
//! when full or after a time (seed paper, section II.C.1).
//!
//! A segment's size is the policy's affair. Extents of the pool keep the manifest's
//! `segment_size`, and a segment may span several or less than one, up to what the pool holds.

use std::ops;
use std::time::Duration;

use super::batch::Range;
use super::queue::MemberQueue;

/// Collects ranges until a segment is full or old enough.
#[derive(Clone, Debug)]
pub struct Segmenter {
    size: usize,
    next: u64,
    open: MemberQueue,
    opened: Duration,
}

impl Segmenter {
    /// Segments of up to `size` samples.
    pub fn new(size: usize) -> Self {
        Segmenter {
            size: size.max(1),
            next: 0,
            open: MemberQueue::default(),
            opened: Duration::ZERO,
        }
    }

    /// Samples in a segment at most.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sets the size of segments to come. Returns the open one, closed as it is.
    pub fn resize(&mut self, size: usize) -> Vec<Range> {
        self.size = size.max(1);
        self.close()
    }

    /// Adds a range. Returns the segments that became full.
    pub fn push(&mut self, now: Duration, mut range: Range) -> Vec<Range> {
        let mut closed = Vec::new();
        while range.len > 0 {
            if self.open.samples() == 0 {
                self.opened = now;
            }
            let len = range.len.min(self.size - self.open.samples());
            let mut piece = range.split_front(len);
            piece.segment = self.next;
            self.open.push(piece);
            if self.open.samples() == self.size {
                closed.extend(self.close());
            }
        }
        closed
    }

    /// Closes the open segment as it is.
    pub fn close(&mut self) -> Vec<Range> {
        if self.open.samples() > 0 {
            self.next += 1;
        }
        self.open.take(usize::MAX)
    }

    /// When the open segment is old enough to close.
    pub fn due(&self, wait: Duration) -> Option<Duration> {
        (self.open.samples() > 0).then(|| self.opened.saturating_add(wait))
    }

    /// A number of its own for ranges that skip segmentation.
    pub fn stamp(&mut self, mut range: Range) -> Range {
        range.segment = self.next;
        self.next += 1;
        range
    }

    /// Takes ranges out of the open segment whose samples have these numbers in order of
    /// arrival.
    pub fn remove(&mut self, orders: &ops::Range<u64>) -> Vec<Range> {
        self.open.remove(orders)
    }
}
