//! Figure 6: ResNet50 on one machine with a CPU, a V100 and an accelerator, under three loads.

use divisi_modelless::fleet::{FleetRecord, FleetScenario};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::variants::{VariantCatalog, VariantIndex};

use super::beds::{
    CPU, GPU, INFERENTIA, PaperVariant, catalog, empty, seconds, stream, task, worker,
};
use super::resnet50::{CPU_TF, GPU_TRT_1, GPU_TRT_8, INFERENTIA_1};
use super::seeds::{Spread, answered_by, each};
use crate::arrivals::{RateShape, poisson};
use crate::baselines::ComparedPolicy;

/// Prints throughput and cost of each system over those of `infaas`, next to the paper's.
pub fn print() {
    println!("| load | system | answered/s | within 1 s % | cost | over `infaas` | paper |");
    println!("|---|---|---|---|---|---|---|");
    for (name, points) in loads() {
        let shape = RateShape::new(points).expect("a shape");
        let reports = systems().map(|(system, policy, variants, initial, count)| {
            let simulated =
                |seed| policy.simulate(&scenario(&shape, seed, variants, &initial, count));
            (system, each(simulated))
        });
        let infaas = reports.iter().find(|(system, _)| *system == "infaas");
        let base = infaas.map(|(_, reports)| reports).expect("one of them");
        for (system, reports) in &reports {
            row((name, system), reports, base);
        }
    }
}

/// The paper's cost over that of INFaaS. Those at 4/s are fitted.
fn published(load: &str, system: &str) -> &'static str {
    match (load, system) {
        (_, "infaas") => "1",
        ("4/s", "always gpu") => "21.6 (fitted)",
        ("4/s", "individual gpu") => "21.3 (fitted)",
        ("650 to 700/s", "always gpu") => "1",
        ("650 to 700/s", "individual gpu") => "1.05",
        ("4 to 80/s", "always gpu" | "individual gpu") => "3",
        _ => "–",
    }
}

fn loads() -> [(&'static str, Vec<(std::time::Duration, f64)>); 3] {
    let of = |points: &[(f64, f64)]| {
        points
            .iter()
            .map(|(at, rate)| (seconds(*at), *rate))
            .collect()
    };
    [
        ("4/s", of(&[(0.0, 4.0), (210.0, 4.0)])),
        ("650 to 700/s", of(&[(0.0, 650.0), (210.0, 700.0)])),
        (
            "4 to 80/s",
            of(&[
                (0.0, 4.0),
                (59.0, 4.0),
                (61.0, 80.0),
                (89.0, 80.0),
                (91.0, 4.0),
                (149.0, 4.0),
                (151.0, 80.0),
                (179.0, 80.0),
                (181.0, 4.0),
                (210.0, 4.0),
            ]),
        ),
    ]
}

type PaperSystem = (
    &'static str,
    ComparedPolicy,
    &'static [PaperVariant],
    PaperVariant,
    usize,
);

const ALL: &[PaperVariant] = &[CPU_TF, GPU_TRT_8, GPU_TRT_1, INFERENTIA_1];

/// Each system: its policy, the variants that it may choose of, and which run at the beginning.
fn systems() -> [PaperSystem; 9] {
    use ComparedPolicy::{Accuracy, Choice, Individual, InfaasCode};
    use PolicyChoice::{Divisi, Infaas, InfaasIlp, Static};
    [
        ("always cpu", Choice(Static), &[CPU_TF], CPU_TF, 2),
        ("always gpu", Choice(Static), &[GPU_TRT_8], GPU_TRT_8, 1),
        ("individual cpu", Individual, &[CPU_TF], CPU_TF, 1),
        ("individual gpu", Individual, &[GPU_TRT_1], GPU_TRT_1, 1),
        ("infaas", Choice(Infaas), ALL, CPU_TF, 1),
        ("infaas-ilp", Choice(InfaasIlp), ALL, CPU_TF, 1),
        ("infaas-code", InfaasCode, ALL, CPU_TF, 1),
        ("accuracy", Accuracy, ALL, CPU_TF, 1),
        ("divisi", Choice(Divisi), ALL, CPU_TF, 1),
    ]
}

fn scenario(
    shape: &RateShape,
    seed: u64,
    variants: &[PaperVariant],
    initial: &PaperVariant,
    count: usize,
) -> FleetScenario {
    let catalog = catalog(vec![task("resnet50", variants)]);
    let first = place_of(&catalog, initial);
    let mut scenario = empty(catalog, seconds(210.0));
    scenario.workers = vec![worker(&[CPU, GPU, INFERENTIA], 3.06, 1, 1)];
    // The devices are in the order of their kinds.
    scenario.initial = vec![(first, DeviceSlot(initial.device)); count];
    // The paper has no goal here; a second is made up.
    scenario.streams = vec![stream(0, 1000.0, 1.0)];
    scenario.arrivals = poisson(shape, &[1.0], seed);
    scenario
}

fn place_of(catalog: &VariantCatalog, initial: &PaperVariant) -> VariantIndex {
    let wanted = initial.variant();
    let at = catalog.variants().iter().position(|v| *v == wanted);
    VariantIndex(at.expect("one of them") as u32)
}

fn row((load, system): (&str, &str), reports: &[FleetRecord], base: &[FleetRecord]) {
    let answered = |report: &FleetRecord| answered_by(report, seconds(210.0)) as f64 / 210.0;
    println!(
        "| {load} | {system} | {:.1} | {:.1} | {:.1} | {:.2} | {} |",
        Spread::over(reports, answered),
        Spread::over(reports, |report| 100.0 * (1.0 - report.missed())),
        Spread::over(reports, |report| report.instance_cost),
        Spread::ratio(reports, base, |report| report.instance_cost),
        published(load, system),
    );
}
