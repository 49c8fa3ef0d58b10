//! A session with the engine in this process, or with the successive engines of a deployment.

mod basis;
mod before;
mod devices;
mod ended;
mod engine_session;
mod figures;
mod forecast;
mod load;
mod log;
mod models;
mod requests;
mod saturation;
mod searches;
mod spans;
mod view;
mod what_if;

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::changes::{ChangeJournal, Changes};
use divisi_engine::deployment::{CatalogueChange, Deployment, Generation};
use divisi_engine::load::EntryChooser;
use divisi_engine::search::Cache;
use divisi_engine::serving::{Engine, PredictorFactory};
use divisi_model::metrics::RequestsView;
use divisi_model::trace::Span;
use divisi_model::wall_clock::unix_millis;
use divisi_runtime::device::host::recent_load;

use super::{
    CatalogueView, ClientDoor, Command, DisturbanceWatch, DoorAddress, DoorView, EditPreview,
    FigureHistory, FigureRecorder, HostView, LogLevel, Refusal, Session, SessionRefusal, Setup,
    Snapshot, TaskScaling, WallStart, WhatIf, WhatIfReply,
};
use before::EnginesBefore;
use ended::{EndedSessions, LeavesDeployment};
use engine_session::EngineSession;
use log::Log;
use requests::RequestsBefore;
use spans::SpansOfEngines;

/// Observes and controls an [`Engine`], or those of a [`Deployment`]. Dropping it ends searches and
/// load; the engine drains.
pub struct LiveSession {
    /// Dropped first: clients get their answers while there is an engine.
    door: Option<Arc<dyn ClientDoor>>,
    scaling: Option<Arc<dyn TaskScaling>>,
    /// Dropped next: the remaining work of earlier engines ends while this one ends.
    _leaving: LeavesDeployment,
    ended: EndedSessions,
    session: EngineSession,
    log: Arc<Log>,
    cache: Option<Cache>,
    /// The spans of successive engines.
    spans: SpansOfEngines,
    changes: Arc<Changes>,
    /// The generation that is observed.
    watched: Arc<Generation>,
    /// The counters of the earlier engines.
    before: Arc<EnginesBefore>,
    /// The disturbances of the host, if the session watches it.
    disturbance: Option<DisturbanceWatch>,
    /// The figures of the whole session.
    figures: FigureRecorder,
    started: WallStart,
    requests_before: RequestsBefore,
}

impl LiveSession {
    /// Creates a session for `engine`. Searches measure with workers from `factory` and keep
    /// results in `cache`.
    pub fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        let changes = Changes::new(Deployment::of_engine(engine, factory));
        LiveSession::of_changes(changes, cache)
    }

    /// Creates a session for the current and future engines of a deployment, and their changes.
    pub fn of_changes(changes: Arc<Changes>, cache: Option<Cache>) -> Self {
        let (deployment, watched) = (Arc::clone(changes.deployment()), changes.running());
        let before = Arc::<EnginesBefore>::default();
        deployment.observe(Arc::<EnginesBefore>::clone(&before));
        let log = Arc::new(Log::new());
        changes.log_to(journal(&log));
        let session = EngineSession::new(
            Arc::from(deployment.name()),
            Arc::clone(&watched.engine),
            watched.networks(),
            cache.clone(),
            Arc::clone(&log),
            Arc::clone(&changes),
        );
        before.set_load(&session.load);
        LiveSession {
            door: None,
            scaling: None,
            _leaving: LeavesDeployment(deployment),
            ended: EndedSessions::default(),
            before,
            session,
            changes,
            watched,
            disturbance: None,
            figures: FigureRecorder::default(),
            started: WallStart::default(),
            requests_before: RequestsBefore::default(),
            spans: SpansOfEngines::default(),
            log,
            cache,
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
        let running = self.changes.running();
        if running.number == self.watched.number {
            return;
        }
        let mut next = EngineSession::new(
            Arc::clone(&self.session.name),
            Arc::clone(&running.engine),
            running.networks(),
            self.cache.clone(),
            Arc::clone(&self.log),
            Arc::clone(&self.changes),
        );
        models::changes(&self.watched.catalogue, &running.catalogue)
            .into_iter()
            .for_each(|line| next.say(LogLevel::Info, line));
        self.requests_before.leave(self.requests());
        self.spans.leave(&mut self.session, &self.watched, &running);
        next.go_on_from(&self.session);
        self.before.set_load(&next.load);
        let mut before = std::mem::replace(&mut self.session, next);
        before.is_followed = true;
        self.watched = running;
        // Searches and load end in the background.
        self.ended.end(before);
    }

    fn tell_notices(&self) {
        let notices = self.changes.deployment().take_notices().into_iter();
        notices.for_each(|line| self.session.say(LogLevel::Warn, line));
    }

    fn models(&self) -> Vec<CatalogueView> {
        let catalogue = self.session.engine.catalogue();
        let figures = self.session.engine.telemetry().entries();
        let statuses = self.changes.deployment().models();
        let ledger = self.session.engine.telemetry().ledger();
        let mut views = models::views(catalogue, &figures, ledger, statuses);
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
        let told = self.changes.status();
        self.follow();
        self.spans.tell();
        self.tell_notices();
        let generation = self.watched.number;
        let (models, can_load) = (self.models(), self.can_load());
        let scaling = self.scaling.as_ref().map(|scaling| scaling.view());
        self.session.counted_before = self.before.counters(generation);
        let host = self.host();
        let mut shown = self.session.snapshot(told);
        self.spans.renumber(&mut shown.under_way);
        self.timed(Snapshot {
            host,
            generation,
            models,
            can_load,
            door: self.door.as_ref().map(|door| door.view()),
            scaling,
            ..shown
        })
    }

    fn now(&mut self) -> Duration {
        self.session.engine.telemetry().now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.spans.drain(&mut self.session, into)
    }

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        Ok(self.figures.history().clone())
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
            Command::PlanModels(change) => Ok(self.models_to_change()?.plan_models(change)?),
            Command::ApplyModels {
                number,
                handover,
                terms,
            } => Ok(self.changes.apply_models(number, handover, terms)?),
            Command::DropModelsPlan(number) => Ok(self.changes.drop_models(number)?),
            other => self.session.command(other),
        }
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.follow();
        self.session.preview(setup)
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        self.follow();
        self.session.what_if(question)
    }
}

impl LiveSession {
    /// Returns the recent requests of all engines.
    fn requests(&self) -> RequestsView {
        let telemetry = self.session.engine.telemetry();
        let running = telemetry.requests();
        self.requests_before
            .with(telemetry.now(), running, &self.spans)
    }

    /// Records the figures of a snapshot, and adds its time of day and its last second.
    fn timed(&mut self, shown: Snapshot) -> Snapshot {
        let engine = &self.session.engine;
        let counters = || figures::counters(engine, shown.generation, &shown.load);
        let gauges = figures::gauges(&shown);
        self.figures.note(shown.now, &gauges, counters);
        Snapshot {
            requests: self.requests(),
            started: Some(self.started.note(shown.now, unix_millis())),
            second: self.figures.history().last().cloned(),
            ..shown
        }
    }

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
        self.changes.deployment().can_change()
    }

    /// Returns the changes, if models can be loaded and unloaded.
    fn models_to_change(&self) -> Result<&Arc<Changes>, Refusal> {
        match self.can_load() {
            true => Ok(&self.changes),
            false => Err(SessionRefusal::ModelsFixed.into()),
        }
    }

    fn change_models(&self, change: CatalogueChange) -> Result<(), Refusal> {
        Ok(self.models_to_change()?.change_models(change)?)
    }
}

/// Returns a journal that adds lines about changes to the session's log.
fn journal(log: &Arc<Log>) -> ChangeJournal {
    let log = Arc::clone(log);
    Arc::new(move |at, level, text| log.keep(at, level, text))
}
