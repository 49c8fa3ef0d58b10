//! The queries of one head: scores, shares and answers, a block of keys at a time.

use std::ops::Range;

use super::super::memory::OutputFloats;
use super::super::norms::{exponentials, largest, sum};
use super::super::panels::{Panels, even_tiles};
use super::super::task::Call;
use super::super::tile::{Prefetch, Tile, tile_fn};
use super::super::vector::{self, Vector, Vectorised};
use super::attention::{Attention, MOST_QUERIES, QUERIES};
use super::operands::{Source, output};
use super::tiles::StridedMatrix;
use crate::compute::tensors::{ShareGuard, Strided};

/// Some queries of one head, and scratch.
pub(super) struct HeadRows<'a> {
    of: &'a Attention,
    query: StridedMatrix<'a>,
    /// Keys as columns.
    key: StridedMatrix<'a>,
    value: StridedMatrix<'a>,
    out: OutputFloats<'a>,
    /// The float of the answer at which the head's first query begins.
    to: usize,
    masks: Vec<StridedMatrix<'a>>,
    scale: f32,
    /// The first query of the task.
    first: usize,
    packed: &'a mut [f32],
    values: &'a mut [f32],
    scores: *mut f32,
    most: &'a mut [f32],
    sums: &'a mut [f32],
}

impl<'a> HeadRows<'a> {
    /// # Safety
    /// Nothing writes to the inputs meanwhile, nothing else uses the thread's scratch.
    pub(super) unsafe fn new(
        of: &'a Attention,
        call: &Call<'a>,
        head: usize,
        queries: Range<usize>,
    ) -> Self {
        let mut start = call.memory.own_scratch(call.thread).start;
        let places = of.places().map(|floats| {
            start += floats;
            start - floats..start
        });
        let [packed, values, scores, rows] = places;
        let [q, k, v, to] = of.heads.at(head).at;
        let matrix = |input: usize, at: usize, strided: &Strided| StridedMatrix {
            // SAFETY: guaranteed by the caller.
            data: unsafe { &Source::Input(input).floats(call)[at..] },
            line: Attention::axis(strided, 1).1,
            column: Attention::axis(strided, 0).1,
        };
        let masks = of.masks.iter().map(|mask| StridedMatrix {
            // SAFETY: guaranteed by the caller.
            data: unsafe { &mask.source.floats(call)[mask.heads.at(head).at[0]..] },
            line: mask.query,
            column: mask.key,
        });
        // SAFETY: the places do not overlap.
        let [packed, values, rows] =
            [packed, values, rows].map(|place| unsafe { call.memory.floats_mut(place) });
        let (most, sums) = rows.split_at_mut(MOST_QUERIES);
        most[..queries.len()].fill(f32::NEG_INFINITY);
        sums[..queries.len()].fill(0.0);
        HeadRows {
            query: matrix(0, q, &of.query),
            key: matrix(1, k, &of.key),
            value: matrix(2, v, &of.value),
            out: output(call),
            masks: masks.collect(),
            scale: call.weights.bias.first().copied().unwrap_or(1.0),
            first: queries.start,
            scores: call.memory.ptr(scores.start),
            of,
            to,
            packed,
            values,
            most,
            sums,
        }
    }

    /// Packs a block of keys, scaled, and their values.
    pub(super) fn pack(&mut self, keys: Range<usize>) {
        let [key, value] = self.of.panels(keys.len());
        let all = |panels: Panels| (0..panels.count()).map(move |i| panels.panel(i));
        for panel in all(key) {
            let from = self.key.from(0, keys.start);
            from.pack(key, panel, self.scale, &mut self.packed[panel.at..]);
        }
        for panel in all(value) {
            let from = self.value.from(keys.start, 0);
            from.pack(value, panel, 1.0, &mut self.values[panel.at..]);
        }
    }

    /// Returns the mask that is added as scores leave registers, and the others.
    fn masks(
        &self,
    ) -> (
        Option<StridedMatrix<'a>>,
        impl Iterator<Item = StridedMatrix<'a>> + '_,
    ) {
        let (first, others) = match self.masks.split_first() {
            Some((first, others)) if first.column == 1 => (Some(*first), others),
            _ => (None, &self.masks[..]),
        };
        (first, others.iter().copied())
    }

    /// Computes the scores of some queries.
    ///
    /// # Safety
    /// The keys are packed, and the call's offsets are those of queries and scores.
    pub(super) unsafe fn scores(&self, call: &Call<'_>, queries: Range<usize>, keys: Range<usize>) {
        let [panels, _] = self.of.panels(keys.len());
        let stride = self.of.scores_stride();
        let (mask, others) = self.masks();
        for panel in (0..panels.count()).map(|i| panels.panel(i)) {
            for rows in even_tiles(queries.len(), panels.shape.rows(panel.vectors)) {
                let query = self.query.from(queries.start + rows.start, 0);
                let reach = (rows.len() - 1) * query.line + panels.depth;
                let column = keys.start + panel.column;
                let mask = mask.map(|m| m.from(queries.start + rows.start, column));
                let tile = Tile {
                    base: query.data[..reach].as_ptr(),
                    rows: call.offsets.as_ptr(),
                    rows_stride: 0,
                    taps: 1,
                    depth: panels.depth,
                    panel: self.packed[panel.at..].as_ptr(),
                    prefetch: Prefetch::NOTHING,
                    bias: std::ptr::null(),
                    residual: mask.map_or(std::ptr::null(), |m| m.data.as_ptr()),
                    residual_stride: mask.map_or(0, |m| m.line),
                    out: self.scores.wrapping_add(rows.start * stride + panel.column),
                    out_stride: stride,
                    vectors: panel.vectors,
                    last: panel.last,
                    activation: None,
                };
                let run = tile_fn(call.family, panel.vectors, rows.len());
                // SAFETY: the rows lie inside of the queries and of the mask, and the scores
                // have room for all keys of a block.
                unsafe { run(&tile) };
            }
        }
        for mask in others {
            let mask = mask.from(queries.start, keys.start);
            for row in 0..queries.len() {
                // SAFETY: the row was just written.
                let scores = unsafe {
                    std::slice::from_raw_parts_mut(self.scores.add(row * stride), keys.len())
                };
                for (key, score) in scores.iter_mut().enumerate() {
                    *score += mask.data[row * mask.line + key * mask.column];
                }
            }
        }
    }

    /// Turns scores into shares of the rows processed so far.
    ///
    /// # Safety
    /// The scores are computed; the family is available.
    pub(super) unsafe fn shares(
        &mut self,
        call: &Call<'_>,
        queries: Range<usize>,
        keys: Range<usize>,
    ) {
        let (row, features) = self.row();
        let rows = queries.start - self.first..queries.end - self.first;
        let work = Shares {
            scores: self.scores,
            stride: self.of.scores_stride(),
            keys: keys.len(),
            most: &mut self.most[rows.clone()],
            sums: &mut self.sums[rows],
            out: (keys.start > 0).then_some(self.out),
            to: self.to + queries.start * row,
            row,
            features,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { vector::dispatch(call.family, work) }
    }

    /// Returns the floats from one query's answer to the next's, and the values of one.
    fn row(&self) -> (usize, usize) {
        let (features, _) = Attention::axis(&self.of.output, 0);
        (Attention::axis(&self.of.output, 1).1, features)
    }

    /// Adds the shares of values to the answers.
    ///
    /// # Safety
    /// The scores are shares; the values are packed.
    pub(super) unsafe fn answers(
        &self,
        call: &Call<'_>,
        queries: Range<usize>,
        keys: Range<usize>,
    ) {
        let [_, panels] = self.of.panels(keys.len());
        let (stride, (row, _)) = (self.of.scores_stride(), self.row());
        for panel in (0..panels.count()).map(|i| panels.panel(i)) {
            let columns = (panel.vectors - 1) * panels.shape.lanes + panel.last;
            for rows in even_tiles(queries.len(), panels.shape.rows(panel.vectors)) {
                let at = self.to + (queries.start + rows.start) * row + panel.column;
                let out = self.out.ptr(at, (rows.len() - 1) * row + columns);
                let tile = Tile {
                    base: self.scores.wrapping_add(rows.start * stride),
                    rows: call.offsets[QUERIES..].as_ptr(),
                    rows_stride: 0,
                    taps: 1,
                    depth: panels.depth,
                    panel: self.values[panel.at..].as_ptr(),
                    prefetch: Prefetch::NOTHING,
                    bias: std::ptr::null(),
                    residual: if keys.start > 0 {
                        out
                    } else {
                        std::ptr::null()
                    },
                    residual_stride: row,
                    out,
                    out_stride: row,
                    vectors: panel.vectors,
                    last: panel.last,
                    activation: None,
                };
                let run = tile_fn(call.family, panel.vectors, rows.len());
                // SAFETY: the rows of scores and of the answer are this task's; a tile reads the
                // values it adds to before it writes.
                unsafe { run(&tile) };
            }
        }
    }

    /// Divides the answers by the sums of their shares.
    ///
    /// # Safety
    /// The answers are this task's.
    pub(super) unsafe fn finish(&self, queries: Range<usize>) {
        let (row, features) = self.row();
        for query in queries {
            let sum = self.sums[query - self.first];
            let share = 1.0 / sum;
            // SAFETY: guaranteed by the caller.
            let values = unsafe { self.out.run(self.to + query * row, features) };
            match self.of.guard {
                // The values were multiplied by shares of 0, so their sum is 0.
                ShareGuard::Masked if sum == 0.0 => {}
                ShareGuard::AnyNan if !share.is_finite() => values.fill(0.0),
                _ => values.iter_mut().for_each(|v| *v *= share),
            }
        }
    }
}

/// Scores of some queries for a block of keys, on their way to shares.
struct Shares<'a> {
    scores: *mut f32,
    stride: usize,
    keys: usize,
    /// The largest score of each query so far, and the sum of exponentials relative to it.
    most: &'a mut [f32],
    sums: &'a mut [f32],
    /// The answers so far; `None` before the first block of keys.
    out: Option<OutputFloats<'a>>,
    to: usize,
    row: usize,
    features: usize,
}

impl Vectorised for Shares<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for (at, (most, total)) in self.most.iter_mut().zip(self.sums).enumerate() {
            // SAFETY: this number of rows of scores was computed.
            let scores = unsafe {
                std::slice::from_raw_parts_mut(self.scores.add(at * self.stride), self.keys)
            };
            let best = largest(scores).max(*most);
            // If all scores are masked so far, differences are relative to 0, so that no share is
            // NaN.
            let around = if best == f32::NEG_INFINITY { 0.0 } else { best };
            // SAFETY: the family's instructions are enabled here.
            unsafe { exponentials::<V>(scores, around) };
            let kept = (*most - around).exp();
            *total = *total * kept + sum(scores);
            *most = best;
            if let Some(out) = self.out.filter(|_| kept != 1.0) {
                // SAFETY: the answers are this task's.
                let row = unsafe { out.run(self.to + at * self.row, self.features) };
                row.iter_mut().for_each(|v| *v *= kept);
            }
        }
    }
}
