//! Requests of a load pattern from this process, until all of them are answered.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use divisi_engine::load::{Generator, LoadPattern, LoadSamples, LoadTally};
use divisi_engine::serving::Engine;

/// A number of requests by a pattern.
pub(super) struct SentLoad {
    pub(super) pattern: LoadPattern,
    pub(super) requests: usize,
    pub(super) seed: u64,
}

impl SentLoad {
    /// Sends the requests and waits for their answers, or until `is_stopped`. Returns the counts.
    ///
    /// # Errors
    /// The pattern and the engine do not fit.
    pub(super) fn send(
        self,
        engine: &Arc<Engine>,
        samples: &LoadSamples,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Arc<LoadTally>> {
        let (engine, samples) = (Arc::clone(engine), samples.clone());
        let requests = Some(self.requests);
        let generator = Generator::start(engine, samples, self.pattern, self.seed, requests)?;
        while !generator.is_finished() && !is_stopped() {
            thread::park_timeout(Duration::from_millis(1));
        }
        Ok(Arc::clone(generator.tally()))
    }
}
