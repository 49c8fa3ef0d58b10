//! A session with the engine in this process; where models are loaded and unloaded, with one engine
//! after another.

mod basis;
mod before;
mod deployed;
mod devices;
mod elsewhere;
mod engine_session;
mod forecast;
mod load;
mod log;
mod model_changes;
mod models;
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

use super::{
    CatalogueView, ClientDoor, Command, DoorAddress, DoorView, EditPreview, LogLevel, Refusal,
    ScalingView, Session, SessionRefusal, Setup, Snapshot, TaskScaling, Total,
};
use before::EnginesBefore;
use elsewhere::CountedElsewhere;
use engine_session::EngineSession;
use log::Log;
use model_changes::ModelChanges;
use spans::SpansOfEngines;

/// Watches and steers an [`Engine`], or those of a [`Deployment`]. Dropping it ends searches and load;
/// the engine drains.
pub struct LiveSession {
    /// Ends first: who asks is told while there is an engine.
    door: Option<Arc<dyn ClientDoor>>,
    scaling: Option<Arc<dyn TaskScaling>>,
    /// Next: what engines of before still do ends beside what this one does.
    _leaving: LeavesDeployment,
    session: EngineSession,
    log: Arc<Log>,
    cache: Option<Cache>,
    model_changes: ModelChanges,
    /// The spans of one engine after another.
    spans: SpansOfEngines,
    /// Where engines follow one another, and the one that is watched.
    deployment: Option<(Arc<Deployment>, Arc<Generation>)>,
    /// The counters of those that it followed.
    before: Arc<EnginesBefore>,
}

/// Tells a deployment that its operator leaves, when it is dropped.
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
    /// A session with `engine`; searches measure with workers from `factory` and keep
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
            spans: SpansOfEngines::default(),
            log,
            cache,
        }
    }

    /// A session with what a deployment runs, now and later.
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

    /// Shows and steers the door by which clients over the network ask.
    pub fn with_door(self, door: Arc<dyn ClientDoor>) -> Self {
        self.tell_addresses(&door.view());
        LiveSession {
            door: Some(door),
            ..self
        }
    }

    /// Shows and steers the policy by which variants of tasks are loaded.
    #[must_use]
    pub fn with_scaling(self, scaling: Arc<dyn TaskScaling>) -> Self {
        LiveSession {
            scaling: Some(scaling),
            ..self
        }
    }

    /// Lets `chooser` choose the model that each request of the built-in load asks, where no mix does.
    #[must_use]
    pub fn with_chooser(self, chooser: Arc<dyn EntryChooser>) -> Self {
        self.session.load.lock().set_chooser(Some(chooser));
        self
    }

    /// Writes to the log what an operator may like to know.
    pub fn note(&self, text: &str) {
        self.session.say(LogLevel::Info, text.to_owned());
    }

    /// Writes to the log what an operator should know.
    pub fn warn(&self, text: &str) {
        self.session.say(LogLevel::Warn, text.to_owned());
    }

    /// Returns the engine that is watched, for others who ask it.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.session.engine
    }

    /// Whether leaving now means waiting: requests or a search are under way.
    pub fn is_busy(&self) -> bool {
        self.session.is_busy()
    }

    /// Watches the engine that runs now: another one since models were loaded or unloaded.
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
        // Searches and load end: nobody waits for them here.
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

    fn counted_elsewhere(&self, scaling: Option<&ScalingView>) -> CountedElsewhere {
        let running = self.deployment.as_ref().map_or(0, |(_, g)| g.number);
        let (before, refused_here) = self.before.counters(running);
        CountedElsewhere {
            before,
            refused_here,
            refused: Total {
                requests: scaling.map_or(0, |scaling| scaling.refused),
                why: scaling.and_then(|scaling| scaling.refusal.clone()),
            },
        }
    }

    fn told(&self) -> model_changes::TellOutcome {
        told(&self.log, &self.session.engine)
    }

    fn models(&self) -> Vec<CatalogueView> {
        let catalogue = self.session.engine.catalogue();
        let figures = self.session.engine.telemetry().entries();
        let deployment = self.deployment.as_ref();
        let statuses = deployment.map(|(deployment, _)| deployment.models());
        let mut views = models::views(catalogue, &figures, statuses.unwrap_or_default());
        if let Some(door) = &self.door {
            models::add_callers(&mut views, door.callers_of_models());
            models::add_variants(&mut views, door.variants_of_models());
        }
        views
    }
}

impl Session for LiveSession {
    fn snapshot(&mut self) -> Snapshot {
        // Before the rest: a change that is shown as made is then also in it.
        let model_change = self.model_changes.view();
        self.follow();
        self.spans.tell();
        self.tell_notices();
        let generation = self.deployment.as_ref().map_or(0, |(_, g)| g.number);
        let (models, can_load) = (self.models(), self.can_load());
        let scaling = self.scaling.as_ref().map(|scaling| scaling.view());
        self.session.elsewhere = self.counted_elsewhere(scaling.as_ref());
        let shown = self.session.snapshot();
        Snapshot {
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
                self.model_changes.plan(deployment, change, self.told())
            }
            Command::ApplyModels {
                number,
                handover,
                terms,
            } => self.apply_models(number, handover, terms),
            Command::DropModelsPlan(number) => self.model_changes.drop_plan(number),
            Command::EndProbation(false) if self.session.changes.watches_models() => {
                self.change_models(CatalogueChange::RollBack("an operator took it back".into()))
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
    /// Opens the door, or closes it, and writes that to the log.
    fn listen(&self, listens: bool) -> Result<(), Refusal> {
        let door = self.door.as_ref().ok_or(SessionRefusal::NoDoor)?;
        if !listens {
            door.close()?;
            self.note("no client is listened to any more");
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
            let text = format!("clients are listened to: {} {address}", protocol.name());
            match at.lacks() {
                Some(lack) => self.warn(&format!("{text}, which other machines reach: {lack}")),
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

/// Returns what writes to the log what became of a change of the models.
fn told(log: &Arc<Log>, engine: &Arc<Engine>) -> model_changes::TellOutcome {
    let (log, engine) = (Arc::clone(log), Arc::clone(engine));
    Box::new(move |change, state| {
        if let Some((level, text)) = models::outcome(change, state) {
            let now = engine.telemetry().now();
            log.add(now, LogTarget::Session, level, text).trace();
        }
    })
}

/// Returns what brings the models of before back, where those of the generation of a number do worse
/// and run still.
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
        if let Err(refusal) = changes.make(&deployment, change, told(&log, &engine)) {
            let text = format!("the models of before do not come back: {refusal}");
            let now = engine.telemetry().now();
            log.add(now, LogTarget::Session, LogLevel::Error, text)
                .trace();
        }
    })
}
