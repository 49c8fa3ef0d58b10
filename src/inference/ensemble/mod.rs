//! The entries of an engine in this process, or of the successive engines of a deployment, as
//! models.

mod answers;
mod asking;
mod between;
mod gauges;
mod inputs;
mod instances;
mod model;
mod steps;
mod totals;

use std::sync::Arc;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{self, ModelOverride, ModelStatus};
use divisi_engine::serving::{DoorState, Engine, RequestLedger};
use divisi_model::catalogue::InstanceGroup;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::lock::SharedLeaf;

use crate::error::ServiceError;
use crate::protocol::ModelId;
use crate::service::{
    Gauge, InferenceFuture, InferenceRequest, ListedModel, ModelDescription, ModelService,
    ModelState,
};

use between::WaitingBetween;
use model::ServedModel;
use totals::TotalsOfEngines;

pub use asking::FoundEntry;
pub use model::signature;

/// The models of an engine. The output of an ensemble is its combined answer, that of a pipeline
/// its output tensors, and that of a network its own tensors.
#[derive(Clone)]
pub struct EnsembleService(Arc<FollowedModels>);

/// The models of the running engine and its successors.
struct FollowedModels {
    /// The changes of a deployment, if engines can be replaced.
    changes: Option<Arc<Changes>>,
    served: SharedLeaf<Arc<ServedModels>>,
    /// Requests waiting for the next engine.
    between: Arc<WaitingBetween>,
    /// The counters of all engines.
    totals: Arc<TotalsOfEngines>,
}

/// The models of one engine.
struct ServedModels {
    generation: u64,
    engine: Arc<Engine>,
    models: Vec<ServedModel>,
}

impl ServedModels {
    /// Creates the models of an engine; with `network`, they are networks with their own output
    /// tensors.
    fn new(generation: u64, engine: Arc<Engine>, network: bool) -> Self {
        let catalogue = Arc::clone(engine.catalogue());
        let entries = catalogue.entries().iter().enumerate();
        let models = entries.map(|(number, entry)| {
            let network = network || entry.interface().network;
            ServedModel::new(&engine, number, entry, network)
        });
        ServedModels {
            models: models.collect(),
            generation,
            engine,
        }
    }

    /// Returns the requested model, in its newest version if none is named.
    fn find(&self, asked: &ModelId) -> Result<&ServedModel, ServiceError> {
        let named = self.models.iter();
        let mut named = named.filter(|model| model.description.name == asked.name);
        let found = match &asked.version {
            Some(version) => named.find(|model| model.description.version == *version),
            None => named.max_by_key(|m| m.description.version.parse::<u64>().unwrap_or(0)),
        };
        found.ok_or_else(|| {
            let mut others = self.models.iter().map(|model| &model.description);
            let other = others.find(|model| model.name == asked.name);
            asked.unknown_version(other.map_or(&[], |model| &model.versions))
        })
    }

    /// Returns whether all models answer. Without models, the engine waits for the first one.
    fn is_ready(&self) -> bool {
        let mut models = self.models.iter();
        let is_open = self.engine.telemetry().door() == DoorState::Open;
        is_open && models.all(|model| self.state_of(model) == ModelState::Ready)
    }

    /// Returns whether this version of a model is served, or any version if it has none.
    fn has(&self, status: &ModelStatus) -> bool {
        let version = status.version.map(|version| version.to_string());
        let mut named = self.models.iter().map(|model| &model.description);
        named.any(|of| {
            of.name == status.name
                && version
                    .as_ref()
                    .is_none_or(|version| of.version == *version)
        })
    }

    fn state_of(&self, model: &ServedModel) -> ModelState {
        match self.engine.telemetry().door_of(model.pipeline) {
            DoorState::Open => ModelState::Ready,
            DoorState::Starting => ModelState::Unavailable("workers are starting".into()),
            DoorState::Closed(reason) => ModelState::Unavailable(reason),
        }
    }
}

impl EnsembleService {
    /// Serves the models of an engine. With `network`, it is a single network file with its own
    /// output tensors.
    pub fn new(engine: Arc<Engine>, network: bool) -> Self {
        EnsembleService(Arc::new(FollowedModels {
            changes: None,
            between: Arc::default(),
            totals: Arc::default(),
            served: SharedLeaf::new(Arc::new(ServedModels::new(0, engine, network))),
        }))
    }

    /// Serves the current and future models of a deployment, and changes them for clients.
    pub fn of_changes(changes: Arc<Changes>) -> Self {
        let totals = Arc::<TotalsOfEngines>::default();
        let observer = Arc::<TotalsOfEngines>::clone(&totals);
        changes.deployment().observe(observer);
        let running = changes.running();
        let served = ServedModels::new(running.number, Arc::clone(&running.engine), false);
        EnsembleService(Arc::new(FollowedModels {
            changes: Some(changes),
            between: Arc::default(),
            totals,
            served: SharedLeaf::new(Arc::new(served)),
        }))
    }

    /// Sends a request to a served model.
    ///
    /// # Errors
    /// Returns an error at once if the model is not served or refuses the request.
    pub fn ask(&self, asked: &InferenceRequest) -> Result<InferenceFuture, ServiceError> {
        asking::check_goals(asked)?;
        self.0.ask(asked, None)
    }

    /// Sends a request to an entry that was found before. If another generation serves, the entry
    /// is found again by the request's model.
    ///
    /// # Errors
    /// See [`EnsembleService::ask`].
    pub fn ask_entry(
        &self,
        asked: &InferenceRequest,
        entry: FoundEntry,
    ) -> Result<InferenceFuture, ServiceError> {
        asking::check_goals(asked)?;
        self.0.ask(asked, Some(entry))
    }
}

impl FollowedModels {
    /// Returns the currently served models.
    fn served(&self) -> Arc<ServedModels> {
        let known = Arc::clone(&self.served.read());
        let Some(changes) = &self.changes else {
            return known;
        };
        let running = changes.running();
        if running.number == known.generation {
            return known;
        }
        let engine = Arc::clone(&running.engine);
        let new = Arc::new(ServedModels::new(running.number, engine, false));
        let mut served = self.served.write();
        // Another thread may have set a newer generation.
        if served.generation < new.generation {
            *served = Arc::clone(&new);
        }
        Arc::clone(&served)
    }

    fn statuses(&self) -> Vec<ModelStatus> {
        let changes = self.changes.as_ref();
        let statuses = changes.map(|changes| changes.deployment().models());
        statuses.unwrap_or_default()
    }

    /// Returns the models and versions that are not served, with the reasons. The statuses may not
    /// include a model that was just loaded.
    fn unloaded<'s>(
        served: &ServedModels,
        statuses: &'s [ModelStatus],
    ) -> Vec<(&'s ModelStatus, &'s str)> {
        let others = statuses.iter().filter(|status| !served.has(status));
        let unloaded = others.filter_map(|status| match &status.state {
            deployment::LoadState::Loaded => None,
            deployment::LoadState::Unloaded(reason) => Some((status, reason.as_str())),
        });
        unloaded.collect()
    }

    fn changes(&self) -> Result<&Changes, ServiceError> {
        self.changes.as_deref().ok_or_else(|| {
            ServiceError::unsupported(
                "loading and unloading models is not supported; the models are fixed at \
                 startup",
            )
        })
    }
}

/// Returns whether a status is that of the requested model. The status need not have a version.
fn is_asked(status: &ModelStatus, asked: &ModelId) -> bool {
    let known = status.version.map(|version| version.to_string());
    let is_version = match (&asked.version, &known) {
        (Some(asked), Some(known)) => asked == known,
        _ => true,
    };
    status.name == asked.name && is_version
}

impl ModelService for EnsembleService {
    fn index(&self) -> Vec<ListedModel> {
        let served = self.0.served();
        let changes = self.0.changes.as_ref();
        let statuses = changes.map(|changes| changes.deployment().models_there());
        let statuses = statuses.unwrap_or_default();
        let failure_of = |name: &str| {
            let status = statuses.iter().find(|status| status.name == name)?;
            status.failure.clone()
        };
        let loaded = served.models.iter().map(|model| {
            let description = &model.description;
            let id = ModelId::new(&*description.name, &*description.version);
            ListedModel {
                model: id,
                state: served.state_of(model),
                failure: failure_of(&description.name),
            }
        });
        let unloaded = FollowedModels::unloaded(&served, &statuses).into_iter();
        let others = unloaded.map(|(status, reason)| {
            let version = status.version.map(|v| v.to_string()).unwrap_or_default();
            ListedModel {
                model: ModelId::new(&*status.name, version),
                state: ModelState::Unavailable(reason.to_owned()),
                failure: None,
            }
        });
        loaded.chain(others).collect()
    }

    fn is_ready(&self) -> bool {
        let served = self.0.served();
        // As in Triton, models that were unloaded or never requested do not affect readiness.
        let statuses = self.0.statuses();
        let mut unloaded = FollowedModels::unloaded(&served, &statuses).into_iter();
        served.is_ready() && unloaded.all(|(status, _)| status.failure.is_none())
    }

    fn describe(&self, asked: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        let served = self.0.served();
        Ok(Arc::clone(&served.find(asked)?.description))
    }

    fn state(&self, asked: &ModelId) -> Result<ModelState, ServiceError> {
        let served = self.0.served();
        let found = served.find(asked).map(|model| served.state_of(model));
        found.or_else(|unknown| {
            let statuses = self.0.statuses().into_iter();
            let mut named = statuses.filter(|status| is_asked(status, asked));
            match named.next().map(|status| status.state) {
                Some(deployment::LoadState::Unloaded(reason)) => {
                    Ok(ModelState::Unavailable(reason))
                }
                _ => Err(unknown),
            }
        })
    }

    fn infer(&self, asked: InferenceRequest) -> InferenceFuture {
        match self.ask(&asked) {
            Ok(answer) => answer,
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn waiting(&self, model: &ModelDescription) -> Option<usize> {
        let served = self.0.served();
        let (name, version) = (&*model.name, &*model.version);
        let found = served.find(&ModelId::new(name, version)).ok()?;
        let newest = served.find(&ModelId::new(name, "")).ok()?;
        let between = &self.0.between;
        // Requests without a version want the newest.
        let unnamed = match std::ptr::eq(found, newest) {
            true => between.count(name, None),
            false => 0,
        };
        let queued = served.engine.telemetry().waiting_of(found.pipeline);
        Some(queued + unnamed + between.count(name, Some(version)))
    }

    fn instances(&self, model: &ModelDescription) -> Vec<InstanceGroup> {
        let served = self.0.served();
        let found = served.find(&ModelId::new(&*model.name, &*model.version));
        found.map_or_else(
            |_| Vec::new(),
            |model| instances::instance_groups(&served.engine, model.pipeline),
        )
    }

    fn ledger(&self) -> Option<Arc<RequestLedger>> {
        let served = self.0.served();
        Some(Arc::clone(served.engine.telemetry().ledger()))
    }

    fn load(&self, name: &str, by: &ModelOverride) -> Result<(), ServiceError> {
        let loaded = self.0.changes()?.load_as(name, by);
        loaded.map_err(|error| ServiceError::coded(&error))
    }

    fn unload(&self, name: &str, dependents: bool) -> Result<(), ServiceError> {
        match self.0.changes()?.unload(name, dependents) {
            Ok(()) => Ok(()),
            // As in Triton, unloading a missing model succeeds.
            Err(error) if error.code() == Code::ModelUnknown => Ok(()),
            Err(error) => Err(ServiceError::coded(&error)),
        }
    }

    fn epoch(&self) -> u64 {
        let served = self.0.served();
        (served.generation << 32) + served.engine.settings().answer_changes()
    }

    fn gauges(&self) -> Vec<Gauge> {
        match &self.0.changes {
            Some(changes) => self.0.totals.figures(|| changes.running()),
            None => gauges::engine_gauges(&self.0.served().engine),
        }
    }
}
