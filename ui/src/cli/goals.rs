//! The goals of queries as options.

use anyhow::Result;
use clap::ValueEnum;
use divisi_modelless::goals::{ChoicePreference, LatencyGoal, QueryGoals};
use divisi_modelless::quantities::{Accuracy, COST_QUERIES, QueryCost};
use serde_json::{Map, Value};

use super::times::parse_millis;

/// The required accuracy, latency and cost of answers.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Goals")]
pub(super) struct GoalArgs {
    /// Required accuracy, in percent of the labelled rows, such as 98.5
    #[arg(long, value_name = "PERCENT", value_parser = parse_accuracy)]
    accuracy: Option<Accuracy>,
    /// Required p99 latency of a query by itself, such as 20ms
    #[arg(long, value_name = "TIME", value_parser = parse_latency)]
    latency: Option<LatencyGoal>,
    /// Highest cost of a million queries, as column cost/M of `divisi variants`
    #[arg(long, value_name = "COST", value_parser = parse_cost)]
    cost: Option<QueryCost>,
    /// Preference among the variants within all goals
    #[arg(long, value_enum, value_name = "WHICH")]
    prefer: Option<Preferred>,
}

/// The required accuracy and cost of a job's rows. Jobs have no latency goal.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Goals")]
pub(super) struct JobGoalArgs {
    /// Required accuracy, in percent of the labelled rows, such as 98.5
    #[arg(long, value_name = "PERCENT", value_parser = parse_accuracy)]
    accuracy: Option<Accuracy>,
    /// Highest cost of a million queries, as column cost/M of `divisi variants`
    #[arg(long, value_name = "COST", value_parser = parse_cost)]
    cost: Option<QueryCost>,
}

impl JobGoalArgs {
    /// Returns the goals.
    pub(super) fn goals(&self) -> QueryGoals {
        QueryGoals {
            accuracy: self.accuracy,
            max_cost: self.cost,
            ..QueryGoals::default()
        }
    }
}

/// The preference among variants that meet all goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preferred {
    /// The cheapest (the default)
    Cost,
    /// The most accurate
    Accuracy,
}

fn parse_accuracy(text: &str) -> Result<Accuracy, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>();
    let percent = number.map_err(|_| format!("expected 0 to 100 %, found `{text}`"))?;
    if percent > 0.0 && percent <= 1.0 && !text.contains('%') {
        let meant = 100.0 * percent;
        return Err(format!(
            "expected percent, found `{text}`: write {meant}, or `{text}%` for {text} percent"
        ));
    }
    Accuracy::percent(percent).map_err(|why| why.to_string())
}

fn parse_latency(text: &str) -> Result<LatencyGoal, String> {
    LatencyGoal::new(parse_millis(text)?).map_err(|why| why.to_string())
}

fn parse_cost(text: &str) -> Result<QueryCost, String> {
    let wrong = || format!("expected the cost of a million queries, 0 or more, found `{text}`");
    let million = text.parse::<f64>().map_err(|_| wrong())?;
    QueryCost::new(million / COST_QUERIES).map_err(|_| wrong())
}

impl GoalArgs {
    /// Returns whether any goal is given.
    pub(super) fn is_set(&self) -> bool {
        self.goals() != QueryGoals::default() || self.prefer.is_some()
    }

    /// Returns the goals.
    pub(super) fn goals(&self) -> QueryGoals {
        QueryGoals {
            accuracy: self.accuracy,
            latency: self.latency,
            max_cost: self.cost,
            prefer: match self.prefer {
                None | Some(Preferred::Cost) => ChoicePreference::Cheapest,
                Some(Preferred::Accuracy) => ChoicePreference::MostAccurate,
            },
            ..QueryGoals::default()
        }
    }

    /// Returns the goals as parameters of a request.
    pub(super) fn parameters(&self) -> Map<String, Value> {
        let latency = self.latency.map(|goal| 1e3 * goal.get().as_secs_f64());
        let prefer = self.prefer.and_then(|prefer| prefer.to_possible_value());
        let numbers = [
            ("accuracy", self.accuracy.map(|a| 100.0 * a.get())),
            ("latency_ms", latency),
            ("max_cost", self.cost.map(|cost| COST_QUERIES * cost.get())),
        ];
        let numbers = numbers.map(|(name, number)| (name, number.map(Value::from)));
        let prefer = prefer.map(|prefer| Value::from(prefer.get_name()));
        let all = numbers.into_iter().chain([("prefer", prefer)]);
        all.filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

/// The goals of the built-in load's queries.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadGoals {
    /// Goals the built-in load rotates through, with --task: 98.5%/20ms,95%,5ms (default: whole ensemble)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_goals, requires = "task")]
    goals: Vec<QueryGoals>,
}

impl LoadGoals {
    /// Parses goals in the syntax of the option.
    pub(super) fn parse(each: &[&str]) -> Result<Self, String> {
        let goals = each.iter().map(|text| parse_goals(text));
        Ok(LoadGoals {
            goals: goals.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the goals in rotation order.
    pub(super) fn of_load(&self) -> Vec<QueryGoals> {
        self.goals.clone()
    }
}

/// Parses goals: `98.5%`, `20ms`, or both with a slash between.
fn parse_goals(text: &str) -> Result<QueryGoals, String> {
    let expected = "expected an accuracy, a latency or both, such as 98.5%/20ms";
    let mut goals = QueryGoals::default();
    for part in text.split('/').map(str::trim) {
        if part.parse::<f64>().is_ok() {
            return Err(format!(
                "{expected}, found `{text}`: write `{part}%` or `{part}ms`"
            ));
        }
        let is_second = match part.ends_with('%') {
            true => goals.accuracy.replace(parse_accuracy(part)?).is_some(),
            false => goals.latency.replace(parse_latency(part)?).is_some(),
        };
        if is_second {
            return Err(format!("{expected}, found `{text}`"));
        }
    }
    Ok(goals)
}
