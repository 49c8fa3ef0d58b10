//! The terms of a probation, and how each of its limits stands.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ranged::{FieldOutOfRange, checked_when_read, within};

/// The terms of a probation: its length and its limits. Each limit compares the time since
/// the change with the time before it; `None` sets no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Terms {
    /// The length of the probation.
    pub lasts: Duration,
    /// The most that p99 may be, as a multiple of what it was.
    pub p99: Option<f64>,
    /// The most that the share of failed or refused requests may rise, 0 to 1.
    pub failures: Option<f64>,
    /// The most that accuracy may fall, 0 to 1; judged only where labels are known.
    pub accuracy: Option<f64>,
}

checked_when_read!(Terms);

impl Terms {
    /// The shortest and the longest probation: up to a day.
    pub const LASTS: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(86_400));

    /// Checks that every term is within its range.
    ///
    /// # Errors
    /// A term is out of range; says which, and what was expected.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let (least, most) = Self::LASTS;
        within("a probation's time", self.lasts, least, most)?;
        let limit = |name, found: Option<f64>, least, most| {
            found.map_or(Ok(()), |found| within(name, found, least, most))
        };
        limit("p99", self.p99, f64::MIN_POSITIVE, 1e6)?;
        limit("failures", self.failures, 0.0, 1.0)?;
        limit("accuracy", self.accuracy, 0.0, 1.0)
    }
}

impl Terms {
    /// Returns terms of the same length without any limit.
    pub(super) fn of_nothing(self) -> Self {
        Terms {
            p99: None,
            failures: None,
            accuracy: None,
            ..self
        }
    }
}

/// The quantity that a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limited {
    /// The 99th percentile of latency.
    P99,
    /// The share of requests that failed or were refused.
    Failures,
    /// The share of right answers among samples with labels.
    Accuracy,
}

impl Limited {
    /// Returns its name: `p99`, `failures` or `accuracy`.
    pub fn name(self) -> &'static str {
        match self {
            Limited::P99 => "p99",
            Limited::Failures => "failures",
            Limited::Accuracy => "accuracy",
        }
    }

    /// Formats a value of it with its unit: `12.3 ms`, `1.8 %`. Latencies are given in
    /// microseconds.
    pub fn text(self, value: f64) -> String {
        match self {
            Limited::P99 => format!("{:.1} ms", value / 1e3),
            Limited::Failures | Limited::Accuracy => format!("{:.1} %", 100.0 * value),
        }
    }
}

/// How one limit of a probation stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The quantity that is limited.
    pub what: Limited,
    /// The value since the change: microseconds for p99, shares otherwise. `None` if nothing
    /// was counted yet.
    pub value: Option<f64>,
    /// The limit, in the unit of the value.
    pub limit: f64,
    /// The value before the change, if there were enough requests.
    pub baseline: Option<f64>,
    /// Requests (for accuracy: samples) beyond the limit.
    pub beyond: u64,
    /// Requests (for accuracy: samples) counted in all.
    pub counted: u64,
    /// The largest share allowed beyond the limit, including the uncertainty of the baseline.
    pub allowed: f64,
    /// How many more must be counted before an excess can be told from chance (see
    /// [`Judge::POWER`](super::Judge::POWER)).
    pub missing: u64,
}
