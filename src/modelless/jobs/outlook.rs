//! Whether a device has time for a batch that nobody waits for.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When offline batches may run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRules {
    /// The part of a device's time taken by queries from which on offline batches wait (INFaaS
    /// §5: 0.4).
    pub utilisation: f64,
    /// Where no query waits for them, so many batches run together that they take this time: whoever
    /// asks for them has less to do. One at least does, however long it takes.
    pub together: Duration,
}

impl Default for JobRules {
    fn default() -> Self {
        JobRules {
            utilisation: 0.4,
            together: Duration::ZERO,
        }
    }
}

/// The work that a device has for queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceOutlook {
    /// The part of its time that queries took lately.
    pub utilisation: f64,
    /// Whether a variant on it is interfered with.
    pub interfered: bool,
    /// The time at which it has to be free for the queries that wait for it, or `None` where none
    /// does. [`latest_start`] works it out.
    pub needed_at: Option<Duration>,
    /// How long a query that arrives now could wait and still be answered in time, or `None` where
    /// no query waits for this batch.
    pub spare: Option<Duration>,
}

/// Why an offline batch waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobWait {
    /// Queries take too much of the device's time.
    Busy,
    /// A variant on the device is interfered with.
    Interfered,
    /// It would end too late for a query.
    Deadline,
}

impl fmt::Display for JobWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobWait::Busy => "queries use too much of the device's time",
            JobWait::Interfered => "interference on the device slows a variant",
            JobWait::Deadline => "a query would miss its deadline",
        })
    }
}

impl JobRules {
    /// Returns how many batches that take `latency` each run together.
    pub(super) fn batches(&self, outlook: &DeviceOutlook, latency: Duration) -> u32 {
        let together = self.together.as_nanos() / latency.as_nanos().max(1);
        match outlook.is_free() {
            true => u32::try_from(together).unwrap_or(u32::MAX).max(1),
            false => 1,
        }
    }

    /// Returns why nothing may start on a device now, however short.
    pub(super) fn wait(&self, outlook: &DeviceOutlook) -> Option<JobWait> {
        match outlook.interfered {
            true => Some(JobWait::Interfered),
            false if outlook.utilisation >= self.utilisation => Some(JobWait::Busy),
            false => None,
        }
    }
}

impl DeviceOutlook {
    /// Whether no query waits for what runs.
    fn is_free(&self) -> bool {
        self.needed_at.is_none() && self.spare.is_none()
    }

    /// Whether a batch that takes `latency` from `now` on leaves every deadline intact.
    pub(super) fn leaves_intact(&self, now: Duration, latency: Duration) -> bool {
        self.needed_at.is_none_or(|needed| now + latency <= needed)
            && self.spare.is_none_or(|spare| latency <= spare)
    }
}

/// Returns the latest time at which a device has to begin with the queries that wait for it, so
/// that each is answered by its deadline, or `None` where none has one. It serves them one after
/// another in this order; each is a deadline and the time that it takes.
pub fn latest_start(
    waiting: impl IntoIterator<Item = (Option<Duration>, Duration)>,
) -> Option<Duration> {
    let mut before = Duration::ZERO;
    let mut latest: Option<Duration> = None;
    for (deadline, takes) in waiting {
        before += takes;
        if let Some(deadline) = deadline {
            let start = deadline.saturating_sub(before);
            latest = Some(latest.map_or(start, |l| l.min(start)));
        }
    }
    latest
}
