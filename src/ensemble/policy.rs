//! How workers form batches: the policies as values.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use super::batch_sizes::BatchSizes;
use crate::ranged::{ranged, within};

ranged! {
    /// How long a sample may wait for others: up to a minute.
    #[derive(Eq)]
    Wait(Duration) = Duration::ZERO, Duration::from_secs(60), ""
}

/// A batching policy with its parameter; `serving` decides by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyKind {
    /// Whatever waits, up to the batch size, at once.
    NoWait,
    /// A full batch, or what waits once the oldest has waited `wait`.
    OptWait { wait: Wait },
    /// As `OptWait`, but samples are copied to the device while a batch computes there.
    PipelinedOptWait { wait: Wait },
    /// As `OptWait`, then padded to the full batch.
    Static { wait: Wait },
    /// Whole segments, closed when full or after `wait`; batches never cross one.
    Segment { wait: Wait },
    /// Whatever waits starts at once in the largest idle lanes that it fills, while a
    /// device has at most `max_inf` samples alive; without a number, as many as the
    /// batch sizes of its workers add up to (Ebird, algorithm 1).
    Elastic { max_inf: Option<NonZeroU32> },
}

/// Waiting time where none is given.
pub const DEFAULT_WAIT: Wait = Wait(Duration::from_millis(5));

impl Wait {
    /// So many milliseconds, a minute at most.
    pub const fn millis(millis: u16) -> Self {
        let most = 60_000;
        let millis = if millis > most { most } else { millis };
        Wait(Duration::from_millis(millis as u64))
    }

    /// A wait of so many milliseconds.
    ///
    /// # Errors
    /// Below 0 or above a minute; says what was expected.
    pub fn of_millis(millis: f64) -> Result<Self, String> {
        let most = Self::MOST.0.as_secs_f64() * 1e3;
        within("wait", millis, 0.0, most)?;
        // Rounding may carry the longest wait over the edge.
        Ok(Wait::nearest(Duration::from_secs_f64(millis / 1e3)))
    }
}

impl PolicyKind {
    /// A pool in a device's memory holds so many times what may be alive there: "several
    /// times" (Ebird, section V.A).
    pub const POOL: usize = 4;

    /// The names, in the order in which a console offers them.
    pub const NAMES: [&'static str; 6] = [
        "no-wait",
        "opt-wait",
        "pipelined-opt-wait",
        "static",
        "segment",
        "elastic",
    ];

    /// The policy called `name`, waiting at most `wait` where it waits.
    ///
    /// # Errors
    /// No policy has that name; says which there are.
    pub fn named(name: &str, wait: Wait) -> Result<Self, String> {
        match name {
            "no-wait" => Ok(PolicyKind::NoWait),
            "opt-wait" => Ok(PolicyKind::OptWait { wait }),
            "pipelined-opt-wait" => Ok(PolicyKind::PipelinedOptWait { wait }),
            "static" => Ok(PolicyKind::Static { wait }),
            "segment" => Ok(PolicyKind::Segment { wait }),
            "elastic" => Ok(PolicyKind::Elastic { max_inf: None }),
            _ => Err(format!(
                "expected a policy ({}), found `{name}`",
                Self::NAMES.join(", ")
            )),
        }
    }

    /// Its name in manifests and on the screen.
    pub fn name(&self) -> &'static str {
        match self {
            PolicyKind::NoWait => "no-wait",
            PolicyKind::OptWait { .. } => "opt-wait",
            PolicyKind::PipelinedOptWait { .. } => "pipelined-opt-wait",
            PolicyKind::Static { .. } => "static",
            PolicyKind::Segment { .. } => "segment",
            PolicyKind::Elastic { .. } => "elastic",
        }
    }

    /// Checks that workers of all `sizes` can follow the policy.
    ///
    /// # Errors
    /// `elastic` splits batch sizes into lanes, which takes powers of two.
    pub fn check(&self, sizes: &BatchSizes) -> Result<(), String> {
        let odd = sizes.iter().find(|s| !s.get().is_power_of_two());
        match (self, odd) {
            (PolicyKind::Elastic { .. }, Some(size)) => Err(format!(
                "elastic splits batch sizes into lanes of 1, 1, 2, 4, …: expected powers of two, found {size}"
            )),
            _ => Ok(()),
        }
    }

    /// How long the oldest sample may wait for others.
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

fn elastic(max_inf: &str) -> Result<PolicyKind, String> {
    let number: Result<NonZeroU32, _> = max_inf.parse();
    let max_inf = number.map_err(|_| {
        format!("expected a number of samples above 0 after `elastic:`, found `{max_inf}`")
    })?;
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
    type Err = String;

    /// `no-wait`, `opt-wait`, `opt-wait:30ms`, `elastic`, `elastic:64`, …
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, wait)) = text.split_once(':') else {
            return PolicyKind::named(text, DEFAULT_WAIT);
        };
        match name {
            "elastic" => return elastic(wait),
            "no-wait" => return Err(format!("no-wait takes no number, found `{wait}`")),
            _ => {}
        }
        let millis = wait.strip_suffix("ms").unwrap_or(wait);
        let wait = millis
            .parse::<f64>()
            .ok()
            .and_then(|ms| Wait::of_millis(ms).ok())
            .ok_or_else(|| {
                format!("expected a wait of 0 to 60000 ms after `{name}:`, found `{wait}`")
            })?;
        PolicyKind::named(name, wait)
    }
}
