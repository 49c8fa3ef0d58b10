//! The comparison of partitions of the cores: a search with each.

use std::sync::Arc;

use anyhow::{Context, Result};
use divisi_engine::search::Control;
use divisi_runtime::device::{Host, Partitioning};
use serde::Serialize;

use super::report::SearchReport;
use super::{AllocateArgs, searched_on};
use crate::cli::open::OpenedEnsemble;

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
    best: bool,
}

impl PartitioningTried {
    fn new(devices: Vec<String>, report: &SearchReport) -> Self {
        PartitioningTried {
            devices,
            score: report.score,
            score_doubt: report.score_doubt.clone(),
            shortfall: report.shortfall.clone(),
            best: false,
        }
    }

    /// Returns whether this result meets the goal and the other does not, or has a higher score.
    fn is_better(&self, other: &PartitioningTried) -> bool {
        let rank = |tried: &PartitioningTried| (tried.shortfall.is_none(), tried.score);
        rank(self) > rank(other)
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
        let (opened, report) = searched_on(args, &target, control)?;
        let next = PartitioningTried::new(devices, &report);
        if tried.iter().all(|before| next.is_better(before)) {
            best = Some((tried.len(), opened, report));
        }
        tried.push(next);
        if control.is_cancelled() {
            break;
        }
    }
    let (place, opened, mut report) = best.context("no partition was searched")?;
    tried[place].best = true;
    report.partitionings = tried;
    Ok((opened, report))
}

/// Returns a line for each partitioning, and the options to start with the best one.
pub(super) fn lines(all: &[PartitioningTried]) -> String {
    let mut text = String::new();
    for tried in all {
        let missed = tried.shortfall.as_ref();
        let missed = missed.map_or_else(String::new, |why| format!(", misses the goal: {why}"));
        text += &format!(
            "\npartitions {}: {:.0} samples/s ({}){missed}",
            tried.devices.join(","),
            tried.score,
            tried.score_doubt
        );
    }
    if let Some(best) = all.iter().find(|tried| tried.best) {
        text += &format!("\nbest partitions: --devices {}", best.devices.join(","));
    }
    text
}
