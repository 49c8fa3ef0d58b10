//! The outcome of a choice.

use std::time::Duration;

use thiserror::Error;

use crate::goals::MissedGoals;
use crate::variants::VariantIndex;

/// The variant that answers a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenVariant {
    /// The variant.
    pub variant: VariantIndex,
    /// The time from now until it is expected to have answered, loading included where it does
    /// not run yet.
    pub finish: Duration,
    /// The goals that its answer misses, and by how much.
    pub missed: MissedGoals,
    /// A variant that does not run and would meet the goals that this one misses: the one to
    /// start. It is `variant` itself where nothing of the task runs.
    pub start: Option<VariantIndex>,
}

/// Why no variant answers a query.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ChoiceRefusal {
    /// Nobody registered the task.
    #[error("task `{asked}` is not registered; there are: {known}")]
    UnknownTask {
        /// The name.
        asked: String,
        /// The names of the tasks that there are.
        known: String,
    },
    /// The task has no model of this number.
    #[error("the task has {models} models, found number {asked}")]
    UnknownModel {
        /// The number that was asked for, from 0.
        asked: u16,
        /// The number of models.
        models: usize,
    },
    /// No registered variant meets the goals even without other queries.
    #[error("no variant meets the goals; the nearest is {nearest:?}, which misses {missed:?}")]
    Unreachable {
        /// The variant that is nearest to the goals.
        nearest: VariantIndex,
        /// The goals that it misses, and by how much.
        missed: MissedGoals,
    },
    /// Nothing that runs, and nothing that could be loaded, would answer in time: the query is
    /// refused before it costs others time (Clockwork, OSDI 2020).
    #[error("no running variant answers within {goal:?}; the earliest would take {soonest:?}")]
    TooLate {
        /// The goal.
        goal: Duration,
        /// The time until the soonest running or loaded variant would have answered.
        soonest: Duration,
        /// A variant that does not run and would meet later queries' goals.
        start: Option<VariantIndex>,
    },
}

impl ChoiceRefusal {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            ChoiceRefusal::UnknownTask { .. } => "task_unknown",
            ChoiceRefusal::UnknownModel { .. } => "model_unknown",
            ChoiceRefusal::Unreachable { .. } => "goals_unreachable",
            ChoiceRefusal::TooLate { .. } => "too_late",
        }
    }
}
