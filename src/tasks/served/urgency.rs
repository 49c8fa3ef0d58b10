//! The order of queries.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_model::ensemble::{QueuePolicy, Queueing};
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::variants::TaskIndex;

use super::ServedTasks;

/// The levels of queries with and without a latency goal.
const TIMED: u64 = 1;
const UNTIMED: u64 = 2;

/// The urgency of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryUrgency {
    /// The query has a latency goal, or its ensemble's manifest sets the order of requests.
    Timed,
    /// The query has no latency goal and goes after those with one.
    Untimed,
}

/// The properties of a query that decide its variant and its order.
#[derive(Clone, Copy, Debug)]
pub struct TaskQuery<'a> {
    /// The task.
    pub task: TaskIndex,
    /// Its goals.
    pub goals: &'a QueryGoals,
    /// The number of its samples.
    pub samples: u32,
    /// Its own priority; 0 for the default.
    pub priority: u64,
}

impl QueryUrgency {
    /// Returns the priority of its request; 0 for the default.
    pub const fn priority(self) -> u64 {
        match self {
            QueryUrgency::Timed => 0,
            QueryUrgency::Untimed => UNTIMED,
        }
    }

    /// Returns the levels of the entries of tasks. The most urgent level is the default.
    pub(super) fn levels() -> Option<Queueing> {
        Queueing::new(UNTIMED, TIMED, QueuePolicy::default(), &BTreeMap::new()).ok()
    }
}

impl ServedTasks {
    /// Returns the urgency of a query for a variant of a group. The query's own priority overrides
    /// its goals.
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

    /// Returns the level of a query for a variant of a group, relative to the usual one: negative
    /// for a more urgent level.
    pub fn level(&self, group: usize, query: TaskQuery<'_>) -> i16 {
        let queueing = self.entries[group].ensemble.queueing.as_deref();
        let priority = match query.priority {
            0 => self.urgency(group, query).priority(),
            named => named,
        };
        queueing.map_or(0, |queueing| queueing.urgency(queueing.level_of(priority)))
    }

    /// Returns the latency goal of a query, if latency goals order the queries of the group.
    pub fn latency(&self, group: usize, query: TaskQuery<'_>) -> Option<Duration> {
        let latency = query.goals.latency.map(LatencyGoal::get);
        latency.filter(|_| self.by_urgency[group])
    }

    /// Returns the urgency of queries without a latency goal, such as rows of an offline job.
    pub fn untimed(&self, group: usize) -> QueryUrgency {
        match self.by_urgency[group] {
            true => QueryUrgency::Untimed,
            false => QueryUrgency::Timed,
        }
    }
}
