//! The goals that a request names: which task, how accurate, how soon, at what cost.

use std::time::Duration;

use divisi_modelless::goals::{ChoicePreference, LatencyGoal, QueryGoals};
use divisi_modelless::quantities::{Accuracy, COST_QUERIES, QueryCost};

use super::parameters::CallParameters;
use crate::error::ServiceError;

/// The least accuracy, in percent.
const ACCURACY: &str = "accuracy";
/// The longest time to the answer, in milliseconds.
const LATENCY: &str = "latency_ms";
/// The most that a million such queries may cost.
const COST: &str = "max_cost";
/// Which of the variants that meet all goals answers.
const PREFER: &str = "prefer";
/// The task, where a request names one of its ensembles as its model.
const TASK: &str = "task";

/// The goals that a request names in place of a certain model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestGoals {
    /// The task; `None` for the one whose name is the model's.
    pub task: Option<String>,
    /// The goals.
    pub goals: QueryGoals,
}

impl RequestGoals {
    /// Reads the goals of a request.
    ///
    /// # Errors
    /// A parameter is of another type, or out of range.
    pub fn of(parameters: &CallParameters) -> Result<Self, ServiceError> {
        let number = |name| parameters.number(name, "the request");
        let text = |name| parameters.text(name, "the request");
        Ok(RequestGoals {
            task: text(TASK)?.map(str::to_owned),
            goals: QueryGoals {
                accuracy: number(ACCURACY)?.map(accuracy).transpose()?,
                latency: number(LATENCY)?.map(latency).transpose()?,
                max_cost: number(COST)?.map(cost).transpose()?,
                model: None,
                prefer: text(PREFER)?.map_or(Ok(ChoicePreference::Cheapest), prefer)?,
            },
        })
    }

    /// Whether the request asks for a certain model and nothing else.
    pub fn is_none(&self) -> bool {
        *self == RequestGoals::default()
    }
}

/// Numbers up to 1 are refused: whoever writes 0.985 means 98.5 %.
fn accuracy(percent: f64) -> Result<Accuracy, ServiceError> {
    let is_fraction = percent <= 1.0;
    let accuracy = Accuracy::percent(percent).ok().filter(|_| !is_fraction);
    accuracy.ok_or_else(|| wrong(ACCURACY, "percent, above 1 and up to 100", percent))
}

fn latency(millis: f64) -> Result<LatencyGoal, ServiceError> {
    let time = Duration::try_from_secs_f64(millis / 1e3).ok();
    let goal = time.and_then(|time| LatencyGoal::new(time).ok());
    goal.ok_or_else(|| wrong(LATENCY, "milliseconds, above 0 and up to a day", millis))
}

fn cost(of_million: f64) -> Result<QueryCost, ServiceError> {
    let cost = QueryCost::new(of_million / COST_QUERIES);
    cost.map_err(|_| wrong(COST, "the cost of a million queries, 0 or more", of_million))
}

fn prefer(name: &str) -> Result<ChoicePreference, ServiceError> {
    match name {
        "cost" => Ok(ChoicePreference::Cheapest),
        "accuracy" => Ok(ChoicePreference::MostAccurate),
        other => Err(wrong(PREFER, "`cost` or `accuracy`", format!("`{other}`"))),
    }
}

fn wrong(name: &str, expected: &str, found: impl std::fmt::Display) -> ServiceError {
    ServiceError::bad(format!(
        "the request: parameter `{name}`: expected {expected}, found {found}"
    ))
}
