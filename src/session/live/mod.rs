//! A session with the engine in this process; where models are loaded and unloaded, with one engine
//! after another.

mod devices;
mod engine_session;
mod forecast;
mod load;
mod log;
mod models;
mod searches;
mod view;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::deployment::{Deployment, Generation};
use crate::search::Cache;
use crate::serving::{Engine, PredictorFactory};
use crate::trace::Span;

use super::{
    CatalogueView, ClientDoor, Command, DoorAddress, DoorView, EditPreview, LogLevel, Refusal,
    Session, SessionRefusal, Setup, Snapshot,
};
use engine_session::EngineSession;
use log::Log;

/// Watches and steers an [`Engine`], or those of a [`Deployment`]. Dropping it ends searches and load;
/// the engine drains.
pub struct LiveSession {
    /// Ends first: who asks is told while there is an engine.
    door: Option<Arc<dyn ClientDoor>>,
    session: EngineSession,
    log: Arc<Log>,
    cache: Option<Cache>,
    /// Where engines follow one another, and the one that is watched.
    deployment: Option<(Arc<Deployment>, Arc<Generation>)>,
}

impl LiveSession {
    /// A session with `engine`; searches measure with workers from `factory` and keep
    /// results in `cache`.
    pub fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        let log = Arc::new(Log::new());
        LiveSession {
            door: None,
            session: EngineSession::new(engine, factory, cache.clone(), Arc::clone(&log)),
            deployment: None,
            log,
            cache,
        }
    }

    /// A session with what a deployment runs, now and later.
    pub fn of_deployment(deployment: Arc<Deployment>, cache: Option<Cache>) -> Self {
        let running = deployment.running();
        let engine = Arc::clone(&running.engine);
        LiveSession {
            deployment: Some((deployment, Arc::clone(&running))),
            ..LiveSession::new(engine, running.networks(), cache)
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
        let mut next = EngineSession::new(engine, networks, cache, Arc::clone(&self.log));
        models::changes(&watched.catalogue, &running.catalogue)
            .into_iter()
            .for_each(|line| next.say(LogLevel::Info, line));
        next.go_on_from(&self.session);
        let before = std::mem::replace(&mut self.session, next);
        *watched = running;
        // Its engine ends what it began: nobody waits for it here.
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

    fn change_models(
        &self,
        work: impl FnOnce(&Deployment) -> Result<(), Refusal> + Send + 'static,
    ) -> Result<(), Refusal> {
        let (deployment, _) = self
            .deployment
            .as_ref()
            .ok_or(SessionRefusal::ModelsFixed)?;
        if !deployment.can_change() {
            return Err(SessionRefusal::ModelsFixed.into());
        }
        let (deployment, log) = (Arc::clone(deployment), Arc::clone(&self.log));
        let engine = Arc::clone(&self.session.engine);
        let in_background = move || {
            if let Err(refusal) = work(&deployment) {
                let now = engine.telemetry().now();
                models::note_refusal(&log, now, &refusal);
            }
        };
        let thread = thread::Builder::new().name("models".into());
        let started = thread.spawn(in_background).map_err(SessionRefusal::Thread);
        drop(started?);
        Ok(())
    }

    fn models(&self) -> Vec<CatalogueView> {
        let catalogue = self.session.engine.catalogue();
        let figures = self.session.engine.telemetry().entries();
        let deployment = self.deployment.as_ref();
        let statuses = deployment.map(|(deployment, _)| deployment.models());
        models::views(catalogue, &figures, statuses.unwrap_or_default())
    }
}

impl Session for LiveSession {
    fn snapshot(&mut self) -> Snapshot {
        self.follow();
        self.tell_notices();
        let generation = self.deployment.as_ref().map_or(0, |(_, g)| g.number);
        let (models, can_load) = (self.models(), self.can_load());
        Snapshot {
            generation,
            models,
            can_load,
            door: self.door.as_ref().map(|door| door.view()),
            ..self.session.snapshot()
        }
    }

    fn now(&mut self) -> Duration {
        self.session.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.session.drain_spans(into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::Listen(listens) => self.listen(listens),
            Command::LoadModel(name) => self.change_models(move |d| Ok(d.load(&name)?)),
            Command::UnloadModel { name, dependents } => {
                self.change_models(move |d| Ok(d.unload(&name, dependents)?))
            }
            other => {
                self.follow();
                self.session.command(other)
            }
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

    fn can_load(&self) -> bool {
        let deployment = self.deployment.as_ref();
        deployment.is_some_and(|(deployment, _)| deployment.can_change())
    }
}
