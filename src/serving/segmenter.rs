//! The paper's segments: up to N consecutive samples in order of arrival, closed
//! when full or after a time (seed paper, section II.C.1).

use std::time::Duration;

use super::batch::{Range, RequestKey};

/// Collects ranges until a segment is full or old enough.
#[derive(Clone, Debug)]
pub struct Segmenter {
    size: usize,
    next: u64,
    open: Vec<Range>,
    samples: usize,
    opened: Duration,
}

impl Segmenter {
    /// Segments of up to `size` samples.
    pub fn new(size: usize) -> Self {
        Segmenter {
            size: size.max(1),
            next: 0,
            open: Vec::new(),
            samples: 0,
            opened: Duration::ZERO,
        }
    }

    /// Samples in a segment at most.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Another size for segments to come; gives the open one, closed as it is.
    pub fn resize(&mut self, size: usize) -> Vec<Range> {
        self.size = size.max(1);
        self.close()
    }

    /// Adds a range; gives the segments that became full.
    pub fn push(&mut self, now: Duration, mut range: Range) -> Vec<Range> {
        let mut closed = Vec::new();
        while range.len > 0 {
            if self.open.is_empty() {
                self.opened = now;
            }
            let len = range.len.min(self.size - self.samples);
            let mut piece = range.split_front(len);
            piece.segment = self.next;
            self.samples += len;
            self.open.push(piece);
            if self.samples == self.size {
                closed.extend(self.close());
            }
        }
        closed
    }

    /// Closes the open segment as it is.
    pub fn close(&mut self) -> Vec<Range> {
        if !self.open.is_empty() {
            self.next += 1;
        }
        self.samples = 0;
        std::mem::take(&mut self.open)
    }

    /// When the open segment is old enough to close.
    pub fn due(&self, wait: Duration) -> Option<Duration> {
        (!self.open.is_empty()).then(|| self.opened + wait)
    }

    /// A number of its own for ranges that skip segmentation.
    pub fn stamp(&mut self, mut range: Range) -> Range {
        range.segment = self.next;
        self.next += 1;
        range
    }

    /// Takes out every range of the requests that are `gone` from the open segment.
    pub fn remove(&mut self, gone: impl Fn(RequestKey) -> bool) -> Vec<Range> {
        let (removed, kept) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|r| gone(r.request));
        self.open = kept;
        self.samples = self.open.iter().map(|r| r.len).sum();
        removed
    }
}
