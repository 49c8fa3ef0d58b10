//! An engine for one catalogue, among those that follow each other.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::allocation::Matrix;
use crate::catalogue::Catalogue;
use crate::device::Devices;
use crate::serving::{Engine, EngineError, EngineOptions, NetworkFactory, PredictorFactory};

use super::{DeploymentError, place};

/// See the module's text.
pub struct Generation {
    /// Its number, from 0.
    pub number: u64,
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

/// Starts an engine for `catalogue` beside the running one, with what carries over of its settings.
pub(super) fn start_beside(
    running: &Generation,
    catalogue: Arc<Catalogue>,
    devices: &Devices,
    options: EngineOptions,
) -> Result<Generation, DeploymentError> {
    let matrix = place::next(running, &catalogue, devices, options)?;
    let models = Arc::clone(catalogue.models());
    let factory = Arc::new(NetworkFactory::after(&running.factory, models));
    let number = running.number + 1;
    let next = Generation::start(number, catalogue, devices, &matrix, factory, options)?;
    next.take_over(&running.engine);
    Ok(next)
}

impl Generation {
    /// Follows the policy of another engine, where it suits the batch sizes.
    fn take_over(&self, other: &Engine) {
        if other.catalogue().entries().is_empty() {
            // It served nothing, so that nobody chose its policy for anything.
            return;
        }
        let policy = other.settings().policy();
        let setup = self.engine.setup();
        let wanted = crate::serving::Setup { policy, ..setup };
        // One that does not suit the models is left: theirs holds.
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
