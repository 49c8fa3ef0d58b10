//! What something applied on probation is held to, and how each limit stands.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ranged::{FieldOutOfRange, checked_when_read, within};

/// What must not get worse, and for how long it is watched. Each limit compares the time
/// since with the time before; none does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Terms {
    pub lasts: Duration,
    /// p99 at most so many times what it was.
    pub p99: Option<f64>,
    /// Share of requests that failed or were refused at most so much above what it was,
    /// 0 to 1.
    pub failures: Option<f64>,
    /// Accuracy at most so much under what it was, 0 to 1; only where labels are known.
    pub accuracy: Option<f64>,
}

checked_when_read!(Terms);

impl Terms {
    /// How long a probation may last: up to a day.
    pub const LASTS: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(86_400));

    /// Whether something can be judged by them.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
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
    /// The same time, in which nothing matters.
    pub(super) fn of_nothing(self) -> Self {
        Terms {
            p99: None,
            failures: None,
            accuracy: None,
            ..self
        }
    }
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limited {
    P99,
    Failures,
    Accuracy,
}

impl Limited {
    /// `p99`, `failures`, `accuracy`.
    pub fn name(self) -> &'static str {
        match self {
            Limited::P99 => "p99",
            Limited::Failures => "failures",
            Limited::Accuracy => "accuracy",
        }
    }

    /// A value of it with its unit: `12.3 ms`, `1.8 %`.
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
    pub what: Limited,
    /// Since the change: microseconds of p99, shares of the others; none so far.
    pub value: Option<f64>,
    pub limit: f64,
    /// Before the change, where enough was asked then.
    pub baseline: Option<f64>,
    /// Requests (samples, of accuracy) beyond the limit, of so many.
    pub beyond: u64,
    pub counted: u64,
    /// The share that may be beyond it, with what the time before does not tell.
    pub allowed: f64,
    /// How many are missing to tell one of a hundred more from chance.
    pub missing: u64,
}
