//! The counters of the engines that ran before the current one.

use std::sync::Arc;

use crate::Counters;
use divisi_engine::deployment::{Generation, HandoverObserver};
use divisi_engine::serving::{Engine, Observed};
use divisi_runtime::lock::Leaf;

/// Adds up the answers and restarts of successive engines. The ledger of errors counts the rest.
#[derive(Default)]
pub(super) struct EnginesBefore(Leaf<PastEngines>);

#[derive(Clone, Default)]
struct PastEngines {
    /// The counters of all ended engines except the last.
    counters: Counters,
    /// The number and counters of the last ended engine.
    last: Option<(u64, Counters)>,
    /// The engines that still finish their last requests.
    retiring: Vec<Arc<Generation>>,
}

impl EnginesBefore {
    /// Returns the counters of all engines but the current one.
    pub(super) fn counters(&self, running: u64) -> Counters {
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
    fn counted(&self, running: u64) -> Counters {
        let retiring = self.retiring.iter();
        let retiring = retiring.map(|one| (one.number, engine_counters(&one.engine)));
        let others = self.last.into_iter().chain(retiring);
        let others = others.filter(|(number, _)| *number != running);
        others.fold(self.counters, |sum, (_, counters)| sum + counters)
    }
}

impl HandoverObserver for EnginesBefore {
    fn retires(&self, generation: &Arc<Generation>) {
        self.0.lock().retiring.push(Arc::clone(generation));
    }

    fn ended(&self, generation: &Generation) {
        let counters = engine_counters(&generation.engine);
        let mut before = self.0.lock();
        before
            .retiring
            .retain(|one| one.number != generation.number);
        if let Some((_, last)) = before.last.replace((generation.number, counters)) {
            before.counters = before.counters + last;
        }
    }
}

fn engine_counters(engine: &Engine) -> Counters {
    counters(&engine.telemetry().observe())
}

/// Returns the answers and restarts of an engine.
pub(super) fn counters(seen: &Observed) -> Counters {
    Counters {
        answered: seen.answered,
        worker_restarts: seen.restarts,
        ..Counters::default()
    }
}
