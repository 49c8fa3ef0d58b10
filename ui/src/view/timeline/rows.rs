//! Which rows of the picture show what.

use divisi::trace::{Span, SpanKind};

/// The activity of a whole device that a row sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowSum {
    /// Any lane computed.
    Compute,
    /// Samples were copied to its memory.
    ToDevice,
    /// Answers were copied from its memory.
    FromDevice,
}

impl RowSum {
    /// The sum that a step counts towards.
    pub fn of(kind: SpanKind) -> Option<Self> {
        match kind {
            SpanKind::Compute => Some(RowSum::Compute),
            SpanKind::CopyIn | SpanKind::CopyAhead => Some(RowSum::ToDevice),
            SpanKind::CopyOut => Some(RowSum::FromDevice),
            SpanKind::Wait | SpanKind::Send => None,
        }
    }
}

/// A row by what it shows, wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKey {
    /// A worker's lane.
    Lane {
        /// Row of the matrix.
        device: usize,
        /// Column of the matrix.
        member: usize,
        /// Counted from the smallest.
        lane: usize,
    },
    /// A whole device.
    Sum {
        /// Row of the matrix.
        device: usize,
        /// The activity summed up.
        sum: RowSum,
    },
}

/// Where lanes of workers and sums of devices are in a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineRows {
    /// Members of the matrix.
    members: usize,
    /// By device and member: the first row and how many.
    workers: Vec<Option<(usize, usize)>>,
    /// By device.
    sums: Vec<[Option<usize>; 3]>,
    lanes: usize,
    summed: usize,
}

impl TimelineRows {
    /// No rows yet for a matrix of so many devices and members.
    pub fn new(devices: usize, members: usize) -> Self {
        TimelineRows {
            members,
            workers: vec![None; devices * members],
            sums: vec![[None; 3]; devices],
            ..TimelineRows::default()
        }
    }

    /// Rows for the lanes of a worker, at least one; returns the first.
    pub fn worker(&mut self, device: usize, member: usize, lanes: usize) -> usize {
        let (first, count) = (self.lanes, lanes.max(1));
        if let Some(place) = self.workers.get_mut(device * self.members + member) {
            *place = Some((first, count));
            self.lanes += count;
        }
        first
    }

    /// A row for a sum of a device.
    pub fn sum(&mut self, device: usize, sum: RowSum) -> usize {
        let next = self.summed;
        let Some(place) = self.sums.get_mut(device) else {
            return next;
        };
        let at = place[sum as usize].get_or_insert(next);
        self.summed = self.summed.max(*at + 1);
        *at
    }

    /// Rows of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Rows of sums.
    pub fn sums(&self) -> usize {
        self.summed
    }

    /// The lane's row that shows the span. Lanes that another policy had are shown in
    /// the last one; what is copied ahead belongs to no lane yet.
    pub fn lane_of(&self, span: &Span) -> Option<usize> {
        self.lane(span.kind, span.device, span.member, span.lane)
    }

    pub(super) fn lane(
        &self,
        kind: SpanKind,
        device: usize,
        member: usize,
        lane: usize,
    ) -> Option<usize> {
        if kind == SpanKind::CopyAhead || member >= self.members {
            return None;
        }
        let (first, count) = (*self.workers.get(device * self.members + member)?)?;
        Some(first + lane.min(count - 1))
    }

    /// The sum's row that shows the span.
    pub fn sum_of(&self, span: &Span) -> Option<usize> {
        self.summed(span.kind, span.device)
    }

    pub(super) fn summed(&self, kind: SpanKind, device: usize) -> Option<usize> {
        let sum = RowSum::of(kind)?;
        self.sums.get(device)?[sum as usize]
    }
}
