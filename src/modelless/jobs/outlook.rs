//! Decides whether a device has time for an offline batch.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The rules for offline batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRules {
    /// The share of a device's time used by queries from which offline batches wait (INFaaS §5:
    /// 0.4).
    pub utilisation: f64,
    /// The total time of batches that run together if no query waits for them, which reduces the
    /// number of requests. At least one batch runs, however long it takes.
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

/// The work of a device for queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceOutlook {
    /// The share of its time that queries used lately.
    pub utilisation: f64,
    /// Whether a variant on it suffers interference.
    pub interfered: bool,
    /// The time at which it must be free for the waiting queries, or `None` without any.
    /// [`latest_start`] computes it.
    pub needed_at: Option<Duration>,
    /// The time that a query arriving now could wait and still be answered in time, or `None` if no
    /// query waits for this batch.
    pub spare: Option<Duration>,
}

/// The reason why an offline batch waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobWait {
    /// Queries use too much of the device's time.
    Busy,
    /// A variant on the device suffers interference.
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
    /// Returns the number of batches of `latency` each that run together.
    pub(super) fn batches(&self, outlook: &DeviceOutlook, latency: Duration) -> u32 {
        let together = self.together.as_nanos() / latency.as_nanos().max(1);
        match outlook.is_free() {
            true => u32::try_from(together).unwrap_or(u32::MAX).max(1),
            false => 1,
        }
    }

    /// Returns the reason why no batch may start on a device now, whatever its length.
    pub(super) fn wait(&self, outlook: &DeviceOutlook) -> Option<JobWait> {
        match outlook.interfered {
            true => Some(JobWait::Interfered),
            false if outlook.utilisation >= self.utilisation => Some(JobWait::Busy),
            false => None,
        }
    }
}

impl DeviceOutlook {
    /// Returns whether no query waits for the batch.
    fn is_free(&self) -> bool {
        self.needed_at.is_none() && self.spare.is_none()
    }

    /// Returns whether a batch of `latency` from `now` on keeps every deadline.
    pub(super) fn leaves_intact(&self, now: Duration, latency: Duration) -> bool {
        self.needed_at.is_none_or(|needed| now + latency <= needed)
            && self.spare.is_none_or(|spare| latency <= spare)
    }
}

/// Returns the latest time at which a device must start its waiting queries so that each is
/// answered by its deadline, or `None` without deadlines. The device serves them one after another
/// in this order; each has a deadline and a duration.
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
