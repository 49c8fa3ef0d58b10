//! Events of the engine for operators, logs and exporters.
//!
//! The engine keeps the last events until they are taken, and passes each to `tracing` with a
//! level, a target and fields. Text is created for display only.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::batch::WorkerId;
use super::flaws::Flaws;

/// The level of an event or of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogLevel {
    /// Normal operation.
    Info,
    /// A problem that does not stop serving.
    Warn,
    /// A failure.
    Error,
}

/// An event in the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineEvent {
    /// A request could not be answered although all its members had run.
    RequestFailed {
        /// The reason.
        reason: String,
    },
    /// The answers of a batch could not be combined, and its requests failed.
    BatchNotFolded {
        /// The worker of the batch.
        worker: WorkerId,
        /// The reason.
        reason: String,
    },
    /// A member returned invalid rows.
    RowsFlawed {
        /// The member's name.
        member: String,
        /// The member's invalid rows since the start.
        flaws: Flaws,
    },
    /// A worker failed, together with the requests of its batch.
    WorkerFailed {
        /// The worker.
        worker: WorkerId,
        /// The name of its member.
        member: String,
        /// The name of its device.
        device: String,
        /// The reason.
        reason: String,
        /// The outcome for the worker.
        outcome: WorkerOutcome,
    },
    /// A leaving worker did not finish its batch in time.
    WorkerNotDrained {
        /// The worker.
        worker: WorkerId,
    },
    /// A member has no worker left, so no request is admitted.
    MemberUnserved {
        /// The member's name.
        member: String,
        /// The reason for refusing requests, including the loss that caused it.
        reason: String,
    },
    /// A device is lost.
    DeviceLost {
        /// The device's name.
        device: String,
        /// The reason, or `None` if an operator removed the device.
        reason: Option<String>,
    },
    /// A lost device is available again.
    DeviceBack {
        /// The device's name.
        device: String,
    },
    /// A device has no memory left for samples copied ahead.
    MemoryShort {
        /// The device's name.
        device: String,
        /// The reason.
        reason: String,
    },
    /// More events happened than are kept.
    EventsDropped,
}

/// The outcome for a worker that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerOutcome {
    /// It was rebuilt.
    Restarted,
    /// It failed too often.
    Retired,
    /// It could not be rebuilt, and is retired.
    NotRestarted {
        /// The reason.
        reason: String,
    },
    /// It was already leaving.
    Leaving,
}

const REQUESTS: &str = "divisi::requests";
const WORKERS: &str = "divisi::workers";
const DEVICES: &str = "divisi::devices";
const ENGINE: &str = "divisi::engine";

/// Calls `tracing` at a level that is known only at run time.
macro_rules! at_level {
    ($level:expr, $target:expr, $($fields:tt)+) => {
        match $level {
            LogLevel::Info => tracing::info!(target: $target, $($fields)+),
            LogLevel::Warn => tracing::warn!(target: $target, $($fields)+),
            LogLevel::Error => tracing::error!(target: $target, $($fields)+),
        }
    };
}

pub(super) use at_level;

impl EngineEvent {
    /// Returns the level of the event.
    pub fn level(&self) -> LogLevel {
        match self {
            EngineEvent::DeviceBack { .. } => LogLevel::Info,
            EngineEvent::RowsFlawed { flaws, .. } if flaws.not_finite > 0 => LogLevel::Error,
            EngineEvent::RowsFlawed { .. }
            | EngineEvent::WorkerNotDrained { .. }
            | EngineEvent::MemoryShort { .. }
            | EngineEvent::EventsDropped => LogLevel::Warn,
            EngineEvent::WorkerFailed { outcome, .. } => outcome.level(),
            EngineEvent::RequestFailed { .. }
            | EngineEvent::BatchNotFolded { .. }
            | EngineEvent::MemberUnserved { .. }
            | EngineEvent::DeviceLost { .. } => LogLevel::Error,
        }
    }

    /// Returns the event as a sentence without its level.
    pub fn text(&self) -> String {
        self.to_string()
    }

    /// Passes the event to `tracing`. The caller must not hold a lock, because a subscriber may
    /// write to a terminal that blocks.
    pub(super) fn trace(&self) {
        let (level, text) = (self.level(), self);
        match self {
            EngineEvent::RequestFailed { reason } => {
                at_level!(level, REQUESTS, reason, "{text}");
            }
            EngineEvent::BatchNotFolded { worker, reason } => {
                at_level!(level, REQUESTS, worker = worker.0, reason, "{text}");
            }
            EngineEvent::RowsFlawed { member, flaws } => {
                let (not_finite, other) = (flaws.not_finite, flaws.not_probabilities);
                at_level!(level, REQUESTS, member, not_finite, other, "{text}");
            }
            EngineEvent::WorkerFailed {
                worker,
                member,
                device,
                reason,
                ..
            } => {
                let worker = worker.0;
                at_level!(level, WORKERS, worker, device, member, reason, "{text}");
            }
            EngineEvent::WorkerNotDrained { worker } => {
                at_level!(level, WORKERS, worker = worker.0, "{text}");
            }
            EngineEvent::MemberUnserved { member, reason } => {
                at_level!(level, WORKERS, member, reason, "{text}");
            }
            EngineEvent::DeviceLost { device, reason } => {
                at_level!(level, DEVICES, device, reason, "{text}");
            }
            EngineEvent::DeviceBack { device } => at_level!(level, DEVICES, device, "{text}"),
            EngineEvent::MemoryShort { device, reason } => {
                at_level!(level, DEVICES, device, reason, "{text}");
            }
            EngineEvent::EventsDropped => at_level!(level, ENGINE, "{text}"),
        }
    }
}

impl WorkerOutcome {
    fn level(&self) -> LogLevel {
        match self {
            WorkerOutcome::Restarted | WorkerOutcome::Leaving => LogLevel::Warn,
            WorkerOutcome::Retired | WorkerOutcome::NotRestarted { .. } => LogLevel::Error,
        }
    }
}

impl fmt::Display for EngineEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineEvent::RequestFailed { reason } => write!(f, "a request failed: {reason}"),
            EngineEvent::BatchNotFolded { reason, .. } => write!(f, "requests failed: {reason}"),
            EngineEvent::RowsFlawed { member, flaws } => {
                write!(f, "member `{member}` answered {} so far", flaws.words())
            }
            EngineEvent::WorkerFailed {
                member,
                device,
                reason,
                outcome,
                ..
            } => write!(f, "worker `{member}` on `{device}`: {reason}; {outcome}"),
            EngineEvent::WorkerNotDrained { .. } => {
                write!(f, "a worker did not drain in time; its batch was given up")
            }
            EngineEvent::MemberUnserved { reason, .. } => {
                write!(f, "{reason}; not accepting requests")
            }
            EngineEvent::DeviceLost { device, reason } => {
                write!(f, "device `{device}` is gone")?;
                reason.iter().try_for_each(|why| write!(f, ": {why}"))
            }
            EngineEvent::DeviceBack { device } => write!(f, "device `{device}` is back"),
            EngineEvent::MemoryShort { device, reason } => {
                write!(f, "`{device}`: samples are not copied ahead: {reason}")
            }
            EngineEvent::EventsDropped => write!(f, "some notices were dropped"),
        }
    }
}

impl fmt::Display for WorkerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerOutcome::Restarted => write!(f, "it was restarted"),
            WorkerOutcome::Retired => write!(f, "it is retired"),
            WorkerOutcome::NotRestarted { reason } => {
                write!(f, "it did not start again and is retired: {reason}")
            }
            WorkerOutcome::Leaving => write!(f, "it was being removed"),
        }
    }
}
