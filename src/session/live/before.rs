//! The counters of the engines that ran before the current one.

use std::sync::Arc;

use crate::Counters;
use divisi_engine::deployment::{Generation, HandoverObserver};
use divisi_engine::serving::{Engine, Observed};
use divisi_runtime::lock::Leaf;

/// Adds up the counters of successive engines.
#[derive(Default)]
pub(super) struct EnginesBefore(Leaf<PastEngines>);

#[derive(Clone, Default)]
struct PastEngines {
    /// The counters of all ended engines except the last.
    counters: Counters,
    /// The number and counters of the last ended engine.
    last: Option<(u64, Counters)>,
    /// The engines that still finish their last requests.
    retiring: Vec<RetiringEngine>,
}

#[derive(Clone)]
struct RetiringEngine {
    generation: Arc<Generation>,
    /// The requests that it had refused before its replacement; later ones are retried on the next
    /// engine.
    refused: u64,
}

impl RetiringEngine {
    fn counters(&self) -> Counters {
        Counters {
            refused: self.refused,
            ..engine_counters(&self.generation.engine)
        }
    }
}

impl EnginesBefore {
    /// Returns the counters of all engines but the current one. If the current engine is about to
    /// be replaced, also returns the number of requests it has refused.
    pub(super) fn counters(&self, running: u64) -> (Counters, Option<u64>) {
        loop {
            let before = self.0.lock().clone();
            let counted = before.counted(running);
            // An engine that ended meanwhile may have been read before its end.
            let last = self.0.lock().last.map(|(number, _)| number);
            if last == before.last.map(|(number, _)| number) {
                return counted;
            }
        }
    }
}

impl PastEngines {
    fn counted(&self, running: u64) -> (Counters, Option<u64>) {
        let (mut sum, mut refused) = (self.counters, None);
        let retiring = self
            .retiring
            .iter()
            .map(|one| (one.generation.number, one.counters()));
        for (number, counters) in self.last.into_iter().chain(retiring) {
            match number == running {
                true => refused = Some(counters.refused),
                false => sum = sum + counters,
            }
        }
        (sum, refused)
    }
}

impl HandoverObserver for EnginesBefore {
    fn retires(&self, generation: &Arc<Generation>) {
        let retiring = RetiringEngine {
            refused: engine_counters(&generation.engine).refused,
            generation: Arc::clone(generation),
        };
        self.0.lock().retiring.push(retiring);
    }

    fn ended(&self, generation: &Generation) {
        let mut counters = engine_counters(&generation.engine);
        let mut before = self.0.lock();
        let retiring = &mut before.retiring;
        let at = retiring
            .iter()
            .position(|one| one.generation.number == generation.number);
        if let Some(at) = at {
            counters.refused = retiring.swap_remove(at).refused;
        }
        if let Some((_, last)) = before.last.replace((generation.number, counters)) {
            before.counters = before.counters + last;
        }
    }
}

fn engine_counters(engine: &Engine) -> Counters {
    counters(&engine.telemetry().observe())
}

/// Returns the counters of an engine.
pub(super) fn counters(seen: &Observed) -> Counters {
    Counters {
        answered: seen.answered,
        refused: seen.refused,
        failed: seen.failed,
        cancelled: seen.cancelled,
        worker_restarts: seen.restarts,
    }
}
