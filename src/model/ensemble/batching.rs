//! The batching policies of workers.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::batch_sizes::{BatchSize, BatchSizes};
use crate::ranged::{FieldOutOfRange, ranged, within};

ranged! {
    /// The time that a sample may wait for others, up to a minute.
    #[derive(Eq)]
    Wait(Duration) = Duration::ZERO, Duration::from_secs(60), "{} to {}"
}

/// A batching policy with its parameters. `serving` implements the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyKind {
    /// A worker takes the waiting samples at once, up to its batch size.
    NoWait,
    /// A worker takes a full batch, or all waiting samples once the oldest has waited for `wait`.
    OptWait {
        /// The longest wait.
        wait: Wait,
    },
    /// As `OptWait`, but samples are copied to the device while a batch computes there.
    PipelinedOptWait {
        /// The longest wait.
        wait: Wait,
    },
    /// As `OptWait`, but the batch is padded to the batch size.
    Static {
        /// The longest wait.
        wait: Wait,
    },
    /// A worker takes whole segments, which are closed when they are full or after `wait`. A batch
    /// never mixes segments.
    Segment {
        /// The longest wait.
        wait: Wait,
    },
    /// Waiting samples start at once in the largest idle lanes that they fill (Ebird, algorithm 1).
    Elastic {
        /// The maximum number of samples alive on a device, or `None` for the sum of its workers'
        /// batch sizes.
        max_inf: Option<NonZeroU32>,
    },
}

/// A batching policy of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPolicy {
    /// The policy.
    pub kind: PolicyKind,
    /// The number of samples that do not wait for more, if it is less than a full batch.
    pub enough: Option<BatchSize>,
}

impl From<PolicyKind> for MemberPolicy {
    fn from(kind: PolicyKind) -> Self {
        MemberPolicy { kind, enough: None }
    }
}

/// An unknown policy, or a policy that conflicts with the batch sizes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PolicyError {
    /// There is no policy with this name.
    #[error("expected a policy ({names}), found `{0}`", names = PolicyKind::names().join(", "))]
    Unknown(String),
    /// `elastic` splits batch sizes into lanes, and a batch size is not a power of two.
    #[error("elastic: expected batch sizes that are powers of two, found {0}")]
    Lanes(BatchSize),
    /// The text after `elastic:` is not a number.
    #[error("expected a number of samples above 0 after `elastic:`, found `{0}`")]
    MaxInf(String),
    /// `no-wait` has a number.
    #[error("no-wait takes no number, found `{0}`")]
    NoNumber(String),
    /// The text after the policy's name is not a wait time.
    #[error("expected a wait of 0 to 60000 ms after `{name}:`, found `{found}`")]
    Wait {
        /// The policy's name.
        name: String,
        /// The text.
        found: String,
    },
}

/// The default wait time.
pub(crate) const DEFAULT_WAIT: Wait = Wait(Duration::from_millis(5));

impl Wait {
    /// Returns a wait of `millis` milliseconds, a minute at most.
    pub const fn millis(millis: u16) -> Self {
        let most = 60_000;
        let millis = if millis > most { most } else { millis };
        Wait(Duration::from_millis(millis as u64))
    }

    /// Returns a wait of `millis` milliseconds.
    ///
    /// # Errors
    /// The number is below 0 or above a minute.
    pub fn from_millis(millis: f64) -> Result<Self, FieldOutOfRange> {
        let most = Self::MOST.0.as_secs_f64() * 1e3;
        within("wait", millis, 0.0, most)?;
        // Rounding may push the longest wait beyond the limit.
        Ok(Wait::nearest(Duration::from_secs_f64(millis / 1e3)))
    }
}

/// The words for a policy, and how it is made.
struct PolicyRow {
    name: &'static str,
    /// A free worker starts these samples.
    starts: &'static str,
    /// Makes the policy with a wait, if it waits.
    with_wait: fn(Wait) -> PolicyKind,
}

const fn row(
    name: &'static str,
    starts: &'static str,
    with_wait: fn(Wait) -> PolicyKind,
) -> PolicyRow {
    PolicyRow {
        name,
        starts,
        with_wait,
    }
}

#[rustfmt::skip]
const ROWS: [PolicyRow; 6] = [
    row("no-wait", "all queued samples at once, up to the batch size", |_| PolicyKind::NoWait),
    row("opt-wait", "a full batch, or the queued samples after the wait", |wait| PolicyKind::OptWait { wait }),
    row("pipelined-opt-wait", "like opt-wait, copying samples during computation", |wait| PolicyKind::PipelinedOptWait { wait }),
    row("static", "like opt-wait, padded to the full batch", |wait| PolicyKind::Static { wait }),
    row("segment", "whole segments, closed when full or after the wait", |wait| PolicyKind::Segment { wait }),
    row("elastic", "the largest idle lane (1, 1, 2, 4, …) that fills", |_| PolicyKind::Elastic { max_inf: None }),
];

impl PolicyKind {
    /// The ratio of a pool in device memory to the samples that may be alive there: "several times"
    /// (Ebird, section V.A).
    pub const POOL: usize = 4;

    /// Returns whether inputs are copied to a device before they form a batch.
    pub fn copies_ahead(self) -> bool {
        matches!(
            self,
            PolicyKind::Elastic { .. } | PolicyKind::PipelinedOptWait { .. }
        )
    }

    /// Returns the names of the policies, in the order that a console offers them.
    pub fn names() -> [&'static str; ROWS.len()] {
        ROWS.map(|row| row.name)
    }

    /// Returns whether the policy is only a delay: samples wait for others for a fixed time, or not
    /// at all.
    pub fn is_delay(self) -> bool {
        matches!(self, PolicyKind::NoWait | PolicyKind::OptWait { .. })
    }

    /// Returns the common policy of models served together, or `None` without models: the longest
    /// delay if all policies are delays, which each model can have for itself, and otherwise the
    /// first policy.
    pub fn common(all: impl Iterator<Item = PolicyKind>) -> Option<PolicyKind> {
        let all: Vec<PolicyKind> = all.collect();
        match all.iter().all(|policy| policy.is_delay()) {
            true => all.into_iter().max_by_key(|policy| policy.wait()),
            false => all.first().copied(),
        }
    }

    /// Returns the policy `name`, with `wait` if it waits.
    ///
    /// # Errors
    /// There is no policy with this name.
    pub fn from_name(name: &str, wait: Wait) -> Result<Self, PolicyError> {
        let row = ROWS.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| PolicyError::Unknown(name.to_owned()))?;
        Ok((row.with_wait)(wait))
    }

    /// Returns its name in manifests and on the screen.
    pub fn name(&self) -> &'static str {
        self.row().name
    }

    /// Returns the samples that a free worker starts under the policy `name`, in words, or `None` if
    /// there is no policy with this name.
    pub fn starts(name: &str) -> Option<&'static str> {
        let row = ROWS.iter().find(|row| row.name == name)?;
        Some(row.starts)
    }

    fn row(&self) -> &'static PolicyRow {
        let is_own = |row: &&PolicyRow| {
            let kind = (row.with_wait)(DEFAULT_WAIT);
            std::mem::discriminant(&kind) == std::mem::discriminant(self)
        };
        ROWS.iter().find(is_own).unwrap_or(&ROWS[0])
    }

    /// Checks that workers of all `sizes` can follow the policy.
    ///
    /// # Errors
    /// The policy is `elastic`, and a size is not a power of two.
    pub fn check(&self, sizes: &BatchSizes) -> Result<(), PolicyError> {
        let odd = sizes.iter().find(|s| !s.get().is_power_of_two());
        match (self, odd) {
            (PolicyKind::Elastic { .. }, Some(size)) => Err(PolicyError::Lanes(size)),
            _ => Ok(()),
        }
    }

    /// Returns the longest wait of the oldest sample.
    pub fn wait(&self) -> Duration {
        match *self {
            PolicyKind::NoWait | PolicyKind::Elastic { .. } => Duration::ZERO,
            PolicyKind::OptWait { wait }
            | PolicyKind::PipelinedOptWait { wait }
            | PolicyKind::Static { wait }
            | PolicyKind::Segment { wait } => wait.get(),
        }
    }
}

fn elastic(max_inf: &str) -> Result<PolicyKind, PolicyError> {
    let number: Result<NonZeroU32, _> = max_inf.parse();
    let max_inf = number.map_err(|_| PolicyError::MaxInf(max_inf.to_owned()))?;
    Ok(PolicyKind::Elastic {
        max_inf: Some(max_inf),
    })
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyKind::NoWait => f.write_str("no-wait"),
            PolicyKind::Elastic { max_inf: None } => f.write_str("elastic"),
            PolicyKind::Elastic { max_inf: Some(n) } => write!(f, "elastic:{n}"),
            other => write!(f, "{}:{}ms", other.name(), other.wait().as_secs_f64() * 1e3),
        }
    }
}

impl FromStr for PolicyKind {
    type Err = PolicyError;

    /// Reads `no-wait`, `opt-wait`, `opt-wait:30ms`, `elastic`, `elastic:64`, …
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let Some((name, wait)) = text.split_once(':') else {
            return PolicyKind::from_name(text, DEFAULT_WAIT);
        };
        match name {
            "elastic" => return elastic(wait),
            "no-wait" => return Err(PolicyError::NoNumber(wait.to_owned())),
            _ => {}
        }
        let millis = wait.strip_suffix("ms").unwrap_or(wait);
        let wait = millis
            .parse::<f64>()
            .ok()
            .and_then(|ms| Wait::from_millis(ms).ok())
            .ok_or_else(|| PolicyError::Wait {
                name: name.to_owned(),
                found: wait.to_owned(),
            })?;
        PolicyKind::from_name(name, wait)
    }
}
