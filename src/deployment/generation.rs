//! An engine for one catalogue, among those that follow each other.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::allocation::Matrix;
use crate::catalogue::Catalogue;
use crate::device::Devices;
use crate::ensemble::PolicyKind;
use crate::serving::{Engine, EngineError, EngineOptions, NetworkFactory, PredictorFactory, Setup};

use super::DeploymentError;

/// See the module's text.
pub struct Generation {
    /// Its number, from 0.
    pub number: u64,
    /// The change by which it came, in words.
    pub why: String,
    /// The models that it serves.
    pub catalogue: Arc<Catalogue>,
    /// The engine.
    pub engine: Arc<Engine>,
    factory: Arc<NetworkFactory>,
}

impl Generation {
    pub(super) fn start(
        number: u64,
        catalogue: Arc<Catalogue>,
        devices: &Devices,
        matrix: &Matrix,
        factory: Arc<NetworkFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let engine = Engine::start_catalogue(
            Arc::clone(&catalogue),
            devices.clone(),
            matrix,
            Arc::<NetworkFactory>::clone(&factory),
            options,
        )?;
        Ok(Generation {
            number,
            why: "start".into(),
            catalogue,
            engine: Arc::new(engine),
            factory,
        })
    }

    /// Returns the factory of its networks.
    pub fn networks(&self) -> Arc<dyn PredictorFactory> {
        Arc::<NetworkFactory>::clone(&self.factory)
    }
}

/// Starts an engine for `catalogue` after another one, with settings that suit its models.
pub(super) fn start_after(
    (before, why): (&Generation, String),
    catalogue: Arc<Catalogue>,
    devices: &Devices,
    (matrix, settings): (&Matrix, &StartSettings),
    options: EngineOptions,
) -> Result<Generation, DeploymentError> {
    let models = Arc::clone(catalogue.models());
    let factory = Arc::new(NetworkFactory::after(&before.factory, models));
    let number = before.number + 1;
    let next = Generation::start(number, catalogue, devices, matrix, factory, options)?;
    next.take_over(settings);
    Ok(Generation { why, ..next })
}

/// The settings that an engine begins with.
#[derive(Clone, Debug)]
pub(super) enum StartSettings {
    /// The policy of the one before, and otherwise those of the models.
    Policy(PolicyKind),
    /// Those under which the same models ran before.
    Again(Box<Setup>),
}

impl Generation {
    /// Follows settings, where they suit the models.
    fn take_over(&self, settings: &StartSettings) {
        let setup = self.engine.setup();
        let wanted = match settings {
            StartSettings::Policy(policy) => Setup {
                policy: *policy,
                ..setup
            },
            StartSettings::Again(before) => before.with_matrix(setup.matrix),
        };
        // Those that do not suit the models are left: theirs hold.
        if let Ok(plan) = self.engine.plan(&wanted) {
            self.engine.adjust(&plan);
        }
    }
}

/// A generation that ends what it began. Dropping this waits for it.
pub(super) struct Retiring(Option<JoinHandle<()>>);

/// Ends a generation once its requests are answered.
pub(super) fn retire(generation: Arc<Generation>) -> Retiring {
    let engine = Arc::clone(&generation.engine);
    let work = move || generation.engine.shutdown();
    match thread::Builder::new().name("retire".into()).spawn(work) {
        Ok(thread) => Retiring(Some(thread)),
        Err(_) => {
            // Without a thread the caller waits itself.
            engine.shutdown();
            Retiring(None)
        }
    }
}

impl Drop for Retiring {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // It does not panic, and there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}
