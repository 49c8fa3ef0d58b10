//! One offline job, from its first row to its last.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::outlook::{DeviceOutlook, JobRules, JobWait};
use crate::variants::Variant;

/// The most rows of several batches that run together.
const MOST_TOGETHER: u32 = 512;

/// How far a job is: what has to be kept for it to go on after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    /// All its rows.
    pub rows: u64,
    /// The rows from the first on whose answers were written.
    pub written: u64,
}

/// Rows of a job that run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobBatch {
    /// The rows.
    pub rows: Range<u64>,
    /// When their answers are expected.
    pub expected_end: Duration,
}

/// The next thing that a job does on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// Runs these rows.
    Run(JobBatch),
    /// Waits.
    Wait(JobWait),
    /// Nothing: all its rows run or were written.
    Nothing,
}

/// Something that a job cannot be told.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// More rows were written than there are.
    #[error("expected at most {rows} written rows, found {written}")]
    Progress {
        /// All rows.
        rows: u64,
        /// Those said to be written.
        written: u64,
    },
    /// Rows that do not run.
    #[error("rows {0:?} are not running")]
    NotRunning(Range<u64>),
}

impl JobError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            JobError::Progress { .. } => "job_progress",
            JobError::NotRunning(_) => "job_rows_not_running",
        }
    }
}

/// A job: which of its rows run, wait and are written. Its output is written in order, so that a
/// file that was begun holds whole rows from the first on.
#[derive(Clone, Debug)]
pub struct OfflineJob {
    rules: JobRules,
    rows: u64,
    written: u64,
    /// The first row that never ran.
    next: u64,
    /// Rows that ran and failed, to run again.
    failed: Vec<Range<u64>>,
    running: Vec<Range<u64>>,
    /// Rows that are done and wait for earlier ones.
    done: Vec<Range<u64>>,
}

impl OfflineJob {
    /// Begins a job, or goes on with one after its rows that were written.
    ///
    /// # Errors
    /// More were written than there are.
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

    /// Returns how far it is.
    pub fn progress(&self) -> JobProgress {
        JobProgress {
            rows: self.rows,
            written: self.written,
        }
    }

    /// Whether every row was written.
    pub fn is_finished(&self) -> bool {
        self.written == self.rows
    }

    /// Decides what runs next by an instance that is free. It takes the largest batch that leaves
    /// every deadline intact, of the variant's size and its halves, or several where none is at stake.
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

    /// Returns rows that wait: failed ones first.
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

    /// Takes the end of a batch. Returns the rows whose answers can be written now.
    ///
    /// # Errors
    /// The rows do not run.
    pub fn finished(&mut self, rows: &Range<u64>) -> Result<Range<u64>, JobError> {
        self.end(rows)?;
        self.done.push(rows.clone());
        let first = self.written;
        while let Some(at) = self.done.iter().position(|done| done.start == self.written) {
            self.written = self.done.swap_remove(at).end;
        }
        Ok(first..self.written)
    }

    /// Takes a batch that came to nothing: its rows run again.
    ///
    /// # Errors
    /// The rows do not run.
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
