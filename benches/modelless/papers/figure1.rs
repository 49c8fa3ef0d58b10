//! Figure 1: a large and a small network share a V100 under rising load.

use divisi_modelless::fleet::{FleetRecord, simulate};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::VariantIndex;

use super::beds::{GPU, empty, seconds, stream, worker};
use super::figure7::{LARGE, SMALL, pair};
use super::seeds::{SEEDS, Spread, each, latency, millis};

use crate::arrivals::{RateShape, poisson};

/// Prints the 99th percentile of each network's latency over its profile's, by the rate of each, and
/// in how many runs its batches were seen to be interfered with.
pub fn print() {
    println!(
        "The paper shows no numbers: with rising load the small one leaves its profile first.\n"
    );
    println!(
        "| queries/s each | small: p99 / profile | runs with interference | large: p99 / profile | runs with interference | paper |"
    );
    println!("|---|---|---|---|---|---|");
    for rate in [5.0, 20.0, 50.0, 100.0, 150.0, 200.0] {
        let reports = each(|seed| report(rate, seed));
        let ratio = |stream: u16, alone_ms: f64| {
            let p99 = move |report: &FleetRecord| {
                millis(latency(report, 0.99, |q| q.stream == stream)) / alone_ms
            };
            Spread::over(&reports, p99)
        };
        let seen = |variant: u32| {
            let seen = reports
                .iter()
                .filter(|report| is_interfered(report, variant));
            format!("{} of {}", seen.count(), SEEDS.len())
        };
        println!(
            "| {rate} | {:.2} | {} | {:.2} | {} | {} |",
            ratio(0, SMALL.slope_ms),
            seen(0),
            ratio(1, LARGE.slope_ms),
            seen(1),
            if rate < 100.0 {
                "neither"
            } else {
                "the small one first"
            },
        );
    }
}

fn is_interfered(report: &FleetRecord, variant: u32) -> bool {
    let mut changes = report.changes.iter();
    changes.any(|(v, change)| v.0 == variant && change.to == VariantState::Interfered)
}

fn report(rate: f64, seed: u64) -> FleetRecord {
    let shape = RateShape::flat(rate, seconds(60.0)).expect("a shape");
    let on_gpu = |task: usize| (VariantIndex(task as u32), DeviceSlot(0));
    let mut scenario = empty(pair(), seconds(60.0));
    scenario.workers = vec![worker(&[GPU], 3.06, 1, 1)];
    scenario.initial = vec![on_gpu(0), on_gpu(1)];
    scenario.streams = vec![stream(0, 1e4, 1.0), stream(1, 1e4, 1.0)];
    scenario.arrivals = poisson(&shape, &[1.0, 1.0], seed);
    scenario.arrivals.retain(|a| a.at < seconds(60.0));
    simulate(&scenario)
}
