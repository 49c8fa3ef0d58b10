//! How a step's work is divided into tasks.

use std::ops::Range;

use super::PlannedStep;

/// `total` things in even tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    total: usize,
    tasks: usize,
}

/// Tasks for each thread where a step has enough to do: a thread that is held up leaves
/// the rest to others.
const TASKS_A_THREAD: usize = 4;

/// Floats that are worth a task.
const GRAIN: usize = 4 * 1024;

impl Split {
    /// Tasks of at least `grain` things each, for `threads`.
    pub fn new(total: usize, grain: usize, threads: usize) -> Self {
        let most = if threads > 1 {
            threads * TASKS_A_THREAD
        } else {
            1
        };
        Split {
            total,
            tasks: (total / grain.max(1)).clamp(1, most),
        }
    }

    /// Tasks of at most `most` things each.
    pub fn at_most(total: usize, most: usize) -> Self {
        Split {
            total,
            tasks: total.div_ceil(most.max(1)).max(1),
        }
    }

    pub fn tasks(self) -> usize {
        self.tasks
    }

    /// What task `task` has.
    pub fn range(self, task: usize) -> Range<usize> {
        task * self.total / self.tasks..(task + 1) * self.total / self.tasks
    }
}

/// A step's output pixels, over all samples.
pub(super) fn pixels(step: &PlannedStep, samples: usize, threads: usize) -> Split {
    let to = step.output;
    let read: usize = step.inputs.iter().map(|v| v.pixels() * v.channels).sum();
    let work = (read + to.pixels() * to.channels) / to.pixels().max(1);
    Split::new(samples * to.pixels(), GRAIN / work.max(1), threads)
}
