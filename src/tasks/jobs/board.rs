//! Where jobs are handed over and kept.

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

/// Where jobs are handed over, and kept from one run of the program to the next.
pub trait JobBoard: Send + Sync {
    /// Returns the time between two notes of how far a job is: rows that came after the last one are
    /// answered again after a kill.
    fn keep_every(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Returns all jobs, by their numbers.
    ///
    /// # Errors
    /// They cannot be read; in words.
    fn jobs(&self) -> Result<Vec<PostedJob>, String>;

    /// Reads the samples of a job, which the ensemble answers.
    ///
    /// # Errors
    /// They cannot be read; in words.
    fn samples(&self, record: &JobRecord, ensemble: &Ensemble) -> Result<Arc<Samples>, String>;

    /// Keeps how far a job is.
    ///
    /// # Errors
    /// It cannot be kept; in words.
    fn keep(&self, job: &PostedJob) -> Result<(), String>;

    /// Tells whoever is to be told that a job is over. Where they cannot be, `failed` is called with the
    /// reason, in words.
    fn tell(&self, job: &PostedJob, failed: Box<dyn FnOnce(String) + Send>);
}
