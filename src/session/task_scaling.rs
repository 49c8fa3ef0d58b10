//! Tasks whose variants a policy loads, as a console shows and controls them.

use std::iter::Sum;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;

/// Loads the variants of tasks according to a policy.
pub trait TaskScaling: Send + Sync {
    /// Returns the current state.
    fn view(&self) -> ScalingView;

    /// Sets the policy by name.
    ///
    /// # Errors
    /// Returns an error if the policy is unknown.
    fn set_policy(&self, name: &str) -> Result<(), Refusal>;

    /// Simulates the recent queries under every policy, in virtual time.
    ///
    /// # Errors
    /// Returns an error if there were no queries, or a comparison is running.
    fn compare(&self) -> Result<(), Refusal>;
}

/// The state of loaded variants and decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalingView {
    /// The name of the current policy.
    pub policy: String,
    /// The names of all policies.
    pub policies: Vec<String>,
    /// The reason why the policy is suspended, if it is.
    pub held: Option<String>,
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// The loaded variants.
    pub loaded: Vec<LoadedVariant>,
    /// The changes of the served variants, newest last, bounded.
    pub changes: Vec<ScalingChange>,
    /// The actions considered in the last decision, with their outcomes.
    pub considered: Vec<ConsideredView>,
    /// The last comparison of policies, if requested.
    pub comparison: Option<PolicyComparison>,
    /// The unfinished jobs, and the last finished ones.
    pub jobs: Vec<JobView>,
}

/// A task and its goals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its name.
    pub name: String,
    /// Its queries by their goals, the most frequent first.
    pub streams: Vec<StreamView>,
    /// The last seconds, oldest first.
    pub seconds: Vec<GoalSecond>,
    /// The recent queries whose goals no variant meets, if any.
    pub unreachable: Option<UnreachableView>,
    /// The cost of its recent queries, if any were answered.
    pub cost: Option<TaskCostView>,
    /// A line for each of its ensembles that is not served, with the reason and the remedy.
    pub not_served: Vec<String>,
}

/// The cost of a task's recent queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskCostView {
    /// The cost of a million samples at the present load: the price of the held devices, shared over
    /// the answered samples.
    pub paid: f64,
    /// The cost of a million samples on saturated devices.
    pub saturated: f64,
    /// The length of the window, in seconds.
    pub seconds: u32,
}

/// Queries whose goals exceed every variant; they are refused at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachableView {
    /// The number of such queries in the last second that had any.
    pub queries: u64,
    /// The number of seconds since then.
    pub seconds: u8,
    /// The variant nearest to the goals of the last such query, and the goals it misses, in words.
    pub nearest: String,
}

/// A loaded variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedVariant {
    /// The name of its model.
    pub name: String,
    /// The maximum number of samples in a batch.
    pub batch: u32,
    /// The number of instances: shares of device time.
    pub instances: u32,
    /// The state: active, overloaded or interfered with.
    pub state: String,
}

/// Queries with the same goals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamView {
    /// The goals in words.
    pub goals: String,
    /// The expected rate in queries per second.
    pub rate: f64,
    /// The share of queries that missed a goal.
    pub missed: f64,
    /// The approximate averaging time of both in seconds.
    pub seconds: u8,
}

/// The queries that ended in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalSecond {
    /// Queries that met their goals.
    pub met: u32,
    /// Queries that missed a goal, refused ones included.
    pub missed: u32,
}

/// A change of the served variants, or a failed one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingChange {
    /// The time since the engine's start.
    pub at: Duration,
    /// The name of the policy.
    pub policy: String,
    /// The added and removed variants, in words.
    pub what: String,
    /// The time until the change was served, or the reason why it failed.
    pub outcome: Result<Duration, String>,
    /// Whether only the numbers of instances changed, which are shares of device time; the same
    /// variants run as before.
    pub shares_alone: bool,
}

/// An action that a policy considered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsideredView {
    /// The action in words.
    pub action: String,
    /// The outcome of the action, in words.
    pub outcome: String,
    /// Whether the action was taken.
    pub taken: bool,
}

/// The outcome of each policy for the queries of the last minutes, in virtual time, and the counted
/// outcome of the same period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyComparison {
    /// The time of the request, since the server's start.
    pub at: Duration,
    /// The preceding time over which the queries arrived.
    pub over: Duration,
    /// The number of queries.
    pub queries: u64,
    /// The counted queries of the same period.
    pub counted: CountedOutcome,
    /// The outcome of each policy; empty while the comparison runs.
    pub outcomes: Vec<PolicyOutcome>,
}

impl PolicyComparison {
    /// Returns the error of the simulation in the share of missed queries: simulated less counted,
    /// for the policy that ran. Returns `None` without counted queries or during the comparison.
    pub fn error(&self) -> Option<f64> {
        let ran = |outcome: &&PolicyOutcome| outcome.policy == self.counted.policy;
        let simulated = self.outcomes.iter().find(ran)?.missed;
        Some(simulated - self.counted.queries.share_missed()?)
    }

    /// Returns whether the error of the simulation is at most the difference between the policies,
    /// or `None` if the error is unknown.
    pub fn is_reliable(&self) -> Option<bool> {
        self.error().map(|error| error.abs() <= self.spread())
    }

    /// Returns the difference between the best and the worst policy in the share of missed queries.
    pub fn spread(&self) -> f64 {
        let missed = || self.outcomes.iter().map(|outcome| outcome.missed);
        (missed().fold(0.0, f64::max) - missed().fold(1.0, f64::min)).max(0.0)
    }
}

/// The counted queries of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedOutcome {
    /// The name of the policy at the end of the period.
    pub policy: String,
    /// Whether this policy ran during the whole period.
    pub whole: bool,
    /// The counted queries.
    pub queries: GoalCount,
}

impl TaskView {
    /// Returns the queries that ended in the last seconds.
    pub fn counted(&self, seconds: usize) -> GoalCount {
        let last = self.seconds.iter().rev().take(seconds);
        last.map(|second| GoalCount {
            met: u64::from(second.met),
            missed: u64::from(second.missed),
        })
        .sum()
    }
}

impl ScalingView {
    /// Returns the queries of all tasks that ended in the last seconds.
    pub fn counted(&self, seconds: usize) -> GoalCount {
        self.tasks.iter().map(|task| task.counted(seconds)).sum()
    }
}

/// Queries by whether they met their goals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalCount {
    /// Queries that met their goals.
    pub met: u64,
    /// Queries that missed a goal, refused ones included.
    pub missed: u64,
}

impl GoalCount {
    /// Returns the number of queries.
    pub fn all(self) -> u64 {
        self.met + self.missed
    }

    /// Returns the share of queries that missed a goal, or `None` without queries.
    pub fn share_missed(self) -> Option<f64> {
        (self.all() > 0).then(|| self.missed as f64 / self.all() as f64)
    }
}

impl Sum for GoalCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(GoalCount::default(), |sum, count| GoalCount {
            met: sum.met + count.met,
            missed: sum.missed + count.missed,
        })
    }
}

/// The outcome of a policy in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// The name of the policy.
    pub policy: String,
    /// The share of queries that would have missed a goal.
    pub missed: f64,
    /// The cost of a million queries, by the answering variants.
    pub cost: f64,
    /// The mean accuracy of the answers.
    pub accuracy: f64,
    /// The number of times that instances would have been added or removed.
    pub changes: u64,
}

/// An offline job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// Its number.
    pub number: u64,
    /// Its task.
    pub task: String,
    /// Its goals in words.
    pub goals: String,
    /// The number of its rows.
    pub rows: u64,
    /// The number of rows with written answers.
    pub written: u64,
    /// Its state, in words.
    pub state: String,
    /// Whether it has ended, with or without success.
    pub is_over: bool,
}
