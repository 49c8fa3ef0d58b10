//! The load of the host during a measurement, in reports.

use divisi_model::metrics::{CoreLoad, HostLoad};
use serde::Serialize;

/// The load of the host during a measurement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MeasuredHost {
    /// The length of the measurement.
    window_s: f64,
    /// Whether other programs, other virtual machines or a CPU limit disturbed the measurement.
    disturbed: bool,
    /// The mean share of the cores that other programs took, 0 to 1.
    others: f64,
    /// The mean share of the cores that other virtual machines took, 0 to 1.
    steal: f64,
    /// The share of time that runnable threads waited for a core, or null if not counted.
    run_queue_wait: Option<f64>,
    /// The share of throttled periods of the CPU limit, or null if not counted.
    throttled: Option<f64>,
    cores: Vec<CoreLoad>,
    /// The disturbances in words.
    #[serde(skip)]
    causes: Vec<String>,
}

impl MeasuredHost {
    /// Returns the report of a load.
    pub(crate) fn from_load(load: HostLoad) -> Self {
        let causes = load.disturbances(None);
        MeasuredHost {
            window_s: load.window.as_secs_f64(),
            disturbed: !causes.is_empty(),
            others: load.others_on(None),
            steal: load.steal_on(None),
            run_queue_wait: load.wait,
            throttled: load.throttled,
            causes: causes.iter().map(ToString::to_string).collect(),
            cores: load.cores,
        }
    }

    /// Returns the load in one line.
    pub(crate) fn line(&self) -> String {
        let (others, steal) = (100.0 * self.others, 100.0 * self.steal);
        let period = format!("during these {:.1} s", self.window_s);
        match self.disturbed {
            false => {
                format!("host: quiet {period} (other programs {others:.0} %, stolen {steal:.0} %)")
            }
            true => format!(
                "host: disturbed {period}: {}; a quiet host gives other figures",
                self.causes.join(", ")
            ),
        }
    }
}
