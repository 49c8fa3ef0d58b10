//! Ensembles, engines and other values that several tests begin with.

use std::path::PathBuf;
use std::sync::Arc;

use divisi::allocation::{Frame, Matrix};
use divisi::device::gpu::GpuInfo;
use divisi::device::{Devices, Host};
use divisi::ensemble::{Combination, Ensemble, Files, PolicyKind};
use divisi::serving::{
    ApplyError, Engine, EngineOptions, FakeFactory, NetworkFactory, Plan, PlanError,
    PredictorFactory, Setup,
};
use divisi::session::{Command, LiveSession, Refusal, Session, Snapshot};

use crate::wait::wait_for;

pub fn digits() -> Arc<Ensemble> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sample_ensembles/digits");
    Arc::new(Ensemble::read(&Files::at(&folder)).expect("digits is valid"))
}

/// Two partitions, whatever the machine: pinning to a core that is not there fails
/// softly.
pub fn two_devices() -> Devices {
    let host = Host {
        cores: vec![0, 1],
        memory_bytes: 4 << 30,
    };
    Devices::default_of(&host)
}

pub fn frame(ensemble: &Ensemble, devices: &Devices) -> Arc<Frame> {
    Frame::of(ensemble, devices)
}

/// Every member on every device at batch size 8.
pub fn everywhere(ensemble: &Ensemble, devices: &Devices) -> Matrix {
    let rows = vec![vec![8; ensemble.members.len()]; devices.count()];
    Matrix::from_rows(frame(ensemble, devices), &rows).expect("valid")
}

pub fn start(ensemble: &Arc<Ensemble>, factory: Arc<dyn PredictorFactory>) -> Engine {
    let devices = two_devices();
    let matrix = everywhere(ensemble, &devices);
    Engine::start(
        Arc::clone(ensemble),
        devices,
        &matrix,
        factory,
        EngineOptions::default(),
    )
    .expect("starts")
}

pub fn networks(ensemble: &Arc<Ensemble>) -> Arc<dyn PredictorFactory> {
    Arc::new(NetworkFactory::new(Arc::clone(ensemble)))
}

pub fn fakes(ensemble: &Ensemble) -> Arc<dyn PredictorFactory> {
    Arc::new(FakeFactory {
        classes: ensemble.answer_width(),
    })
}

/// Moves an engine to `matrix` and changes nothing else.
pub fn reload(engine: &Engine, matrix: &Matrix) -> Result<Plan, ApplyError> {
    engine.apply_setup(&engine.setup().with_matrix(matrix.clone()), &mut |_| {})
}

/// Changes settings of what runs, at once.
pub fn adjust(engine: &Engine, change: impl FnOnce(&mut Setup)) -> Result<(), PlanError> {
    let mut setup = engine.setup();
    change(&mut setup);
    engine.adjust(&engine.plan(&setup)?);
    Ok(())
}

pub fn set_policy(engine: &Engine, policy: PolicyKind) -> Result<(), PlanError> {
    adjust(engine, |setup| setup.policy = policy)
}

pub fn set_combination(engine: &Engine, combination: Combination) -> Result<(), PlanError> {
    adjust(engine, |setup| setup.combination = combination)
}

/// Applies `matrix` and changes nothing else.
pub fn apply(session: &mut LiveSession, matrix: &Matrix) -> Result<(), Refusal> {
    let setup = session.snapshot().setup().with_matrix(matrix.clone());
    session.command(Command::Apply(Box::new(setup), None))
}

/// A GPU that is made up, with so much memory to book.
pub fn h100(index: usize, free_bytes: u64) -> GpuInfo {
    GpuInfo {
        index,
        name: "NVIDIA H100 80GB HBM3".into(),
        memory_bytes: 80 << 30,
        free_bytes,
        capability: (9, 0),
        multiprocessors: 132,
        driver: (13, 0),
    }
}

/// Looks at a session until what it shows is `there`, and returns that: what a session
/// is told happens in threads of its own.
#[track_caller]
pub fn until(session: &mut dyn Session, there: impl Fn(&Snapshot) -> bool) -> Snapshot {
    wait_for(|| {
        let snapshot = session.snapshot();
        if there(&snapshot) {
            Ok(snapshot)
        } else {
            Err(Box::new(snapshot))
        }
    })
}
