//! The last decisions and seconds, for whoever watches.

use std::collections::VecDeque;
use std::time::Duration;

use divisi::session::{
    ConsideredView, GoalSecond, LoadedVariant, ScalingChange, StreamView, TaskView,
};
use divisi_modelless::placement::HostedInstances;

use super::words;
use crate::routing::StreamInterval;
use crate::served::ServedTasks;

/// The seconds of goals that are kept.
const SECONDS: usize = 240;
/// The changes that are kept.
const CHANGES: usize = 64;

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct ScalingRecord {
    pub(super) held: Option<String>,
    pub(super) tasks: Vec<TaskView>,
    pub(super) changes: VecDeque<ScalingChange>,
    pub(super) considered: Vec<ConsideredView>,
    pub(super) loaded: Vec<LoadedVariant>,
    /// The instances that were hosted from when on, by the router's time.
    pub(super) hosted: VecDeque<(Duration, HostedInstances)>,
}

impl ScalingRecord {
    /// Takes a change of what is served.
    pub(super) fn change(&mut self, change: ScalingChange) {
        self.changes.push_back(change);
        if self.changes.len() > CHANGES {
            self.changes.pop_front();
        }
    }

    /// Takes what is hosted from a time on; what was there before `oldest` began is forgotten.
    pub(super) fn hosts(&mut self, now: Duration, hosted: &HostedInstances, oldest: Duration) {
        if self.hosted.back().is_none_or(|(_, last)| last != hosted) {
            self.hosted.push_back((now, hosted.clone()));
        }
        while self.hosted.get(1).is_some_and(|(from, _)| *from <= oldest) {
            self.hosted.pop_front();
        }
    }

    /// Takes what became of each stream in the last second.
    pub(super) fn second(&mut self, tasks: &ServedTasks, streams: &[StreamInterval]) {
        let names = tasks.names().map(|(task, name)| {
            let of_task = streams.iter().filter(|s| s.stream.task == task);
            let mut views: Vec<StreamView> = of_task.clone().map(stream).collect();
            views.sort_by(|a, b| b.rate.total_cmp(&a.rate));
            let second = of_task.fold(GoalSecond::default(), |sum, stream| GoalSecond {
                met: sum.met + (stream.over - stream.missed),
                missed: sum.missed + stream.missed,
            });
            (name.to_owned(), views, second)
        });
        let mut before = std::mem::take(&mut self.tasks).into_iter();
        for (name, streams, second) in names {
            let mut seconds = before.next().map(|task| task.seconds).unwrap_or_default();
            if seconds.len() >= SECONDS {
                seconds.remove(0);
            }
            seconds.push(second);
            self.tasks.push(TaskView {
                name,
                streams,
                seconds,
            });
        }
    }
}

fn stream(interval: &StreamInterval) -> StreamView {
    StreamView {
        goals: words::goals(&interval.stream.goals),
        rate: interval.demand.rate.get(),
        missed: interval.demand.missed,
    }
}
