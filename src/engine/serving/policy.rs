//! The batching policies: what a worker with an idle lane does with what waits, and the lanes
//! that it has: batches that can be in execution at once.

use std::time::Duration;

use divisi_model::ensemble::{BatchSize, MemberPolicy, PolicyKind};

use super::batch::BatchId;

/// A worker's queue, as its policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Samples waiting.
    pub samples: usize,
    /// When the oldest arrived.
    pub oldest: Option<Duration>,
    /// Samples that its device may still take (`MaxInf − CurInf`).
    pub room: usize,
}

/// A policy's answer to a worker that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run `samples` now, as a batch of `rows`.
    Run {
        /// Samples that it takes.
        samples: usize,
        /// Rows that it runs: more where the policy pads.
        rows: usize,
    },
    /// Take the segment at the front.
    TakeSegment,
    /// Nothing before this time unless more arrives.
    WaitUntil(Duration),
    /// Nothing waits, or nothing more may be started.
    Idle,
}

/// Decides for one worker of batch size `size` with an idle lane for a full batch.
///
/// Under `elastic` that is a worker whose device runs one batch at a time: all lanes
/// that it would start at once become one batch, since none would run beside another.
/// Where they do run side by side, [`fitting`] says how much a lane takes.
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

/// Samples that an elastic worker may start now: `R = min(N, MaxInf − CurInf)`
/// (Ebird, algorithm 1). [`Lanes::elastic`] says which lane takes how many of them.
pub fn fitting(ready: usize, room: usize) -> usize {
    ready.min(room)
}

/// One lane: its place among its worker's lanes and the largest batch it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its number in its worker.
    pub index: usize,
    /// Rows of its batches at most.
    pub size: usize,
}

/// Which batches an elastic worker starts beside those that it has in execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Any that fits (Ebird, algorithm 1).
    Any,
    /// Those of at least half as many samples.
    ///
    /// On an H100 six lanes of 10 samples serve 0.58 of what one batch of 60 does
    /// (`benches/cuda`, row `lanes`).
    Half,
}

impl Beside {
    /// Whether a batch of `samples` starts beside batches of `alive` samples in all.
    pub fn allows(self, samples: usize, alive: usize) -> bool {
        match self {
            Beside::Any => true,
            Beside::Half => 2 * samples >= alive,
        }
    }
}

/// Sizes of the lanes of a worker of batch size `size`, smallest first. Where batches
/// run one at a time there is one lane, whatever the policy.
///
/// Elastic: 1, 1, 2, 4, … up to half the batch size, which add up to it, so that any
/// number of samples can be started at once (Ebird, section VI.C).
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

/// The lanes of one worker and what they run.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: Vec<LaneState>,
    /// Batches of lanes that another policy had; nothing starts before they are done.
    old: Vec<(BatchId, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct LaneState {
    size: usize,
    /// The batch it runs and its samples.
    runs: Option<(BatchId, usize)>,
    idle_since: Duration,
}

impl Lanes {
    /// Idle lanes of `sizes`, smallest first.
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

    /// Samples that the idle lanes take together.
    pub fn idle_samples(&self) -> usize {
        self.idle().map(|lane| lane.size).sum()
    }

    /// Other lanes from now on; what runs is finished first.
    pub fn replace(&mut self, now: Duration, sizes: &[usize]) {
        if self.lanes.iter().map(|l| l.size).eq(sizes.iter().copied()) {
            return;
        }
        let mut old = std::mem::take(&mut self.old);
        old.extend(self.lanes.iter().filter_map(|l| l.runs));
        *self = Lanes::new(now, sizes);
        self.old = old;
    }

    /// The largest idle lane of at most `most`.
    fn largest_idle(&self, most: usize) -> Option<Lane> {
        self.idle().rfind(|lane| lane.size <= most)
    }

    /// Returns the largest idle lane of at most `most`, or `None` if there is none, or it is
    /// too small to start beside what runs.
    pub fn elastic(&self, most: usize, beside: Beside) -> Option<Lane> {
        let lane = self.largest_idle(most)?;
        beside.allows(lane.size, self.alive()).then_some(lane)
    }

    /// The smallest idle lane of at least `least`.
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

    /// Since when a lane has been idle.
    pub fn idle_since(&self, lane: Lane) -> Duration {
        self.lanes[lane.index].idle_since
    }

    /// A batch of `samples` starts in a lane.
    pub fn start(&mut self, lane: Lane, batch: BatchId, samples: usize) {
        self.lanes[lane.index].runs = Some((batch, samples));
    }

    /// Ends a batch. Returns its samples.
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

    /// Samples in execution.
    pub fn alive(&self) -> usize {
        let now = self.lanes.iter().filter_map(|l| l.runs);
        now.chain(self.old.iter().copied()).map(|(_, s)| s).sum()
    }
}
