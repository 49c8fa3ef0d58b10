//! The jobs of a store: submitted, saved, and removed some time after their end.

use std::time::Duration;

use redb::{ReadableTable, WriteTransaction};

use super::error::StoreError;
use super::schema::{FORMAT, JOBS, LAST_JOB, encoded};
use super::{Store, StoreContents};
use crate::records::JobRecord;

/// How long a finished job is kept.
pub const KEPT_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The maximum number of finished jobs to keep.
pub const KEPT_JOBS: usize = 1000;

impl Store {
    /// Adds a job, and removes the finished jobs that have [expired](KEPT_TIME). Returns its number,
    /// which no other job has had.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn submit(&self, job: &JobRecord) -> Result<u64, StoreError> {
        let contents = self.contents()?;
        let mut number = 0;
        self.write(|transaction| {
            remove(transaction, &contents.expired_jobs(job.submitted_at))?;
            let mut format = transaction.open_table(FORMAT)?;
            let last = format.get(LAST_JOB)?.map_or(0, |last| last.value());
            number = contents.last_job().max(u64::from(last)) + 1;
            format.insert(LAST_JOB, u32::try_from(number).unwrap_or(u32::MAX))?;
            insert(transaction, number, job)
        })?;
        Ok(number)
    }

    /// Stores a job under a number, and replaces a job with that number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_job(&self, number: u64, job: &JobRecord) -> Result<(), StoreError> {
        self.write(|transaction| insert(transaction, number, job))
    }

    /// Removes all finished jobs in one transaction. Returns their numbers.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn clear_jobs(&self) -> Result<Vec<u64>, StoreError> {
        let finished: Vec<u64> = self.contents()?.finished_jobs().collect();
        self.write(|transaction| remove(transaction, &finished))?;
        Ok(finished)
    }
}

fn insert(transaction: &WriteTransaction, number: u64, job: &JobRecord) -> Result<(), StoreError> {
    let mut jobs = transaction.open_table(JOBS)?;
    jobs.insert(number, encoded(job)?.as_slice())?;
    Ok(())
}

fn remove(transaction: &WriteTransaction, numbers: &[u64]) -> Result<(), StoreError> {
    let mut jobs = transaction.open_table(JOBS)?;
    for number in numbers {
        jobs.remove(*number)?;
    }
    Ok(())
}

impl StoreContents {
    /// Returns the numbers of the finished jobs, ascending.
    pub fn finished_jobs(&self) -> impl Iterator<Item = u64> {
        let jobs = self.jobs.iter().filter(|(_, job)| job.end.is_some());
        jobs.map(|(number, _)| *number)
    }

    fn last_job(&self) -> u64 {
        self.jobs.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the finished jobs that are too old at a time in seconds since 1970, and the oldest
    /// ones of too many.
    pub fn expired_jobs(&self, now: u64) -> Vec<u64> {
        let finished: Vec<u64> = self.finished_jobs().collect();
        let over = finished.len().saturating_sub(KEPT_JOBS);
        let is_old = |number: &u64| {
            let ended_at = self.jobs.get(number).and_then(|job| job.ended_at);
            ended_at.is_some_and(|at| now.saturating_sub(at) > KEPT_TIME.as_secs())
        };
        let expired = finished.iter().enumerate();
        let expired = expired.filter(|(at, number)| *at < over || is_old(number));
        expired.map(|(_, number)| *number).collect()
    }
}
