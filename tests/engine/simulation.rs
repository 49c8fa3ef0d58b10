//! Serving in virtual time: the same state machines, simulated devices, exact repeats.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_engine::simulation::{
    Incident, Scenario, Simulation, SimulationError, SimulationReport, Workload, simulate,
};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{Ensemble, PolicyKind};
use divisi_model::profile::Costs;
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices};

use super::common::digits;

/// Every member of digits on every one of `count` devices of `kind` at `size`.
fn scene(kind: &str, count: usize, size: i64, policy: &str) -> Scenario {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile(kind).expect("a profile"), count);
    let rows = vec![vec![size; ensemble.members.len()]; count];
    let matrix =
        Matrix::from_rows(Frame::from_ensemble(&ensemble, &devices), &rows).expect("valid");
    Scenario {
        costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
        policy: policy.parse().expect("a policy"),
        demand: ensemble.into(),
        devices,
        matrix,
    }
}

fn burst(samples: usize) -> Workload {
    Workload::Pattern {
        pattern: LoadPattern::burst(2000.0),
        samples,
        seed: 1,
    }
}

const POLICIES: [&str; 6] = [
    "no-wait",
    "opt-wait:5ms",
    "pipelined-opt-wait:5ms",
    "static:5ms",
    "segment:5ms",
    "elastic",
];

#[test]
fn a_run_answers_everything_and_repeats_to_the_byte() {
    for policy in POLICIES {
        for kind in ["v100", "cpu"] {
            let scene = scene(kind, 2, 8, policy);
            let run = || {
                let simulation = Simulation::new(&scene).expect("known costs");
                simulation.with_spans().run(burst(400)).expect("runs")
            };
            let (first, second) = (run(), run());
            assert_eq!(first.samples, 400, "{policy} on {kind}");
            assert_eq!(
                format!("{first:?}"),
                format!("{second:?}"),
                "{policy} on {kind}"
            );
        }
    }
}

#[test]
fn the_parts_of_a_latency_add_up_to_it() {
    for policy in POLICIES {
        let scene = scene("titan-rtx", 1, 16, policy);
        let simulation = Simulation::new(&scene)
            .expect("known costs")
            .with_requests();
        let report = simulation.run(burst(400)).expect("runs");
        for served in &report.served {
            assert_eq!(served.split.total(), served.latency, "{policy}: {served:?}");
        }
        let waits = matches!(policy, p if p.contains(':'));
        assert_eq!(
            report.split.batching > 0.0,
            waits,
            "{policy}: {:?}",
            report.split
        );
        assert!(
            report.split.admission == 0.0
                && report.split.copying > 0.0
                && report.split.computing > 0.0
        );
    }
}

#[test]
fn a_device_that_is_lost_in_the_middle_costs_time_but_no_request() {
    let scene = scene("v100", 2, 8, "elastic");
    let at = Duration::from_millis(50);
    let simulation = Simulation::new(&scene).expect("known costs");
    let whole = simulate(&scene, burst(400)).expect("runs");
    let lost = simulation
        .with_incident(at, Incident::Lose(DeviceIndex::new(0)))
        .run(burst(400))
        .expect("runs");
    assert_eq!((whole.samples, lost.samples), (400, 400));
    assert_eq!(mean_after(&lost, at, DeviceIndex::new(0)), 0.0);
    let simulation = Simulation::new(&scene).expect("known costs");
    let both = simulation
        .with_incident(at, Incident::Lose(DeviceIndex::new(0)))
        .with_incident(at, Incident::Lose(DeviceIndex::new(1)))
        .run(burst(400));
    assert!(
        matches!(both, Err(SimulationError::Stuck { .. })),
        "{both:?}"
    );
}

/// Answers that a device which is gone gave all the same: none.
fn mean_after(report: &SimulationReport, at: Duration, device: DeviceIndex) -> f64 {
    let late = report
        .spans
        .iter()
        .filter(|s| s.device == device && s.end > at);
    late.count() as f64
}

#[test]
fn a_request_larger_than_the_pool_is_an_error() {
    let workload = Workload::Pattern {
        pattern: LoadPattern::closed(1, 60_000),
        samples: 60_000,
        seed: 1,
    };
    let run = simulate(&scene("v100", 1, 8, "no-wait"), workload);
    assert!(
        matches!(run, Err(SimulationError::TooLarge { .. })),
        "{run:?}"
    );
}

#[test]
fn costs_that_were_never_measured_are_named() {
    let ensemble: Arc<Ensemble> = digits();
    let devices = super::common::two_devices();
    let scene = Scenario {
        matrix: super::common::everywhere(&ensemble, &devices),
        costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
        policy: PolicyKind::NoWait,
        demand: ensemble.into(),
        devices,
    };
    let error = simulate(&scene, burst(1)).expect_err("a device of this machine");
    assert_eq!(
        error.to_string(),
        "the cost of `mlp` on `cpu:0` is unknown: it was never measured"
    );
}
