//! The comparison of partitions of the cores: a search with each.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use divisi_engine::search::Control;
use divisi_runtime::device::{Host, Partitioning};
use serde::Serialize;

use super::finished::Merit;
use super::report::SearchReport;
use super::{AllocateArgs, searched_on};
use crate::cli::open::OpenedEnsemble;
use crate::cli::output::note;
use crate::text::format;

/// The result of a search with one partitioning of the cores.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PartitioningTried {
    devices: Vec<String>,
    score: f64,
    /// The certainty of the score.
    score_doubt: String,
    /// The part of the goal that is not met, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<String>,
    /// The p99 in microseconds at the goal's rate, measured or simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_us: Option<u64>,
    best: bool,
}

impl PartitioningTried {
    fn new(devices: Vec<String>, report: &SearchReport) -> Self {
        let latency = report.measured_us.as_ref().or(report.latency_us.as_ref());
        PartitioningTried {
            devices,
            score: report.score,
            score_doubt: report.score_doubt.clone(),
            shortfall: report.shortfall.clone(),
            p99_us: latency.map(|latency| latency.p99),
            best: false,
        }
    }

    /// Returns the result as a line.
    fn line(&self) -> String {
        let missed = self.shortfall.as_ref();
        let missed = missed.map_or_else(String::new, |why| format!(", misses the goal: {why}"));
        let p99 = self
            .p99_us
            .map(|p99| format!(", p99 {} ms", format::millis(p99)));
        format!(
            "partitions {}: {:.0} samples/s ({}){}{missed}\n",
            self.devices.join(","),
            self.score,
            self.score_doubt,
            p99.unwrap_or_default()
        )
    }

    fn merit(&self) -> Merit {
        Merit {
            meets_goal: self.shortfall.is_none(),
            p99: self.p99_us.map(Duration::from_micros),
            score: self.score,
        }
    }
}

/// Searches with each partitioning of the cores. Returns the result of the best one. Leaves out
/// partitions that do not fit, and the remaining ones after a cancellation.
pub(super) fn best(
    args: &AllocateArgs,
    control: &Arc<Control>,
) -> Result<(OpenedEnsemble, SearchReport)> {
    let mut tried: Vec<PartitioningTried> = Vec::new();
    let (mut best, mut failure) = (None, None);
    for devices in Partitioning::candidates(&Host::discover()) {
        let mut target = args.target.clone();
        target.devices.clone_from(&devices);
        let (opened, report) = match searched_on(args, &target, control) {
            Err(_) if control.is_cancelled() && !tried.is_empty() => break,
            Err(why) => {
                note(&format!(
                    "divisi: partitions {}: {why:#}",
                    devices.join(",")
                ));
                failure = Some(why);
                continue;
            }
            Ok(searched) => searched,
        };
        let next = PartitioningTried::new(devices, &report);
        if tried
            .iter()
            .all(|before| next.merit().is_better(&before.merit(), args.objective))
        {
            best = Some((tried.len(), opened, report));
        }
        tried.push(next);
        if control.is_cancelled() {
            break;
        }
    }
    let Some((place, opened, mut report)) = best else {
        return Err(failure.unwrap_or_else(|| anyhow!("no partition was searched")));
    };
    tried[place].best = true;
    // A comparison without all partitionings is not complete.
    report.cancelled |= control.is_cancelled();
    report.partitionings = tried;
    Ok((opened, report))
}

/// Returns a line for each partitioning, and the options to start with the best one. Returns `None`
/// if none was tried.
pub(super) fn lines(all: &[PartitioningTried]) -> Option<String> {
    let best = all.iter().find(|tried| tried.best)?;
    let each = all.iter().map(PartitioningTried::line).collect::<String>();
    let best = best.devices.join(",");
    Some(format!("{each}best partitions: --devices {best}"))
}
