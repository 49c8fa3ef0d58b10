//! Queries that ask for the same.

use crate::goals::QueryGoals;
use crate::quantities::QueryCost;
use crate::variants::TaskIndex;

/// Queries that ask for the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryStream {
    /// The task.
    pub task: TaskIndex,
    /// The goals.
    pub goals: QueryGoals,
    /// The money that an answer within them is worth.
    pub worth: QueryCost,
}
