//! The state of an offline job.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::outlook::{DeviceOutlook, JobRules, JobWait};
use crate::variants::Variant;

/// The maximum number of rows in batches that run together.
const MOST_TOGETHER: u32 = 512;

/// The progress of a job, saved to continue it after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    /// The number of rows.
    pub rows: u64,
    /// The number of rows with written answers, from the first row on.
    pub written: u64,
}

/// Rows of a job that run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobBatch {
    /// The rows.
    pub rows: Range<u64>,
    /// The expected time of their answers.
    pub expected_end: Duration,
}

/// The next step of a job on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// Run these rows.
    Run(JobBatch),
    /// Wait.
    Wait(JobWait),
    /// Nothing to do: all rows are running or written.
    Nothing,
}

/// An invalid operation on a job.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// More rows were written than the job has.
    #[error("expected at most {rows} written rows, found {written}")]
    Progress {
        /// The number of rows.
        rows: u64,
        /// The number of written rows.
        written: u64,
    },
    /// The rows are not running.
    #[error("rows {0:?} are not running")]
    NotRunning(Range<u64>),
}

/// A job: its running, waiting and written rows. Its output is written in order, so that an
/// incomplete file has complete rows from the first on.
#[derive(Clone, Debug)]
pub struct OfflineJob {
    rules: JobRules,
    rows: u64,
    written: u64,
    /// The first row that never ran.
    next: u64,
    /// Failed rows that are to run again.
    failed: Vec<Range<u64>>,
    running: Vec<Range<u64>>,
    /// Finished rows that wait for earlier ones.
    done: Vec<Range<u64>>,
}

impl OfflineJob {
    /// Starts a job, or continues one after its written rows.
    ///
    /// # Errors
    /// Returns an error if more rows were written than the job has.
    pub fn new(rules: JobRules, progress: JobProgress) -> Result<Self, JobError> {
        let JobProgress { rows, written } = progress;
        if written > rows {
            return Err(JobError::Progress { rows, written });
        }
        Ok(OfflineJob {
            rules,
            rows,
            written,
            next: written,
            failed: Vec::new(),
            running: Vec::new(),
            done: Vec::new(),
        })
    }

    /// Returns the progress.
    pub fn progress(&self) -> JobProgress {
        JobProgress {
            rows: self.rows,
            written: self.written,
        }
    }

    /// Returns whether every row was written.
    pub fn is_finished(&self) -> bool {
        self.written == self.rows
    }

    /// Decides the next step on a free instance. It takes the largest batch that keeps every
    /// deadline, from the variant's batch size and its halves, or several batches if no deadline is
    /// affected.
    pub fn next(&mut self, now: Duration, variant: &Variant, outlook: &DeviceOutlook) -> JobStep {
        let Some(rows) = self.ready() else {
            return JobStep::Nothing;
        };
        if let Some(wait) = self.rules.wait(outlook) {
            return JobStep::Wait(wait);
        }
        let there = u32::try_from(rows.end - rows.start).unwrap_or(u32::MAX);
        let full = variant.batch.get();
        let batches = self
            .rules
            .batches(outlook, variant.profile.latency.mean(full));
        let together = full.saturating_mul(batches).min(full.max(MOST_TOGETHER));
        let mut size = together.min(there);
        while size > 0 {
            let latency = variant.profile.latency.p99(size);
            if outlook.leaves_intact(now, latency) {
                return JobStep::Run(self.run(rows.start, size, now + latency));
            }
            size /= 2;
        }
        JobStep::Wait(JobWait::Deadline)
    }

    /// Returns waiting rows, failed ones first.
    fn ready(&self) -> Option<Range<u64>> {
        let rest = (self.next < self.rows).then_some(self.next..self.rows);
        self.failed.last().cloned().or(rest)
    }

    fn run(&mut self, first: u64, size: u32, expected_end: Duration) -> JobBatch {
        let rows = first..first + u64::from(size);
        match self.failed.pop() {
            Some(failed) if rows.end < failed.end => self.failed.push(rows.end..failed.end),
            Some(_) => {}
            None => self.next = rows.end,
        }
        self.running.push(rows.clone());
        JobBatch { rows, expected_end }
    }

    /// Records the end of a batch. Returns the rows whose answers can be written now.
    ///
    /// # Errors
    /// Returns an error if the rows are not running.
    pub fn finished(&mut self, rows: &Range<u64>) -> Result<Range<u64>, JobError> {
        self.end(rows)?;
        self.done.push(rows.clone());
        let first = self.written;
        while let Some(at) = self.done.iter().position(|done| done.start == self.written) {
            self.written = self.done.swap_remove(at).end;
        }
        Ok(first..self.written)
    }

    /// Records a failed batch, whose rows run again.
    ///
    /// # Errors
    /// Returns an error if the rows are not running.
    pub fn failed(&mut self, rows: &Range<u64>) -> Result<(), JobError> {
        self.end(rows)?;
        self.failed.push(rows.clone());
        Ok(())
    }

    fn end(&mut self, rows: &Range<u64>) -> Result<(), JobError> {
        let at = self.running.iter().position(|running| running == rows);
        let at = at.ok_or_else(|| JobError::NotRunning(rows.clone()))?;
        self.running.swap_remove(at);
        Ok(())
    }
}
