//! Numbers and states of the engine in words, independent of a screen.

pub(crate) mod checks;
mod clients;
mod clock;
pub mod format;
mod host;
mod objective;
pub(crate) mod outlook;
pub(crate) mod proposal;
pub(crate) mod status;

pub(crate) use clients::{error_words, last_error};
pub use clock::WallClock;
pub(crate) use host::advice;
pub(crate) use objective::{MissedObjective, objective};
pub(crate) use status::{load_words, measured_window};

use divisi_session::{Health, LogLevel, Lost, Snapshot};

/// The current condition of an ensemble, regardless of earlier events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Condition<'a> {
    Starting,
    Serving,
    /// More requests than allowed miss the service objective.
    Missing(MissedObjective),
    /// Devices are lost; holds their names.
    Degraded(&'a str),
    /// Accepted requests fail.
    Failing(&'a Lost, f64),
    /// Some requests are refused.
    Refusing(&'a Lost, f64),
    /// All requests are refused; holds the reason.
    Closed(&'a str),
}

impl<'a> Condition<'a> {
    /// Returns the worst current condition.
    pub(crate) fn from_snapshot(shown: &'a Snapshot) -> Self {
        let lately = &shown.lately;
        let over = lately.over.as_secs_f64().max(1.0);
        let (refused, failed) = (&lately.refused, &lately.failed);
        match &shown.health {
            Health::Closed(why) => Condition::Closed(why),
            _ if refused.requests > 0 => Condition::Refusing(refused, over),
            _ if failed.requests > 0 => Condition::Failing(failed, over),
            Health::Degraded(why) => Condition::Degraded(why),
            Health::Starting => Condition::Starting,
            Health::Serving => match MissedObjective::from_snapshot(shown) {
                Some(missed) => Condition::Missing(missed),
                None => Condition::Serving,
            },
        }
    }

    /// Returns its severity, or `None` if there is no problem.
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            Condition::Serving => None,
            Condition::Starting => Some(Severity::Information),
            Condition::Missing(_) => Some(Severity::Warning),
            Condition::Degraded(_)
            | Condition::Failing(..)
            | Condition::Refusing(..)
            | Condition::Closed(_) => Some(Severity::Fault),
        }
    }

    /// Returns a short form: `refusing 247/s`.
    pub(crate) fn short(self) -> String {
        match self {
            Condition::Failing(lost, over) => format!("failing {}", rate(lost, over)),
            Condition::Refusing(lost, over) => format!("refusing {}", rate(lost, over)),
            Condition::Missing(missed) => missed.short(),
            other => other.text(),
        }
    }

    /// Returns a text with the reason.
    pub(crate) fn text(self) -> String {
        match self {
            Condition::Starting => "starting".into(),
            Condition::Serving => "serving".into(),
            Condition::Missing(missed) => missed.text(),
            Condition::Degraded(why) => format!("degraded: {why}"),
            Condition::Failing(lost, over) => {
                format!("failing requests: {}", lost_words(lost, over))
            }
            Condition::Refusing(lost, over) => {
                format!("refusing requests: {}", lost_words(lost, over))
            }
            Condition::Closed(why) => format!("closed: {why}"),
        }
    }

    /// Returns a text that stays the same while the numbers in [`Condition::text`] change.
    pub(crate) fn kind(self) -> String {
        match self {
            Condition::Failing(..) => "failing".into(),
            Condition::Refusing(..) => "refusing".into(),
            Condition::Missing(missed) => missed.kind().into(),
            other => other.text(),
        }
    }
}

fn rate(lost: &Lost, over: f64) -> String {
    let rate = (lost.requests as f64 / over).max(1.0);
    format!("{}/s", format::short(rate))
}

/// Returns lost requests in words, the last one's reason first, since lines are cut: `the pool is
/// full; last of 1 234 in 5 s`.
pub(crate) fn lost_words(lost: &Lost, over: f64) -> String {
    let (count, over) = (format::grouped(lost.requests), over.round());
    match &lost.why {
        Some(why) if lost.requests > 1 => format!("{why}; last of {count} in {over} s"),
        Some(why) => format!("{why}; {count} in the last {over} s"),
        None => format!("{count} in the last {over} s"),
    }
}

/// The severity of a message, from information to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information.
    Information,
    /// Something may become a fault, or works less well than possible.
    Warning,
    /// Requests are lost, or something is broken.
    Fault,
}

impl Severity {
    /// Returns its sign, which has an ASCII substitute.
    pub fn sign(self) -> &'static str {
        match self {
            Severity::Information => "·",
            Severity::Warning => "!",
            Severity::Fault => "✗",
        }
    }

    /// Returns its word, for output without signs.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Information => "info",
            Severity::Warning => "warning",
            Severity::Fault => "fault",
        }
    }
}

impl From<LogLevel> for Severity {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Info => Severity::Information,
            LogLevel::Warn => Severity::Warning,
            LogLevel::Error => Severity::Fault,
        }
    }
}
