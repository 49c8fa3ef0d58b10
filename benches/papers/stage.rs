//! Ensembles on simulated devices, ready to run.

use std::path::PathBuf;
use std::sync::Arc;

use divisi_engine::simulation::{Scenario, Simulation, SimulationReport, Workload};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::ensemble::{Ensemble, Files, PolicyKind};
use divisi_model::profile::Costs;
use divisi_runtime::device::{Devices, Host};

/// An ensemble on devices.
pub struct Stage {
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    pub frame: Arc<Frame>,
    pub footprints: Footprints,
    pub costs: Arc<Costs>,
}

/// The sample ensemble called `name`.
pub fn ensemble(name: &str) -> Arc<Ensemble> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sample_ensembles");
    Arc::new(Ensemble::read(&Files::from_path(&folder.join(name))).expect("a sample ensemble"))
}

/// The benchmarks' own ensemble called `name`.
pub fn fixture(name: &str) -> Arc<Ensemble> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benches/fixtures");
    Arc::new(Ensemble::read(&Files::from_path(&folder.join(name))).expect("a fixture"))
}

impl Stage {
    /// On devices named as on the command line.
    pub fn new(ensemble: &Arc<Ensemble>, devices: &str) -> Self {
        let host = Host {
            cores: vec![0],
            memory_bytes: 64 << 30,
        };
        let devices = Devices::from_names(&[devices.to_owned()], &host).expect("devices");
        Stage {
            frame: Frame::from_ensemble(ensemble, &devices),
            footprints: Footprints::plan(ensemble, &devices),
            costs: Arc::new(Costs::of_laws(ensemble, &devices)),
            ensemble: Arc::clone(ensemble),
            devices,
        }
    }

    pub fn scene(&self, matrix: &Matrix, policy: PolicyKind) -> Scenario {
        Scenario {
            demand: Arc::clone(&self.ensemble).into(),
            devices: self.devices.clone(),
            matrix: matrix.clone(),
            costs: Arc::clone(&self.costs),
            policy,
        }
    }

    pub fn run(&self, matrix: &Matrix, policy: PolicyKind, workload: Workload) -> SimulationReport {
        let simulation = Simulation::new(&self.scene(matrix, policy)).expect("known costs");
        simulation.with_requests().run(workload).expect("runs")
    }

    /// Samples a second of `samples` as fast as they are served.
    pub fn throughput(&self, matrix: &Matrix, policy: PolicyKind, samples: usize) -> f64 {
        self.run(matrix, policy, Workload::Saturate { samples })
            .samples_per_s()
    }
}
