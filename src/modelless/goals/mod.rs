//! The goals of a query: accuracy, latency and cost.

mod missed;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use missed::MissedGoals;

use crate::quantities::{Accuracy, QueryCost};
use crate::variants::{AnsweringMembers, ModelIndex, TaskIndex, Variant, VariantCatalog};

/// The preference among the variants that meet all goals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChoicePreference {
    /// The variant with the lowest cost per query.
    #[default]
    Cheapest,
    /// The most accurate variant.
    MostAccurate,
}

/// The goals of a query. A goal that is `None` is met by every variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueryGoals {
    /// The minimum accuracy.
    pub accuracy: Option<Accuracy>,
    /// The maximum time from the query to its answer.
    pub latency: Option<LatencyGoal>,
    /// The maximum cost of the query.
    pub max_cost: Option<QueryCost>,
    /// The ensemble or model of the task that must answer.
    pub model: Option<ModelIndex>,
    /// The preference among the variants that meet all goals.
    pub prefer: ChoicePreference,
    /// The ensemble whose members must all answer: the default of queries without goals. It follows
    /// from the variants of a task and is not stored.
    #[serde(skip)]
    pub whole: Option<AnsweringMembers>,
}

impl QueryGoals {
    /// Returns the goals of queries that state none, for a task or one of its ensembles: all
    /// members of the most accurate ensemble, in its highest precision.
    pub fn unstated(catalog: &VariantCatalog, task: TaskIndex, model: Option<ModelIndex>) -> Self {
        QueryGoals {
            model,
            whole: catalog.whole(task, model),
            ..QueryGoals::default()
        }
    }

    /// Returns whether a variant meets all goals except latency, which depends on its queue.
    pub fn allows(&self, variant: &Variant) -> bool {
        self.accuracy.is_none_or(|a| variant.accuracy.value() >= a)
            && self.max_cost.is_none_or(|c| variant.query_cost() <= c)
            && self.model.is_none_or(|m| variant.model == m)
            && self
                .whole
                .is_none_or(|whole| whole == AnsweringMembers::from_variant(variant))
    }

    /// Returns whether a variant meets all goals when it is not overloaded.
    pub fn suits(&self, variant: &Variant) -> bool {
        self.allows(variant) && self.latency.is_none_or(|d| variant.p99() <= d.get())
    }
}

/// The maximum time from a query to its answer, more than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Duration", into = "Duration")]
pub struct LatencyGoal(Duration);

/// A time that is not a valid latency goal.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("latency: expected more than 0 and at most a day, found {0:?}")]
pub struct LatencyGoalError(pub Duration);

impl LatencyGoalError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        "goal_latency"
    }
}

impl LatencyGoal {
    /// The longest goal.
    pub const MOST: LatencyGoal = LatencyGoal(Duration::from_secs(86_400));

    /// Creates a latency goal.
    ///
    /// # Errors
    /// Returns an error if the time is 0 or more than a day.
    pub fn new(latency: Duration) -> Result<Self, LatencyGoalError> {
        match !latency.is_zero() && latency <= Self::MOST.0 {
            true => Ok(LatencyGoal(latency)),
            false => Err(LatencyGoalError(latency)),
        }
    }

    /// Returns the time.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl TryFrom<Duration> for LatencyGoal {
    type Error = LatencyGoalError;

    fn try_from(latency: Duration) -> Result<Self, Self::Error> {
        Self::new(latency)
    }
}

impl From<LatencyGoal> for Duration {
    fn from(goal: LatencyGoal) -> Duration {
        goal.0
    }
}
