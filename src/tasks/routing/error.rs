//! The reasons why queries are refused.

use std::time::Duration;

use divisi_model::error_kind::ErrorKind;
use divisi_modelless::choice::ChoiceRefusal;
use divisi_modelless::goals::MissedGoals;
use divisi_modelless::variants::TaskIndex;
use thiserror::Error;

use crate::served::ServedTasks;

/// The reason why no variant answers a query.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RoutingError {
    /// No registered variant meets the goals, even when idle.
    #[error("task `{task}`: no variant meets the goals; the nearest is {nearest}: {missed}")]
    Unreachable {
        /// The task.
        task: String,
        /// The nearest variant, in words.
        nearest: String,
        /// The goals that it misses.
        missed: MissedGoals,
    },
    /// No running variant would answer in time.
    #[error(
        "task `{task}`: no variant can answer within {goal:?} now; the earliest would take {soonest:?}"
    )]
    TooLate {
        /// The task.
        task: String,
        /// The latency goal.
        goal: Duration,
        /// The earliest time in which a variant would answer.
        soonest: Duration,
    },
    /// No variant of the task is loaded.
    #[error("task `{task}`: none of its variants is loaded")]
    NotLoaded {
        /// The task.
        task: String,
    },
    /// The task has no such ensemble.
    #[error("task `{task}`: expected an ensemble from 0 to {last}, found {found}")]
    Model {
        /// The task.
        task: String,
        /// The last ensemble.
        last: usize,
        /// The requested ensemble.
        found: u16,
    },
}

impl RoutingError {
    /// Returns the kind of error that clients see.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            RoutingError::Unreachable { .. } | RoutingError::Model { .. } => ErrorKind::BadInput,
            RoutingError::TooLate { .. } => ErrorKind::TimedOut,
            RoutingError::NotLoaded { .. } => ErrorKind::Unavailable,
        }
    }

    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            RoutingError::Unreachable { .. } => "goals_unreachable",
            RoutingError::TooLate { .. } => "too_late",
            RoutingError::NotLoaded { .. } => "task_not_loaded",
            RoutingError::Model { .. } => "model_unknown",
        }
    }
}

/// Returns the refusal of a query of a task, with names in words.
pub(super) fn refused(
    tasks: &ServedTasks,
    task: TaskIndex,
    refusal: ChoiceRefusal,
) -> RoutingError {
    let task = tasks.catalog().name(task).to_owned();
    match refusal {
        ChoiceRefusal::Unreachable { nearest, missed } => RoutingError::Unreachable {
            task,
            nearest: tasks.words(nearest),
            missed,
        },
        ChoiceRefusal::TooLate { goal, soonest, .. } => RoutingError::TooLate {
            task,
            goal,
            soonest,
        },
        ChoiceRefusal::UnknownModel { asked, models } => RoutingError::Model {
            task,
            last: models.saturating_sub(1),
            found: asked,
        },
        _ => RoutingError::NotLoaded { task },
    }
}
