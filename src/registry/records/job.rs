//! The stored form of a batch job.

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use serde::{Deserialize, Serialize};

/// A batch job and its progress.
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
    /// The number of rows, and of rows with written answers.
    pub progress: JobProgress,
    /// The time of its submission, in seconds since 1970.
    pub submitted_at: u64,
    /// A shell command to run when the job ends.
    pub notify: Option<String>,
    /// The outcome, or `None` if the job has not ended.
    pub end: Option<JobEnd>,
}

/// The outcome of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    /// All its answers are written.
    Done,
    /// The job failed, with the reason.
    Failed(String),
    /// The job was cancelled.
    Cancelled,
}

impl JobEnd {
    /// Returns the outcome as text.
    pub fn words(&self) -> String {
        match self {
            JobEnd::Done => "done".to_owned(),
            JobEnd::Failed(why) => format!("failed: {why}"),
            JobEnd::Cancelled => "cancelled".to_owned(),
        }
    }
}
