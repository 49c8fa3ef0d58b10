//! The batching policies: the decision of a worker with an idle lane about waiting samples, and the
//! lanes of a worker, which are batches that can be in execution at once.

use std::time::Duration;

use divisi_model::ensemble::{BatchSize, MemberPolicy, PolicyKind};

use super::batch::BatchId;

/// A worker's queue, as seen by its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Samples waiting.
    pub samples: usize,
    /// The arrival of the oldest sample.
    pub oldest: Option<Duration>,
    /// Samples that the device can still take (`MaxInf − CurInf`).
    pub room: usize,
}

/// A policy's decision for a free worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run `samples` now, as a batch of `rows`.
    Run {
        /// The number of samples in the batch.
        samples: usize,
        /// The rows to run. More than the samples if the policy pads.
        rows: usize,
    },
    /// Take the segment at the front.
    TakeSegment,
    /// Run nothing until this time unless more samples arrive.
    WaitUntil(Duration),
    /// Run nothing: no samples wait, or no more may be started.
    Idle,
}

/// Decides for one worker of batch size `size` with an idle lane for a full batch.
///
/// Under `elastic` this is a worker on a device that runs one batch at a time. Its lanes would not
/// overlap, so all lanes that it would start at once become one batch. If they do run side by side,
/// [`fitting`] returns the number of samples for a lane.
pub fn decide(policy: MemberPolicy, size: BatchSize, queue: QueueState, now: Duration) -> Decision {
    let Some(oldest) = queue.oldest else {
        return Decision::Idle;
    };
    let full = size.get();
    let samples = queue.samples.min(full);
    let run = |samples: usize| Decision::Run {
        samples,
        rows: samples,
    };
    match policy.kind {
        PolicyKind::NoWait => run(samples),
        PolicyKind::Elastic { .. } => match samples.min(queue.room) {
            0 => Decision::Idle,
            samples => run(samples),
        },
        PolicyKind::Segment { .. } => Decision::TakeSegment,
        PolicyKind::OptWait { wait }
        | PolicyKind::PipelinedOptWait { wait }
        | PolicyKind::Static { wait } => {
            let due = oldest.saturating_add(wait.get());
            let enough = policy.enough.unwrap_or(size).min(size).get();
            if samples < enough && now < due {
                return Decision::WaitUntil(due);
            }
            match policy.kind {
                PolicyKind::Static { .. } => Decision::Run {
                    samples,
                    rows: full,
                },
                _ => run(samples),
            }
        }
    }
}

/// Returns the samples that an elastic worker can start now: `R = min(N, MaxInf − CurInf)` (Ebird,
/// algorithm 1). [`Lanes::elastic`] selects the lane.
pub fn fitting(ready: usize, room: usize) -> usize {
    ready.min(room)
}

/// One lane: its position in its worker and its largest batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The number of the lane in its worker.
    pub index: usize,
    /// The most rows of its batches.
    pub size: usize,
}

/// The batches that an elastic worker starts next to those in execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Any batch that fits (Ebird, algorithm 1).
    Any,
    /// Batches of at least half as many samples.
    ///
    /// On an H100, six lanes of 10 samples reach 0.58 of the throughput of one batch of 60
    /// (`benches/cuda`, row `lanes`).
    Half,
}

impl Beside {
    /// Returns whether a batch of `samples` starts next to batches with a total of `alive` samples.
    pub fn allows(self, samples: usize, alive: usize) -> bool {
        match self {
            Beside::Any => true,
            Beside::Half => 2 * samples >= alive,
        }
    }
}

/// Returns the lane sizes of a worker of batch size `size`, smallest first. If batches run one at a
/// time, there is one lane under every policy.
///
/// Under `elastic` the sizes are 1, 1, 2, 4, … up to half the batch size. They add up to it, so any
/// number of samples can start at once (Ebird, section VI.C).
pub fn lane_sizes(policy: PolicyKind, size: BatchSize, side_by_side: bool) -> Vec<usize> {
    let size = size.get();
    match policy {
        PolicyKind::Elastic { .. } if side_by_side => {
            let doubled = std::iter::successors(Some(1), |s| Some(s * 2));
            let rest = doubled.take_while(|s| s * 2 <= size);
            std::iter::once(1).chain(rest).collect()
        }
        _ => vec![size],
    }
}

/// The lanes of one worker, with their batches.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: Vec<LaneState>,
    /// Batches of the lanes of an earlier policy. Nothing starts before they end.
    old: Vec<(BatchId, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct LaneState {
    size: usize,
    /// The running batch and its samples.
    runs: Option<(BatchId, usize)>,
    idle_since: Duration,
}

impl Lanes {
    /// Creates idle lanes of `sizes`, smallest first.
    pub fn new(now: Duration, sizes: &[usize]) -> Self {
        let idle = |&size: &usize| LaneState {
            size,
            runs: None,
            idle_since: now,
        };
        Lanes {
            lanes: sizes.iter().map(idle).collect(),
            old: Vec::new(),
        }
    }

    /// Returns the total samples that the idle lanes can take.
    pub fn idle_samples(&self) -> usize {
        self.idle().map(|lane| lane.size).sum()
    }

    /// Replaces the lanes after their running batches end.
    pub fn replace(&mut self, now: Duration, sizes: &[usize]) {
        if self.lanes.iter().map(|l| l.size).eq(sizes.iter().copied()) {
            return;
        }
        let mut old = std::mem::take(&mut self.old);
        old.extend(self.lanes.iter().filter_map(|l| l.runs));
        *self = Lanes::new(now, sizes);
        self.old = old;
    }

    /// Returns the largest idle lane of at most `most`.
    fn largest_idle(&self, most: usize) -> Option<Lane> {
        self.idle().rfind(|lane| lane.size <= most)
    }

    /// Returns the largest idle lane of at most `most`, or `None` if there is none or it is too
    /// small to start next to the running batches.
    pub fn elastic(&self, most: usize, beside: Beside) -> Option<Lane> {
        let lane = self.largest_idle(most)?;
        beside.allows(lane.size, self.alive()).then_some(lane)
    }

    /// Returns the smallest idle lane of at least `least`.
    pub fn smallest_idle(&self, least: usize) -> Option<Lane> {
        self.idle().find(|lane| lane.size >= least)
    }

    fn idle(&self) -> impl DoubleEndedIterator<Item = Lane> {
        let lanes = self.lanes.iter().enumerate();
        lanes
            .filter(|(_, l)| l.runs.is_none() && self.old.is_empty())
            .map(|(index, l)| Lane {
                index,
                size: l.size,
            })
    }

    /// Returns the time since when a lane has been idle.
    pub fn idle_since(&self, lane: Lane) -> Duration {
        self.lanes[lane.index].idle_since
    }

    /// Starts a batch of `samples` in a lane.
    pub fn start(&mut self, lane: Lane, batch: BatchId, samples: usize) {
        self.lanes[lane.index].runs = Some((batch, samples));
    }

    /// Ends a batch. Returns its number of samples.
    pub fn finish(&mut self, now: Duration, batch: BatchId) -> usize {
        if let Some(at) = self.old.iter().position(|(b, _)| *b == batch) {
            return self.old.swap_remove(at).1;
        }
        let runs = |lane: &&mut LaneState| lane.runs.is_some_and(|(b, _)| b == batch);
        match self.lanes.iter_mut().find(runs) {
            Some(lane) => {
                lane.idle_since = now;
                lane.runs.take().map_or(0, |(_, samples)| samples)
            }
            None => 0,
        }
    }

    /// Returns the samples in execution.
    pub fn alive(&self) -> usize {
        let now = self.lanes.iter().filter_map(|l| l.runs);
        now.chain(self.old.iter().copied()).map(|(_, s)| s).sum()
    }
}
