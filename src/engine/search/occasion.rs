//! The occasion of a measurement: its time, and the load of the host during it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use divisi_runtime::device::host::HostWatch;
use divisi_runtime::device::{Computation, Devices};

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
        let load = || Some(watch.end()?.is_disturbed(Some(&host_cores(devices)?)));
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
        format!("measured {}{load}", age_in_words(self.age(now)))
    }
}

fn age_in_words(age: Duration) -> String {
    let (minute, hour, day) = (60, 3600, 86_400);
    match age.as_secs() {
        seconds if seconds < minute => "just now".to_owned(),
        seconds if seconds < hour => format!("{} min ago", seconds / minute),
        seconds if seconds < 2 * day => format!("{} h ago", seconds / hour),
        seconds => format!("{} days ago", seconds / day),
    }
}

/// Returns the cores of the devices that compute on this machine's cores, or `None` if none does.
pub(super) fn host_cores(devices: &Devices) -> Option<Vec<usize>> {
    let mut cores: Vec<usize> = Vec::new();
    for device in devices.iter() {
        if let Computation::Kernels(own) = device.kind.computation() {
            cores.extend(own);
        }
    }
    (!cores.is_empty()).then_some(cores)
}

/// Returns the seconds since 1970.
pub fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
