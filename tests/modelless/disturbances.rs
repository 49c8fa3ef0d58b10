//! Devices that other programs slow down: instances leave them, and return once they are calm.

use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::fleet::{
    DeviceDisturbance, FleetRecord, FleetScenario, WorkerKind, simulate,
};
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::jobs::JobRules;
use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{
    ChangeRules, PlanObjective, PolicyChoice, Situation, WatchedVariant, plan,
};
use divisi_modelless::quantities::{CostRate, QueryCost};
use divisi_modelless::states::{
    DeviceObservation, DeviceWatch, InstanceState, StateThresholds, VariantState,
};
use divisi_modelless::variants::{DeviceKindIndex, TaskIndex, VariantIndex};
use proptest::prelude::*;

use crate::arrivals::{RateShape, poisson};
use crate::common::{Sketch, catalog, demand, millis, task};

const SECOND: Duration = Duration::from_secs(1);
const FIRST: DeviceSlot = DeviceSlot(0);
const SECOND_DEVICE: DeviceSlot = DeviceSlot(1);
const ONLY: VariantIndex = VariantIndex(0);

/// The seconds of some observations, one each second, in which a device counts as disturbed.
fn disturbed(observations: &[DeviceObservation]) -> Vec<usize> {
    let mut watch = DeviceWatch::new(StateThresholds::default());
    let each = observations.iter().enumerate().filter(|(at, seen)| {
        watch.observe(*at as u32 * SECOND, seen);
        watch.slowdown() > 1.0
    });
    each.map(|(at, _)| at).collect()
}

fn batches(slowdown: f64) -> DeviceObservation {
    DeviceObservation {
        slowdown: Some(slowdown),
        others: None,
    }
}

fn others(share: f64) -> DeviceObservation {
    DeviceObservation {
        slowdown: None,
        others: Some(share),
    }
}

#[test]
fn slow_batches_for_two_seconds_are_a_disturbance_until_ten_calm_seconds() {
    let mut seen = vec![batches(3.0); 5];
    seen.extend(vec![batches(1.0); 20]);
    assert_eq!(disturbed(&seen), (2..15).collect::<Vec<_>>());
    assert!(disturbed(&[batches(3.0), batches(1.0), batches(3.0)]).is_empty());
}

#[test]
fn a_device_without_batches_is_judged_by_the_host() {
    let mut seen = vec![batches(3.0); 3];
    seen.extend(vec![others(0.9); 60]);
    seen.extend(vec![others(0.0); 20]);
    assert_eq!(disturbed(&seen), (2..73).collect::<Vec<_>>());
    assert_eq!(disturbed(&[others(0.9); 4]), [2, 3]);
}

#[test]
fn a_device_without_batches_counts_as_slow_as_its_last_batches_at_the_load_of_its_host() {
    let mut watch = DeviceWatch::new(StateThresholds::default());
    let slow = DeviceObservation {
        slowdown: Some(5.0),
        others: Some(0.8),
    };
    let seen = [[slow; 30], [others(0.8); 30], [others(0.4); 30]].concat();
    let each = (0..).zip(&seen).map(|(at, seen)| {
        watch.observe(at * SECOND, seen);
        watch.slowdown()
    });
    let slowdowns: Vec<f64> = each.collect();
    for (at, expected) in [(29, 5.0), (59, 5.0), (89, 3.0)] {
        let found = slowdowns[at];
        assert!((found - expected).abs() < 0.01, "{found} at {at} s");
    }
}

#[test]
fn a_device_without_any_observation_is_tried_again_after_half_a_minute() {
    let mut seen = vec![batches(3.0); 3];
    seen.extend(vec![DeviceObservation::default(); 60]);
    assert_eq!(disturbed(&seen), (2..33).collect::<Vec<_>>());
}

#[test]
fn slow_batches_on_a_quiet_host_are_no_disturbance() {
    let seen = DeviceObservation {
        slowdown: Some(3.0),
        others: Some(0.02),
    };
    assert!(disturbed(&[seen; 20]).is_empty());
}

#[test]
fn each_repetition_of_a_disturbance_doubles_the_calm_that_ends_it() {
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.extend(vec![batches(3.0); 3]);
        seen.extend(vec![batches(1.0); 60]);
    }
    let found = disturbed(&seen);
    let within = |from: usize| {
        found
            .iter()
            .filter(|at| (from..from + 63).contains(*at))
            .count()
    };
    assert_eq!([0, 63, 126].map(within), [11, 21, 41]);
}

proptest! {
    #[test]
    fn a_device_changes_its_state_rarely_whatever_happens(
        slowdowns in prop::collection::vec(prop::option::of(0.5..9.0_f64), 600),
    ) {
        let seen = slowdowns.into_iter().map(|slowdown| DeviceObservation { slowdown, others: None });
        let mut watch = DeviceWatch::new(StateThresholds::default());
        let (mut changes, mut before) = (0, false);
        for (at, seen) in (0..).zip(seen) {
            watch.observe(at * SECOND, &seen);
            let now = watch.slowdown() > 1.0;
            changes += u32::from(now != before);
            before = now;
        }
        prop_assert!(changes <= 12, "{} changes in ten minutes", changes);
    }
}

/// The plan for 100 queries a second within 30 ms, by a variant of 2 ms that runs on the first of
/// two devices.
fn planned(slowdowns: [f64; 2]) -> [u16; 2] {
    let sketch = Sketch {
        latency_ms: 2.0,
        ..Sketch::default()
    };
    let catalog = catalog(1, vec![task("a", &[sketch])]);
    let mut hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0); 2]);
    hosted.add(&catalog, ONLY, FIRST).expect("room");
    let situation = Situation {
        now: Duration::ZERO,
        rules: ChangeRules::default(),
        catalog: &catalog,
        hosted: &hosted,
        demands: &[demand(0, 100.0, 30.0, 1.0)],
        watched: &[WatchedVariant::UNSEEN],
        instances: &[],
        slowdowns: &slowdowns,
    };
    let plan = plan(&situation, &PlanObjective::default());
    [FIRST, SECOND_DEVICE].map(|device| plan.count_on(ONLY, device))
}

#[test]
fn a_plan_leaves_a_disturbed_device_for_a_calm_one() {
    assert_eq!(planned([1.0, 1.0]), [1, 0]);
    assert_eq!(planned([20.0, 1.0]), [0, 1]);
    assert_eq!(planned([1.0, 20.0]), [1, 0]);
}

#[test]
fn a_plan_stays_if_all_devices_are_disturbed() {
    let [first, _] = planned([20.0, 20.0]);
    assert!(first >= 1);
}

#[test]
fn infaas_moves_the_interfered_instance_off_the_disturbed_device() {
    let sketches = [
        Sketch::default(),
        Sketch {
            cost: 2.0,
            ..Sketch::default()
        },
    ];
    let tasks = sketches.map(|sketch| task(&sketch.cost.to_string(), &[sketch]));
    let catalog = catalog(1, tasks.to_vec());
    let other = VariantIndex(1);
    let mut hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0); 2]);
    for (variant, device) in [(ONLY, FIRST), (other, SECOND_DEVICE)] {
        hosted.add(&catalog, variant, device).expect("room");
    }
    let decision = PolicyChoice::Infaas.policy().decide(&Situation {
        now: Duration::ZERO,
        rules: ChangeRules::default(),
        catalog: &catalog,
        hosted: &hosted,
        demands: &[demand(0, 50.0, 1000.0, 1.0)],
        watched: &[WatchedVariant::UNSEEN; 2],
        instances: &[InstanceState {
            variant: ONLY,
            device: FIRST,
            state: VariantState::Interfered,
        }],
        slowdowns: &[3.0, 1.0],
    });
    hosted
        .apply(&catalog, &decision.changes)
        .expect("changes that fit");
    assert_eq!(
        [FIRST, SECOND_DEVICE].map(|d| hosted.count_on(ONLY, d)),
        [0, 1]
    );
}

/// 60 queries a second within 200 ms for five minutes. The first device runs a variant of 10 ms; the
/// second is of a kind that costs more. Another program slows down the first device.
fn disturbed_fleet(disturbance: DeviceDisturbance) -> FleetRecord {
    let end = Duration::from_secs(300);
    let on = |device, cost| Sketch {
        device,
        cost,
        thousandths: 1000,
        ..Sketch::default()
    };
    let worker = WorkerKind {
        devices: vec![DeviceKindIndex(0), DeviceKindIndex(1)],
        price: CostRate::FREE,
        starting: Duration::ZERO,
        initial: 1,
        most: 1,
    };
    let goals = QueryGoals {
        latency: Some(LatencyGoal::new(millis(200.0)).expect("a goal")),
        ..QueryGoals::default()
    };
    simulate(&FleetScenario {
        catalog: catalog(2, vec![task("task", &[on(0, 1.0), on(1, 3.0)])]),
        workers: vec![worker],
        initial: vec![(ONLY, FIRST)],
        streams: vec![QueryStream {
            task: TaskIndex(0),
            goals,
            worth: QueryCost::new(1.0).expect("a worth"),
        }],
        arrivals: poisson(&RateShape::flat(60.0, end).expect("a shape"), &[1.0], 1),
        jobs: vec![],
        disturbances: vec![disturbance],
        policy: PolicyChoice::Divisi,
        objective: PlanObjective::default(),
        rules: ChangeRules::default(),
        refuses_late: true,
        thresholds: StateThresholds::default(),
        job_rules: JobRules::default(),
        end,
    })
}

/// The seconds with a change, and the share of missed goals in some seconds.
fn changes(report: &FleetRecord) -> Vec<u64> {
    let ticks = report.ticks.iter();
    let changed = ticks.filter(|tick| !tick.decision.changes.is_empty());
    changed.map(|tick| tick.at.as_secs()).collect()
}

fn missed(report: &FleetRecord, from: u64, until: u64) -> f64 {
    let within = |at: Duration| (from..until).contains(&at.as_secs());
    let queries = report.queries.iter().filter(|query| within(query.arrived));
    let (all, missed) = queries.fold((0, 0), |(all, missed), query| {
        (all + 1, missed + u32::from(!query.met))
    });
    f64::from(missed) / f64::from(all)
}

#[test]
fn divisi_moves_off_a_disturbed_device_and_back_without_flapping() {
    let report = disturbed_fleet(DeviceDisturbance {
        device: FIRST,
        from: Duration::from_secs(60),
        until: Duration::from_secs(110),
        slowdown: 25.0,
    });
    // It loads on the other device, unloads, tries the first one again, and so on.
    let changes = changes(&report);
    assert!(!changes.is_empty() && changes.len() <= 10, "{changes:?}");
    assert!(
        changes.iter().all(|at| (60..240).contains(at)),
        "{changes:?}"
    );
    assert!(
        missed(&report, 70, 90) < 0.05,
        "{}",
        missed(&report, 70, 90)
    );
    assert!(missed(&report, 240, 300) < 0.05);
    let last = report.queries.last().and_then(|query| query.answer);
    assert_eq!(
        last.map(|(variant, _)| variant),
        Some(ONLY),
        "the cheaper one answers again"
    );
}

#[test]
fn a_device_that_stays_disturbed_is_tried_less_and_less() {
    let report = disturbed_fleet(DeviceDisturbance {
        device: FIRST,
        from: Duration::from_secs(60),
        until: Duration::from_secs(1000),
        slowdown: 25.0,
    });
    assert!(changes(&report).len() <= 14, "{:?}", changes(&report));
    assert!(
        missed(&report, 70, 300) < 0.1,
        "{}",
        missed(&report, 70, 300)
    );
}
