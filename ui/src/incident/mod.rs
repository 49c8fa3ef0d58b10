//! Incidents: current problems with their cause, the place to look at, and the commands that help.
//!
//! [`diagnose`] reads a snapshot; [`IncidentWatch`] decides when an incident begins and ends, so
//! that the screen does not flap.

mod causes;
mod diagnose;
mod remedies;
mod watch;

pub(crate) use diagnose::diagnose;
pub(crate) use watch::{IncidentWatch, OpenIncident};

use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::commands::CommandInfo;
use crate::text::Severity;

/// The kind of an incident, with the name of its subject. It stays the same while figures change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IncidentKind {
    /// The server does not answer.
    ServerGone,
    /// All requests are refused.
    Closed,
    /// A device failed.
    DeviceLost(String),
    /// A worker is no longer restarted: its device and member.
    WorkerRetired(String, String),
    /// A device computes more slowly than profiled.
    DeviceSlow(String),
    /// A model or matrix needs more memory than there is.
    MemoryShort,
    /// Requests are refused since there is no room for them.
    QueueFull,
    /// Accepted requests fail.
    Failing,
    /// Clients send invalid requests.
    BadRequests,
    /// Other programs or machines use the cores.
    HostBusy,
    /// More requests than allowed miss the objective.
    ObjectiveMissed,
}

/// A problem with its cause and the commands that help.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Diagnosis {
    pub kind: IncidentKind,
    pub severity: Severity,
    /// The problem in one sentence.
    pub text: String,
    /// The causes and further facts, a sentence each.
    pub causes: Vec<String>,
    pub culprit: Culprit,
    /// The commands that help, the best first.
    pub remedies: Vec<Remedy>,
}

/// The row or column of the matrix that causes an incident, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Culprit {
    pub device: Option<DeviceIndex>,
    pub member: Option<MemberIndex>,
}

impl Culprit {
    /// Returns whether it names a place of the matrix.
    pub(crate) fn is_known(self) -> bool {
        self.device.is_some() || self.member.is_some()
    }

    /// Returns whether a place belongs to the culprit.
    pub(crate) fn has(self, device: DeviceIndex, member: Option<MemberIndex>) -> bool {
        let here = self.device.is_none_or(|own| own == device);
        let member = member.is_none_or(|member| self.member.is_none_or(|own| own == member));
        here && member
    }
}

/// A command that helps, and its effect in a few words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remedy {
    pub command: &'static CommandInfo,
    pub words: String,
}

impl Remedy {
    pub(crate) fn new(command: &'static CommandInfo, words: impl Into<String>) -> Self {
        let words = words.into();
        Remedy { command, words }
    }
}
