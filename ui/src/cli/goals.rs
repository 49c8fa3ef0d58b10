//! The goals of queries as options.

use anyhow::Result;
use clap::ValueEnum;
use divisi_door::protocol::COST_QUERIES;
use divisi_modelless::goals::{ChoicePreference, LatencyGoal, QueryGoals};
use divisi_modelless::quantities::{Accuracy, QueryCost};
use serde_json::{Map, Value};

use crate::config::time;

/// How accurate, how soon and how cheap answers have to be.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct GoalArgs {
    /// Variants that are right for at least so many percent of the labelled rows, such as 98.5
    #[arg(long, value_name = "PERCENT", value_parser = parse_accuracy)]
    accuracy: Option<Accuracy>,
    /// Variants that answer a query by itself within this time in 99 of 100 cases, such as 20ms
    #[arg(long, value_name = "TIME", value_parser = parse_latency)]
    latency: Option<LatencyGoal>,
    /// Variants of which a million queries cost at most so much
    #[arg(long, value_name = "COST", value_parser = parse_cost)]
    cost: Option<QueryCost>,
    /// Of the variants that meet all goals, the one that answers
    #[arg(long, value_enum, value_name = "WHICH")]
    prefer: Option<Preferred>,
}

/// The variant that answers, of those that meet all goals.
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
    Accuracy::percent(percent).map_err(|why| why.to_string())
}

fn parse_latency(text: &str) -> Result<LatencyGoal, String> {
    LatencyGoal::new(time(text)?).map_err(|why| why.to_string())
}

fn parse_cost(text: &str) -> Result<QueryCost, String> {
    let wrong = || format!("expected the cost of a million queries, 0 or more, found `{text}`");
    let million = text.parse::<f64>().map_err(|_| wrong())?;
    QueryCost::new(million / COST_QUERIES).map_err(|_| wrong())
}

impl GoalArgs {
    /// Whether any is named.
    pub(super) fn is_set(&self) -> bool {
        self.goals() != QueryGoals::default() || self.prefer.is_some()
    }

    /// Returns the goals.
    pub(super) fn goals(&self) -> QueryGoals {
        QueryGoals {
            accuracy: self.accuracy,
            latency: self.latency,
            max_cost: self.cost,
            model: None,
            prefer: match self.prefer {
                None | Some(Preferred::Cost) => ChoicePreference::Cheapest,
                Some(Preferred::Accuracy) => ChoicePreference::MostAccurate,
            },
        }
    }

    /// Returns the goals as parameters of a request.
    pub(super) fn parameters(&self) -> Map<String, Value> {
        let goals = self.goals();
        let millis = |goal: LatencyGoal| 1e3 * goal.get().as_secs_f64();
        let prefer = self.prefer.and_then(|prefer| prefer.to_possible_value());
        let all = [
            (
                "accuracy",
                goals.accuracy.map(|a| Value::from(100.0 * a.get())),
            ),
            (
                "latency_ms",
                goals.latency.map(|goal| Value::from(millis(goal))),
            ),
            (
                "max_cost",
                goals.max_cost.map(|c| Value::from(COST_QUERIES * c.get())),
            ),
            (
                "prefer",
                prefer.map(|prefer| Value::from(prefer.get_name())),
            ),
        ];
        let named = all.into_iter();
        let named = named.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        named.collect()
    }
}
