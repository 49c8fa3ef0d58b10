//! Counts of queries by names: see [`TaskCounts`].

use std::collections::BTreeMap;

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::VariantIndex;

use super::router::TaskRouter;
use super::tally::{TaskTally, VariantTally};

/// The maximum number of goals whose queries are counted for tasks as they were registered before.
/// Queries with further goals are not in the counts by goals.
const MOST_GOALS: usize = 1024;

/// The name of a variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantName {
    /// The task.
    pub task: String,
    /// The name of its model.
    pub entry: String,
    /// The maximum number of samples in a batch.
    pub batch: u32,
}

/// The goals of counted queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AskedGoals {
    /// Goals that the queries state.
    Stated(QueryGoals),
    /// No goals: the whole ensemble answers.
    Whole,
    /// All goals that are too rare for counts of their own.
    Other,
}

/// Goals by names.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalsName {
    /// The task.
    pub task: String,
    /// The name of the requested ensemble, if the queries name one.
    pub ensemble: Option<String>,
    /// The goals.
    pub goals: AskedGoals,
}

/// The finished queries with the same goals.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalsTally {
    /// The goals.
    pub name: GoalsName,
    /// Queries that met their goals.
    pub met: u64,
    /// Queries that missed a goal, were refused or failed.
    pub missed: u64,
}

/// The counts of queries by names, which stay valid when tasks are registered again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskCounts {
    /// The queries sent to each variant that has received any.
    pub variants: BTreeMap<VariantName, VariantTally>,
    /// The refused queries of each task.
    pub tasks: BTreeMap<String, TaskTally>,
    /// The finished queries by goals.
    pub goals: Vec<GoalsTally>,
}

impl TaskCounts {
    /// Returns the counts of a router.
    pub(super) fn from_router(router: &TaskRouter) -> Self {
        let (tasks, catalog) = (router.tasks(), router.tasks().catalog());
        let tallies = (0_u32..).map(VariantIndex).zip(router.variant_tallies());
        let asked = tallies.filter(|(_, tally)| tally.answered + tally.unanswered > 0);
        let variants = asked.map(|(at, tally)| {
            let group = &tasks.groups()[tasks.group_of(at)];
            let name = VariantName {
                task: catalog.name(group.task).to_owned(),
                entry: group.name.clone(),
                batch: catalog.variant(at).batch.get(),
            };
            (name, tally)
        });
        let names = tasks.names().map(|(_, name)| name.to_owned());
        let mut counts = TaskCounts {
            variants: BTreeMap::new(),
            tasks: names.zip(router.task_tallies()).collect(),
            goals: Vec::new(),
        };
        // A variant on two kinds of devices is counted once.
        variants.for_each(|(name, tally)| counts.add_variant(name, tally));
        let goals = router.asked_tallies().into_iter().map(|tally| {
            let model = tally.goals.and_then(|goals| goals.model);
            let models = catalog.models(tally.task);
            let name = GoalsName {
                task: catalog.name(tally.task).to_owned(),
                ensemble: model.and_then(|at| models.get(usize::from(at.0)).cloned()),
                goals: asked_goals(tally.goals),
            };
            let (met, missed) = (tally.met, tally.missed);
            GoalsTally { name, met, missed }
        });
        counts.goals.extend(goals);
        counts
    }

    /// Adds the counts of another router.
    pub(super) fn add(&mut self, other: TaskCounts) {
        let variants = other.variants.into_iter();
        variants.for_each(|(name, tally)| self.add_variant(name, tally));
        for (task, tally) in other.tasks {
            self.tasks.entry(task).or_default().add(&tally);
        }
        other
            .goals
            .into_iter()
            .for_each(|goals| self.add_goals(goals));
    }

    fn add_variant(&mut self, name: VariantName, tally: VariantTally) {
        self.variants.entry(name).or_default().add(&tally);
    }

    fn add_goals(&mut self, other: GoalsTally) {
        let known = self.goals.iter().position(|goals| goals.name == other.name);
        match known {
            Some(at) => {
                self.goals[at].met += other.met;
                self.goals[at].missed += other.missed;
            }
            None if self.goals.len() < MOST_GOALS => self.goals.push(other),
            None => {}
        }
    }

    /// Returns the sum of a task's variants of one model.
    pub fn of_entry(&self, task: &str, entry: &str) -> VariantTally {
        self.sum(|name| name.task == task && name.entry == entry)
    }

    fn sum(&self, is_in: impl Fn(&VariantName) -> bool) -> VariantTally {
        let mut sum = VariantTally::default();
        let variants = self.variants.iter().filter(|(name, _)| is_in(name));
        variants.for_each(|(_, tally)| sum.add(tally));
        sum
    }
}

/// Returns goals without the numbers of a registration.
fn asked_goals(goals: Option<QueryGoals>) -> AskedGoals {
    match goals {
        None => AskedGoals::Other,
        Some(goals) if goals.whole.is_some() => AskedGoals::Whole,
        Some(goals) => AskedGoals::Stated(QueryGoals {
            model: None,
            ..goals
        }),
    }
}
