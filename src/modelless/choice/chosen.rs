//! The outcome of a choice.

use std::time::Duration;

use thiserror::Error;

use crate::goals::MissedGoals;
use crate::variants::VariantIndex;

/// The chosen variant for a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenVariant {
    /// The variant.
    pub variant: VariantIndex,
    /// The expected time from now until its answer, including loading if it does not run.
    pub finish: Duration,
    /// The goals that its answer misses, and by how much.
    pub missed: MissedGoals,
    /// A variant to start because it would meet the goals that this one misses. It is `variant`
    /// itself if no variant of the task runs.
    pub start: Option<VariantIndex>,
}

/// The reason why no variant answers a query.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ChoiceRefusal {
    /// The task is not registered.
    #[error("task `{asked}` is not registered; registered tasks: {known}")]
    UnknownTask {
        /// The requested name.
        asked: String,
        /// The names of the registered tasks.
        known: String,
    },
    /// The task has no model with this number.
    #[error("the task has {models} models, found number {asked}")]
    UnknownModel {
        /// The requested number, from 0.
        asked: u16,
        /// The number of models.
        models: usize,
    },
    /// No registered variant meets the goals, even when idle.
    #[error("no variant meets the goals; the nearest is {nearest:?}, which misses {missed:?}")]
    Unreachable {
        /// The variant nearest to the goals.
        nearest: VariantIndex,
        /// The goals that it misses, and by how much.
        missed: MissedGoals,
    },
    /// No running variant, and none that could be loaded, would answer in time: the query is
    /// refused before it delays others (Clockwork, OSDI 2020).
    #[error("no running variant answers within {goal:?}; the earliest would take {soonest:?}")]
    TooLate {
        /// The goal.
        goal: Duration,
        /// The earliest time in which a running or loaded variant would answer.
        soonest: Duration,
        /// A variant to start because it would meet the goals of later queries.
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
