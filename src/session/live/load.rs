//! The built-in load, and its pauses while a search measures.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{AnswerQuality, LoadView, LogLevel, SessionRefusal};
use divisi_engine::load::{
    EntryChooser, Generator, LoadPattern, LoadSamples, LoadTally, MissingSamples,
};
use divisi_engine::serving::{Engine, LogTarget, PipelineIndex, UntracedLine};
use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::AnswerKind;
use divisi_runtime::lock::{LockRank, Ranked};

use super::log::Log;

/// The load of a session.
pub(super) struct Load {
    engine: Arc<Engine>,
    log: Arc<Log>,
    pattern: Option<LoadPattern>,
    /// The traffic mix; without one, all requests go to the first entry.
    mix: Option<NamedMix>,
    /// Chooses the entry of each request if there is no mix.
    chooser: Option<Arc<dyn EntryChooser>>,
    generator: Option<Generator>,
    /// The tally of all generators since the load was started or the mix changed.
    tally: Arc<LoadTally>,
    /// The mix that the tally counts.
    counted: Option<NamedMix>,
    seed: u64,
    /// Whether no engine serves: models are changing and the old engine ends first.
    is_held: bool,
}

/// A load that continues across successive engines.
pub(super) struct HandedLoad {
    pattern: LoadPattern,
    chooser: Arc<dyn EntryChooser>,
    generator: Generator,
    tally: Arc<LoadTally>,
}

/// A load that the session and a search's watcher share.
pub(super) type SharedLoad = Ranked<LoadRank, Load>;

/// The rank of the built-in load: its lock is held while the engine's locks are taken.
#[derive(Debug)]
pub(super) enum LoadRank {}

impl LockRank for LoadRank {
    const ORDER: u8 = 10;
    const NAME: &'static str = "the built-in load";
}

/// The time between two checks whether a search still measures.
const LOOK: Duration = Duration::from_millis(100);

impl Load {
    /// Creates a load that is not sending.
    pub(super) fn new(engine: Arc<Engine>, log: Arc<Log>) -> Self {
        Load {
            engine,
            log,
            pattern: None,
            mix: None,
            chooser: None,
            generator: None,
            tally: Arc::default(),
            counted: None,
            seed: 1,
            is_held: false,
        }
    }

    fn samples(&self) -> Result<LoadSamples, SessionRefusal> {
        let models = self.engine.ensemble();
        if let Some(mix) = &self.mix {
            return samples_of(&self.engine, mix);
        }
        if let Some(chooser) = &self.chooser {
            let chosen = LoadSamples::chosen_by(self.engine.catalogue(), Arc::clone(chooser));
            return chosen.map_err(SessionRefusal::NoSamples);
        }
        let missing = || MissingSamples(models.name.clone());
        let samples = models.calibration.clone().ok_or_else(missing);
        Ok(samples.map_err(SessionRefusal::NoSamples)?.into())
    }

    /// Sets the chooser of each request's entry, used from the next start on.
    pub(super) fn set_chooser(&mut self, chooser: Option<Arc<dyn EntryChooser>>) {
        self.chooser = chooser;
    }

    pub(super) fn chooser(&self) -> Option<Arc<dyn EntryChooser>> {
        self.chooser.clone()
    }

    /// Hands over a load that is sending, if its chooser finds the engine that serves the entries.
    /// The load is not interrupted.
    pub(super) fn hand_over(&mut self) -> Option<HandedLoad> {
        if self.mix.is_some() {
            return None;
        }
        let (pattern, chooser) = (self.pattern.clone()?, self.chooser.clone()?);
        let generator = self.generator.take()?;
        self.pattern = None;
        Some(HandedLoad {
            pattern,
            chooser,
            generator,
            tally: Arc::clone(&self.tally),
        })
    }

    /// Continues a load that was handed over.
    pub(super) fn take_over(&mut self, handed: HandedLoad) {
        let HandedLoad {
            pattern,
            chooser,
            generator,
            tally,
        } = handed;
        (self.pattern, self.chooser) = (Some(pattern), Some(chooser));
        (self.generator, self.tally) = (Some(generator), tally);
    }

    /// Changes the mix. Returns the pattern to restart the load with, if it was sending.
    ///
    /// # Errors
    /// Returns an error if a model is not served or has no samples. The mix then stays unchanged.
    pub(super) fn set_mix(
        &mut self,
        mix: Option<NamedMix>,
    ) -> Result<Option<LoadPattern>, SessionRefusal> {
        if let Some(mix) = &mix {
            mix.resolve(self.engine.catalogue())?;
            if self.pattern.is_some() {
                samples_of(&self.engine, mix)?;
            }
        }
        self.mix = mix;
        Ok(self.pattern.clone())
    }

    /// Returns the most samples that a request to any entry may have.
    fn capacity(&self) -> Result<usize, SessionRefusal> {
        let samples = self.samples()?;
        let asked = samples.mix().requested();
        let most = asked.map(|(entry, _)| {
            let entry = PipelineIndex(entry);
            self.engine.telemetry().capacity_of(entry)
        });
        Ok(most.min().unwrap_or(0))
    }

    /// Starts a pattern and keeps the counts of the last one. Returns the line for the log.
    pub(super) fn start(&mut self, pattern: LoadPattern) -> Result<UntracedLine, SessionRefusal> {
        if self.engine.catalogue().entries().is_empty() {
            return Err(SessionRefusal::NothingServed);
        }
        if let LoadPattern::Closed { samples, .. } = pattern {
            let (samples, most) = (samples.count(), self.capacity()?);
            if samples > most {
                return Err(SessionRefusal::LoadTooLarge { samples, most });
            }
        }
        let before = Arc::clone(&self.tally);
        if self.pattern.is_none() || self.counted != self.mix {
            self.tally = Arc::default();
        }
        let started = self.generator(&pattern);
        let generator = started.inspect_err(|_| self.tally = before)?;
        self.counted.clone_from(&self.mix);
        // The old generator has ended before the new one sends much.
        self.generator = Some(generator);
        let line = self.note(match &self.mix {
            Some(mix) => format!("load: {pattern} of {mix}"),
            None if self.chooser.is_some() => format!("load: {pattern} with goals"),
            None => format!("load: {pattern}"),
        });
        self.pattern = Some(pattern);
        Ok(line)
    }

    fn generator(&mut self, pattern: &LoadPattern) -> Result<Generator, SessionRefusal> {
        self.seed += 1;
        let started = Generator::go_on(
            Arc::clone(&self.engine),
            self.samples()?,
            pattern.clone(),
            self.seed,
            None,
            Arc::clone(&self.tally),
        );
        Ok(started?)
    }

    /// Stops sending. Returns the line for the log, or `None` if the load was not sending.
    #[must_use]
    pub(super) fn stop(&mut self) -> Option<UntracedLine> {
        self.generator = None;
        self.pattern.take()?;
        Some(self.note("load stopped".into()))
    }

    /// Pauses while a search measures, since the load would distort the measurement. Returns the
    /// line for the log, if there is one.
    fn follow(&mut self, measuring: bool) -> Option<UntracedLine> {
        match (
            measuring || self.is_held,
            self.generator.is_some(),
            self.pattern.clone(),
        ) {
            (true, true, _) => {
                self.generator = None;
                let why = match self.is_held {
                    true => "the models are being changed",
                    false => "a search is measuring",
                };
                Some(self.note(format!("load paused while {why}")))
            }
            (false, false, Some(pattern)) => match self.generator(&pattern) {
                Ok(generator) => {
                    self.generator = Some(generator);
                    None
                }
                Err(refusal) => {
                    self.pattern = None;
                    Some(self.note(format!("the load did not restart: {refusal}")))
                }
            },
            _ => None,
        }
    }

    fn note(&self, text: String) -> UntracedLine {
        let now = self.engine.telemetry().now();
        self.log.add(now, LogTarget::Load, LogLevel::Info, text)
    }

    pub(super) fn view(&self) -> LoadView {
        LoadView {
            pattern: self.pattern.clone(),
            mix: self.mix.clone(),
            resting: self.pattern.is_some() && self.generator.is_none(),
            sent: self.tally.sent.load(Ordering::Relaxed),
            behind: match self.generator {
                Some(_) => Duration::from_micros(self.tally.behind.load(Ordering::Relaxed)),
                None => Duration::ZERO,
            },
        }
    }

    /// Returns the quality of the answers so far.
    pub(super) fn quality(&self) -> Option<AnswerQuality> {
        let answered = self.tally.compared.load(Ordering::Relaxed);
        (answered > 0).then(|| AnswerQuality {
            figures: self.tally.qualities(self.answers()),
            answered,
        })
    }

    /// Returns the kind of answers of the first entry with requests.
    fn answers(&self) -> AnswerKind {
        let catalogue = self.engine.catalogue();
        let mix = self
            .mix
            .as_ref()
            .and_then(|mix| mix.resolve(catalogue).ok());
        let first = mix.and_then(|mix| mix.requested().next());
        let entry = first.and_then(|(entry, _)| catalogue.entries().get(entry));
        let ensemble = entry.map_or(self.engine.ensemble(), |entry| entry.ensemble());
        ensemble.answers
    }
}

fn samples_of(engine: &Engine, mix: &NamedMix) -> Result<LoadSamples, SessionRefusal> {
    let catalogue = engine.catalogue();
    let samples = LoadSamples::for_mix(catalogue, &mix.resolve(catalogue)?);
    samples.map_err(SessionRefusal::NoSamples)
}

/// Pauses `load` while no engine serves.
pub(super) fn hold(load: &SharedLoad, is_held: bool) {
    let line = {
        let mut load = load.lock();
        load.is_held = is_held;
        // A released load resumes at the next check.
        is_held.then(|| load.follow(false)).flatten()
    };
    line.into_iter().for_each(UntracedLine::trace);
}

/// Pauses `load` while a search measures and resumes it afterwards.
pub(super) fn follow(load: &SharedLoad, measuring: bool) {
    let line = load.lock().follow(measuring);
    // The lock is released here.
    if let Some(line) = line {
        line.trace();
    }
}

/// Pauses and resumes `load` during a search, whether or not a console is connected. `measuring`
/// returns whether the search measures, or `None` when it has ended.
pub(super) fn look_after(
    load: Arc<SharedLoad>,
    measuring: impl Fn() -> Option<bool> + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let work = move || {
        while let Some(measuring) = measuring() {
            follow(&load, measuring);
            thread::park_timeout(LOOK);
        }
        follow(&load, false);
    };
    thread::Builder::new().name("rest".into()).spawn(work)
}
