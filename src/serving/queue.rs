//! One member's queue: ranges in order of arrival, shared by the member's workers.

use std::collections::BTreeMap;
use std::ops;
use std::time::Duration;

use super::batch::Range;

/// A FIFO of ranges that knows how many samples it holds.
///
/// Ranges are found by their number in order of arrival, so that those of one request are
/// taken out without a look at the others.
#[derive(Clone, Debug, Default)]
pub struct MemberQueue {
    /// By the number of their first sample.
    ranges: BTreeMap<u64, Range>,
    samples: usize,
}

impl MemberQueue {
    /// Adds a range where it belongs by its order: new ones at the back, those that were
    /// taken but not started where they were.
    pub fn push(&mut self, range: Range) {
        if range.len > 0 {
            self.samples += range.len;
            self.ranges.insert(range.order, range);
        }
    }

    /// Samples waiting.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// When the oldest waiting sample arrived, and its number in order of arrival.
    pub fn oldest(&self) -> Option<(Duration, u64)> {
        self.front().map(|r| (r.arrived, r.order))
    }

    fn front(&self) -> Option<&Range> {
        self.ranges.first_key_value().map(|(_, range)| range)
    }

    /// Takes up to `most` samples from the front, splitting the last range.
    pub fn take(&mut self, most: usize) -> Vec<Range> {
        let mut taken = Vec::new();
        let mut left = most;
        while left > 0 {
            let Some((_, mut front)) = self.ranges.pop_first() else {
                break;
            };
            if front.len > left {
                taken.push(front.split_front(left));
                self.ranges.insert(front.order, front);
                break;
            }
            left -= front.len;
            taken.push(front);
        }
        self.samples -= samples_of(&taken);
        taken
    }

    /// Puts back what was taken but not started, where it was.
    pub fn put_back(&mut self, ranges: Vec<Range>) {
        for range in ranges {
            self.push(range);
        }
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = &Range> {
        self.ranges.values()
    }

    /// Samples of the segment at the front.
    pub fn segment_samples(&self) -> usize {
        let Some(segment) = self.front().map(|r| r.segment) else {
            return 0;
        };
        let of_segment = self.iter().take_while(|r| r.segment == segment);
        of_segment.map(|r| r.len).sum()
    }

    /// Takes the whole segment at the front.
    pub fn take_segment(&mut self) -> Vec<Range> {
        self.take(self.segment_samples())
    }

    /// Takes out the ranges whose samples have these numbers in order of arrival.
    pub fn remove(&mut self, orders: &ops::Range<u64>) -> Vec<Range> {
        let mut removed = Vec::new();
        while let Some((&order, _)) = self.ranges.range(orders.clone()).next() {
            removed.extend(self.ranges.remove(&order));
        }
        self.samples -= samples_of(&removed);
        removed
    }
}

fn samples_of(ranges: &[Range]) -> usize {
    ranges.iter().map(|r| r.len).sum()
}
