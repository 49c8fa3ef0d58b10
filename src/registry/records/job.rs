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
    /// When it was handed over, in seconds since 1970.
    pub submitted_at: u64,
    /// A command of the shell that is run once it is over.
    pub notify: Option<String>,
    /// How it ended, or `None` where it is not over.
    pub end: Option<JobEnd>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    /// All its answers are written.
    Done,
    /// It cannot go on; says why.
    Failed(String),
    /// Somebody took it back.
    Cancelled,
}

impl JobEnd {
    /// Returns it in words.
    pub fn words(&self) -> String {
        match self {
            JobEnd::Done => "done".to_owned(),
            JobEnd::Failed(why) => format!("failed: {why}"),
            JobEnd::Cancelled => "cancelled".to_owned(),
        }
    }
}
