//! The goals of a request: task, accuracy, latency and cost.

use std::time::Duration;

use divisi_modelless::goals::{ChoicePreference, LatencyGoal, QueryGoals};
use divisi_modelless::quantities::{Accuracy, COST_QUERIES, QueryCost};

use super::near::{self, ACCURACY, COST, LATENCY, PREFER, TASK};
use super::parameters::CallParameters;
use crate::error::ServiceError;

/// The goals that a request names instead of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestGoals {
    /// The task; `None` for the task with the model's name.
    pub task: Option<String>,
    /// The goals.
    pub goals: QueryGoals,
    /// Whether the request states any goal or preference.
    pub is_stated: bool,
    /// A parameter that is probably a misspelt goal, and the goal.
    pub misspelt: Option<(String, &'static str)>,
}

impl RequestGoals {
    /// Reads the goals of a request.
    ///
    /// # Errors
    /// Returns an error if a parameter has another type or is out of range.
    pub fn from_parameters(parameters: &CallParameters) -> Result<Self, ServiceError> {
        let number = |name| parameters.number(name, "the request");
        let text = |name| parameters.text(name, "the request");
        let stated = [ACCURACY, LATENCY, COST, PREFER];
        Ok(RequestGoals {
            task: text(TASK)?.map(str::to_owned),
            is_stated: stated.iter().any(|name| parameters.get(name).is_some()),
            misspelt: misspelt(parameters),
            goals: QueryGoals {
                accuracy: number(ACCURACY)?.map(accuracy).transpose()?,
                latency: number(LATENCY)?.map(latency).transpose()?,
                max_cost: number(COST)?.map(cost).transpose()?,
                prefer: text(PREFER)?.map_or(Ok(ChoicePreference::Cheapest), prefer)?,
                ..QueryGoals::default()
            },
        })
    }

    /// Returns whether the request has no goals.
    pub fn is_none(&self) -> bool {
        self.task.is_none() && !self.is_stated
    }

    /// Refuses a misspelt goal of a request to a task. Models ignore unknown parameters, which may
    /// be meant for others.
    ///
    /// # Errors
    /// Returns an error if the name of a parameter is near that of a goal.
    pub fn check_names(&self) -> Result<(), ServiceError> {
        let Some((found, goal)) = &self.misspelt else {
            return Ok(());
        };
        let unit = match *goal {
            LATENCY => ", in milliseconds",
            ACCURACY => ", in percent",
            COST => ", the cost of a million queries",
            _ => "",
        };
        Err(ServiceError::bad(format!(
            "the request: parameter `{found}`: unknown goal; did you mean `{goal}`{unit}?"
        )))
    }
}

/// Returns the first parameter whose name is near that of a goal, and the goal.
fn misspelt(parameters: &CallParameters) -> Option<(String, &'static str)> {
    let mut names = parameters.values.iter().map(|(name, _)| name);
    names.find_map(|name| Some((name.clone(), near::meant(name)?)))
}

/// Refuses numbers up to 1: 0.985 probably means 98.5 %.
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
