//! The search: algorithm, evaluator, bounds and goal.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use divisi_engine::search::{Bounds, EvaluatorKind, Goal};
use divisi_session::{Command, SearchKind, SearchOrder};

use super::{Form, FormChoice, FormField, FormKind, optional, whole};

const EVALUATORS: &[&str] = &["bench", "model"];
const OBJECTIVES: &[&str] = &["throughput", "latency"];
const SERVING: &[&str] = &["may rest", "undisturbed"];
const KEPT: &[&str] = &["may be used", "measure again"];
const MIB: f64 = 1024.0 * 1024.0;

impl Form {
    /// Asks for the algorithm and the goal, starting from the defaults. After a search that only
    /// returned a `kept` result, the default is to measure again.
    pub fn search(kept: bool) -> Self {
        let (method, bounds) = (SearchOrder::default(), Bounds::default());
        let seed = || FormField::number("seed", bounds.seed, "");
        let finalists = || {
            FormField::number(
                "finalists",
                method.finalists,
                "best matrices to run; 0: none",
            )
        };
        let evaluator = || FormField::one_of("evaluator", EVALUATORS);
        let local = vec![
            FormField::number("restarts", method.restarts, "after the first climb"),
            finalists(),
            seed(),
        ];
        let greedy = vec![
            evaluator(),
            FormField::number("max_iter", bounds.max_iter, "iterations"),
            FormField::number("max_neighs", bounds.max_neighs, "neighbours each"),
            finalists(),
            seed(),
        ];
        let choices = vec![
            FormChoice::new(
                "local",
                "moves of one and two entries, by the model; seconds",
                local,
            ),
            FormChoice::new(
                "greedy",
                "bounded greedy from worst-fit, one entry at a time",
                greedy,
            ),
            FormChoice::new(
                "worst-fit",
                "any matrix that fits, at once",
                vec![evaluator()],
            ),
            FormChoice::new(
                "best-batch",
                "the best batch size of each member by itself",
                vec![evaluator()],
            ),
        ];
        Form::new(FormKind::Search, "search for a better allocation", choices)
            .sharing("goal", goal_fields(kept))
    }

    pub(super) fn search_command(&self, name: &str) -> Result<Command, String> {
        let algorithm: SearchKind = word(name)?;
        let mut method = match algorithm {
            SearchKind::Local => SearchOrder::quick(),
            _ => SearchOrder {
                algorithm,
                ..SearchOrder::default()
            },
        };
        if self.text("evaluator") == EvaluatorKind::Model.name() {
            method.evaluator = EvaluatorKind::Model;
        }
        if matches!(algorithm, SearchKind::Local | SearchKind::Greedy) {
            method.bounds.seed = whole(self.text("seed"), "seed", 0)?;
            method.finalists = whole(self.text("finalists"), "finalists", 0)? as usize;
        }
        match algorithm {
            SearchKind::Local => {
                method.restarts = whole(self.text("restarts"), "restarts", 0)? as usize
            }
            SearchKind::Greedy => {
                method.bounds.max_iter = whole(self.text("max_iter"), "max_iter", 1)? as usize;
                method.bounds.max_neighs =
                    whole(self.text("max_neighs"), "max_neighs", 1)? as usize;
            }
            _ => {}
        }
        method.goal = self.goal()?;
        method.quiet = self.text("serving") == "undisturbed";
        method.again = self.text("kept results") == "measure again";
        method.check().map_err(|e| e.to_string())?;
        Ok(Command::StartSearch(method))
    }

    fn goal(&self) -> Result<Goal, String> {
        let p99 = optional(self.text("p99"), "p99", 0.001, 1e6)?;
        let spare = optional(self.text("spare memory"), "spare memory", 0.0, 1e9)?;
        Ok(Goal {
            objective: word(self.text("objective"))?,
            p99: p99.map(|ms| Duration::from_secs_f64(ms / 1e3)),
            rate: optional(self.text("rate"), "rate", 0.001, 1e7)?,
            spare_memory: (spare.unwrap_or(0.0) * MIB) as u64,
        })
    }
}

/// Parses a word.
fn word<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|why: T::Err| why.to_string())
}

fn goal_fields(kept: bool) -> Vec<FormField> {
    let again = FormField::one_of("kept results", KEPT);
    vec![
        FormField::one_of("objective", OBJECTIVES),
        FormField::number("p99", "", "ms at most; needs the model"),
        FormField::number("rate", "", "samples/s to serve; needs the model"),
        FormField::number("spare memory", "", "MiB free on every device"),
        FormField::one_of("serving", SERVING),
        if kept {
            again.with_text(KEPT[1])
        } else {
            again
        },
    ]
}
