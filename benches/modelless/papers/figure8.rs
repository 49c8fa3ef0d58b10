//! Figure 8: an offline job and queries on one CPU.

use divisi_modelless::fleet::{FleetJob, FleetRecord, FleetScenario, simulate};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::variants::VariantIndex;

use super::beds::{CPU, PaperVariant, catalog, empty, seconds, stream, task, worker};
use super::resnet50;
use super::seeds::{Spread, each, latency, millis};

use crate::arrivals::{RateShape, poisson};

/// ResNet50 on 4 cores as Table 2 has it: 200 ms, 5 a second.
const TABLE_TWO_A: PaperVariant = PaperVariant {
    slope_ms: 200.0,
    intercept_ms: 0.0,
    ..resnet50::CPU_TF
};

/// Prints the queries' latency with and without the job, and how many rows it gets.
pub fn print() {
    println!(
        "Two instances of ResNet50 (200 ms), 3 to 8 queries a second, goal 500 ms, one job of 500 rows, 100 s.\n"
    );
    let alone = each(|seed| simulate(&scenario(false, seed)));
    let together = each(|seed| simulate(&scenario(true, seed)));
    println!("| | queries' p50 ms | p99 ms | missed % | rows | rows in the paper |");
    println!("|---|---|---|---|---|---|");
    for (name, reports, paper) in [("alone", &alone, "0"), ("with the job", &together, "52")] {
        let quantile = |part| {
            let of = move |report: &FleetRecord| millis(latency(report, part, |_| true));
            Spread::over(reports, of)
        };
        println!(
            "| {name} | {:.1} | {:.1} | {:.2} | {:.0} | {paper} |",
            quantile(0.5),
            quantile(0.99),
            Spread::over(reports, |report| 100.0 * report.missed()),
            Spread::over(reports, |report| report.offline_rows as f64),
        );
    }
    by_time(&together);
    let used = Spread::over(&together, used_of_free);
    println!(
        "\nIn seconds in which queries took less than 40 %, the job used {used:.2} of the rest."
    );
}

/// Prints when the job ran, next to the paper's pauses.
fn by_time(reports: &[FleetRecord]) {
    println!("\n| seconds | rows written | part of the time that queries took % | paper |");
    println!("|---|---|---|---|");
    for (from, paper) in [
        (0_usize, "running"),
        (20, "paused"),
        (40, "running"),
        (60, "paused"),
        (80, "running"),
    ] {
        let rows = |report: &FleetRecord| {
            let written = |at: usize| report.ticks.get(at).map_or(0, |t| t.offline_rows);
            let last = (from + 20).min(report.ticks.len()) - 1;
            let before = from.checked_sub(1).map_or(0, written);
            (written(last) - before) as f64
        };
        let busy = |report: &FleetRecord| {
            let ticks = &report.ticks[from..(from + 20).min(report.ticks.len())];
            100.0 * ticks.iter().map(|t| t.utilisation).sum::<f64>() / ticks.len() as f64
        };
        println!(
            "| {from} to {} | {:.0} | {:.0} | {paper} |",
            from + 20,
            Spread::over(reports, rows),
            Spread::over(reports, busy),
        );
    }
}

/// The part of the time that the job used of that which queries left, in the seconds in which they
/// took less than 40 %.
fn used_of_free(report: &FleetRecord) -> f64 {
    let before = std::iter::once(0).chain(report.ticks.iter().map(|t| t.offline_rows));
    let (mut rows, mut free) = (0, 0.0);
    for (tick, before) in report.ticks.iter().zip(before) {
        if tick.utilisation < 0.4 {
            rows += tick.offline_rows - before;
            free += 1.0 - tick.utilisation;
        }
    }
    // Two instances, each 5 rows a second.
    rows as f64 / (10.0 * free)
}

fn scenario(with_job: bool, seed: u64) -> FleetScenario {
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
    let mut scenario = empty(catalog, seconds(100.0));
    scenario.workers = vec![worker(&[CPU], 0.384, 1, 1)];
    scenario.initial = vec![(VariantIndex(0), DeviceSlot(0)); 2];
    scenario.streams = vec![stream(0, 500.0, 1.0)];
    scenario.arrivals = poisson(&shape, &[1.0], seed);
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
