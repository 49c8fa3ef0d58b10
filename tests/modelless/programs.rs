//! INFaaS's integer program against every combination of instances, and its limits.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{
    ChangeRules, ProgramPlan, ProgramTerms, Situation, TaskDemand, WatchedVariant, cheapest_plan,
};
use divisi_modelless::variants::{DeviceKindIndex, VariantCatalog, VariantIndex};
use proptest::prelude::*;

use crate::common::{Sketch, accurate, catalog, demand, task};

const TERMS: ProgramTerms = ProgramTerms {
    slack: 1.05,
    lambda: 0.5,
    steps: 100_000,
};

fn solved(
    (catalog, hosted): (&VariantCatalog, &HostedInstances),
    demands: &[TaskDemand],
    terms: &ProgramTerms,
) -> ProgramPlan {
    let watched = vec![WatchedVariant::UNSEEN; catalog.variants().len()];
    let situation = Situation {
        now: Duration::ZERO,
        rules: ChangeRules::default(),
        catalog,
        hosted,
        demands,
        watched: &watched,
        instances: &[],
        slowdowns: &[],
    };
    cheapest_plan(&situation, terms)
}

/// The cost by the program's definition.
fn cost(catalog: &VariantCatalog, running: &HostedInstances, plan: &HostedInstances) -> f64 {
    let each = plan.running().map(|(variant, count)| {
        let profile = &catalog.variant(variant).profile;
        let more = count.saturating_sub(running.total(variant));
        f64::from(count) * profile.cost.get()
            + f64::from(more) * TERMS.lambda * profile.loading.as_secs_f64()
    });
    each.sum()
}

/// Whether a plan serves all demands, by Hall's condition: the variants that meet the goals of any
/// demands of a set have the capacity of the set.
fn serves(catalog: &VariantCatalog, plan: &HostedInstances, demands: &[TaskDemand]) -> bool {
    (1..1_u32 << demands.len()).all(|set| {
        let chosen = || {
            (0..demands.len())
                .filter(move |at| set >> at & 1 == 1)
                .map(|at| &demands[at])
        };
        let load: f64 = chosen().map(|demand| TERMS.slack * demand.rate.get()).sum();
        let capacity = plan.running().map(|(index, count)| {
            let variant = catalog.variant(index);
            let task = catalog.task_of(index);
            let suits = chosen().any(|demand| demand.task == task && demand.suits(variant));
            f64::from(u32::from(suits) * count) * variant.saturation().get()
        });
        load <= capacity.sum::<f64>() + 1e-6
    })
}

/// The lowest cost of the plans that serve all demands, by trying all of them.
fn lowest(
    catalog: &VariantCatalog,
    running: &HostedInstances,
    demands: &[TaskDemand],
    (plan, pair): (HostedInstances, usize),
) -> Option<f64> {
    let variants = catalog.variants().len();
    if pair == variants * plan.devices().count() {
        return serves(catalog, &plan, demands).then(|| cost(catalog, running, &plan));
    }
    let variant = VariantIndex((pair % variants) as u32);
    let device = DeviceSlot((pair / variants) as u16);
    let (mut plan, mut best) = (plan, None);
    loop {
        let found = lowest(catalog, running, demands, (plan.clone(), pair + 1));
        best = [best, found].into_iter().flatten().reduce(f64::min);
        if plan.add(catalog, variant, device).is_err() {
            return best;
        }
    }
}

fn sketches() -> impl Strategy<Value = Sketch> {
    (0..2_u16, 1..6_u8, 1..8_u8, 1..4_u32, 0..3_u8).prop_map(
        |(device, latency, cost, lanes, accuracy)| Sketch {
            device,
            latency_ms: 10.0 * f64::from(latency),
            lanes,
            cost: f64::from(cost),
            accuracy: 0.7 + 0.1 * f64::from(accuracy),
            thousandths: 500,
            ..Sketch::default()
        },
    )
}

#[derive(Clone, Debug)]
struct SmallCase {
    tasks: Vec<Vec<Sketch>>,
    asked: Vec<(u16, f64, f64, u8)>,
    devices: Vec<u16>,
    running: Vec<(u32, u16)>,
}

fn cases() -> impl Strategy<Value = SmallCase> {
    let tasks = prop::collection::vec(prop::collection::vec(sketches(), 1..3), 1..3);
    let devices = prop::collection::vec(0..2_u16, 1..4);
    let running = prop::collection::vec((0..4_u32, 0..3_u16), 0..3);
    let asked = prop::collection::vec((0..2_u16, 1.0..200.0, 15.0..200.0, 0..3_u8), 1..4);
    (tasks, devices, running, asked).prop_map(|(tasks, devices, running, asked)| SmallCase {
        tasks,
        asked,
        devices,
        running,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn a_plan_is_the_cheapest_that_serves_all_demands(case in cases()) {
        let last = case.tasks.len() as u16 - 1;
        let named = case.tasks.iter().enumerate();
        let tasks = named.map(|(at, sketches)| task(&at.to_string(), sketches)).collect();
        let catalog = catalog(2, tasks);
        let demands = case.asked.iter().map(|(task, rate, latency, least)| {
            let least = 0.65 + 0.1 * f64::from(*least);
            let goals = accurate(1.0, least).goals;
            let mut demand = demand((*task).min(last), *rate, *latency, 1.0);
            demand.goals.accuracy = goals.accuracy;
            demand
        });
        let demands: Vec<TaskDemand> = demands.collect();
        let kinds: Vec<_> = case.devices.iter().map(|kind| DeviceKindIndex(*kind)).collect();
        let empty = HostedInstances::new(&catalog, &kinds);
        let mut hosted = empty.clone();
        for (variant, device) in &case.running {
            let variant = VariantIndex(variant % catalog.variants().len() as u32);
            // Instances without room do not run.
            let _ = hosted.add(&catalog, variant, DeviceSlot(device % kinds.len() as u16));
        }
        let plan = solved((&catalog, &hosted), &demands, &TERMS);
        prop_assert!(plan.is_optimal);
        let best = lowest(&catalog, &hosted, &demands, (empty, 0));
        let found = cost(&catalog, &hosted, &plan.hosted);
        let is_served = serves(&catalog, &plan.hosted, &demands);
        prop_assert_eq!(is_served, best.is_some());
        if let Some(best) = best {
            prop_assert!((found - best).abs() < 1e-6, "{} instead of {}", found, best);
        }
    }
}

/// Ten variants of different accuracy on a device, and three goals.
fn many() -> (VariantCatalog, Vec<TaskDemand>) {
    let sketch = |at: u8| Sketch {
        accuracy: 0.8 + 0.01 * f64::from(at),
        latency_ms: 9.0 + 1.7 * f64::from(at % 4),
        cost: 1.0 + 0.13 * f64::from(at),
        thousandths: 10,
        ..Sketch::default()
    };
    let sketches: Vec<Sketch> = (0..10).map(sketch).collect();
    let demands = [(437.0, 0.8), (311.0, 0.85), (173.0, 0.88)];
    let demands = demands.map(|(rate, accuracy)| accurate(rate, accuracy));
    (catalog(1, vec![task("a", &sketches)]), demands.to_vec())
}

#[test]
fn a_search_out_of_steps_takes_the_best_plan_found() {
    let (catalog, demands) = many();
    let hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0)]);
    let with = |steps| {
        solved(
            (&catalog, &hosted),
            &demands,
            &ProgramTerms { steps, ..TERMS },
        )
    };
    let costs: Vec<f64> = [1, 100, 1000, 100_000]
        .into_iter()
        .map(|steps| {
            let plan = with(steps);
            assert!(serves(&catalog, &plan.hosted, &demands), "{steps} steps");
            assert_eq!(plan.is_optimal, with(steps).is_optimal);
            assert_eq!(plan.hosted, with(steps).hosted, "{steps} steps repeat");
            cost(&catalog, &hosted, &plan.hosted)
        })
        .collect();
    assert!(!with(1).is_optimal);
    assert!(
        costs.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9),
        "{costs:?}"
    );
}

#[test]
fn without_room_for_all_queries_as_many_as_possible_are_served_and_devices_lack() {
    let sketch = Sketch {
        thousandths: 500,
        ..Sketch::default()
    };
    let catalog = catalog(1, vec![task("a", &[sketch])]);
    let hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0)]);
    let plan = solved((&catalog, &hosted), &[accurate(500.0, 0.8)], &TERMS);
    assert_eq!(plan.hosted.total(VariantIndex(0)), 2);
    assert_eq!(plan.lacking, [DeviceKindIndex(0); 4]);
}

#[test]
fn instances_stay_where_they_run() {
    let catalog = catalog(1, vec![task("a", &[Sketch::default()])]);
    let mut hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0); 2]);
    hosted
        .add(&catalog, VariantIndex(0), DeviceSlot(1))
        .expect("room");
    let plan = solved((&catalog, &hosted), &[accurate(50.0, 0.8)], &TERMS);
    assert_eq!(plan.hosted, hosted);
}
