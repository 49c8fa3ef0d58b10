//! No matrix exceeds the bounds that are said of all, whatever the batching policy: seen by
//! serving random matrices on random devices in virtual time.

use std::sync::{Arc, OnceLock};

use divisi_engine::search::{
    Control, Doubt, Gap, Method, Score, SearchJob, SearchResult, VirtualBench,
};
use divisi_engine::simulation::{Scenario, SimulationReport, Workload, simulate};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::ensemble::{BatchSizes, Ensemble, Files, PolicyKind};
use divisi_model::profile::Costs;
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::{DeviceClass, DeviceProfile, Law, find_profile};
use proptest::prelude::*;

use crate::common::{digits, fakes};
use crate::place::root;

/// Every policy, by the name that the command line has for it.
const POLICIES: [&str; 8] = [
    "no-wait",
    "opt-wait:2",
    "pipelined-opt-wait:2",
    "static:2",
    "segment:2",
    "elastic",
    "elastic:24",
    "elastic:3",
];

pub fn policy(name: &str) -> PolicyKind {
    name.parse().expect("a policy")
}

/// A search that runs nothing: it says its bound all the same.
fn searched(ensemble: &Arc<Ensemble>, devices: &Devices, method: Method) -> SearchResult {
    let job = SearchJob {
        known: None,
        demand: Arc::clone(ensemble).into(),
        devices: devices.clone(),
        measured_on: devices.clone(),
        frame: Frame::from_ensemble(ensemble, devices),
        factory: fakes(ensemble),
        method,
        cache: None,
    };
    job.run(&Arc::new(Control::default())).expect("finds").found
}

fn predicted() -> Method {
    Method {
        restarts: 0,
        finalists: 0,
        ..Method::quick()
    }
}

fn served(
    ensemble: &Arc<Ensemble>,
    devices: &Devices,
    matrix: Matrix,
    workload: Workload,
) -> SimulationReport {
    let scene = Scenario {
        costs: Arc::new(Costs::of_laws(ensemble, devices)),
        policy: ensemble.policy,
        demand: Arc::clone(ensemble).into(),
        devices: devices.clone(),
        matrix,
    };
    simulate(&scene, workload).expect("runs")
}

static DIGITS: OnceLock<Arc<Ensemble>> = OnceLock::new();

/// A few of digits' members with these segments, under one of the policies.
fn ensembles() -> impl Strategy<Value = Arc<Ensemble>> {
    let members = prop::sample::subsequence(vec![0usize, 1, 2, 3, 4, 5], 1..4);
    let segments = prop::sample::select(vec![8usize, 48, 128]);
    (members, segments, 0..POLICIES.len()).prop_map(|(members, segment, number)| {
        let all = DIGITS.get_or_init(digits);
        let mut ensemble = Ensemble::clone(all);
        ensemble.members = members
            .iter()
            .map(|&m| Arc::clone(&all.members[m]))
            .collect();
        ensemble.segment_size = segment;
        ensemble.batch_sizes = BatchSizes::new(&[4, 32, 128]).expect("sizes");
        ensemble.policy = policy(POLICIES[number]);
        Arc::new(ensemble)
    })
}

/// Devices that compute, start operations or copy slowly or not, that small operations do
/// not fill, or do; one batch at a time or side by side.
fn devices() -> impl Strategy<Value = Devices> {
    let rate = prop::sample::select(vec![1e9, 3e10, 1e12]);
    let launch = prop::sample::select(vec![0.0, 2e-6, 1e-4]);
    let grain = prop::sample::select(vec![0.0, 1e-5, 3e-4]);
    let copies = prop::sample::select(vec![1e7, 1e9]);
    let class = prop::sample::select(vec![DeviceClass::Gpu, DeviceClass::Cpu]);
    let all = (class, rate, launch, grain, copies, 1usize..4);
    all.prop_map(|(class, rate, launch, grain, copy_bandwidth, count)| {
        let mut profile = DeviceProfile::clone(&find_profile("v100").expect("built in"));
        profile.class = class;
        profile.law = Law {
            rate,
            launch,
            grain,
            copy_bandwidth,
            ..profile.law
        };
        Devices::simulated(&Arc::new(profile), count)
    })
}

/// The matrix of batch sizes drawn one for each entry; the first device has everybody.
fn drawn(frame: &Arc<Frame>, draws: &[usize]) -> Matrix {
    let sizes: Vec<_> = frame.batch_sizes.iter().collect();
    let members = frame.members.len();
    let entry = |number: usize| match draws[number % draws.len()] {
        draw if number < members => Some(sizes[draw % sizes.len()]),
        draw => (draw % 4).checked_sub(1).map(|size| sizes[size]),
    };
    let entries = (0..frame.devices.len() * members).map(entry).collect();
    Matrix::new(Arc::clone(frame), entries).expect("valid")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    /// From the first sample to the last answer nothing is served that was not computed
    /// in that time, so not even rounding stands between the two.
    #[test]
    fn no_run_in_virtual_time_exceeds_the_bound_of_its_policy(
        ensemble in ensembles(), devices in devices(),
        draws in prop::collection::vec(0usize..12, 9), samples in 500usize..3000,
    ) {
        let bound = searched(&ensemble, &devices, predicted()).bound.expect("by the model");
        let matrix = drawn(&Frame::from_ensemble(&ensemble, &devices), &draws);
        let report = served(&ensemble, &devices, matrix, Workload::Saturate { samples });
        prop_assert_eq!(report.samples, samples);
        let rate = report.samples_per_s();
        prop_assert!(rate <= bound * (1.0 + 1e-6), "{rate} above {bound}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A pace is taken from a part of a run: what was in execution as that began counts,
    /// though some of it was computed before.
    #[test]
    fn no_pace_in_the_long_run_exceeds_the_bound_by_more_than_its_interval(
        ensemble in ensembles(), devices in devices(), draws in prop::collection::vec(0usize..12, 9),
    ) {
        let bound = searched(&ensemble, &devices, predicted()).bound.expect("by the model");
        let matrix = drawn(&Frame::from_ensemble(&ensemble, &devices), &draws);
        let bench = VirtualBench::new(
            Arc::clone(&ensemble),
            devices.clone(),
            Footprints::plan(&ensemble, &devices),
            Arc::new(Costs::of_laws(&ensemble, &devices)),
        );
        let pace = bench.pace(&matrix).expect("runs");
        let in_execution: usize = matrix.workers().map(|(_, size)| size.get()).sum();
        let begun = in_execution as f64 / 4096.0;
        let least = pace.samples_per_s * (1.0 - pace.doubt.margin() - begun);
        prop_assert!(least <= bound * (1.0 + 1e-6), "{pace:?} above {bound}");
    }
}

pub fn imn1(policy_name: &str) -> Arc<Ensemble> {
    let folder = root().join("sample_ensembles/imn1");
    let mut ensemble = Ensemble::read(&Files::from_path(&folder)).expect("imn1 is valid");
    ensemble.policy = policy(policy_name);
    Arc::new(ensemble)
}

fn v100s(count: usize) -> Devices {
    Devices::simulated(&find_profile("v100").expect("built in"), count)
}

/// It was "537 samples/s, and no matrix more than 424: a gap of 0.0 %", by the bound of
/// one batch at a time in each worker.
#[test]
fn what_is_found_under_elastic_stays_below_the_bound() {
    let method = Method {
        finalists: 1,
        ..predicted()
    };
    let found = searched(&imn1("elastic"), &v100s(4), method);
    let steady = found.steady.expect("simulated").samples_per_s;
    assert!(steady > 500.0 && steady < found.bound.expect("by the model"));
    let gap = found.gap().expect("both are known");
    assert!(
        matches!(gap, Gap::Lacks(share) if share > 0.0 && share < 0.1),
        "{gap:?}"
    );
}

#[test]
fn what_exceeds_its_bound_is_called_that_and_not_a_gap_of_nothing() {
    let gap = |steady: Score, bound: f64| {
        let found = searched(&imn1("no-wait"), &v100s(4), predicted());
        let found = SearchResult {
            steady: Some(steady),
            bound: Some(bound),
            ..found
        };
        found.gap().expect("both are known")
    };
    let near = |gap: Gap, wanted: f64| match gap {
        Gap::Lacks(share) => (share - wanted).abs() < 1e-9,
        Gap::Exceeds(share) => (share + wanted).abs() < 1e-9,
    };
    let runs = |error| Score {
        samples_per_s: 537.0,
        doubt: Doubt::Runs { runs: 8, error },
    };
    assert!(near(gap(runs(0.0), 558.0), 21.0 / 558.0));
    assert!(near(gap(Score::exact(537.0), 424.0), -113.0 / 424.0));
    assert!(near(
        gap(Score::predicted(537.0, 2.0), 424.0),
        -113.0 / 424.0
    ));
    assert_eq!(
        gap(runs(0.01), 530.0),
        Gap::Lacks(0.0),
        "within its interval"
    );
}
