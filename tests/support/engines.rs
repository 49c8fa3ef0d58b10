//! Engines that tests begin with, and changes of them.

use std::sync::Arc;

use divisi_engine::serving::{
    ApplyError, Engine, EngineOptions, FakeFactory, NetworkFactory, Plan, PlanError,
    PredictorFactory, Setup,
};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::{Combination, Ensemble, PolicyKind};

use crate::devices::two_devices;
use crate::sample::everywhere;

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
