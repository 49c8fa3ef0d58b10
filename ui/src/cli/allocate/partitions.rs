//! The comparison of partitions of the cores: a search with each.

use std::cmp::Ordering;
use std::sync::Arc;

use anyhow::{Context, Result};
use divisi_engine::search::{Control, Objective};
use divisi_runtime::device::{Host, Partitioning};
use serde::Serialize;

use super::report::SearchReport;
use super::{AllocateArgs, searched_on};
use crate::cli::open::OpenedEnsemble;
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
    /// The p99 in microseconds at the goal's rate, if the search determined it.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_us: Option<u64>,
    best: bool,
}

impl PartitioningTried {
    fn new(devices: Vec<String>, report: &SearchReport) -> Self {
        PartitioningTried {
            devices,
            score: report.score,
            score_doubt: report.score_doubt.clone(),
            shortfall: report.shortfall.clone(),
            p99_us: report.latency_us.as_ref().map(|latency| latency.p99),
            best: false,
        }
    }

    /// Returns whether this result is better for an objective: it meets the goal and the other does
    /// not, or has a lower p99 or a higher throughput.
    fn is_better(&self, other: &PartitioningTried, objective: Objective) -> bool {
        let meets = |tried: &PartitioningTried| tried.shortfall.is_none();
        let slower = |tried: &PartitioningTried| tried.p99_us.unwrap_or(u64::MAX);
        match (meets(self).cmp(&meets(other)), objective) {
            (Ordering::Equal, Objective::Latency) if slower(self) != slower(other) => {
                slower(self) < slower(other)
            }
            (Ordering::Equal, _) => self.score > other.score,
            (met, _) => met == Ordering::Greater,
        }
    }
}

/// Searches with each partitioning of the cores. Returns the result of the best one. After a
/// cancellation the remaining ones are left out.
pub(super) fn best(
    args: &AllocateArgs,
    control: &Arc<Control>,
) -> Result<(OpenedEnsemble, SearchReport)> {
    let mut tried: Vec<PartitioningTried> = Vec::new();
    let mut best = None;
    for devices in Partitioning::candidates(&Host::discover()) {
        let mut target = args.target.clone();
        target.devices.clone_from(&devices);
        let (opened, report) = match searched_on(args, &target, control) {
            Err(_) if control.is_cancelled() && !tried.is_empty() => break,
            other => other?,
        };
        let next = PartitioningTried::new(devices, &report);
        if tried
            .iter()
            .all(|before| next.is_better(before, args.objective))
        {
            best = Some((tried.len(), opened, report));
        }
        tried.push(next);
        if control.is_cancelled() {
            break;
        }
    }
    let (place, opened, mut report) = best.context("no partition was searched")?;
    tried[place].best = true;
    // A comparison without all partitionings is not complete.
    report.cancelled |= control.is_cancelled();
    report.partitionings = tried;
    Ok((opened, report))
}

/// Returns a line for each partitioning, and the options to start with the best one.
pub(super) fn lines(all: &[PartitioningTried]) -> String {
    let mut text = String::new();
    for tried in all {
        let missed = tried.shortfall.as_ref();
        let missed = missed.map_or_else(String::new, |why| format!(", misses the goal: {why}"));
        let p99 = tried
            .p99_us
            .map(|p99| format!(", p99 {} ms", format::millis(p99)));
        text += &format!(
            "\npartitions {}: {:.0} samples/s ({}){}{missed}",
            tried.devices.join(","),
            tried.score,
            tried.score_doubt,
            p99.unwrap_or_default()
        );
    }
    if let Some(best) = all.iter().find(|tried| tried.best) {
        text += &format!("\nbest partitions: --devices {}", best.devices.join(","));
    }
    text
}
