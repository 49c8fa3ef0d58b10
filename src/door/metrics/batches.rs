//! The executed batches by size.

use std::collections::BTreeMap;

use divisi_engine::serving::StepRun;
use divisi_runtime::lock::Leaf;

use super::timed::TimedCount;

/// The number of distinct sizes; batches of further sizes are left out.
const MOST_SIZES: usize = 256;

/// The batches of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchStatistics {
    /// The number of samples.
    pub size: u64,
    /// The time of copying inputs.
    pub input: TimedCount,
    /// The time of computing.
    pub compute: TimedCount,
    /// The time of combining outputs.
    pub output: TimedCount,
}

/// Counts the batches of a version of a model, from any thread.
#[derive(Debug, Default)]
pub(super) struct BatchTally(Leaf<BTreeMap<usize, BatchStatistics>>);

impl BatchTally {
    /// Counts the batches of a request's runs, and returns their number. If a request is one sample
    /// for clients, its runs are a batch of one, as Triton counts models without batching.
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

    /// Counts the batches whose first rows are those of runs, so that a shared batch is counted
    /// once.
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
