//! How workers form batches: the policies as values.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A batching policy with its parameter; `serving` decides by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Whatever waits, up to the batch size, at once.
    NoWait,
    /// A full batch, or what waits once the oldest has waited `wait`.
    OptWait { wait: Duration },
    /// As `OptWait`, then padded to the full batch.
    Static { wait: Duration },
    /// Whole segments, closed when full or after `wait`; batches never cross one.
    Segment { wait: Duration },
}

/// Waiting time where none is given.
pub const DEFAULT_WAIT: Duration = Duration::from_millis(5);

impl PolicyKind {
    /// The names, in the order in which a console offers them.
    pub const NAMES: [&'static str; 4] = ["no-wait", "opt-wait", "static", "segment"];

    /// The policy called `name`, waiting at most `wait` where it waits.
    ///
    /// # Errors
    /// No policy has that name; says which there are.
    pub fn named(name: &str, wait: Duration) -> Result<Self, String> {
        match name {
            "no-wait" => Ok(PolicyKind::NoWait),
            "opt-wait" => Ok(PolicyKind::OptWait { wait }),
            "static" => Ok(PolicyKind::Static { wait }),
            "segment" => Ok(PolicyKind::Segment { wait }),
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
            PolicyKind::Static { .. } => "static",
            PolicyKind::Segment { .. } => "segment",
        }
    }

    /// How long the oldest sample may wait for others.
    pub fn wait(&self) -> Duration {
        match *self {
            PolicyKind::NoWait => Duration::ZERO,
            PolicyKind::OptWait { wait }
            | PolicyKind::Static { wait }
            | PolicyKind::Segment { wait } => wait,
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyKind::NoWait => f.write_str("no-wait"),
            other => write!(f, "{}:{}ms", other.name(), other.wait().as_secs_f64() * 1e3),
        }
    }
}

impl FromStr for PolicyKind {
    type Err = String;

    /// `no-wait`, `opt-wait`, `opt-wait:30ms`, …
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, wait)) = text.split_once(':') else {
            return PolicyKind::named(text, DEFAULT_WAIT);
        };
        let millis = wait.strip_suffix("ms").unwrap_or(wait);
        let wait = millis
            .parse::<f64>()
            .ok()
            .filter(|ms| (0.0..=60_000.0).contains(ms))
            .map(|ms| Duration::from_secs_f64(ms / 1e3))
            .ok_or_else(|| {
                format!("expected a wait of 0 to 60000 ms after `{name}:`, found `{wait}`")
            })?;
        PolicyKind::named(name, wait)
    }
}
