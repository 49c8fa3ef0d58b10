//! Which queries go first.

use std::collections::BTreeMap;

use divisi::ensemble::{QueuePolicy, Queueing};
use divisi_modelless::goals::QueryGoals;

use super::ServedTasks;

/// The level of those that name no latency.
const UNTIMED: u64 = 2;

/// How much a query hurries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryUrgency {
    /// It names a latency, or its ensemble's manifest says how requests wait.
    Timed,
    /// It names none, and goes behind those that do.
    Untimed,
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
        Queueing::new(UNTIMED, 1, QueuePolicy::default(), &BTreeMap::new()).ok()
    }
}

impl ServedTasks {
    /// Returns how much a query of a group of variants hurries.
    pub fn urgency(&self, group: usize, goals: &QueryGoals) -> QueryUrgency {
        match goals.latency.is_none() && self.by_urgency[group] {
            true => QueryUrgency::Untimed,
            false => QueryUrgency::Timed,
        }
    }
}
