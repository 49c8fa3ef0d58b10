//! The queues of samples: one for each member and, under `segment`, the paper's segments before it:
//! up to N consecutive samples in order of arrival, closed when full or after a time (seed paper,
//! section II.C.1).
//!
//! The policy determines the size of a segment. Extents of the pool keep the manifest's
//! `segment_size`. A segment may span several extents or less than one, up to the size of the pool.

use std::collections::BTreeMap;
use std::ops;
use std::time::Duration;

use divisi_model::dataflow::StepIndex;

use super::batch::Range;
use super::order::SampleOrder;

/// Ranges in the order of execution, with their number of samples.
///
/// Ranges are found by their position in this order, so that the ranges of one request are removed
/// without examining others.
#[derive(Clone, Debug, Default)]
pub struct MemberQueue {
    /// Ranges by the position of their first sample, then by step.
    ranges: BTreeMap<(SampleOrder, StepIndex), Range>,
    samples: usize,
}

impl MemberQueue {
    /// Inserts a range at its position: new ranges at the back, taken but unstarted ranges at their
    /// old position.
    pub fn push(&mut self, range: Range) {
        if range.len > 0 {
            self.samples += range.len;
            self.ranges.insert((range.order, range.step), range);
        }
    }

    /// Samples waiting.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Returns the arrival of the first waiting sample, and its position in the order of execution.
    pub fn oldest(&self) -> Option<(Duration, SampleOrder)> {
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
                self.ranges.insert((front.order, front.step), front);
                break;
            }
            left -= front.len;
            taken.push(front);
        }
        self.samples -= samples_of(&taken);
        taken
    }

    /// Returns taken but unstarted ranges to their old positions.
    pub fn put_back(&mut self, ranges: Vec<Range>) {
        for range in ranges {
            self.push(range);
        }
    }

    /// Iterates over the ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = &Range> {
        self.ranges.values()
    }

    /// Returns the samples of the segment at the front.
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

    /// Removes the samples at these positions in the order of execution that wait for these steps.
    /// Returns their ranges.
    pub fn remove(
        &mut self,
        orders: &ops::Range<SampleOrder>,
        steps: StepFilter<'_>,
    ) -> Vec<Range> {
        let first = |order| (order, StepIndex::default());
        let places = first(orders.start)..first(orders.end);
        let found = self.ranges.range(places).map(|(place, _)| *place);
        let found: Vec<_> = found.filter(|(_, step)| steps.have(*step)).collect();
        let removed = found.iter().filter_map(|place| self.ranges.remove(place));
        let removed: Vec<Range> = removed.collect();
        self.samples -= samples_of(&removed);
        removed
    }
}

fn samples_of(ranges: &[Range]) -> usize {
    ranges.iter().map(|r| r.len).sum()
}

/// All or some of a pipeline's steps.
#[derive(Clone, Copy, Debug)]
pub enum StepFilter<'a> {
    /// All steps.
    All,
    /// These steps.
    Some(&'a [StepIndex]),
}

impl StepFilter<'_> {
    fn have(self, step: StepIndex) -> bool {
        match self {
            StepFilter::All => true,
            StepFilter::Some(steps) => steps.contains(&step),
        }
    }
}

/// Collects ranges until a segment is full or old enough.
#[derive(Clone, Debug)]
pub struct Segmenter {
    size: usize,
    next: u64,
    open: MemberQueue,
    opened: Duration,
}

impl Segmenter {
    /// Creates a segmenter for segments of up to `size` samples.
    pub fn new(size: usize) -> Self {
        Segmenter {
            size: size.max(1),
            next: 0,
            open: MemberQueue::default(),
            opened: Duration::ZERO,
        }
    }

    /// Returns the most samples of a segment.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sets the size of later segments. Closes the open segment and returns it.
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

    /// Closes the open segment.
    pub fn close(&mut self) -> Vec<Range> {
        if self.open.samples() > 0 {
            self.next += 1;
        }
        self.open.take(usize::MAX)
    }

    /// Returns the time at which the open segment must close.
    pub fn due(&self, wait: Duration) -> Option<Duration> {
        (self.open.samples() > 0).then(|| self.opened.saturating_add(wait))
    }

    /// Assigns a new number to a range that skips segmentation.
    pub fn stamp(&mut self, mut range: Range) -> Range {
        range.segment = self.next;
        self.next += 1;
        range
    }

    /// Removes the samples at these positions in the order of execution that wait for these steps
    /// from the open segment. Returns their ranges.
    pub fn remove(
        &mut self,
        orders: &ops::Range<SampleOrder>,
        steps: StepFilter<'_>,
    ) -> Vec<Range> {
        self.open.remove(orders, steps)
    }
}
