//! The figures over time of a live session: what the recorder reads.

use std::time::Duration;

use divisi_engine::serving::Engine;
use divisi_model::metrics::{ErrorOutcome, HostLoad};

use crate::{FigureCounters, FigureGauges, LoadView, ScalingView, Snapshot};

/// Returns the figures of this moment.
pub(super) fn gauges(shown: &Snapshot) -> FigureGauges {
    let devices = shown.devices.iter().filter(|device| !device.lost);
    FigureGauges {
        queue: shown.members.iter().map(|member| member.queued).sum(),
        device: devices.map(|device| device.busy).reduce(f64::max),
        host: shown.host.as_ref().and_then(|host| host_load(&host.load)),
        cost: shown.scaling.as_ref().and_then(cost),
    }
}

/// Returns the mean load of the host's cores, or `None` before it is known.
fn host_load(load: &HostLoad) -> Option<f64> {
    let cores = load.cores.iter();
    let sum: f64 = cores.map(|core| core.own + core.others + core.steal).sum();
    let count = load.cores.len();
    let is_known = count > 0 && load.window > Duration::ZERO;
    is_known.then(|| (sum / count as f64).min(1.0))
}

/// Returns the cost of a million samples of the most expensive task, or `None` if none is known.
fn cost(scaling: &ScalingView) -> Option<f64> {
    let costs = scaling.tasks.iter().filter_map(|task| task.cost);
    costs.map(|cost| cost.paid).reduce(f64::max)
}

/// Returns the counters of a running engine.
pub(super) fn counters(engine: &Engine, generation: u64, load: &LoadView) -> FigureCounters {
    let telemetry = engine.telemetry();
    let ledger = telemetry.ledger();
    FigureCounters {
        generation,
        answers: telemetry.reading(),
        admitted: telemetry.settlements().promised,
        refused: ledger.requests(ErrorOutcome::Refused),
        failed: ledger.requests(ErrorOutcome::Failed),
        sent: load.pattern.as_ref().map(|_| load.sent),
        objective: ledger.objective().map(|counts| (counts.met, counts.missed)),
    }
}
