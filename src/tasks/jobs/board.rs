//! The place where jobs are submitted and stored.

use std::sync::Arc;
use std::time::Duration;

use divisi_model::ensemble::{Ensemble, Samples};
use divisi_registry::records::JobRecord;

/// A job with its number.
#[derive(Clone, Debug, PartialEq)]
pub struct PostedJob {
    /// Its number.
    pub number: u64,
    /// The job.
    pub record: JobRecord,
}

/// Stores submitted jobs across runs of the program.
pub trait JobBoard: Send + Sync {
    /// Returns the time between two saves of a job's progress. After a kill, rows since the last
    /// save are computed again.
    fn keep_every(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Returns all jobs, by number.
    ///
    /// # Errors
    /// Returns the reason if the jobs cannot be read.
    fn jobs(&self) -> Result<Vec<PostedJob>, String>;

    /// Reads the samples of a job for the ensemble.
    ///
    /// # Errors
    /// Returns the reason if the samples cannot be read.
    fn samples(&self, record: &JobRecord, ensemble: &Ensemble) -> Result<Arc<Samples>, String>;

    /// Saves the progress of a job.
    ///
    /// # Errors
    /// Returns the reason if saving failed.
    fn keep(&self, job: &PostedJob) -> Result<(), String>;

    /// Sends the completion notification of a job, if it has one. Calls `failed` with the reason if
    /// that fails.
    fn tell(&self, job: &PostedJob, failed: Box<dyn FnOnce(String) + Send>);
}
