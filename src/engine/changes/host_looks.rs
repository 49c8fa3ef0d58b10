//! Whether other programs take more of the host than before a change.

use std::time::Duration;

use divisi_runtime::device::Devices;
use divisi_runtime::device::host::{HostCounters, HostLoad, QUIET_OTHERS};

/// The least time between two readings: the system counts in ticks of 10 ms.
const APART: Duration = Duration::from_millis(200);

/// The least time before a change that tells how busy the host usually is.
const LEAST: Duration = Duration::from_secs(1);

/// The load of an engine's cores by other programs, before a change and after it.
#[derive(Debug, Default)]
pub(super) struct HostLooks {
    /// The cores of the engine's devices; none are never disturbed.
    cores: Vec<usize>,
    /// The counters at the last change, or at the start.
    start: Option<HostCounters>,
    /// The share of the busiest core before the last change, or `None` if unknown.
    before: Option<f64>,
    /// The last counters.
    last: Option<HostCounters>,
    is_disturbed: bool,
}

impl HostLooks {
    /// Starts to measure.
    pub(super) fn new(devices: &Devices) -> Self {
        HostLooks::on(devices.host_cores().unwrap_or_default(), None)
    }

    fn on(cores: Vec<usize>, before: Option<f64>) -> Self {
        let start = HostCounters::read();
        HostLooks {
            cores,
            last: start.clone(),
            is_disturbed: false,
            before,
            start,
        }
    }

    /// Returns the share of the busiest core since the last change, or before it if that was a
    /// moment ago.
    fn share(&self) -> Option<f64> {
        let now = HostCounters::read()?;
        let load = now.load_since(self.start.as_ref()?);
        match load.window >= LEAST {
            true => Some(self.busiest(&load)),
            false => self.before,
        }
    }

    /// Records that a change begins.
    pub(super) fn change(&mut self) {
        let before = self.share();
        *self = HostLooks::on(std::mem::take(&mut self.cores), before);
    }

    /// Returns whether other programs take more of a core than before the change, since about the
    /// last call.
    pub(super) fn is_disturbed(&mut self) -> bool {
        let (Some(before), Some(last)) = (self.before, &self.last) else {
            return false;
        };
        if let Some(now) = HostCounters::read() {
            let load = now.load_since(last);
            if load.window >= APART {
                self.is_disturbed = self.busiest(&load) > before + QUIET_OTHERS;
                self.last = Some(now);
            }
        }
        self.is_disturbed
    }

    /// Returns the share of the busiest core that other programs and other machines took.
    fn busiest(&self, load: &HostLoad) -> f64 {
        let own = load
            .cores
            .iter()
            .filter(|core| self.cores.contains(&core.core));
        let shares = own.map(|core| core.others + core.steal);
        shares.fold(0.0, f64::max)
    }
}
