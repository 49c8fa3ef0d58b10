//! Plans of Divisi's policy against every plan that there is.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{
    ChangeRules, PlanObjective, Situation, TaskDemand, WatchedVariant, plan, plan_value,
};
use divisi_modelless::variants::{DeviceKindIndex, VariantCatalog, VariantIndex};
use proptest::prelude::*;

use crate::common::{Sketch, catalog, demand, table_two, task};

fn situation<'a>(
    catalog: &'a VariantCatalog,
    hosted: &'a HostedInstances,
    demands: &'a [TaskDemand],
    watched: &'a [WatchedVariant],
) -> Situation<'a> {
    Situation {
        now: Duration::ZERO,
        rules: ChangeRules::default(),
        catalog,
        hosted,
        demands,
        watched,
        instances: &[],
        slowdowns: &[],
    }
}

/// The value of the best plan, by trying all of them.
fn best_value(situation: &Situation<'_>, objective: &PlanObjective) -> f64 {
    let empty = {
        let kinds: Vec<_> = situation
            .hosted
            .devices()
            .map(|d| situation.hosted.kind(d))
            .collect();
        HostedInstances::new(situation.catalog, &kinds)
    };
    let mut best = f64::NEG_INFINITY;
    extend(situation, objective, empty, 0, &mut best);
    best
}

/// Tries every number of instances at the pair of a variant and a device, and goes on to the next.
fn extend(
    situation: &Situation<'_>,
    objective: &PlanObjective,
    mut hosted: HostedInstances,
    pair: usize,
    best: &mut f64,
) {
    let variants = situation.catalog.variants().len();
    if pair == variants * hosted.devices().count() {
        *best = best.max(plan_value(situation, objective, &hosted));
        return;
    }
    let variant = VariantIndex((pair % variants) as u32);
    let device = DeviceSlot((pair / variants) as u16);
    loop {
        extend(situation, objective, hosted.clone(), pair + 1, best);
        if hosted.add(situation.catalog, variant, device).is_err() {
            return;
        }
    }
}

fn sketches() -> impl Strategy<Value = Sketch> {
    (0..2_u16, 1..6_u8, 1..8_u8, 1..4_u32, 0..3_u8).prop_map(
        |(device, latency, cost, lanes, share)| Sketch {
            device,
            latency_ms: 10.0 * f64::from(latency),
            lanes,
            cost: f64::from(cost),
            thousandths: [400, 500, 1000][usize::from(share)],
            ..Sketch::default()
        },
    )
}

/// Up to two tasks of up to two variants, and up to three devices of two kinds.
#[derive(Clone, Debug)]
struct SmallCase {
    tasks: Vec<Vec<Sketch>>,
    demands: Vec<TaskDemand>,
    devices: Vec<u16>,
    running: Vec<(u32, u16)>,
}

fn cases() -> impl Strategy<Value = SmallCase> {
    let tasks = prop::collection::vec(prop::collection::vec(sketches(), 1..3), 1..3);
    let devices = prop::collection::vec(0..2_u16, 1..4);
    let running = prop::collection::vec((0..4_u32, 0..3_u16), 0..3);
    let asked = prop::collection::vec((0..2_u16, 1.0..200.0, 15.0..200.0, 0.01..0.3), 1..4);
    (tasks, devices, running, asked).prop_map(|(tasks, devices, running, asked)| {
        let last = tasks.len() as u16 - 1;
        let of = |(task, rate, latency, worth): (u16, f64, f64, f64)| {
            demand(task.min(last), rate, latency, worth)
        };
        SmallCase {
            demands: asked.into_iter().map(of).collect(),
            tasks,
            devices,
            running,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn a_plan_is_within_2_percent_of_the_best(case in cases()) {
        let named = case.tasks.iter().enumerate();
        let tasks = named.map(|(at, sketches)| task(&at.to_string(), sketches)).collect();
        let catalog = catalog(2, tasks);
        let kinds: Vec<_> = case.devices.iter().map(|kind| DeviceKindIndex(*kind)).collect();
        let mut hosted = HostedInstances::new(&catalog, &kinds);
        for (variant, device) in &case.running {
            let variant = VariantIndex(variant % catalog.variants().len() as u32);
            // What does not fit does not run.
            let _ = hosted.add(&catalog, variant, DeviceSlot(device % kinds.len() as u16));
        }
        let watched = vec![WatchedVariant::UNSEEN; catalog.variants().len()];
        let situation = situation(&catalog, &hosted, &case.demands, &watched);
        let objective = PlanObjective::default();
        let best = best_value(&situation, &objective);
        let found = plan_value(&situation, &objective, &plan(&situation, &objective));
        prop_assert!(found >= best - 0.02 * best.abs() - 1e-9, "{} of {}", found, best);
        prop_assert!(found <= best + 1e-6, "{} above {}", found, best);
    }
}

#[test]
fn table_three_is_planned_on_devices_enough() {
    let catalog = catalog(3, vec![task("resnet50", &table_two())]);
    let kinds = [0, 1, 2].map(DeviceKindIndex);
    let hosted = HostedInstances::new(&catalog, &kinds);
    let watched = [WatchedVariant::UNSEEN; 3];
    let objective = PlanObjective {
        slack: 1.0,
        waits: false,
        lambda: 0.0,
        ..PlanObjective::default()
    };
    let cases = [(10.0, 300.0, 2.0), (10.0, 50.0, 3.0), (1000.0, 300.0, 22.0)];
    for (rate, latency, cost) in cases {
        let demands = [demand(0, rate, latency, 10.0)];
        let situation = situation(&catalog, &hosted, &demands, &watched);
        let planned = plan(&situation, &objective);
        assert_eq!(planned.cost(&catalog), cost, "{rate} within {latency} ms");
    }
}

#[test]
fn what_runs_stays_where_nothing_is_better() {
    let catalog = catalog(1, vec![task("a", &[Sketch::default()])]);
    let mut hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0); 2]);
    hosted
        .add(&catalog, VariantIndex(0), DeviceSlot(1))
        .expect("room");
    let demands = [demand(0, 50.0, 1000.0, 1.0)];
    let watched = [WatchedVariant::UNSEEN];
    let situation = situation(&catalog, &hosted, &demands, &watched);
    assert_eq!(plan(&situation, &PlanObjective::default()), hosted);
}
