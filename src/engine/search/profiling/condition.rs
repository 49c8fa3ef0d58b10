//! The condition of the host during a measurement.

use std::fmt;

use divisi_runtime::device::host::HostWatch;
use serde::{Deserialize, Serialize};

/// The condition under which a profile was measured, from the best to the worst.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ProfileCondition {
    /// Two rounds agreed while other programs left the cores alone.
    #[default]
    Quiet,
    /// Other programs used the cores, or no two rounds agreed: the times may be too long.
    Disturbed,
    /// Batches took other times while serving than in the profile.
    Doubtful,
}

/// Watches the host during the measurement of a member.
pub(super) struct ConditionWatch {
    host: HostWatch,
    /// The cores that measure, or `None` for all cores.
    cores: Option<Vec<usize>>,
}

impl ProfileCondition {
    /// Returns the name: `quiet`, `disturbed` or `doubtful`.
    pub const fn name(self) -> &'static str {
        match self {
            ProfileCondition::Quiet => "quiet",
            ProfileCondition::Disturbed => "disturbed",
            ProfileCondition::Doubtful => "doubtful",
        }
    }

    /// Returns whether the profile can be trusted.
    pub const fn is_quiet(self) -> bool {
        matches!(self, ProfileCondition::Quiet)
    }
}

impl fmt::Display for ProfileCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ConditionWatch {
    /// Starts to watch some cores, or all cores without `cores`.
    pub(super) fn start(cores: Option<Vec<usize>>) -> Self {
        ConditionWatch {
            host: HostWatch::start(),
            cores,
        }
    }

    /// Returns the condition since the start. `agreed` is whether two rounds agreed.
    pub(super) fn end(&self, agreed: bool) -> ProfileCondition {
        let load = self.host.end();
        let cores = self.cores.as_deref();
        let disturbed = load.is_some_and(|load| load.is_disturbed(cores));
        match agreed && !disturbed {
            true => ProfileCondition::Quiet,
            false => ProfileCondition::Disturbed,
        }
    }
}
