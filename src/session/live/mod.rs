//! A session with the engine in this process.

mod devices;
mod log;
mod reloads;
mod searches;
mod view;

use std::sync::Arc;
use std::time::Duration;

use crate::ensemble::{Ensemble, Samples};
use crate::load::{Generator, LoadPattern};
use crate::search::Cache;
use crate::serving::{Engine, PredictorFactory};
use crate::trace::Span;

use super::{
    Command, EditPreview, LogLevel, Prediction, Proposal, Refusal, Session, Setup, Snapshot,
};
use log::Log;
use reloads::Reloads;
use searches::Searches;

/// Watches and steers an [`Engine`]. Dropping it ends searches and load; the engine
/// drains.
pub struct LiveSession {
    engine: Arc<Engine>,
    ensemble: Arc<Ensemble>,
    log: Arc<Log>,
    reloads: Reloads,
    searches: Searches,
    load: Option<Generator>,
    pattern: Option<LoadPattern>,
    seed: u64,
    members: Vec<view::MemberFacts>,
    /// How many times as long each device was told to take.
    slowdown: Vec<f64>,
    proposal: Option<Proposal>,
    proposed_at: Option<Duration>,
}

impl LiveSession {
    /// A session with `engine`; searches measure with workers from `factory` and keep
    /// results in `cache`.
    pub fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
    ) -> Self {
        let ensemble = Arc::clone(engine.ensemble());
        let log = Arc::new(Log::new());
        log.add(
            engine.observe().now,
            LogLevel::Info,
            format!(
                "serving `{}` with {} workers",
                ensemble.name,
                engine.matrix().workers().count()
            ),
        );
        LiveSession {
            reloads: Reloads::new(Arc::clone(&engine), Arc::clone(&log)),
            searches: Searches::new(Arc::clone(&engine), factory, cache, Arc::clone(&log)),
            members: view::member_facts(&ensemble),
            slowdown: vec![1.0; engine.devices().count()],
            proposal: None,
            proposed_at: None,
            load: None,
            pattern: None,
            seed: 1,
            engine,
            ensemble,
            log,
        }
    }

    /// Whether leaving now means waiting: requests or a search are under way.
    pub fn is_busy(&self) -> bool {
        self.engine.observe().in_flight > 0 || self.searches.is_measuring()
    }

    fn samples(&self) -> Result<Arc<Samples>, Refusal> {
        self.ensemble.calibration.clone().ok_or_else(|| {
            Refusal("the ensemble has no calibration samples to send or measure with".into())
        })
    }

    fn start_load(&mut self, pattern: LoadPattern) -> Result<(), Refusal> {
        let samples = self.samples()?;
        if let LoadPattern::Closed { samples, .. } = pattern {
            let most = self.engine.capacity();
            if samples > most {
                return Err(Refusal(format!(
                    "a request of {samples} samples is larger than the pool of {most}"
                )));
            }
        }
        self.load = None; // The old generator ends before the new one begins.
        self.pattern = Some(pattern);
        self.seed += 1;
        let started = Generator::start(Arc::clone(&self.engine), samples, pattern, self.seed, None);
        self.load = Some(started.map_err(|e| Refusal(e.to_string()))?);
        self.note(format!("load: {pattern}"));
        Ok(())
    }

    fn stop_load(&mut self) {
        self.load = None;
        if self.pattern.take().is_some() {
            self.note("load stopped".into());
        }
    }

    fn note(&self, text: String) {
        self.log
            .add(self.engine.observe().now, LogLevel::Info, text);
    }

    /// The built-in load rests while a search measures: it would be measured too.
    fn rest_load_while_measuring(&mut self) {
        match (
            self.searches.is_measuring(),
            self.load.is_some(),
            self.pattern,
        ) {
            (true, true, _) => {
                self.load = None;
                self.note("load rests while the search measures".into());
            }
            (false, false, Some(pattern)) => {
                if let Err(refusal) = self.start_load(pattern) {
                    self.note(format!("load did not start again: {refusal}"));
                }
            }
            _ => {}
        }
    }
}

impl Session for LiveSession {
    fn snapshot(&mut self) -> Snapshot {
        self.rest_load_while_measuring();
        self.refresh_proposal();
        for notice in self.engine.take_notices() {
            self.log.add_notice(self.engine.observe().now, notice);
        }
        self.view()
    }

    fn now(&mut self) -> Duration {
        self.engine.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.engine.drain_spans(into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::Apply(setup, _) => self.reloads.apply(setup.matrix),
            Command::Undo => self.reloads.undo(),
            Command::Redo => self.reloads.redo(),
            Command::SetPolicy(policy) => {
                let followed = self.engine.set_policy(policy);
                followed.map_err(|e| Refusal(e.to_string()))?;
                self.note(format!("policy: {policy}"));
                Ok(())
            }
            Command::SetMaxInf(device, most) => {
                self.device(device)?;
                self.engine.set_max_inf(device, most);
                Ok(())
            }
            Command::LoseDevice(device) => {
                self.device(device)?;
                self.reloads.lose(device)
            }
            Command::RegainDevice(device) => self.regain(device),
            Command::SlowDevice(device, factor) => self.slow(device, factor),
            Command::StartLoad(pattern) => self.start_load(pattern),
            Command::StopLoad => {
                self.stop_load();
                Ok(())
            }
            Command::StartSearch(method) => {
                let samples = match method.runs_on(self.engine.devices()) {
                    true => Some(self.samples()?),
                    false => self.ensemble.calibration.clone(),
                };
                self.searches.start(method, samples)?;
                self.rest_load_while_measuring();
                Ok(())
            }
            Command::PauseSearch => self.searches.pause(true),
            Command::ResumeSearch => self.searches.pause(false),
            Command::CancelSearch => self.searches.cancel(),
            Command::ClearLatency => {
                self.engine.clear_latency();
                Ok(())
            }
            other => Err(Refusal(format!("cannot do that yet: {other:?}"))),
        }
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        let matrix = &setup.matrix;
        let refuse = |e: &dyn std::fmt::Display| Refusal(e.to_string());
        let plan = self.engine.plan_reload(matrix).map_err(|e| refuse(&e))?;
        let old = self.engine.matrix();
        let before = self.engine.ledger(&old).map_err(|e| refuse(&e))?;
        let after = self.engine.ledger(matrix).map_err(|e| refuse(&e))?;
        let names = &old.frame().members;
        Ok(EditPreview {
            memory: (0..self.engine.devices().count())
                .map(|d| (before.booked(d), after.booked(d)))
                .collect(),
            paused_members: plan
                .paused_members(&old)
                .into_iter()
                .map(|m| names[m].clone())
                .collect(),
            settings: Vec::new(),
            prediction: Prediction::default(),
            difference: plan.difference,
        })
    }
}

impl Drop for LiveSession {
    fn drop(&mut self) {
        self.load = None;
        self.searches.end();
        self.reloads.end();
        self.engine.shutdown();
    }
}

/// How long a finished reload or search stays on the screen is the console's choice;
/// the log keeps this many lines.
const LOG_LINES: usize = 500;

/// Width of the bars that latencies are shown in: so many for each doubling.
const BARS_PER_OCTAVE: u32 = 4;
