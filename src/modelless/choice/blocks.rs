//! The properties of variants in columns with blocks; a scan skips blocks without candidates.

use std::ops::Range;

use super::wanted::{ANY_MODEL, WantedNumbers};
use crate::variants::AnsweringMembers;

/// The number of variants in a block.
const BLOCK: usize = 64;

/// The time of a variant that does not run.
pub(super) const NEVER: u64 = u64::MAX;

/// The accuracies, costs, models and members of variants.
#[derive(Clone, Debug)]
pub(super) struct ChoiceColumns {
    pub(super) accuracy: Vec<f64>,
    /// In ascending order.
    pub(super) cost: Vec<f64>,
    pub(super) model: Vec<u16>,
    pub(super) members: Vec<AnsweringMembers>,
}

impl ChoiceColumns {
    /// Returns whether a variant is one of the requested model and members.
    pub(super) fn allows(&self, at: usize, wanted: &WantedNumbers) -> bool {
        let is_of_model = wanted.model == ANY_MODEL || wanted.model == u32::from(self.model[at]);
        is_of_model && wanted.whole.is_none_or(|whole| whole == self.members[at])
    }
}

/// A column of times, with bounds for each block.
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

    /// Returns the earliest time of the variants that may answer.
    pub(super) fn soonest(&self, columns: &ChoiceColumns, wanted: &WantedNumbers) -> u64 {
        let all = self.nanos.iter().enumerate();
        let allowed = all.filter(|(at, _)| columns.allows(*at, wanted));
        allowed.map(|(_, nanos)| *nanos).min().unwrap_or(NEVER)
    }

    /// Returns the blocks with variants, with their bounds.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (Range<usize>, BlockBest)> {
        let bests = self.bests.iter().enumerate();
        let bests = bests.filter(|(_, best)| best.nanos != NEVER);
        bests.map(|(block, best)| (self.range(block), *best))
    }

    /// Returns the preferred variant that meets all goals: the first, as costs ascend, or the first
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

    /// Returns whether a variant meets the goals other than accuracy.
    fn meets(&self, at: usize, columns: &ChoiceColumns, wanted: &WantedNumbers) -> bool {
        self.nanos[at] <= wanted.nanos
            && columns.cost[at] <= wanted.cost
            && columns.allows(at, wanted)
    }
}
