//! Attention: softmax(Q · Kᵀ · scale + masks) · V for each head, a block of keys after the other,
//! with running maxima and sums of the rows (Dao and others, "FlashAttention", arXiv 2205.14135,
//! section 3.1). Scores stay in cache and are never held all.

use super::super::buffer::LINE;
use super::super::panels::{Panels, TileShape};
use super::super::task::{Call, Scratch, Split};
use super::head::HeadRows;
use super::operands::{PlacedOperands, Source};
use super::walk::Walk;
use crate::compute::tensors::{AttentionForm, MaskSource, ShareGuard, Strided};

/// Attention with its operands placed.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Attention {
    pub(super) query: Strided,
    pub(super) key: Strided,
    pub(super) value: Strided,
    pub(super) output: Strided,
    /// The walk over all four, with one head as a run.
    pub(super) heads: Walk<4>,
    pub(super) masks: Vec<PlacedMask>,
    pub(super) guard: ShareGuard,
    shape: TileShape,
}

/// A mask with the floats from one query and one key to the next.
#[derive(Clone, Debug)]
pub(super) struct PlacedMask {
    pub source: Source,
    pub heads: Walk<1>,
    pub query: usize,
    pub key: usize,
}

/// Keys of a block.
const KEYS: usize = 256;

/// Queries whose scores are computed together.
pub(super) const QUERIES: usize = 24;

/// The most queries of a task, for the sake of its scratch, and the least, so that keys are
/// packed for many.
pub(super) const MOST_QUERIES: usize = 256;
const LEAST_QUERIES: usize = 48;

/// Tasks for each thread.
const TASKS_A_THREAD: usize = 4;

impl Attention {
    pub(super) fn new(
        operands: &PlacedOperands<'_>,
        form: &AttentionForm,
        shape: TileShape,
    ) -> Option<Self> {
        let heads = form.output.rank() - 2;
        let (query, q) = operands.input(0, form.query)?;
        let (key, k) = operands.input(1, form.key)?;
        let (value, v) = operands.input(2, form.value)?;
        let (output, o) = operands.output(form.output)?;
        let leading = [query, key, value, output].map(|of| of.leading(heads));
        let mut constants = 0;
        let masks = form.masks.iter().map(|mask| {
            let (source, at, samples) = match mask.source {
                MaskSource::Input(input) => {
                    let (at, samples) = operands.input(input, mask.at)?;
                    (Source::Input(input), at, samples)
                }
                MaskSource::Parameter { values, .. } => {
                    let at = mask.at.moved(constants);
                    constants += values;
                    (Source::Parameters, at, 0)
                }
            };
            Some(PlacedMask {
                source,
                heads: Walk::points([at.leading(heads)], [samples]),
                query: at.stride(heads),
                key: at.stride(heads + 1),
            })
        });
        Some(Attention {
            masks: masks.collect::<Option<_>>()?,
            query,
            key,
            value,
            output,
            heads: Walk::points(leading, [q, k, v, o]),
            guard: form.guard,
            shape,
        })
    }

    pub(super) fn axis(of: &Strided, back: usize) -> (usize, usize) {
        let axis = of.rank() - 1 - back;
        (of.dims[axis], of.stride(axis))
    }

    fn queries(&self) -> usize {
        Self::axis(&self.query, 1).0
    }

    fn keys(&self) -> usize {
        Self::axis(&self.key, 0).0
    }

    /// Returns the panels of `keys` keys, and the panels of their values.
    pub(super) fn panels(&self, keys: usize) -> [Panels; 2] {
        let (depth, _) = Self::axis(&self.query, 0);
        let (features, _) = Self::axis(&self.value, 0);
        [(depth, keys), (keys, features)].map(|(depth, columns)| Panels {
            depth,
            columns,
            shape: self.shape,
        })
    }

    fn split(&self, samples: usize, threads: usize) -> Split {
        let heads = samples * self.heads.runs();
        let wanted = if threads > 1 {
            (threads * TASKS_A_THREAD).div_ceil(heads.max(1))
        } else {
            1
        };
        let most = self.queries().div_ceil(wanted);
        Split::at_most(self.queries(), most.clamp(LEAST_QUERIES, MOST_QUERIES))
    }

    pub(super) fn tasks(&self, samples: usize, threads: usize) -> usize {
        samples * self.heads.runs() * self.split(samples, threads).tasks()
    }

    /// Returns the floats of packed keys, packed values, scores, and maxima and sums.
    pub(super) fn places(&self) -> [usize; 4] {
        let keys = self.keys().min(KEYS);
        let [packed, values] = self.panels(keys).map(|p| p.floats());
        let scores = QUERIES * self.scores_stride();
        [packed, values, scores, 2 * MOST_QUERIES].map(|f| f.next_multiple_of(LINE))
    }

    /// Returns the floats from one query's scores to the next's.
    pub(super) fn scores_stride(&self) -> usize {
        self.keys().min(KEYS).next_multiple_of(LINE) + LINE
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            own: self.places().iter().sum(),
            shared: 0,
            offsets: 2 * QUERIES,
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &mut Call<'_>, task: usize) {
        let split = self.split(call.samples, call.threads);
        let (head, queries) = (task / split.tasks(), split.range(task % split.tasks()));
        let offsets = [Self::axis(&self.query, 1).1, self.scores_stride()];
        call.offsets.clear();
        for stride in offsets {
            call.offsets.extend((0..QUERIES).map(|q| q * stride));
        }
        // SAFETY: a step never reads the slot that it writes, and scratch is the thread's own.
        let mut head = unsafe { HeadRows::new(self, call, head, queries.clone()) };
        for first in (0..self.keys()).step_by(KEYS) {
            let keys = first..self.keys().min(first + KEYS);
            head.pack(keys.clone());
            for first in queries.clone().step_by(QUERIES) {
                let rows = first..queries.end.min(first + QUERIES);
                // SAFETY: the rows are this task's, whose keys were just packed.
                unsafe {
                    head.scores(call, rows.clone(), keys.clone());
                    head.shares(call, rows.clone(), keys.clone());
                    head.answers(call, rows, keys.clone());
                }
            }
        }
        // SAFETY: as above.
        unsafe { head.finish(queries) };
    }
}
