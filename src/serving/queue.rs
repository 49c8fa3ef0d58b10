//! One member's queue: ranges in order of arrival, shared by the member's workers.

use std::collections::VecDeque;
use std::time::Duration;

use super::batch::{Range, RequestKey};

/// A FIFO of ranges that knows how many samples it holds.
#[derive(Clone, Debug, Default)]
pub struct MemberQueue {
    ranges: VecDeque<Range>,
    samples: usize,
}

impl MemberQueue {
    /// Adds a range at the back.
    pub fn push(&mut self, range: Range) {
        if range.len > 0 {
            self.samples += range.len;
            self.ranges.push_back(range);
        }
    }

    /// Samples waiting.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// When the oldest waiting sample arrived, and its number in order of arrival.
    pub fn oldest(&self) -> Option<(Duration, u64)> {
        self.ranges.front().map(|r| (r.arrived, r.order))
    }

    /// Takes up to `most` samples from the front, splitting the last range.
    pub fn take(&mut self, most: usize) -> Vec<Range> {
        let mut taken = Vec::new();
        let mut left = most;
        while left > 0 {
            let Some(front) = self.ranges.front_mut() else {
                break;
            };
            if front.len <= left {
                left -= front.len;
                taken.extend(self.ranges.pop_front());
            } else {
                taken.push(front.split_front(left));
                left = 0;
            }
        }
        self.samples -= taken.iter().map(|r| r.len).sum::<usize>();
        taken
    }

    /// Puts back what was taken but not started, where it was.
    pub fn put_back(&mut self, ranges: Vec<Range>) {
        if ranges.is_empty() {
            return;
        }
        self.samples += ranges.iter().map(|r| r.len).sum::<usize>();
        self.ranges.extend(ranges);
        self.ranges.make_contiguous().sort_by_key(|r| r.order);
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter()
    }

    /// Takes the whole segment at the front.
    pub fn take_segment(&mut self) -> Vec<Range> {
        let Some(segment) = self.ranges.front().map(|r| r.segment) else {
            return Vec::new();
        };
        let ranges = self.ranges.iter();
        let samples = ranges
            .take_while(|r| r.segment == segment)
            .map(|r| r.len)
            .sum();
        self.take(samples)
    }

    /// Takes out every range of the requests that are `gone`.
    pub fn remove(&mut self, gone: impl Fn(RequestKey) -> bool) -> Vec<Range> {
        let mut removed = Vec::new();
        self.ranges.retain(|range| {
            let goes = gone(range.request);
            if goes {
                removed.push(*range);
            }
            !goes
        });
        self.samples -= removed.iter().map(|r| r.len).sum::<usize>();
        removed
    }
}
