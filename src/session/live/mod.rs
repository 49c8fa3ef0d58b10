//! A session with the engine in this process, or with the successive engines of a deployment.

mod basis;
mod before;
mod deployed;
mod devices;
mod engine_session;
mod forecast;
mod load;
mod log;
mod model_changes;
mod models;
mod saturation;
mod searches;
mod spans;
mod view;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use divisi_engine::changes::BringBack;
use divisi_engine::deployment::{CatalogueChange, Deployment, Generation};
use divisi_engine::load::EntryChooser;
use divisi_engine::search::Cache;
use divisi_engine::serving::{Engine, LogTarget, PredictorFactory};
use divisi_model::trace::Span;
use divisi_runtime::device::host::recent_load;

use super::{
    CatalogueView, ClientDoor, Command, DisturbanceWatch, DoorAddress, DoorView, EditPreview,
    HostView, LogLevel, Refusal, Session, SessionRefusal, Setup, Snapshot, TaskScaling,
};
use before::EnginesBefore;
use engine_session::EngineSession;
use log::Log;
use model_changes::ModelChanges;
use spans::SpansOfEngines;

/// Observes and controls an [`Engine`], or those of a [`Deployment`]. Dropping it ends searches and
/// load; the engine drains.
pub struct LiveSession {
    /// Dropped first: clients get their answers while there is an engine.
    door: Option<Arc<dyn ClientDoor>>,
    scaling: Option<Arc<dyn TaskScaling>>,
    /// Dropped next: the remaining work of earlier engines ends while this one ends.
    _leaving: LeavesDeployment,
    session: EngineSession,
    log: Arc<Log>,
    cache: Option<Cache>,
    model_changes: ModelChanges,
    /// The spans of successive engines.
    spans: SpansOfEngines,
    /// The deployment of successive engines, and the generation that is observed.
    deployment: Option<(Arc<Deployment>, Arc<Generation>)>,
    /// The counters of the earlier engines.
    before: Arc<EnginesBefore>,
    /// The disturbances of the host, if the session watches it.
    disturbance: Option<DisturbanceWatch>,
}

/// Notifies a deployment when its operator exits.
#[derive(Default)]
struct LeavesDeployment(Option<Arc<Deployment>>);

impl Drop for LeavesDeployment {
    fn drop(&mut self) {
        if let Some(deployment) = &self.0 {
            deployment.leave();
        }
    }
}

impl LiveSession {
    /// Creates a session for `engine`. Searches measure with workers from `factory` and keep
    /// results in `cache`.
    pub fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        let name = Arc::from(engine.ensemble().name.as_str());
        LiveSession::called(name, engine, factory, cache)
    }

    fn called(
        name: Arc<str>,
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        let log = Arc::new(Log::new());
        let (kept, told) = (cache.clone(), Arc::clone(&log));
        LiveSession {
            door: None,
            scaling: None,
            _leaving: LeavesDeployment::default(),
            session: EngineSession::new(name, engine, factory, kept, told, None),
            deployment: None,
            before: Arc::default(),
            model_changes: ModelChanges::default(),
            disturbance: None,
            spans: SpansOfEngines::default(),
            log,
            cache,
        }
    }

    /// Creates a session for the current and future engines of a deployment.
    pub fn of_deployment(deployment: Arc<Deployment>, cache: Option<Cache>) -> Self {
        let running = deployment.running();
        let engine = Arc::clone(&running.engine);
        let name = Arc::from(deployment.name());
        let before = Arc::<EnginesBefore>::default();
        deployment.observe(Arc::<EnginesBefore>::clone(&before));
        LiveSession {
            before,
            _leaving: LeavesDeployment(Some(Arc::clone(&deployment))),
            deployment: Some((deployment, Arc::clone(&running))),
            ..LiveSession::called(name, engine, running.networks(), cache)
        }
    }

    /// Shows and logs the load of the host, including that of other programs.
    #[must_use]
    pub fn with_host(self) -> Self {
        LiveSession {
            disturbance: Some(DisturbanceWatch::default()),
            ..self
        }
    }

    /// Adds the network server to the session's view and commands.
    pub fn with_door(self, door: Arc<dyn ClientDoor>) -> Self {
        self.tell_addresses(&door.view());
        LiveSession {
            door: Some(door),
            ..self
        }
    }

    /// Adds the scaling policy of tasks to the session's view and commands.
    #[must_use]
    pub fn with_scaling(self, scaling: Arc<dyn TaskScaling>) -> Self {
        LiveSession {
            scaling: Some(scaling),
            ..self
        }
    }

    /// Sets the chooser of the model of each request of the built-in load, used if there is no mix.
    #[must_use]
    pub fn with_chooser(self, chooser: Arc<dyn EntryChooser>) -> Self {
        self.session.load.lock().set_chooser(Some(chooser));
        self
    }

    /// Writes an informational line to the log.
    pub fn note(&self, text: &str) {
        self.session.say(LogLevel::Info, text.to_owned());
    }

    /// Writes a warning to the log.
    pub fn warn(&self, text: &str) {
        self.session.say(LogLevel::Warn, text.to_owned());
    }

    /// Returns the observed engine, for other clients in this process.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.session.engine
    }

    /// Returns whether exiting now requires waiting: requests or a search are in progress.
    pub fn is_busy(&self) -> bool {
        self.session.is_busy()
    }

    /// Switches to the running engine if models were loaded or unloaded.
    fn follow(&mut self) {
        let Some((deployment, watched)) = &mut self.deployment else {
            return;
        };
        let running = deployment.running();
        if running.number == watched.number {
            return;
        }
        let engine = Arc::clone(&running.engine);
        let (networks, cache) = (running.networks(), self.cache.clone());
        let terms = self.model_changes.take_terms(&running.why);
        let past = self.session.changes.past(running.why.clone(), terms);
        let of = (running.number, &engine);
        let back = bring_back(&self.model_changes, deployment, &self.log, of);
        let (name, log) = (Arc::clone(&self.session.name), Arc::clone(&self.log));
        let past = Some((past, back));
        let mut next = EngineSession::new(name, engine, networks, cache, log, past);
        models::changes(&watched.catalogue, &running.catalogue)
            .into_iter()
            .for_each(|line| next.say(LogLevel::Info, line));
        self.spans.leave(&mut self.session, (&**watched, &*running));
        next.go_on_from(&self.session);
        let mut before = std::mem::replace(&mut self.session, next);
        before.is_followed = true;
        *watched = running;
        // Searches and load end in the background.
        let ended = thread::Builder::new().name("ended".into());
        drop(ended.spawn(move || drop(before)));
    }

    fn tell_notices(&self) {
        let deployment = self.deployment.as_ref();
        let notices = deployment.map(|(deployment, _)| deployment.take_notices());
        let notices = notices.unwrap_or_default();
        notices
            .into_iter()
            .for_each(|line| self.session.say(LogLevel::Warn, line));
    }

    fn outcome_log(&self) -> model_changes::TellOutcome {
        outcome_logger(&self.log, &self.session.engine)
    }

    fn models(&self) -> Vec<CatalogueView> {
        let catalogue = self.session.engine.catalogue();
        let figures = self.session.engine.telemetry().entries();
        let deployment = self.deployment.as_ref();
        let statuses = deployment.map(|(deployment, _)| deployment.models());
        let ledger = self.session.engine.telemetry().ledger();
        let statuses = statuses.unwrap_or_default();
        let mut views = models::views(catalogue, (&figures, ledger), statuses);
        if let Some(door) = &self.door {
            models::add_callers(&mut views, door.callers_of_models());
            models::add_variants(&mut views, door.variants_of_models());
        }
        views
    }
}

impl Session for LiveSession {
    fn snapshot(&mut self) -> Snapshot {
        // Read first, so that a change shown as done is included in the rest of the snapshot.
        let model_change = self.model_changes.view();
        self.follow();
        self.spans.tell();
        self.tell_notices();
        let generation = self.deployment.as_ref().map_or(0, |(_, g)| g.number);
        let (models, can_load) = (self.models(), self.can_load());
        let scaling = self.scaling.as_ref().map(|scaling| scaling.view());
        self.session.counted_before = self.before.counters(generation);
        let host = self.host();
        let mut shown = self.session.snapshot();
        self.spans.renumber(&mut shown.under_way);
        Snapshot {
            host,
            generation,
            models,
            can_load,
            door: self.door.as_ref().map(|door| door.view()),
            scaling,
            model_change,
            can_undo: shown.can_undo || self.undoes_models(),
            can_redo: shown.can_redo || self.redoes_models(),
            ..shown
        }
    }

    fn now(&mut self) -> Duration {
        self.session.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.spans.drain(&mut self.session, into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        self.follow();
        match command {
            Command::Listen(listens) => self.listen(listens),
            Command::SetScalingPolicy(name) => self.scaling()?.set_policy(&name),
            Command::ComparePolicies => self.scaling()?.compare(),
            Command::LoadModel(name) => self.change_models(CatalogueChange::Load(name)),
            Command::UnloadModel { name, dependents } => {
                self.change_models(CatalogueChange::Unload { name, dependents })
            }
            Command::PlanModels(change) => {
                let deployment = self.models_to_change(&change)?;
                self.model_changes
                    .plan(deployment, change, self.outcome_log())
            }
            Command::ApplyModels {
                number,
                handover,
                terms,
            } => self.apply_models(number, handover, terms),
            Command::DropModelsPlan(number) => self.model_changes.drop_plan(number),
            Command::EndProbation(false) if self.session.changes.watches_models() => {
                self.change_models(CatalogueChange::RollBack("by an operator".into()))
            }
            Command::Undo if self.undoes_models() => self.change_models(CatalogueChange::Undo),
            Command::Redo if self.redoes_models() => self.change_models(CatalogueChange::Redo),
            other => self.session.command(other),
        }
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.follow();
        self.session.preview(setup)
    }
}

impl LiveSession {
    /// Returns the load of the host, or `None` if the session does not watch it. Writes to the log
    /// when a disturbance begins or ends.
    fn host(&mut self) -> Option<HostView> {
        let disturbance = self.disturbance.as_mut()?;
        let load = recent_load()?;
        let now = self.session.engine.telemetry().now();
        if let Some((level, text)) = disturbance.note(now, &load) {
            self.session.say(level, text);
        }
        Some(disturbance.view(load))
    }

    /// Opens or closes the network server, and writes that to the log.
    fn listen(&self, listens: bool) -> Result<(), Refusal> {
        let door = self.door.as_ref().ok_or(SessionRefusal::NoDoor)?;
        if !listens {
            door.close()?;
            self.note("no longer accepting connections");
            return Ok(());
        }
        door.open()?;
        self.tell_addresses(&door.view());
        Ok(())
    }

    fn tell_addresses(&self, door: &DoorView) {
        for at in &door.addresses {
            let DoorAddress {
                protocol, address, ..
            } = at;
            let text = format!("listening: {} {address}", protocol.name());
            match at.lacks() {
                Some(lack) => self.warn(&format!("{text}, reachable from other machines: {lack}")),
                None => self.note(&text),
            }
        }
    }

    fn scaling(&self) -> Result<&Arc<dyn TaskScaling>, Refusal> {
        Ok(self.scaling.as_ref().ok_or(SessionRefusal::NoTasks)?)
    }

    fn can_load(&self) -> bool {
        let deployment = self.deployment.as_ref();
        deployment.is_some_and(|(deployment, _)| deployment.can_change())
    }
}

/// Returns a function that writes the outcome of a change of the models to the log.
fn outcome_logger(log: &Arc<Log>, engine: &Arc<Engine>) -> model_changes::TellOutcome {
    let (log, engine) = (Arc::clone(log), Arc::clone(engine));
    Box::new(move |change, state| {
        if let Some((level, text)) = models::outcome(change, state) {
            let now = engine.telemetry().now();
            log.add(now, LogTarget::Session, level, text).trace();
        }
    })
}

/// Returns a function that rolls back to the previous models if those of a generation do worse and
/// still run.
fn bring_back(
    changes: &ModelChanges,
    deployment: &Arc<Deployment>,
    log: &Arc<Log>,
    (number, engine): (u64, &Arc<Engine>),
) -> BringBack {
    let (changes, deployment) = (changes.clone(), Arc::downgrade(deployment));
    let (log, engine) = (Arc::clone(log), Arc::downgrade(engine));
    Box::new(move |why| {
        let (Some(deployment), Some(engine)) = (deployment.upgrade(), engine.upgrade()) else {
            return;
        };
        let change = (CatalogueChange::RollBack(why), Some(number));
        if let Err(refusal) = changes.make(&deployment, change, outcome_logger(&log, &engine)) {
            let text = format!("rollback to the previous models failed: {refusal}");
            let now = engine.telemetry().now();
            log.add(now, LogTarget::Session, LogLevel::Error, text)
                .trace();
        }
    })
}
