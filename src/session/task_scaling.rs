//! Tasks whose variants are loaded by a policy, as a console shows and steers them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;

/// Loads variants of tasks by a policy.
pub trait TaskScaling: Send + Sync {
    /// Returns how it stands now.
    fn view(&self) -> ScalingView;

    /// Lets the policy of a name decide from now on.
    ///
    /// # Errors
    /// There is no such policy.
    fn set_policy(&self, name: &str) -> Result<(), Refusal>;

    /// Plays what was asked lately under every policy, in virtual time.
    ///
    /// # Errors
    /// Nothing was asked yet, or the last comparison is not over.
    fn compare(&self) -> Result<(), Refusal>;
}

/// How variants are loaded, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalingView {
    /// The name of the policy that decides.
    pub policy: String,
    /// The names of all policies.
    pub policies: Vec<String>,
    /// Why the policy decides nothing now, if so.
    pub held: Option<String>,
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// The variants that are loaded.
    pub loaded: Vec<LoadedVariant>,
    /// The changes of what is served, newest last, bounded.
    pub changes: Vec<ScalingChange>,
    /// The last decision: what was considered, with its outcome.
    pub considered: Vec<ConsideredView>,
    /// The policies compared, if that was asked for.
    pub comparison: Option<PolicyComparison>,
    /// The offline jobs that are not over, and the last ones that are.
    pub jobs: Vec<JobView>,
    /// The queries that no variant took, since the start.
    pub refused: u64,
    /// Why the last of them was refused.
    pub refusal: Option<String>,
}

/// A task, and how its goals are met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its name.
    pub name: String,
    /// Its queries by their goals, the most frequent first.
    pub streams: Vec<StreamView>,
    /// Each of the last seconds, oldest first.
    pub seconds: Vec<GoalSecond>,
    /// The queries whose goals no variant meets, if there were any lately.
    pub unreachable: Option<UnreachableView>,
}

/// Queries that asked for more than any variant can do: they are refused at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachableView {
    /// Those of the last second in which there were some.
    pub queries: u64,
    /// How many seconds ago that was.
    pub seconds: u8,
    /// Which variant is nearest to the last of them, and what it misses, in words.
    pub nearest: String,
}

/// A variant that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedVariant {
    /// The model that it is.
    pub name: String,
    /// Samples in a batch at most.
    pub batch: u32,
    /// Its instances: shares of its devices' time.
    pub instances: u32,
    /// Whether it is active, overloaded or interfered with.
    pub state: String,
}

/// Queries of the same goals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamView {
    /// The goals in words.
    pub goals: String,
    /// Queries a second, as they are expected.
    pub rate: f64,
    /// The part of them that missed a goal.
    pub missed: f64,
    /// The seconds that both are means over, about.
    pub seconds: u8,
}

/// The queries that were over in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalSecond {
    /// Those whose goals were met.
    pub met: u32,
    /// Those that missed one, refused ones among them.
    pub missed: u32,
}

/// A change of what is served, or one that could not be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingChange {
    /// When, since the engine's start.
    pub at: Duration,
    /// The policy.
    pub policy: String,
    /// The variants that come and leave, in words.
    pub what: String,
    /// The time until it was served, or why it is not.
    pub outcome: Result<Duration, String>,
    /// Whether the same variants run as before: instances alone came or left, which are shares of devices'
    /// time.
    pub shares_alone: bool,
}

/// Something that a policy considered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsideredView {
    /// The action in words.
    pub action: String,
    /// Whether it is done, or why not, in words.
    pub outcome: String,
    /// Whether it is done.
    pub taken: bool,
}

/// The outcome of each policy with the queries of the last minutes, in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyComparison {
    /// When it was asked for, since the server's start.
    pub at: Duration,
    /// The time before that over which the queries arrived.
    pub over: Duration,
    /// The queries.
    pub queries: u64,
    /// The policies with their outcomes; empty while it is worked out.
    pub outcomes: Vec<PolicyOutcome>,
}

/// The outcome of a policy in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyOutcome {
    /// The policy.
    pub policy: String,
    /// The part of queries that would have missed a goal.
    pub missed: f64,
    /// The cost of a million of them, by the variants that answer.
    pub cost: f64,
    /// The mean accuracy of the answers.
    pub accuracy: f64,
    /// How often instances would have come or left.
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
    /// Its rows.
    pub rows: u64,
    /// The rows whose answers are written.
    pub written: u64,
    /// How it stands, in words.
    pub state: String,
    /// Whether it is over, however it ended.
    pub is_over: bool,
}
