//! Queries with the same task and goals.

use crate::goals::QueryGoals;
use crate::quantities::QueryCost;
use crate::variants::TaskIndex;

/// Queries with the same task and goals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryStream {
    /// The task.
    pub task: TaskIndex,
    /// The goals.
    pub goals: QueryGoals,
    /// The worth of an answer within the goals.
    pub worth: QueryCost,
}
