//! The counters of the engines before the one that runs.

use std::sync::Arc;

use crate::Counters;
use divisi_engine::deployment::{Generation, HandoverObserver};
use divisi_engine::serving::{Engine, Observed};
use divisi_runtime::lock::Leaf;

/// Adds up the counters of engines that follow one another.
#[derive(Default)]
pub(super) struct EnginesBefore(Leaf<PastEngines>);

#[derive(Clone, Default)]
struct PastEngines {
    /// Of all that ended but the last.
    counters: Counters,
    /// The last that ended, with its number.
    last: Option<(u64, Counters)>,
    /// Those that answer their last requests.
    retiring: Vec<RetiringEngine>,
}

#[derive(Clone)]
struct RetiringEngine {
    generation: Arc<Generation>,
    /// The requests that it had refused before: later ones are asked of the next engine.
    refused: u64,
}

impl RetiringEngine {
    fn counters(&self) -> Counters {
        Counters {
            refused: self.refused,
            ..of(&self.generation.engine)
        }
    }
}

impl EnginesBefore {
    /// Returns the counters of all engines but the one of a number, and how many requests that one has
    /// refused, where another one is to follow it.
    pub(super) fn counters(&self, running: u64) -> (Counters, Option<u64>) {
        loop {
            let before = self.0.lock().clone();
            let counted = before.counted(running);
            // One that ended meanwhile may have been looked at before its end.
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
            refused: of(&generation.engine).refused,
            generation: Arc::clone(generation),
        };
        self.0.lock().retiring.push(retiring);
    }

    fn ended(&self, generation: &Generation) {
        let mut counters = of(&generation.engine);
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

fn of(engine: &Engine) -> Counters {
    counters(&engine.telemetry().observe())
}

/// Returns the counters of an engine as it was seen.
pub(super) fn counters(seen: &Observed) -> Counters {
    Counters {
        answered: seen.answered,
        refused: seen.refused,
        failed: seen.failed,
        cancelled: seen.cancelled,
        worker_restarts: seen.restarts,
    }
}
