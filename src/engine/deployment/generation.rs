//! An engine for one catalogue, among those that follow each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::serving::{Engine, EngineError, EngineOptions, NetworkFactory, PredictorFactory, Setup};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::{Ensemble, MemberPrecision, PolicyKind};
use divisi_runtime::device::Devices;

use super::DeploymentError;
use super::observer::Observers;

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
        columns: (&Matrix, &[MemberPrecision]),
        factory: Arc<NetworkFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let engine = Engine::start_in_precisions(
            Arc::clone(&catalogue),
            devices.clone(),
            columns,
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

    /// Returns a factory of other models' networks, of which it shares those that its own members have.
    pub fn networks_for(&self, ensemble: Arc<Ensemble>) -> Arc<dyn PredictorFactory> {
        Arc::new(NetworkFactory::after(&self.factory, ensemble))
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
    (matrix, precisions, settings): (&Matrix, &[MemberPrecision], &StartSettings),
    options: EngineOptions,
) -> Result<Generation, DeploymentError> {
    let models = Arc::clone(catalogue.models());
    let factory = Arc::new(NetworkFactory::after(&before.factory, models));
    let number = before.number + 1;
    let columns = (matrix, precisions);
    let next = Generation::start(number, catalogue, devices, columns, factory, options)?;
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
            StartSettings::Again(before) => Setup {
                precisions: setup.precisions,
                ..before.with_matrix(setup.matrix)
            },
        };
        // Those that do not suit the models are left: theirs hold.
        if let Ok(plan) = self.engine.plan(&wanted) {
            self.engine.adjust(&plan);
        }
    }
}

/// The time after which somebody is told that a generation has not ended yet.
const SOON: Duration = Duration::from_secs(1);

/// A generation that ends what it began. Dropping this hurries it and waits for it: nobody follows any
/// more.
pub(super) struct Retiring {
    thread: Option<JoinHandle<()>>,
    /// Nothing is ever sent: it is disconnected once the generation has ended.
    over: Receiver<()>,
    hurried: Arc<AtomicBool>,
}

impl Generation {
    /// Ends once its requests are answered, or soon once `hurried` is true.
    pub(super) fn end(&self, hurried: &AtomicBool, observers: &Observers) {
        self.engine.retire(hurried);
        observers.ended(self);
    }
}

/// Ends a generation beside the one that follows.
pub(super) fn retire(
    generation: &Arc<Generation>,
    hurried: &Arc<AtomicBool>,
    observers: &Observers,
) -> Retiring {
    let (alive, over) = channel::<()>();
    let (ending, hurry, told) = (generation.clone(), hurried.clone(), observers.clone());
    let work = move || {
        let _alive = alive;
        ending.end(&hurry, &told);
    };
    let thread = thread::Builder::new().name("retire".into()).spawn(work);
    if thread.is_err() {
        // Without a thread the caller waits itself.
        generation.end(hurried, observers);
    }
    Retiring {
        thread: thread.ok(),
        over,
        hurried: Arc::clone(hurried),
    }
}

impl Retiring {
    /// Waits for its end, and calls `late` if that does not come soon.
    pub(super) fn wait(mut self, late: impl FnOnce()) {
        if self.over.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
            late();
        }
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It does not panic, and there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}

impl Drop for Retiring {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.hurried.store(true, Ordering::Release);
        }
        self.join();
    }
}
