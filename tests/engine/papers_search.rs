//! What the first paper's search does, seen again in virtual time (Pochelu, Petiton and
//! Conche, section IV.B).

use std::path::PathBuf;
use std::sync::Arc;

use divisi::allocation::{Cell, Footprints, Frame, Matrix};
use divisi::device::simulated::{DeviceProfile, find_profile};
use divisi::device::{Devices, Host};
use divisi::ensemble::{Ensemble, Files, PolicyKind};
use divisi::profile::Costs;
use divisi::search::{Control, Job, Method};
use divisi::serving::FakeFactory;
use divisi::simulation::{Scene, Simulation, Workload};
use divisi::trace::SpanKind;

/// IMN4 on so many V100s and a CPU, which is the last device.
fn imn4_on(gpus: usize) -> (Arc<Ensemble>, Devices) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let files = Files::at(&folder.join("sample_ensembles/imn4"));
    let ensemble = Arc::new(Ensemble::read(&files).expect("valid"));
    let host = Host {
        cores: vec![0],
        memory_bytes: 1 << 30,
    };
    let names = [format!("sim:v100*{gpus},sim:cpu")];
    let devices = Devices::named(&names, &host).expect("devices");
    (ensemble, devices)
}

/// What the search finds for it.
fn found_on(gpus: usize) -> Matrix {
    let (ensemble, devices) = imn4_on(gpus);
    found(&ensemble, devices)
}

fn found(ensemble: &Arc<Ensemble>, devices: Devices) -> Matrix {
    let job = Job {
        known: None,
        frame: Frame::of(ensemble, &devices),
        factory: Arc::new(FakeFactory {
            classes: ensemble.classes,
        }),
        measured_on: devices.clone(),
        devices,
        ensemble: Arc::clone(ensemble),
        samples: None,
        method: Method {
            restarts: 0,
            finalists: 1,
            ..Method::quick()
        },
        cache: None,
    };
    let found = job.run(&Arc::new(Control::default())).expect("fits");
    found.found.matrix
}

fn workers(matrix: &Matrix, member: usize) -> usize {
    matrix.workers().filter(|(c, _)| c.member == member).count()
}

/// Share of all members' samples that the CPU computes in a run by what was found.
fn share_of_the_cpu(gpus: usize) -> f64 {
    let (ensemble, devices) = imn4_on(gpus);
    let scene = Scene {
        costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
        matrix: found_on(gpus),
        policy: PolicyKind::NoWait,
        ensemble,
        devices,
    };
    let simulation = Simulation::new(&scene).expect("known costs").with_spans();
    let report = simulation.run(Workload::Saturate { samples: 1024 });
    let spans = report.expect("runs").spans;
    let computed = |cpu_only: bool| -> usize {
        let spans = spans.iter().filter(|s| s.kind == SpanKind::Compute);
        let spans = spans.filter(|s| !cpu_only || s.device == gpus);
        spans.map(|s| s.samples).sum()
    };
    computed(true) as f64 / computed(false) as f64
}

#[test]
fn the_cpu_serves_when_gpus_are_few_and_drops_out_as_they_grow() {
    let shares = [1, 3, 8].map(share_of_the_cpu);
    assert!(shares[0] > 0.2, "a member has no other place: {shares:?}");
    assert!(shares[1] < 0.05 && shares[2] < 0.02, "{shares:?}");
}

#[test]
fn the_slowest_member_is_replicated_first() {
    // ResNet101 is the slowest of IMN4 at any batch size.
    let matrix = found_on(5);
    let replicas: Vec<usize> = (0..4).map(|m| workers(&matrix, m)).collect();
    let most = replicas.iter().max().expect("four");
    assert_eq!(replicas[1], *most, "{replicas:?}");
    assert!(replicas[1] > 1, "{replicas:?}");
}

#[test]
fn where_devices_are_few_batches_are_smaller_so_that_all_fit() {
    let (ensemble, _) = imn4_on(1);
    let one = tight(&ensemble, 1);
    let mean = |devices: Devices| {
        let matrix = found(&ensemble, devices);
        let sizes: Vec<usize> = matrix.workers().map(|(_, s)| s.get()).collect();
        sizes.iter().sum::<usize>() as f64 / sizes.len() as f64
    };
    let (few, many) = (mean(one), mean(tight(&ensemble, 4)));
    assert!(
        few < 16.0 && few < many,
        "{few} on one device, {many} on four"
    );
}

/// V100s that just hold every member at the smallest batch size.
fn tight(ensemble: &Ensemble, count: usize) -> Devices {
    let v100 = find_profile("v100").expect("built in");
    let large = Devices::simulated(&v100, 1);
    let footprints = Footprints::of(ensemble, &large);
    let smallest = ensemble.batch_sizes.smallest();
    let bytes = |member| footprints.bytes(Cell { device: 0, member }, smallest);
    let all: u64 = (0..ensemble.members.len()).map(bytes).sum();
    let profile = DeviceProfile {
        memory_bytes: all + all / 50,
        ..DeviceProfile::clone(&v100)
    };
    Devices::simulated(&Arc::new(profile), count)
}
