//! The occasion of a measurement: its time, and the load of the host during it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::device::Devices;
use divisi_runtime::device::host::HostWatch;

/// The age at which a measured result expires: by then drivers, the system or the neighbours of a
/// virtual machine may have changed.
const EXPIRES_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);

/// The time of a measurement, and the load of the host during it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occasion {
    /// The time, in seconds since 1970.
    pub at: u64,
    /// Whether other programs used the devices, or `None` if this is unknown.
    pub disturbed: Option<bool>,
}

impl Occasion {
    /// Returns the occasion of a measurement on `devices` that began with `watch` and ends now.
    pub fn since(watch: &HostWatch, devices: &Devices) -> Self {
        let load = || Some(watch.end()?.is_disturbed(Some(&devices.host_cores()?)));
        Occasion {
            at: unix_seconds(),
            disturbed: load(),
        }
    }

    /// Returns the age at the time `now`, in seconds since 1970.
    pub fn age(&self, now: u64) -> Duration {
        Duration::from_secs(now.saturating_sub(self.at))
    }

    /// Returns whether results of real devices still hold at the time `now`: other programs did not
    /// disturb the measurement, and it is at most seven days old.
    pub fn holds(&self, now: u64) -> bool {
        self.disturbed != Some(true) && self.age(now) <= EXPIRES_AFTER
    }

    /// Returns the age and the load, such as `measured 12 min ago, quiet host`.
    pub fn in_words(&self, now: u64) -> String {
        let load = match self.disturbed {
            Some(true) => ", busy host",
            Some(false) => ", quiet host",
            None => "",
        };
        let ago = match age_in_words(self.age(now)) {
            Some(age) => format!("{age} ago"),
            None => "just now".to_owned(),
        };
        format!("measured {ago}{load}")
    }
}

/// Returns an age such as `12 min`, or `None` below a minute.
pub fn age_in_words(age: Duration) -> Option<String> {
    let (minute, hour, day) = (60, 3600, 86_400);
    Some(match age.as_secs() {
        seconds if seconds < minute => return None,
        seconds if seconds < hour => format!("{} min", seconds / minute),
        seconds if seconds < 2 * day => format!("{} h", seconds / hour),
        seconds => format!("{} days", seconds / day),
    })
}
