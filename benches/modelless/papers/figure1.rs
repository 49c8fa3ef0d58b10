//! Figure 1: a large and a small network share a V100 under rising load.

use divisi_modelless::fleet::{RateShape, poisson, simulate};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::VariantIndex;

use super::beds::{GPU, empty, seconds, stream, worker};
use super::figure7::{LARGE, SMALL, pair};

/// Prints the mean latency of each network over its profile's, by the rate of each, and whether
/// its batches were seen to be interfered with.
pub fn print() {
    println!(
        "Expected: the small one leaves its profile first, the large one does not, neither at low load.\n"
    );
    println!(
        "| queries/s each | small: p99 / profile | state seen | large: p99 / profile | state seen |"
    );
    println!("|---|---|---|---|---|");
    for rate in [5.0, 20.0, 50.0, 100.0, 150.0, 200.0] {
        let catalog = pair();
        let shape = RateShape::flat(rate, seconds(60.0)).expect("a shape");
        let on_gpu = |task: usize| (VariantIndex(task as u32), DeviceSlot(0));
        let mut scenario = empty(catalog, PolicyChoice::Static, seconds(60.0));
        scenario.workers = vec![worker(&[GPU], 3.06, 1, 1)];
        scenario.initial = vec![on_gpu(0), on_gpu(1)];
        scenario.streams = vec![stream(0, 1e4, 1.0), stream(1, 1e4, 1.0)];
        scenario.arrivals = poisson(&shape, &[1.0, 1.0], 1);
        scenario.arrivals.retain(|a| a.at < seconds(60.0));
        let report = simulate(&scenario);
        let ratio = |stream: u16, alone_ms: f64| {
            let p99 = report.latency(0.99, |q| q.stream == stream);
            p99.map_or(0.0, |l| l.as_secs_f64() * 1e3 / alone_ms)
        };
        let state = |variant: u32| {
            let of = report.changes.iter().filter(|(v, _)| v.0 == variant);
            let states: Vec<VariantState> = of.map(|(_, c)| c.to).collect();
            let worst = [VariantState::Overloaded, VariantState::Interfered];
            worst
                .into_iter()
                .find(|s| states.contains(s))
                .unwrap_or(VariantState::Active)
        };
        println!(
            "| {rate} | {:.2} | {} | {:.2} | {} |",
            ratio(0, SMALL.slope_ms),
            state(0),
            ratio(1, LARGE.slope_ms),
            state(1),
        );
    }
}
