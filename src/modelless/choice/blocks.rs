//! The numbers of variants as columns in blocks, of which a scan skips those that hold nothing for it.

use std::ops::Range;

use super::wanted::WantedNumbers;

/// The variants of a block.
const BLOCK: usize = 64;

/// Never: the time of a variant that does not run.
pub(super) const NEVER: u64 = u64::MAX;

/// The accuracies, costs and models of variants.
#[derive(Clone, Debug)]
pub(super) struct ChoiceColumns {
    pub(super) accuracy: Vec<f64>,
    /// Rising.
    pub(super) cost: Vec<f64>,
    pub(super) model: Vec<u16>,
}

/// A column of times, with the best of each block.
#[derive(Clone, Debug)]
pub(super) struct TimeColumn {
    nanos: Vec<u64>,
    bests: Vec<BlockBest>,
}

/// Bounds on all variants of a block that are not [`NEVER`].
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockBest {
    pub(super) accuracy: f64,
    pub(super) nanos: u64,
}

impl TimeColumn {
    pub(super) fn new(nanos: Vec<u64>, columns: &ChoiceColumns) -> Self {
        let mut column = TimeColumn {
            bests: Vec::with_capacity(nanos.len().div_ceil(BLOCK)),
            nanos,
        };
        for block in 0..column.nanos.len().div_ceil(BLOCK) {
            let best = column.best(block, columns);
            column.bests.push(best);
        }
        column
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        self.nanos[at]
    }

    pub(super) fn set(&mut self, at: usize, nanos: u64, columns: &ChoiceColumns) {
        self.nanos[at] = nanos;
        let block = at / BLOCK;
        self.bests[block] = self.best(block, columns);
    }

    fn range(&self, block: usize) -> Range<usize> {
        block * BLOCK..((block + 1) * BLOCK).min(self.nanos.len())
    }

    fn best(&self, block: usize, columns: &ChoiceColumns) -> BlockBest {
        let mut best = BlockBest {
            accuracy: -1.0,
            nanos: NEVER,
        };
        for at in self.range(block) {
            if self.nanos[at] != NEVER {
                best.accuracy = best.accuracy.max(columns.accuracy[at]);
                best.nanos = best.nanos.min(self.nanos[at]);
            }
        }
        best
    }

    /// Returns the least of the times of variants that may answer.
    pub(super) fn soonest(&self, columns: &ChoiceColumns, wanted: &WantedNumbers) -> u64 {
        let all = self.nanos.iter().zip(&columns.model);
        let allowed = all.filter(|(_, model)| wanted.allows(**model));
        allowed.map(|(nanos, _)| *nanos).min().unwrap_or(NEVER)
    }

    /// Returns the blocks that hold variants, with their bests.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (Range<usize>, BlockBest)> {
        let bests = self.bests.iter().enumerate();
        let bests = bests.filter(|(_, best)| best.nanos != NEVER);
        bests.map(|(block, best)| (self.range(block), *best))
    }

    /// Returns the preferred variant that meets all goals: the first, as costs rise, or the first
    /// of the most accurate ones.
    pub(super) fn preferred(
        &self,
        columns: &ChoiceColumns,
        wanted: &WantedNumbers,
    ) -> Option<usize> {
        let mut found = None;
        let mut least = wanted.accuracy;
        for (range, best) in self.blocks() {
            if columns.cost[range.start] > wanted.cost {
                return found;
            }
            if best.accuracy < least || best.nanos > wanted.nanos {
                continue;
            }
            for at in range {
                if self.meets(at, columns, wanted) && columns.accuracy[at] >= least {
                    if !wanted.most_accurate {
                        return Some(at);
                    }
                    found = Some(at);
                    least = columns.accuracy[at].next_up();
                }
            }
        }
        found
    }

    /// Whether a variant meets the goals but for accuracy.
    fn meets(&self, at: usize, columns: &ChoiceColumns, wanted: &WantedNumbers) -> bool {
        self.nanos[at] <= wanted.nanos
            && columns.cost[at] <= wanted.cost
            && wanted.allows(columns.model[at])
    }
}
