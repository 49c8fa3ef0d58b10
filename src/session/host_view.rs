//! The load of the host, and whether it disturbs serving, for the screen and the log. It reads no
//! clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LogLevel;
use divisi_model::metrics::{Disturbance, HostLoad};

/// The load of the host over the last seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostView {
    /// The load, with its window.
    pub load: HostLoad,
    /// The time since the engine's start at which a disturbance began, while it lasts.
    pub disturbed_since: Option<Duration>,
}

/// The share of the limits of a quiet host below which a disturbance is over. Without a distance
/// between beginning and end, a load near a limit would begin and end all the time.
const OVER: f64 = 0.5;

/// The least window of a load that begins or ends a disturbance. Shorter ones occur after the start.
const LEAST_WINDOW: Duration = Duration::from_secs(3);

impl HostView {
    /// Returns the disturbances while the host counts as disturbed, the gravest kind first.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        match self.disturbed_since {
            Some(_) => self.load.disturbances_above(None, OVER),
            None => Vec::new(),
        }
    }
}

/// Decides when a disturbance of the host begins and ends.
#[derive(Clone, Debug, Default)]
pub struct DisturbanceWatch {
    since: Option<Duration>,
}

impl DisturbanceWatch {
    /// Records the load at `now`, a time since the engine's start. Returns the line for the log if
    /// a disturbance begins or ends.
    pub fn note(&mut self, now: Duration, load: &HostLoad) -> Option<(LogLevel, String)> {
        if load.window < LEAST_WINDOW {
            return None;
        }
        match self.since {
            None => self.begin(now, load),
            Some(since) => self.end(now.saturating_sub(since), load),
        }
    }

    /// Returns the view of a load, with the present state.
    pub fn view(&self, load: HostLoad) -> HostView {
        HostView {
            load,
            disturbed_since: self.since,
        }
    }

    fn begin(&mut self, now: Duration, load: &HostLoad) -> Option<(LogLevel, String)> {
        let causes = load.disturbances(None);
        if causes.is_empty() {
            return None;
        }
        self.since = Some(now);
        let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
        let window = seconds(load.window);
        let text = format!(
            "the host is disturbed: {} (last {window})",
            causes.join(", ")
        );
        Some((LogLevel::Warn, text))
    }

    fn end(&mut self, lasted: Duration, load: &HostLoad) -> Option<(LogLevel, String)> {
        if !load.disturbances_above(None, OVER).is_empty() {
            return None;
        }
        self.since = None;
        let text = format!("the host is quiet again after {}", seconds(lasted));
        Some((LogLevel::Info, text))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64().max(1.0))
}
