//! The steps of a network's plan in `divisi network show --plan`.

use divisi_runtime::compute::{PlannedCost, kernels_in_use, planned_steps};
use divisi_runtime::network::Graph;
use divisi_runtime::words::one_line;
use serde::Serialize;

use crate::cli::tables::figures;

/// The method name of operations that Candle runs.
const CANDLE: &str = "candle";

/// The plan of a network on this processor.
#[derive(Serialize)]
pub(super) struct PlanReport {
    kernels: String,
    steps: Vec<PlanRow>,
}

/// A step, with its costs per sample.
#[derive(Serialize)]
struct PlanRow {
    layer: String,
    method: &'static str,
    ends: Vec<&'static str>,
    flops: f64,
    /// Bytes of values read and written.
    bytes: f64,
    weight_bytes: f64,
}

impl PlanReport {
    /// Plans `graph`.
    pub(super) fn new(graph: &Graph) -> Self {
        PlanReport {
            kernels: kernels_in_use(),
            steps: planned_steps(graph).into_iter().map(row).collect(),
        }
    }

    /// Returns the steps as a table, with the share of Candle's steps.
    pub(super) fn text(&self) -> String {
        let head = [
            "step",
            "kernels",
            "then",
            "MFLOPs",
            "values KB",
            "weights KB",
        ];
        let rows = self.steps.iter().map(|row| {
            [
                one_line(&row.layer).into_owned(),
                row.method.to_owned(),
                row.ends.join(", "),
                format!("{:.2}", row.flops / 1e6),
                format!("{:.1}", row.bytes / 1e3),
                format!("{:.1}", row.weight_bytes / 1e3),
            ]
        });
        format!("{}\n{}", self.summary(), figures(3, &head, rows))
    }

    fn summary(&self) -> String {
        let candle = self.steps.iter().filter(|row| row.method == CANDLE);
        let (count, bytes) = candle.fold((0, 0.0), |(n, sum), row| (n + 1, sum + row.bytes));
        let all: f64 = self.steps.iter().map(|row| row.bytes).sum();
        let share = if all > 0.0 { 100.0 * bytes / all } else { 0.0 };
        let steps = self.steps.len();
        format!(
            "plan for a processor with {}: {steps} steps, {count} by Candle ({share:.0} % of the moved values, with copies in and out)",
            self.kernels
        )
    }
}

fn row(step: PlannedCost) -> PlanRow {
    PlanRow {
        layer: step.layer,
        method: step.method,
        ends: step.ends,
        flops: step.work.flops,
        bytes: step.work.bytes,
        weight_bytes: step.work.weight_bytes,
    }
}
