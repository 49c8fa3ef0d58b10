//! Figure 7: Inception-ResNetV2 and MobileNetV1 share GPUs, 80 to 20.

use divisi_modelless::fleet::FleetRecord;
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::{DeviceSharing, VariantCatalog, VariantIndex};

use super::beds::{GPU, PaperVariant, catalog, empty, seconds, stream, task, worker};
use super::seeds::{Spread, each, latency, millis};
use crate::arrivals::{RateShape, poisson};
use crate::baselines::ComparedPolicy;

/// MobileNetV1 by TensorRT, one query at a time. The paper's least latency is 1.5 ms.
pub const SMALL: PaperVariant = PaperVariant {
    device: GPU,
    batch: 1,
    slope_ms: 1.5,
    intercept_ms: 0.0,
    loading_ms: 800.0,
    memory_gb: 1.0,
    thousandths: 1000,
    sharing: DeviceSharing::Unreserved,
    lanes: 1,
    cost: 3.06 / 3600.0 / 2.0,
    accuracy: 0.704,
};

/// Inception-ResNetV2, likewise. Its time is fitted: one GPU must be too little for the peak of
/// 400 a second and two enough for both networks, as in the paper; 3 ms lies between.
pub const LARGE: PaperVariant = PaperVariant {
    slope_ms: 3.0,
    loading_ms: 3000.0,
    accuracy: 0.803,
    ..SMALL
};

/// The two as tasks 0 and 1.
pub fn pair() -> VariantCatalog {
    catalog(vec![
        task("mobilenet-v1", &[SMALL]),
        task("inception-resnet-v2", &[LARGE]),
    ])
}

/// Prints what each policy does, once with the large and once with the small one popular.
pub fn print() {
    println!(
        "75 000 queries, 50 to 500 a second; a GPU of its own each (`static`), or one that may become two.\n"
    );
    println!(
        "| popular | policy | large p99 ms | small p99 ms | missed % | interference found s | paper | second GPU at s | cost, of two GPUs | paper |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (popular, shares) in [("large", [0.2, 0.8]), ("small", [0.8, 0.2])] {
        for policy in ComparedPolicy::ALL {
            let reports = each(|seed| report(shares, policy, seed));
            row(popular, policy, &reports);
        }
    }
}

fn report(shares: [f64; 2], policy: ComparedPolicy, seed: u64) -> FleetRecord {
    // Seed 1 has the shape of earlier results.
    let day = RateShape::day(50.0, 500.0, seconds(300.0), 6 + seed).expect("a shape");
    let factor = 75_000.0 / day.expected();
    let apart = policy == ComparedPolicy::Choice(PolicyChoice::Static);
    let initial = if apart { 2 } else { 1 };
    let mut scenario = empty(pair(), seconds(300.0 * factor));
    scenario.workers = vec![worker(&[GPU], 3.06, initial, 2)];
    scenario.initial = vec![
        (VariantIndex(0), DeviceSlot(0)),
        (VariantIndex(1), DeviceSlot(initial - 1)),
    ];
    // The goals are made up: some times the latency.
    scenario.streams = vec![stream(0, 20.0, 0.01), stream(1, 40.0, 0.01)];
    scenario.arrivals = poisson(&day.stretched(factor), &shares, seed);
    policy.simulate(&scenario)
}

fn row(popular: &str, policy: ComparedPolicy, reports: &[FleetRecord]) {
    let p99 = |stream: u16| {
        let p99 = move |report: &FleetRecord| millis(latency(report, 0.99, |q| q.stream == stream));
        Spread::over(reports, p99)
    };
    let cost = |report: &FleetRecord| {
        report.worker_cost / (2.0 * 3.06 / 3600.0 * report.ticks.len() as f64)
    };
    let second = |report: &FleetRecord| {
        let second = report.ticks.iter().find(|t| t.workers[0] > 1);
        second.map(|t| t.at.as_secs_f64())
    };
    let is_paper = policy == ComparedPolicy::Choice(PolicyChoice::Infaas);
    println!(
        "| {popular} | {} | {:.1} | {:.1} | {:.2} | {:.0} | {} | {:.0} | {:.2} | {} |",
        policy.name(),
        p99(1),
        p99(0),
        Spread::over(reports, |report| 100.0 * report.missed()),
        Spread::of(reports.iter().filter_map(first_interfered)),
        if is_paper { "30 and 50" } else { "–" },
        Spread::of(reports.iter().filter_map(second)),
        Spread::over(reports, cost),
        if is_paper { "0.90" } else { "–" },
    );
}

/// The time at which a network was first interfered with, in seconds.
fn first_interfered(report: &FleetRecord) -> Option<f64> {
    let mut changes = report.changes.iter();
    let first = changes.find(|(_, change)| change.to == VariantState::Interfered);
    first.map(|(_, change)| change.at.as_secs_f64())
}
