//! Requests that were answered and refused outside the engine that a session watches.

use crate::{Counters, Total};

/// Requests that are counted outside the engine that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedElsewhere {
    /// By the engines before it.
    pub(super) before: Counters,
    /// The requests that the engine itself refused, where another one is to follow it: what it refuses
    /// then is asked of that one.
    pub(super) refused_here: Option<u64>,
    /// Queries that no variant of their task took.
    pub(super) refused: Total,
}

/// Why a request was last refused, by the engine or by a task.
#[derive(Clone, Debug, Default)]
pub(super) struct LastRefusal {
    by_engine: u64,
    by_tasks: u64,
    why: Option<String>,
}

impl LastRefusal {
    /// The same, beside another engine, which has refused none.
    pub(super) fn of_next(&self) -> Self {
        LastRefusal {
            by_engine: 0,
            ..self.clone()
        }
    }

    /// Takes how many requests either has refused by now, and why it refused the last of them. Returns why
    /// the last of all was.
    pub(super) fn note(&mut self, engine: Total, tasks: Total) -> Option<String> {
        if engine.requests > self.by_engine {
            self.why = engine.why;
        }
        if tasks.requests > self.by_tasks {
            self.why = tasks.why;
        }
        (self.by_engine, self.by_tasks) = (engine.requests, tasks.requests);
        self.why.clone()
    }
}
