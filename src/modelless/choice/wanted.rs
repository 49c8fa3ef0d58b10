//! Goals as plain numbers, compared millions of times a second.

use std::time::Duration;

use crate::goals::{ChoicePreference, QueryGoals};
use crate::variants::AnsweringMembers;

/// Goals as numbers. A missing goal is a number that every variant meets.
#[derive(Clone, Copy)]
pub(super) struct WantedNumbers {
    pub(super) accuracy: f64,
    pub(super) nanos: u64,
    pub(super) cost: f64,
    /// `u32::MAX` allows any model.
    pub(super) model: u32,
    pub(super) whole: Option<AnsweringMembers>,
    pub(super) most_accurate: bool,
}

/// The value that allows every model.
pub(super) const ANY_MODEL: u32 = u32::MAX;

impl WantedNumbers {
    pub(super) fn from_goals(goals: &QueryGoals) -> Self {
        WantedNumbers {
            accuracy: goals.accuracy.map_or(0.0, |a| a.get()),
            nanos: goals.latency.map_or(u64::MAX - 1, |d| nanos(d.get())),
            cost: goals.max_cost.map_or(f64::INFINITY, |c| c.get()),
            model: goals.model.map_or(ANY_MODEL, |m| u32::from(m.0)),
            whole: goals.whole,
            most_accurate: goals.prefer == ChoicePreference::MostAccurate,
        }
    }

    /// Returns the goals of the most accurate variant, whichever members answer.
    pub(super) fn of_any_members(&self) -> Self {
        WantedNumbers {
            whole: None,
            most_accurate: true,
            ..*self
        }
    }

    /// Returns the goals without accuracy and cost.
    pub(super) fn time_alone(&self) -> Self {
        WantedNumbers {
            accuracy: 0.0,
            cost: f64::INFINITY,
            most_accurate: false,
            ..*self
        }
    }
}

/// Returns a time in nanoseconds; `u64::MAX` is reserved for an infinite time.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(u64::MAX - 1, |n| n.min(u64::MAX - 1))
}
