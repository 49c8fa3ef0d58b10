//! The built-in load: what it sends, and that it rests while a search measures.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::ensemble::Samples;
use crate::load::{Generator, LoadPattern, LoadTally};
use crate::lock::Ranked;
use crate::serving::{Engine, LoadRank};
use crate::session::{Accuracy, LoadView, LogLevel, SessionRefusal};

use super::log::Log;

/// The load of a session.
pub(super) struct Load {
    engine: Arc<Engine>,
    log: Arc<Log>,
    pattern: Option<LoadPattern>,
    generator: Option<Generator>,
    /// Of all generators since the load was last started from rest.
    tally: Arc<LoadTally>,
    seed: u64,
}

/// A load that the session and a search's watcher share.
pub(super) type SharedLoad = Ranked<LoadRank, Load>;

/// How often it is looked whether a search still measures.
const LOOK: Duration = Duration::from_millis(100);

impl Load {
    /// Creates a load that sends nothing yet.
    pub(super) fn new(engine: Arc<Engine>, log: Arc<Log>) -> Self {
        Load {
            engine,
            log,
            pattern: None,
            generator: None,
            tally: Arc::default(),
            seed: 1,
        }
    }

    fn samples(&self) -> Result<Arc<Samples>, SessionRefusal> {
        let samples = self.engine.ensemble().calibration.clone();
        samples.ok_or(SessionRefusal::NoSamples)
    }

    /// Sends by another pattern; what was counted under the last one is kept.
    pub(super) fn start(&mut self, pattern: LoadPattern) -> Result<(), SessionRefusal> {
        if let LoadPattern::Closed { samples, .. } = pattern {
            let (samples, most) = (samples.count(), self.engine.telemetry().capacity());
            if samples > most {
                return Err(SessionRefusal::LoadTooLarge { samples, most });
            }
        }
        if self.pattern.is_none() {
            self.tally = Arc::default();
        }
        let generator = self.generator(&pattern)?;
        // The old one has ended before the new one sends much.
        self.generator = Some(generator);
        self.note(format!("load: {pattern}"));
        self.pattern = Some(pattern);
        Ok(())
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

    /// Whether there was something to stop.
    pub(super) fn stop(&mut self) -> bool {
        self.generator = None;
        let stopped = self.pattern.take().is_some();
        if stopped {
            self.note("load stopped".into());
        }
        stopped
    }

    /// It rests while a search measures: it would be measured too.
    pub(super) fn follow(&mut self, measuring: bool) {
        match (measuring, self.generator.is_some(), self.pattern.clone()) {
            (true, true, _) => {
                self.generator = None;
                self.note("load rests while the search measures".into());
            }
            (false, false, Some(pattern)) => match self.generator(&pattern) {
                Ok(generator) => self.generator = Some(generator),
                Err(refusal) => {
                    self.pattern = None;
                    self.note(format!("load did not start again: {refusal}"));
                }
            },
            _ => {}
        }
    }

    fn note(&self, text: String) {
        self.log
            .add(self.engine.telemetry().now(), LogLevel::Info, text);
    }

    /// Returns the state of the load, for a snapshot.
    pub(super) fn view(&self) -> LoadView {
        LoadView {
            pattern: self.pattern.clone(),
            resting: self.pattern.is_some() && self.generator.is_none(),
            sent: self.tally.sent.load(Ordering::Relaxed),
            behind: match self.generator {
                Some(_) => Duration::from_micros(self.tally.behind.load(Ordering::Relaxed)),
                None => Duration::ZERO,
            },
        }
    }

    /// Of the samples answered so far.
    pub(super) fn accuracy(&self) -> Option<Accuracy> {
        let answered = self.tally.answered.load(Ordering::Relaxed);
        (answered > 0).then(|| Accuracy {
            right: self.tally.right.load(Ordering::Relaxed),
            answered,
        })
    }
}

/// Lets `load` rest and go on while a search runs, whether or not a console looks;
/// `measuring` says whether it measures, or that it is over.
pub(super) fn look_after(
    load: Arc<SharedLoad>,
    measuring: impl Fn() -> Option<bool> + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let work = move || {
        while let Some(measuring) = measuring() {
            load.lock().follow(measuring);
            thread::park_timeout(LOOK);
        }
        load.lock().follow(false);
    };
    thread::Builder::new().name("rest".into()).spawn(work)
}
