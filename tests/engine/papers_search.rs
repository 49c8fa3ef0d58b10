//! The first paper's search, seen again in virtual time (Pochelu, Petiton and
//! Conche, section IV.B).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::place::root;
use divisi_engine::search::{Control, Method, SearchJob};
use divisi_engine::serving::FakeFactory;
use divisi_engine::simulation::{Scenario, Simulation, Workload};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{Ensemble, Files, PolicyKind};
use divisi_model::profile::Costs;
use divisi_model::trace::SpanKind;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};

fn sample(name: &str) -> Arc<Ensemble> {
    let folder = root();
    let files = Files::from_path(&folder.join("sample_ensembles").join(name));
    Arc::new(Ensemble::read(&files).expect("valid"))
}

fn named(name: &str) -> Devices {
    let host = Host {
        cores: vec![0],
        memory_bytes: 1 << 30,
    };
    Devices::from_names(&[name.to_owned()], &host).expect("devices")
}

/// IMN4 on so many V100s and a CPU, which is the last device. A GPU has 4 GiB here, too
/// few for all four networks, as one was in Table I.
fn imn4_on(gpus: usize) -> (Arc<Ensemble>, Devices) {
    let built_in = root().join("assets/devices/v100.toml");
    let v100 = fs::read_to_string(built_in).expect("a profile");
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("divisi-papers-{}-{number}.toml", std::process::id());
    let small = std::env::temp_dir().join(name);
    fs::write(&small, v100.replace("\"16GiB\"", "\"4GiB\"")).expect("written");
    let devices = named(&format!("sim:{}*{gpus},sim:cpu", small.display()));
    fs::remove_file(small).expect("it is there");
    assert_eq!(devices.memory_bytes(DeviceIndex::new(0)), 4 << 30);
    (sample("imn4"), devices)
}

/// Returns the matrix that the search finds for it.
fn found_on(gpus: usize) -> Matrix {
    let (ensemble, devices) = imn4_on(gpus);
    found(&ensemble, devices)
}

fn found(ensemble: &Arc<Ensemble>, devices: Devices) -> Matrix {
    let job = SearchJob {
        known: None,
        frame: Frame::from_ensemble(ensemble, &devices),
        factory: Arc::new(FakeFactory {
            classes: ensemble.answer_width(),
        }),
        measured_on: devices.clone(),
        devices,
        demand: Arc::clone(ensemble).into(),
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

fn workers(matrix: &Matrix, member: MemberIndex) -> usize {
    matrix.workers().filter(|(c, _)| c.member == member).count()
}

/// Share of all members' samples that the CPU computes in a run by what was found.
fn share_of_the_cpu(gpus: usize) -> f64 {
    let (ensemble, devices) = imn4_on(gpus);
    let scene = Scenario {
        costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
        matrix: found_on(gpus),
        policy: PolicyKind::NoWait,
        demand: ensemble.into(),
        devices,
    };
    let simulation = Simulation::new(&scene).expect("known costs").with_spans();
    let report = simulation.run(Workload::Saturate { samples: 1024 });
    let spans = report.expect("runs").spans;
    let computed = |cpu_only: bool| -> usize {
        let spans = spans.iter().filter(|s| s.kind == SpanKind::Compute);
        let spans = spans.filter(|s| !cpu_only || s.device == DeviceIndex::new(gpus));
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
    let replicas: Vec<usize> = (0..4)
        .map(|m| workers(&matrix, MemberIndex::new(m)))
        .collect();
    let most = replicas.iter().max().expect("four");
    assert_eq!(replicas[1], *most, "{replicas:?}");
    assert!(replicas[1] > 1, "{replicas:?}");
}

#[test]
fn where_devices_are_few_batches_are_smaller_so_that_all_fit() {
    // Twelve networks of 1.2 to 1.8 GiB at the smallest batch size, of 2.1 to 5.5 at the
    // largest, on GPUs of 16 GiB and a CPU.
    let imn12 = sample("imn12");
    let sizes_on = |gpus: usize| {
        let devices = named(&format!("sim:v100*{gpus},sim:cpu"));
        assert_eq!(devices.memory_bytes(DeviceIndex::new(0)), 16 << 30);
        let matrix = found(&imn12, devices);
        let there = matrix
            .workers()
            .filter(|(c, _)| c.device < DeviceIndex::new(gpus));
        let sizes: Vec<usize> = there.map(|(_, s)| s.get()).collect();
        sizes.iter().sum::<usize>() as f64 / sizes.len() as f64
    };
    let (few, many) = (sizes_on(1), sizes_on(4));
    assert!(
        few < 16.0 && few < many,
        "{few} on one device, {many} on four"
    );
}
