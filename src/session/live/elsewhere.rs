//! Requests that were answered or refused outside the engine that a session observes.

use crate::{Counters, Total};

/// Requests that are counted outside the running engine.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedElsewhere {
    /// The counters of the engines before it.
    pub(super) before: Counters,
    /// The requests that the engine itself refused, if it is about to be replaced: requests that it
    /// refuses later are retried on the next engine.
    pub(super) refused_here: Option<u64>,
    /// Queries that were refused before a variant was chosen.
    pub(super) refused: Total,
}

/// The reason for the last refusal, by the engine or by a task.
#[derive(Clone, Debug, Default)]
pub(super) struct LastRefusal {
    by_engine: u64,
    by_tasks: u64,
    why: Option<String>,
}

impl LastRefusal {
    /// Returns the same state for the next engine, which has refused no request.
    pub(super) fn of_next(&self) -> Self {
        LastRefusal {
            by_engine: 0,
            ..self.clone()
        }
    }

    /// Records the refusals of the engine and of the tasks. Returns the reason for the last one.
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
