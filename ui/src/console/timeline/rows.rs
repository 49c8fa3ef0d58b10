//! Which rows of the picture show what.

use std::collections::HashMap;

use divisi::trace::{Span, SpanKind};

/// What a row shows of a whole device: when it did this at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sum {
    /// Any lane computed.
    Compute,
    /// Samples were copied to its memory.
    ToDevice,
    /// Answers were copied from its memory.
    FromDevice,
}

impl Sum {
    /// The sum that a step counts towards.
    pub fn of(kind: SpanKind) -> Option<Self> {
        match kind {
            SpanKind::Compute => Some(Sum::Compute),
            SpanKind::CopyIn | SpanKind::CopyAhead => Some(Sum::ToDevice),
            SpanKind::CopyOut => Some(Sum::FromDevice),
            SpanKind::Wait | SpanKind::Send => None,
        }
    }
}

/// Where lanes of workers and sums of devices are in a raster.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    workers: HashMap<(usize, usize), Lanes>,
    sums: HashMap<(usize, Sum), usize>,
    lanes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Lanes {
    first: usize,
    count: usize,
}

impl Rows {
    /// Rows for the lanes of a worker, at least one; gives the first.
    pub fn worker(&mut self, device: usize, member: usize, lanes: usize) -> usize {
        let (first, count) = (self.lanes, lanes.max(1));
        self.workers
            .insert((device, member), Lanes { first, count });
        self.lanes += count;
        first
    }

    /// A row for a sum of a device.
    pub fn sum(&mut self, device: usize, sum: Sum) -> usize {
        let next = self.sums.len();
        *self.sums.entry((device, sum)).or_insert(next)
    }

    /// Rows of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Rows of sums.
    pub fn sums(&self) -> usize {
        self.sums.len()
    }

    /// The lane's row that shows the span. Lanes that another policy had are shown in
    /// the last one; what is copied ahead belongs to no lane yet.
    pub fn lane_of(&self, span: &Span) -> Option<usize> {
        if span.kind == SpanKind::CopyAhead {
            return None;
        }
        let lanes = self.workers.get(&(span.device, span.member))?;
        Some(lanes.first + span.lane.min(lanes.count - 1))
    }

    /// The sum's row that shows the span.
    pub fn sum_of(&self, span: &Span) -> Option<usize> {
        let sum = Sum::of(span.kind)?;
        self.sums.get(&(span.device, sum)).copied()
    }
}
