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
    /// Whether its output has a column with the variant of each row.
    pub names_variants: bool,
    /// The variants of the written rows.
    pub variants: Vec<JobVariant>,
    /// The outcome, or `None` if the job has not ended.
    pub end: Option<JobEnd>,
    /// The time of its end, in seconds since 1970, or `None` if the job has not ended.
    pub ended_at: Option<u64>,
}

/// A variant that answered rows of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobVariant {
    /// Its name, such as `digits.int8.cnn-s+res-s`.
    pub name: String,
    /// The number of its written rows.
    pub rows: u64,
}

impl JobRecord {
    /// Ends the job at a time, in seconds since 1970.
    pub fn finish(&mut self, end: JobEnd, at: u64) {
        (self.end, self.ended_at) = (Some(end), Some(at));
    }

    /// Counts written rows of a variant. Variants beyond the limit count as [`OTHER_VARIANTS`].
    pub fn count_rows(&mut self, variant: &str, rows: u64) {
        let known = |name: &str, all: &[JobVariant]| all.iter().position(|v| v.name == name);
        let is_full = self.variants.len() >= MOST_VARIANTS;
        let at = known(variant, &self.variants)
            .or_else(|| known(OTHER_VARIANTS, &self.variants).filter(|_| is_full));
        match at {
            Some(at) => self.variants[at].rows += rows,
            None => self.variants.push(JobVariant {
                name: if is_full { OTHER_VARIANTS } else { variant }.to_owned(),
                rows,
            }),
        }
    }
}

/// The name under which further variants of a job are counted.
const OTHER_VARIANTS: &str = "other variants";
/// The maximum number of variants that a job counts separately.
const MOST_VARIANTS: usize = 16;

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
