//! The batches that ran, by their sizes.

use std::collections::BTreeMap;

use divisi_engine::serving::StepRun;
use divisi_runtime::lock::Leaf;

use super::timed::TimedCount;

/// The sizes that are told apart; batches of any further size are left out.
const MOST_SIZES: usize = 256;

/// The batches of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchStatistics {
    /// Their samples.
    pub size: u64,
    /// Their copying in.
    pub input: TimedCount,
    /// Their computing.
    pub compute: TimedCount,
    /// Their combining.
    pub output: TimedCount,
}

/// Counts the batches of a version of a model, from any thread.
#[derive(Debug, Default)]
pub(super) struct BatchTally(Leaf<BTreeMap<usize, BatchStatistics>>);

impl BatchTally {
    /// Counts the batches of a request's runs, and returns how many they are. Where a request is one
    /// sample for clients, its runs are a batch of one, as Triton counts what it cannot batch.
    pub(super) fn count<'r>(
        &self,
        runs: impl Iterator<Item = &'r StepRun>,
        one_sample: bool,
    ) -> u64 {
        if !one_sample {
            return self.count_begun(runs);
        }
        let last = runs.filter(|run| run.batch.is_some()).last();
        last.inspect(|run| self.add(1, run)).map_or(0, |_| 1)
    }

    /// Counts the batches whose first rows are those of runs: so each batch is counted once, whoever
    /// shares it.
    fn count_begun<'r>(&self, runs: impl Iterator<Item = &'r StepRun>) -> u64 {
        let begun = runs.filter_map(|run| Some((run.batch.filter(|b| b.is_first)?.samples, run)));
        let mut count = 0;
        for (samples, run) in begun {
            self.add(samples, run);
            count += 1;
        }
        count
    }

    fn add(&self, samples: usize, run: &StepRun) {
        let mut sizes = self.0.lock();
        if sizes.len() >= MOST_SIZES && !sizes.contains_key(&samples) {
            return;
        }
        let size = sizes.entry(samples).or_default();
        size.size = samples as u64;
        size.input.add(run.input);
        size.compute.add(run.computed);
        size.output.add(run.output);
    }

    /// Returns the batches of each size, the smallest first.
    pub(super) fn read(&self) -> Vec<BatchStatistics> {
        self.0.lock().values().copied().collect()
    }
}
