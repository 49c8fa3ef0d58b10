//! Figure 7: Inception-ResNetV2 and MobileNetV1 share GPUs, 80 to 20.

use divisi_modelless::fleet::{FleetRecord, RateShape, poisson, simulate};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::{DeviceSharing, VariantCatalog, VariantIndex};

use super::beds::{GPU, PaperVariant, catalog, empty, millis, seconds, stream, task, worker};

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
        "75 000 queries, 50 to 500 a second; a GPU of its own each (`static`), or one that may become two."
    );
    println!(
        "Paper: interference found at 30 and 50 s, load spread over a second GPU, 10 % cheaper than two.\n"
    );
    println!(
        "| popular | policy | large p99 ms | small p99 ms | missed | interfered first (large, small) s | second GPU at s | cost, of two GPUs |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (popular, shares) in [("large", [0.2, 0.8]), ("small", [0.8, 0.2])] {
        for policy in PolicyChoice::ALL {
            row(popular, shares, policy);
        }
    }
}

fn row(popular: &str, shares: [f64; 2], policy: PolicyChoice) {
    let day = RateShape::day(50.0, 500.0, seconds(300.0), 7).expect("a shape");
    let day = day.stretched(75_000.0 / day.expected());
    let apart = policy == PolicyChoice::Static;
    let initial = if apart { 2 } else { 1 };
    let end = seconds(
        300.0 * 75_000.0
            / RateShape::day(50.0, 500.0, seconds(300.0), 7)
                .expect("a shape")
                .expected(),
    );
    let mut scenario = empty(pair(), policy, end);
    scenario.workers = vec![worker(&[GPU], 3.06, initial, 2)];
    scenario.initial = vec![
        (VariantIndex(0), DeviceSlot(0)),
        (VariantIndex(1), DeviceSlot(initial - 1)),
    ];
    // The goals are made up: some times the latency.
    scenario.streams = vec![stream(0, 20.0, 0.01), stream(1, 40.0, 0.01)];
    scenario.arrivals = poisson(&day, &shares, 1);
    let report = simulate(&scenario);
    let two_gpus = 2.0 * 3.06 / 3600.0 * report.ticks.len() as f64;
    let second = report.ticks.iter().find(|t| t.workers[0] > 1);
    println!(
        "| {popular} | {} | {} | {} | {:.2} % | {}, {} | {} | {:.2} |",
        policy.name(),
        millis(report.latency(0.99, |q| q.stream == 1)),
        millis(report.latency(0.99, |q| q.stream == 0)),
        100.0 * report.missed(),
        first_trouble(&report, 1),
        first_trouble(&report, 0),
        second.map_or("-".to_owned(), |t| format!("{:.0}", t.at.as_secs_f64())),
        report.worker_cost / two_gpus,
    );
}

/// When a variant was first interfered with or overloaded, in seconds.
fn first_trouble(report: &FleetRecord, variant: u32) -> String {
    let worse = [VariantState::Interfered, VariantState::Overloaded];
    let mut changes = report.changes.iter();
    let first = changes.find(|(v, c)| v.0 == variant && worse.contains(&c.to));
    first.map_or("-".to_owned(), |(_, c)| {
        format!("{:.0} ({})", c.at.as_secs_f64(), c.to)
    })
}
