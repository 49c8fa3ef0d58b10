//! Which queries go first.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_model::ensemble::{QueuePolicy, Queueing};
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::variants::TaskIndex;

use super::ServedTasks;

/// The levels of those that name a latency, and of those that name none.
const TIMED: u64 = 1;
const UNTIMED: u64 = 2;

/// How much a query hurries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryUrgency {
    /// It names a latency, or its ensemble's manifest says how requests wait.
    Timed,
    /// It names none, and goes behind those that do.
    Untimed,
}

/// A query of a task, as far as it matters to whom it goes and when.
#[derive(Clone, Copy, Debug)]
pub struct TaskQuery<'a> {
    /// The task.
    pub task: TaskIndex,
    /// Its goals.
    pub goals: &'a QueryGoals,
    /// Its samples.
    pub samples: u32,
    /// The priority that it names itself; 0 if it names none.
    pub priority: u64,
}

impl QueryUrgency {
    /// Returns the priority of its request: 0 is the default one.
    pub const fn priority(self) -> u64 {
        match self {
            QueryUrgency::Timed => 0,
            QueryUrgency::Untimed => UNTIMED,
        }
    }

    /// Returns the levels of entries of tasks, the most urgent of which is the default.
    pub(super) fn levels() -> Option<Queueing> {
        Queueing::new(UNTIMED, TIMED, QueuePolicy::default(), &BTreeMap::new()).ok()
    }
}

impl ServedTasks {
    /// Returns how much a query hurries that a variant of a group answers. Its own priority overrules its
    /// goals.
    pub fn urgency(&self, group: usize, query: TaskQuery<'_>) -> QueryUrgency {
        let is_untimed = match query.priority {
            0 => query.goals.latency.is_none(),
            named => named == UNTIMED,
        };
        match is_untimed {
            true => self.untimed(group),
            false => QueryUrgency::Timed,
        }
    }

    /// Returns how much less urgent than usual the level of a query is that a variant of a group answers:
    /// below 0 for a more urgent one.
    pub fn level(&self, group: usize, query: TaskQuery<'_>) -> i16 {
        let queueing = self.entries[group].ensemble.queueing.as_deref();
        let priority = match query.priority {
            0 => self.urgency(group, query).priority(),
            named => named,
        };
        queueing.map_or(0, |queueing| queueing.urgency(queueing.level_of(priority)))
    }

    /// Returns the time within which a query is to be answered that a variant of a group answers, if it is
    /// by that that its queries take turns.
    pub fn latency(&self, group: usize, query: TaskQuery<'_>) -> Option<Duration> {
        let latency = query.goals.latency.map(LatencyGoal::get);
        latency.filter(|_| self.by_urgency[group])
    }

    /// Returns how much what names no latency hurries, such as rows of an offline job.
    pub fn untimed(&self, group: usize) -> QueryUrgency {
        match self.by_urgency[group] {
            true => QueryUrgency::Untimed,
            false => QueryUrgency::Timed,
        }
    }
}
