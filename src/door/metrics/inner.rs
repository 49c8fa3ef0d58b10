//! The times of an ensemble nested in another one, from the runs of its steps.

use std::time::Duration;

use divisi_engine::serving::StepRun;

/// The parts of a time: each moment counts once, even if several runs overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InnerTimes {
    pub(super) queue: Duration,
    pub(super) input: Duration,
    pub(super) compute: Duration,
    pub(super) output: Duration,
}

/// The number of kinds of time, in order of precedence.
const KINDS: usize = 3;

impl InnerTimes {
    /// Returns the times of runs, from the arrival of the first to the end of the last. A moment
    /// counts as computing if any run computes, else as copying in, else as handing on, else as
    /// waiting.
    pub(super) fn from_runs<'r>(runs: impl Iterator<Item = &'r StepRun>) -> Self {
        let mut marks: Vec<(Duration, usize, isize)> = Vec::new();
        let mut span: Option<(Duration, Duration)> = None;
        for run in runs {
            let input = run.arrived + run.queued;
            let compute = input + run.input;
            let output = compute + run.computed;
            let end = output + run.output;
            for (kind, from, to) in [(0, compute, output), (1, input, compute), (2, output, end)] {
                marks.extend([(from, kind, 1), (to, kind, -1)]);
            }
            let (first, last) = span.unwrap_or((run.arrived, end));
            span = Some((first.min(run.arrived), last.max(end)));
        }
        let (first, last) = span.unwrap_or_default();
        let times = by_kind(marks, first);
        let [compute, input, output] = times;
        InnerTimes {
            queue: (last - first).saturating_sub(times.iter().sum()),
            input,
            compute,
            output,
        }
    }

    pub(super) fn total(self) -> Duration {
        self.queue + self.input + self.compute + self.output
    }
}

/// Returns the time for which each kind takes precedence.
fn by_kind(mut marks: Vec<(Duration, usize, isize)>, first: Duration) -> [Duration; KINDS] {
    marks.sort_unstable();
    let (mut times, mut under_way, mut at) = ([Duration::ZERO; KINDS], [0; KINDS], first);
    for (moment, kind, change) in marks {
        if let Some(now) = under_way.iter().position(|count| *count > 0) {
            times[now] += moment - at;
        }
        under_way[kind] += change;
        at = moment;
    }
    times
}

#[cfg(test)]
#[path = "../../../tests/door/units/metrics/inner.rs"]
mod tests;
