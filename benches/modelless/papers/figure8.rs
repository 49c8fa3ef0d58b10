//! Figure 8: an offline job beside queries on one CPU.

use divisi_modelless::fleet::{FleetJob, FleetScenario, RateShape, poisson, simulate};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::variants::VariantIndex;

use super::beds::{CPU, PaperVariant, catalog, empty, millis, seconds, stream, task, worker};
use super::resnet50;

/// ResNet50 on 4 cores as Table 2 has it: 200 ms, 5 a second.
const TABLE_TWO_A: PaperVariant = PaperVariant {
    slope_ms: 200.0,
    intercept_ms: 0.0,
    ..resnet50::CPU_TF
};

/// Prints the queries' latency with and without the job, and how many rows it gets.
pub fn print() {
    println!(
        "Two instances of ResNet50 (200 ms), 3 to 8 queries a second, goal 500 ms, one job of 500 rows, 100 s."
    );
    println!("Paper: paused at 20 to 40 and 60 to 80 s, 52 rows, queries as before.\n");
    let alone = simulate(&scenario(false));
    let beside = simulate(&scenario(true));
    println!("| | queries' p50 ms | p99 ms | missed | rows |");
    println!("|---|---|---|---|---|");
    for (name, report) in [("alone", &alone), ("beside the job", &beside)] {
        println!(
            "| {name} | {} | {} | {:.2} % | {} |",
            millis(report.latency(0.5, |_| true)),
            millis(report.latency(0.99, |_| true)),
            100.0 * report.missed(),
            report.offline_rows,
        );
    }
    println!("\n| seconds | rows written | part of the time that queries took |");
    println!("|---|---|---|");
    for from in [0_usize, 20, 40, 60, 80] {
        let ticks = &beside.ticks[from..(from + 20).min(beside.ticks.len())];
        let before = from
            .checked_sub(1)
            .map_or(0, |at| beside.ticks[at].offline_rows);
        let rows = ticks.last().map_or(0, |t| t.offline_rows) - before;
        let busy = ticks.iter().map(|t| t.utilisation).sum::<f64>() / ticks.len() as f64;
        println!(
            "| {from} to {} | {rows} | {:.0} % |",
            from + 20,
            100.0 * busy
        );
    }
    let free: f64 = beside
        .ticks
        .iter()
        .filter(|t| t.utilisation < 0.4)
        .map(|t| 1.0 - t.utilisation)
        .sum();
    // Two instances, each 5 rows a second.
    println!(
        "\nOf the time that queries left where they took less than 40 %: {:.2} used.",
        beside.offline_rows as f64 / (10.0 * free)
    );
}

fn scenario(with_job: bool) -> FleetScenario {
    let points = [
        (0.0, 3.0),
        (19.0, 3.0),
        (21.0, 8.0),
        (39.0, 8.0),
        (41.0, 3.0),
        (59.0, 3.0),
        (61.0, 8.0),
        (79.0, 8.0),
        (81.0, 3.0),
        (100.0, 3.0),
    ];
    let points = points.map(|(at, rate)| (seconds(at), rate));
    let shape = RateShape::new(points.to_vec()).expect("a shape");
    let catalog = catalog(vec![task("resnet50", &[TABLE_TWO_A])]);
    let mut scenario = empty(catalog, PolicyChoice::Static, seconds(100.0));
    scenario.workers = vec![worker(&[CPU], 0.384, 1, 1)];
    scenario.initial = vec![(VariantIndex(0), DeviceSlot(0)); 2];
    scenario.streams = vec![stream(0, 500.0, 1.0)];
    scenario.arrivals = poisson(&shape, &[1.0], 1);
    if with_job {
        let variant = VariantIndex(0);
        let at = seconds(0.0);
        scenario.jobs = vec![FleetJob {
            variant,
            rows: 500,
            at,
        }];
    }
    scenario
}
