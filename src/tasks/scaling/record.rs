//! The recent decisions and seconds, for sessions.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use divisi_modelless::demands::MEAN_INTERVALS;
use divisi_modelless::placement::HostedInstances;
use divisi_session::{
    ConsideredView, GoalCount, GoalSecond, LoadedVariant, ScalingChange, StreamView, TaskCostView,
    TaskView, UnreachableView,
};

use super::words;
use crate::routing::{LiveRouter, StreamInterval, UnreachableTally};
use crate::served::ServedTasks;

/// The number of seconds of goals to keep: the time over which policies are compared.
const SECONDS: usize = super::comparison::WINDOW.as_secs() as usize;
/// The time for which unreachable queries stay visible, in seconds.
const LATELY: u8 = 60;
/// The number of changes to keep.
const CHANGES: usize = 64;

/// The recent history of a scaling policy.
#[derive(Clone, Debug, Default)]
pub(super) struct ScalingRecord {
    pub(super) held: Option<String>,
    pub(super) tasks: Vec<TaskView>,
    /// The unreachable queries of each task so far.
    unreachable: Vec<UnreachableTally>,
    pub(super) changes: VecDeque<ScalingChange>,
    pub(super) considered: Vec<ConsideredView>,
    pub(super) loaded: Vec<LoadedVariant>,
    /// The instances with the time since when they were hosted, by the router's clock.
    pub(super) hosted: VecDeque<(Duration, HostedInstances)>,
}

impl ScalingRecord {
    /// Records a change that changed only shares. If it `merges`, it extends the last change.
    pub(super) fn shares(&mut self, change: ScalingChange, merges: bool) {
        if merges {
            self.changes.pop_back_if(|last| last.shares_alone);
        }
        if !change.what.is_empty() {
            self.change(change);
        }
    }

    /// Records a change.
    pub(super) fn change(&mut self, change: ScalingChange) {
        self.changes.push_back(change);
        if self.changes.len() > CHANGES {
            self.changes.pop_front();
        }
    }

    /// Returns the queries of all tasks that ended in the last seconds.
    pub(super) fn counted(&self, seconds: usize) -> GoalCount {
        self.tasks.iter().map(|task| task.counted(seconds)).sum()
    }

    /// Records the instances hosted from a time on, and forgets those replaced before `oldest`.
    pub(super) fn hosts(&mut self, now: Duration, hosted: &HostedInstances, oldest: Duration) {
        if self.hosted.back().is_none_or(|(_, last)| last != hosted) {
            self.hosted.push_back((now, hosted.clone()));
        }
        while self.hosted.get(1).is_some_and(|(from, _)| *from <= oldest) {
            self.hosted.pop_front();
        }
    }

    /// Forgets everything that refers to variants by index.
    pub(super) fn forget_variants(&mut self) {
        self.unreachable.clear();
        self.considered.clear();
        self.loaded.clear();
        self.hosted.clear();
    }

    /// Records the outcomes of each stream in the last second, and the unreachable queries of each
    /// task with their nearest variant. `costs` are the costs of the recent queries of tasks.
    pub(super) fn second(
        &mut self,
        tasks: &ServedTasks,
        streams: &[StreamInterval],
        unreachable: Vec<UnreachableTally>,
        costs: &BTreeMap<String, TaskCostView>,
    ) {
        let counted = std::mem::replace(&mut self.unreachable, unreachable);
        let mut before = std::mem::take(&mut self.tasks);
        for (at, (task, name)) in tasks.names().enumerate() {
            let known = before.iter().position(|view| view.name == name);
            let mut view = known.map(|at| before.swap_remove(at)).unwrap_or_default();
            let (tally, known) = (self.unreachable.get(at), counted.get(at));
            let new = tally.map_or(0, |tally| {
                let known = known.cloned().unwrap_or_default();
                let queries = tally.queries - known.queries;
                view.unreachable = unreachable_now(view.unreachable.take(), queries, tally);
                u32::try_from(tally.samples - known.samples).unwrap_or(u32::MAX)
            });
            let of_task = streams.iter().filter(|s| s.stream.task == task);
            let second = of_task
                .clone()
                .fold(GoalSecond::default(), |sum, s| GoalSecond {
                    met: sum.met + (s.over - s.missed),
                    missed: sum.missed + s.missed,
                });
            if view.seconds.len() >= SECONDS {
                view.seconds.remove(0);
            }
            view.seconds.push(GoalSecond {
                missed: second.missed.saturating_add(new),
                ..second
            });
            view.name = name.to_owned();
            view.streams = streams_of(of_task);
            view.cost = costs.get(name).copied();
            let left_out = tasks.left_out().filter(|left| left.task == name);
            view.not_served = left_out.map(|left| left.why.to_string()).collect();
            self.tasks.push(view);
        }
        let dropped = tasks.dropped().iter();
        self.tasks.extend(dropped.map(|dropped| TaskView {
            name: dropped.task.clone(),
            not_served: vec![dropped.why.to_string()],
            ..TaskView::default()
        }));
    }
}

/// Returns the costs of the recent queries of each task.
pub(super) fn costs(live: &LiveRouter) -> BTreeMap<String, TaskCostView> {
    let router = live.router();
    let costs = router.tasks().names().filter_map(|(_, name)| {
        let cost = live.cost(name)?;
        let view = TaskCostView {
            paid: cost.paid,
            saturated: cost.saturated,
            seconds: u32::try_from(cost.window.as_secs()).unwrap_or(u32::MAX),
        };
        Some((name.to_owned(), view))
    });
    costs.collect()
}

/// Returns the active streams, the strictest first, so that their order is stable.
fn streams_of<'s>(of_task: impl Iterator<Item = &'s StreamInterval>) -> Vec<StreamView> {
    let asked = of_task.filter(|s| s.demand.rate.get() > 0.0 || s.over > 0);
    let mut asked: Vec<&StreamInterval> = asked.collect();
    let key = |s: &StreamInterval| {
        let goals = &s.stream.goals;
        let latency = goals.latency.map_or(Duration::MAX, |latency| latency.get());
        (
            goals.accuracy.map_or(0.0, |accuracy| accuracy.get()),
            latency,
        )
    };
    asked.sort_by(|a, b| {
        let ((strict, soon), (other, later)) = (key(a), key(b));
        other.total_cmp(&strict).then(soon.cmp(&later))
    });
    asked.into_iter().map(stream).collect()
}

/// Returns the recent unreachable queries, updated with the `new` ones of a second.
fn unreachable_now(
    before: Option<UnreachableView>,
    new: u64,
    tally: &UnreachableTally,
) -> Option<UnreachableView> {
    if new > 0 {
        return Some(UnreachableView {
            queries: new,
            seconds: 0,
            nearest: match &tally.nearest {
                Some((nearest, missed)) => format!("{nearest}: {missed}"),
                None => String::new(),
            },
        });
    }
    let older = before.map(|view| UnreachableView {
        seconds: view.seconds + 1,
        ..view
    });
    older.filter(|view| view.seconds <= LATELY)
}

fn stream(interval: &StreamInterval) -> StreamView {
    StreamView {
        goals: words::goals(&interval.stream.goals),
        rate: interval.demand.rate.get(),
        missed: interval.demand.missed,
        seconds: MEAN_INTERVALS,
    }
}
