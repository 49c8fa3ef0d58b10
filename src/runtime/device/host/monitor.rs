//! The load of the host over the last seconds, for screens, metrics and logs.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use crate::lock::Leaf;

use super::counters::HostCounters;
use super::load::HostLoad;

/// The time over which the load is measured: what *now* means for latencies too.
const WINDOW: Duration = Duration::from_secs(10);

/// The least time between two readings.
const APART: Duration = Duration::from_secs(1);

/// The readings of the last seconds. It reads neither a clock nor the system.
#[derive(Debug, Default)]
pub struct HostMonitor {
    /// Oldest first. All but the first are younger than the window.
    readings: VecDeque<HostCounters>,
    load: Option<HostLoad>,
}

impl HostMonitor {
    /// Creates a monitor without readings.
    pub const fn new() -> Self {
        HostMonitor {
            readings: VecDeque::new(),
            load: None,
        }
    }

    /// Returns whether the last reading is a second old, or no reading exists.
    pub fn is_due(&self, now: Instant) -> bool {
        let last = self.readings.back();
        last.is_none_or(|last| now.saturating_duration_since(last.at()) >= APART)
    }

    /// Adds a reading. The load is that since the newest reading which is as old as the window, or
    /// since the first reading.
    pub fn note(&mut self, now: HostCounters) {
        let is_old = |r: &HostCounters| now.at().saturating_duration_since(r.at()) >= WINDOW;
        while self.readings.get(1).is_some_and(is_old) {
            self.readings.pop_front();
        }
        self.load = self.readings.front().map(|first| now.load_since(first));
        self.readings.push_back(now);
    }

    /// Returns the load over the last ten seconds, or over a shorter time after the first reading,
    /// or a longer time if the readings are further apart. Returns `None` before the second
    /// reading.
    pub fn load(&self) -> Option<&HostLoad> {
        self.load.as_ref()
    }
}

/// The monitor of this process: the load is the same for all of its parts.
static MONITOR: Leaf<HostMonitor> = Leaf::new(HostMonitor::new());

/// Returns the load of the host over about the last ten seconds. Reads the system's counters at
/// most once a second, in the calling thread. Returns `None` at the first call, which starts the
/// measurement, and on systems without counters.
pub fn recent_load() -> Option<HostLoad> {
    let mut monitor = MONITOR.lock();
    if monitor.is_due(Instant::now())
        && let Some(counters) = HostCounters::read()
    {
        monitor.note(counters);
    }
    monitor.load().cloned()
}

/// Returns the load of the host since the oldest kept reading of this process, or over `least` if
/// that is longer; the calling thread then waits. Returns `None` on systems without counters.
pub fn load_since_start(least: Duration) -> Option<HostLoad> {
    recent_load();
    let first = MONITOR.lock().readings.front().cloned()?;
    thread::sleep(least.saturating_sub(first.at().elapsed()));
    Some(HostCounters::read()?.load_since(&first))
}
