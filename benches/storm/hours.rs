//! Hours of serving on simulated devices, in virtual time and under faults.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_engine::simulation::{Incident, Scenario, Simulation, SimulationReport, Workload};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, Host};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::setup::policy;

/// Samples a second, on average.
pub const RATE: f64 = 25.0;

/// Four simulated devices with every member on each.
pub fn scene(seed: u64) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample_ensembles/digits");
    let ensemble = Arc::new(Ensemble::read(&Files::from_path(&folder)).expect("digits is valid"));
    let names = ["sim:v100*2", "sim:cpu*2"].map(ToString::to_string);
    let host = Host {
        cores: vec![0],
        memory_bytes: 4 << 30,
    };
    let devices = Devices::from_names(&names, &host).expect("profiles are known");
    let rows = vec![vec![8; ensemble.members.len()]; devices.count()];
    let matrix =
        Matrix::from_rows(Frame::from_ensemble(&ensemble, &devices), &rows).expect("valid");
    Scenario {
        costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
        policy: policy(&mut ChaCha8Rng::seed_from_u64(seed)),
        demand: ensemble.into(),
        devices,
        matrix,
    }
}

/// Serves for so long, with a fault about every `pause` seconds: a panic, a device that is lost and
/// comes back, one that grows slow, another policy. Gives how many there were.
pub fn serve(seed: u64, hours: f64, pause: f64) -> (SimulationReport, usize, usize) {
    let scene = scene(seed);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut simulation = Simulation::new(&scene).expect("known costs");
    let (mut at, mut faults) = (0.0, 0);
    while at < hours * 3600.0 {
        at += random.random_range(0.0..2.0 * pause);
        faults += 1;
        let device = DeviceIndex::new(random.random_range(0..scene.devices.count()));
        let incident = match random.random_range(0..10) {
            0..4 => Incident::Panic(device),
            4..7 => Incident::Lose(device),
            7 => Incident::Slow(device, random.random_range(1.0..4.0)),
            _ => Incident::Policy(policy(&mut random)),
        };
        let when = Duration::from_secs_f64(at);
        simulation = simulation.with_incident(when, incident);
        // Whatever it was, the device is whole again some time later.
        let back = when + Duration::from_secs_f64(random.random_range(0.0..pause));
        simulation = simulation.with_incident(back, Incident::Regain(device));
    }
    let samples = (RATE * hours * 3600.0) as usize;
    let workload = Workload::Pattern {
        pattern: LoadPattern::poisson(RATE),
        samples,
        seed,
    };
    let report = simulation.run(workload).expect("nothing is stuck");
    (report, samples, faults)
}
