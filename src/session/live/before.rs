//! The counters of the engines that ran before the current one.

use std::sync::{Arc, Weak};

use crate::Counters;
use divisi_engine::deployment::{Generation, HandoverObserver};
use divisi_engine::serving::{Engine, Observed};
use divisi_runtime::lock::Leaf;

use super::load::{self, SharedLoad};

/// Adds up the answers and restarts of successive engines. The ledger of errors counts the rest.
/// Holds the built-in load while no engine takes requests.
#[derive(Default)]
pub(super) struct EnginesBefore {
    past: Leaf<PastEngines>,
    load: Leaf<Weak<SharedLoad>>,
}

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
    /// Sets the built-in load of the running engine.
    pub(super) fn set_load(&self, load: &Arc<SharedLoad>) {
        *self.load.lock() = Arc::downgrade(load);
    }

    /// Returns the counters of all engines but the current one.
    pub(super) fn counters(&self, running: u64) -> Counters {
        loop {
            let before = self.past.lock().clone();
            let counted = before.counted(running);
            // An engine that ended meanwhile may have been read before its end.
            let last = self.past.lock().last.map(|(number, _)| number);
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
        self.past.lock().retiring.push(Arc::clone(generation));
    }

    fn ended(&self, generation: &Generation) {
        let counters = engine_counters(&generation.engine);
        let mut before = self.past.lock();
        before
            .retiring
            .retain(|one| one.number != generation.number);
        if let Some((_, last)) = before.last.replace((generation.number, counters)) {
            before.counters = before.counters + last;
        }
    }

    fn between(&self, begins: bool) {
        let load = self.load.lock().upgrade();
        load.iter().for_each(|load| load::hold(load, begins));
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
