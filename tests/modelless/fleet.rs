//! Fleets in virtual time: repeatable, complete, and as queueing theory says where it says something.

use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::fleet::{FleetJob, FleetRecord, FleetScenario, WorkerKind, simulate};
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::jobs::JobRules;
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::{ChangeRules, PlanObjective, PolicyChoice};
use divisi_modelless::quantities::{CostRate, QueryCost};
use divisi_modelless::states::{StateThresholds, VariantState};
use divisi_modelless::variants::{DeviceKindIndex, DeviceSharing, TaskIndex, VariantIndex};

use crate::arrivals::{RateShape, poisson};
use crate::baselines::ComparedPolicy;
use crate::common::{Sketch, catalog, millis, table_two, task};

const MINUTE: Duration = Duration::from_secs(60);

fn kind(devices: &[u16], initial: u16, most: u16) -> WorkerKind {
    WorkerKind {
        devices: devices.iter().map(|kind| DeviceKindIndex(*kind)).collect(),
        price: CostRate::new(1.0).expect("a price"),
        starting: Duration::from_secs(20),
        initial,
        most,
    }
}

fn stream(latency_ms: f64) -> QueryStream {
    QueryStream {
        task: TaskIndex(0),
        goals: QueryGoals {
            latency: Some(LatencyGoal::new(millis(latency_ms)).expect("a goal")),
            ..QueryGoals::default()
        },
        worth: QueryCost::new(1.0).expect("a worth"),
    }
}

/// One task on one machine; the first variant runs.
fn scenario(sketches: &[Sketch], rate: f64, latency_ms: f64) -> FleetScenario {
    let shape = RateShape::flat(rate, MINUTE).expect("a shape");
    let kinds = sketches.iter().map(|s| s.device).max().unwrap_or(0) + 1;
    let devices: Vec<u16> = (0..kinds).collect();
    FleetScenario {
        catalog: catalog(usize::from(kinds), vec![task("task", sketches)]),
        workers: vec![kind(&devices, 1, 1)],
        initial: vec![(VariantIndex(0), DeviceSlot(0))],
        streams: vec![stream(latency_ms)],
        arrivals: poisson(&shape, &[1.0], 1),
        jobs: vec![],
        disturbances: vec![],
        policy: PolicyChoice::Static,
        objective: PlanObjective::default(),
        rules: ChangeRules::default(),
        refuses_late: false,
        thresholds: StateThresholds::default(),
        job_rules: JobRules::default(),
        end: MINUTE,
    }
}

/// Table 2's variants under a load that swings.
fn swinging(refuses_late: bool) -> FleetScenario {
    let at = Duration::from_secs;
    let points = vec![
        (at(0), 5.0),
        (at(20), 5.0),
        (at(25), 900.0),
        (at(40), 900.0),
        (at(60), 5.0),
    ];
    let shape = RateShape::new(points).expect("a shape");
    FleetScenario {
        // The dearest query is A's: it is the last variant, on the first device.
        initial: vec![(VariantIndex(2), DeviceSlot(0))],
        arrivals: poisson(&shape, &[1.0], 2),
        refuses_late,
        ..scenario(&table_two(), 1.0, 300.0)
    }
}

#[test]
fn a_fleet_repeats_to_the_byte_under_every_policy() {
    for policy in ComparedPolicy::ALL {
        let scenario = swinging(true);
        let text = |report: FleetRecord| format!("{report:?}");
        assert_eq!(
            text(policy.simulate(&scenario)),
            text(policy.simulate(&scenario)),
            "{policy:?}"
        );
    }
}

#[test]
fn every_query_is_over_once_and_all_are_answered_where_none_is_refused() {
    for policy in ComparedPolicy::ALL {
        let scenario = swinging(false);
        let report = policy.simulate(&scenario);
        assert_eq!(report.queries.len(), scenario.arrivals.len());
        let answered = report.queries.iter().filter(|q| q.answer.is_some()).count();
        assert_eq!(answered, report.queries.len(), "{policy:?}");
        let met_late = report
            .queries
            .iter()
            .filter(|q| q.met && q.answer.is_none_or(|(_, took)| took > millis(300.0)));
        assert_eq!(met_late.count(), 0, "{policy:?}");
    }
}

#[test]
fn one_instance_waits_as_a_queue_of_fixed_service() {
    // Pollaczek and Khinchine: the mean wait of M/D/1 is rho / (2 (1 - rho)) services.
    let hour = RateShape::flat(50.0, 60 * MINUTE).expect("a shape");
    let one = FleetScenario {
        arrivals: poisson(&hour, &[1.0], 4),
        ..scenario(
            &[Sketch {
                latency_ms: 10.0,
                ..Sketch::default()
            }],
            50.0,
            1000.0,
        )
    };
    let report = simulate(&one);
    let waits = report.queries.iter().filter_map(|q| q.answer);
    let waits: Vec<f64> = waits
        .map(|(_, took)| took.as_secs_f64() * 1e3 - 10.0)
        .collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean - 5.0).abs() < 0.15, "{mean} ms, expected 5");
}

#[test]
fn policies_that_scale_miss_fewer_goals_than_the_static_one() {
    let missed = ComparedPolicy::ALL.map(|policy| policy.simulate(&swinging(true)).missed());
    let [fixed, individual, infaas, _, _, _, divisi] = missed;
    assert!(fixed > 0.9, "5 a second of 900: {missed:?}");
    assert!(
        individual < fixed && infaas < individual && divisi <= infaas,
        "{missed:?}"
    );
}

#[test]
fn a_short_batch_behind_long_ones_is_interfered_with_and_the_long_ones_are_not() {
    // The mechanism of figure 1: two networks take turns on one device.
    let shared = |latency_ms| {
        let sketch = Sketch {
            latency_ms,
            ..Sketch::default()
        };
        let mut variant = sketch.variant();
        variant.profile.sharing = DeviceSharing::Unreserved;
        variant
    };
    let tasks = [("small", 2.0), ("large", 20.0)].map(|(name, latency)| {
        let mut task = task(name, &[]);
        task.variants = vec![shared(latency)];
        task
    });
    let small = stream(1000.0);
    let large = QueryStream {
        task: TaskIndex(1),
        ..small
    };
    let states = |rate: f64| -> Vec<VariantState> {
        let shape = RateShape::flat(rate, MINUTE).expect("a shape");
        let report = simulate(&FleetScenario {
            catalog: catalog(1, tasks.to_vec()),
            initial: vec![
                (VariantIndex(0), DeviceSlot(0)),
                (VariantIndex(1), DeviceSlot(0)),
            ],
            streams: vec![small, large],
            arrivals: poisson(&shape, &[1.0, 1.0], 3),
            ..scenario(&[Sketch::default()], 1.0, 1000.0)
        });
        let changes = report.changes.iter();
        let interfered = changes.filter(|(v, _)| *v == VariantIndex(0));
        let large = report.changes.iter().filter(|(v, _)| *v == VariantIndex(1));
        assert!(
            large.clone().all(|(_, c)| c.to != VariantState::Interfered),
            "{rate}"
        );
        interfered.map(|(_, change)| change.to).collect()
    };
    assert_eq!(states(0.5), [VariantState::Active], "a low load");
    assert!(
        states(20.0).contains(&VariantState::Interfered),
        "a higher load"
    );
}

#[test]
fn a_job_takes_the_gaps_and_leaves_the_queries_as_they_were() {
    // Figure 8's setting: two instances of 200 ms, a goal of 500 ms.
    let sketch = Sketch {
        latency_ms: 200.0,
        thousandths: 500,
        ..Sketch::default()
    };
    let alone = FleetScenario {
        initial: vec![(VariantIndex(0), DeviceSlot(0)); 2],
        ..scenario(&[sketch], 2.0, 500.0)
    };
    let beside = FleetScenario {
        jobs: vec![FleetJob {
            variant: VariantIndex(0),
            rows: 500,
            at: Duration::ZERO,
        }],
        ..alone.clone()
    };
    let (alone, beside) = (simulate(&alone), simulate(&beside));
    assert!(beside.offline_rows > 50, "{}", beside.offline_rows);
    assert!(
        beside.missed() <= alone.missed() + 0.005,
        "{} {}",
        beside.missed(),
        alone.missed()
    );
}

#[test]
fn machines_start_where_devices_lack_and_stop_after_they_were_idle() {
    let sketch = Sketch {
        thousandths: 1000,
        ..Sketch::default()
    };
    let at = Duration::from_secs;
    let points = vec![
        (at(0), 250.0),
        (at(60), 250.0),
        (at(61), 10.0),
        (at(180), 10.0),
    ];
    let shape = RateShape::new(points).expect("a shape");
    let report = simulate(&FleetScenario {
        workers: vec![kind(&[0], 1, 3)],
        arrivals: poisson(&shape, &[1.0], 5),
        policy: PolicyChoice::Divisi,
        end: at(180),
        ..scenario(&[sketch], 1.0, 100.0)
    });
    let workers: Vec<u16> = report.ticks.iter().map(|tick| tick.workers[0]).collect();
    assert_eq!(workers.iter().max(), Some(&3));
    assert_eq!(workers.last(), Some(&1), "{workers:?}");
}
