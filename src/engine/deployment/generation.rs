//! An engine for one catalogue, one of a sequence of engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::serving::{Engine, EngineError, EngineOptions, NetworkFactory, PredictorFactory, Setup};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::{Ensemble, MemberPrecision};
use divisi_runtime::device::Devices;

use super::DeploymentError;
use super::observer::Observers;

/// An engine with its catalogue.
pub struct Generation {
    /// The number of the generation, from 0.
    pub number: u64,
    /// The served models.
    pub catalogue: Arc<Catalogue>,
    /// The engine.
    pub engine: Arc<Engine>,
    networks: Networks,
}

/// The factory of a generation's networks.
enum Networks {
    /// Networks that the next generation shares.
    Shared(Arc<NetworkFactory>),
    /// Networks of a single engine, whose models never change.
    Own(Arc<dyn PredictorFactory>),
}

/// The number of a generation, and of its matrix. It tells holders that another one serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServingNumber {
    generation: u64,
    matrix: u64,
}

impl ServingNumber {
    /// Returns the number of the generation.
    pub fn generation(self) -> u64 {
        self.generation
    }
}

impl Generation {
    /// Creates the only generation of an engine whose workers come from `factory`.
    pub(super) fn of_engine(engine: Arc<Engine>, factory: Arc<dyn PredictorFactory>) -> Self {
        Generation {
            number: 0,
            catalogue: Arc::clone(engine.catalogue()),
            engine,
            networks: Networks::Own(factory),
        }
    }

    /// Returns the number of the generation and its matrix.
    pub fn serving(&self) -> ServingNumber {
        ServingNumber {
            generation: self.number,
            matrix: self.engine.matrices(),
        }
    }

    /// Returns whether the models of a setup are those of this generation.
    pub(super) fn serves(&self, setup: &Setup) -> bool {
        setup.models == *self.catalogue.copies()
    }

    /// Starts an engine as the first generation.
    pub(super) fn start(
        catalogue: Arc<Catalogue>,
        devices: &Devices,
        matrix: &Matrix,
        precisions: &[MemberPrecision],
        factory: Arc<NetworkFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let engine = Engine::start_in_precisions(
            Arc::clone(&catalogue),
            devices.clone(),
            matrix,
            precisions,
            Arc::<NetworkFactory>::clone(&factory),
            options,
        )?;
        Ok(Generation {
            number: 0,
            catalogue,
            engine: Arc::new(engine),
            networks: Networks::Shared(factory),
        })
    }

    /// Returns a factory for the networks of other models. It shares the networks of members that
    /// this generation also has.
    pub fn networks_for(&self, ensemble: Arc<Ensemble>) -> Arc<NetworkFactory> {
        Arc::new(match &self.networks {
            Networks::Shared(own) => NetworkFactory::sharing_with(own, ensemble),
            Networks::Own(_) => NetworkFactory::new(ensemble),
        })
    }

    /// Returns the factory of this generation's networks.
    pub fn networks(&self) -> Arc<dyn PredictorFactory> {
        match &self.networks {
            Networks::Shared(own) => Arc::<NetworkFactory>::clone(own),
            Networks::Own(own) => Arc::clone(own),
        }
    }
}

/// Starts an engine for `catalogue` after another engine, with a setup for its models.
pub(super) fn start_after(
    before: &Generation,
    catalogue: Arc<Catalogue>,
    devices: &Devices,
    setup: &Setup,
    options: EngineOptions,
) -> Result<Generation, DeploymentError> {
    let factory = before.networks_for(Arc::clone(catalogue.models()));
    let (matrix, precisions) = (&setup.matrix, &setup.precisions);
    let mut next = Generation::start(catalogue, devices, matrix, precisions, factory, options)?;
    next.number = before.number + 1;
    next.take_over(setup);
    next.engine.goes_on_after(&before.engine);
    Ok(next)
}

impl Generation {
    /// Goes on with the ledger of requests of the engine before, after its own warm-up.
    pub(super) fn go_on_with(&self, before: &Generation) {
        self.engine.go_on_with(before.engine.telemetry().ledger());
    }

    /// Applies the settings of a setup if they suit the models. Otherwise the models' own settings
    /// hold.
    fn take_over(&self, setup: &Setup) {
        let own = self.engine.setup();
        let wanted = Setup {
            precisions: own.precisions,
            matrix: own.matrix,
            combination: match self.catalogue.entries().len() {
                1 => setup.combination.clone(),
                _ => own.combination,
            },
            ..setup.clone()
        };
        if let Ok(plan) = self.engine.plan(&wanted) {
            self.engine.adjust(&plan);
        }
    }
}

/// The wait for the end of a generation before a remark is due.
const SOON: Duration = Duration::from_secs(1);

/// The time between two checks whether the wait is over.
const CHECKED: Duration = Duration::from_millis(50);

/// A generation that answers its last requests. Dropping it hurries it and waits for its end,
/// because no engine follows any more.
pub(super) struct Retiring {
    thread: Option<JoinHandle<()>>,
    /// Disconnected when the generation has ended. Nothing is ever sent.
    over: Receiver<()>,
    hurried: Arc<AtomicBool>,
}

impl Generation {
    /// Ends when its requests are answered, or soon after `hurried` becomes true.
    pub(super) fn end(&self, hurried: &AtomicBool, observers: &Observers) {
        self.engine.retire(hurried);
        observers.ended(self);
    }
}

/// Ends a generation in the background, next to the one that follows.
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
        // Without a thread the caller waits.
        generation.end(hurried, observers);
    }
    Retiring {
        thread: thread.ok(),
        over,
        hurried: Arc::clone(hurried),
    }
}

impl Retiring {
    /// Waits for the end, and calls `late` if it takes more than [`SOON`]. Returns `None` after the
    /// end, or the generation if `is_over` became true before it.
    pub(super) fn wait(mut self, late: impl FnOnce(), is_over: impl Fn() -> bool) -> Option<Self> {
        let (began, mut late) = (Instant::now(), Some(late));
        while self.over.recv_timeout(CHECKED) == Err(RecvTimeoutError::Timeout) {
            if is_over() {
                return Some(self);
            }
            if let Some(late) = late.take_if(|_| began.elapsed() >= SOON) {
                late();
            }
        }
        self.join();
        None
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The thread does not panic, and nothing could be done about it.
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
