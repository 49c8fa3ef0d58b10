//! An offline job as it is kept between two runs of the program.

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use serde::{Deserialize, Serialize};

/// An offline job, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The task.
    pub task: String,
    /// The file of its samples.
    pub input: String,
    /// The file of its answers.
    pub output: String,
    /// The goals of each of its rows.
    pub goals: QueryGoals,
    /// The rows, and those whose answers were written.
    pub progress: JobProgress,
}
