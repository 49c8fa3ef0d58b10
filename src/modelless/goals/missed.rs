//! The goals that an answer misses, and by how much.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::QueryGoals;
use crate::quantities::{Accuracy, COST_QUERIES, QueryCost, significant};

/// The goals that an answer misses, and by how much. `None` is a goal that is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissedGoals {
    /// The missing accuracy, as a fraction of queries.
    pub accuracy: Option<f64>,
    /// The delay of the answer beyond the goal.
    pub latency: Option<Duration>,
    /// The cost of the query beyond the goal.
    pub cost: Option<f64>,
}

impl MissedGoals {
    /// Compares the properties of an answer with the goals.
    pub fn compare(
        goals: &QueryGoals,
        accuracy: Accuracy,
        finish: Duration,
        cost: QueryCost,
    ) -> Self {
        let above = |value: f64| (value > 0.0).then_some(value);
        let late = |goal: Duration| finish.checked_sub(goal).filter(|by| !by.is_zero());
        MissedGoals {
            accuracy: goals.accuracy.and_then(|a| above(a.get() - accuracy.get())),
            latency: goals.latency.and_then(|d| late(d.get())),
            cost: goals.max_cost.and_then(|c| above(cost.get() - c.get())),
        }
    }

    /// Returns whether every goal is met.
    pub fn is_none(&self) -> bool {
        *self == MissedGoals::default()
    }
}

impl MissedGoals {
    /// Returns the missed goals in words, such as `0.30 points less accurate`.
    pub fn in_words(&self) -> Vec<String> {
        let latency = self.latency.map(|by| 1e3 * by.as_secs_f64());
        let words = [
            self.accuracy.map(|by| match 100.0 * by {
                points if points < 0.005 => format!("{} points less accurate", significant(points)),
                points => format!("{points:.2} points less accurate"),
            }),
            latency.map(|by| format!("{} ms too late", significant(by))),
            self.cost.map(|by| {
                format!(
                    "{} a million queries too expensive",
                    significant(COST_QUERIES * by)
                )
            }),
        ];
        words.into_iter().flatten().collect()
    }
}

/// Writes `0.30 points less accurate, 12.1 ms too late`, or `none` if every goal is met.
impl fmt::Display for MissedGoals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_none() {
            true => f.write_str("none"),
            false => f.write_str(&self.in_words().join(", ")),
        }
    }
}
