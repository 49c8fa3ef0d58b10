//! The load of the host during a measurement.

use super::counters::HostCounters;
use super::load::HostLoad;

/// Watches the host during a measurement, such as a benchmark or a profile.
#[derive(Clone, Debug)]
pub struct HostWatch {
    start: Option<HostCounters>,
}

impl HostWatch {
    /// Starts to watch.
    pub fn start() -> Self {
        HostWatch {
            start: HostCounters::read(),
        }
    }

    /// Returns the load since the start, and starts again. Returns `None` if this system has no
    /// counters of load.
    pub fn restart(&mut self) -> Option<HostLoad> {
        let before = std::mem::replace(&mut self.start, HostCounters::read())?;
        Some(self.start.as_ref()?.load_since(&before))
    }

    /// Returns the load since the start, or `None` if this system has no counters of load.
    pub fn end(&self) -> Option<HostLoad> {
        let start = self.start.as_ref()?;
        Some(HostCounters::read()?.load_since(start))
    }
}
