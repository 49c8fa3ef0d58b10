//! The built-in load as queries with goals.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use divisi_engine::load::{ChosenEntry, EntryChooser};
use divisi_engine::serving::{Engine, THIS_PROCESS};
use divisi_model::metrics::{ErrorKey, ErrorOutcome, ErrorSubject, NamedVersion};
use divisi_modelless::goals::QueryGoals;

use super::error::RoutingError;
use super::live::LiveRouter;
use super::query::RoutedQuery;
use crate::served::VERSION;

/// A chooser that rotates through tasks and goals.
pub struct GoalChooser {
    router: Arc<LiveRouter>,
    /// Tasks with the goals of queries, `None` for queries without goals.
    goals: Vec<(String, Option<QueryGoals>)>,
    next: AtomicUsize,
}

impl GoalChooser {
    /// Creates a chooser that sends queries with each of `goals` to every task, or queries without
    /// goals if `goals` is empty.
    pub fn new(router: Arc<LiveRouter>, goals: &[QueryGoals]) -> Self {
        let goals: Vec<Option<QueryGoals>> = match goals.is_empty() {
            true => vec![None],
            false => goals.iter().copied().map(Some).collect(),
        };
        let current = router.router();
        let tasks = current.tasks().names();
        let each =
            tasks.flat_map(|(_, task)| goals.iter().map(move |goals| (task.to_owned(), *goals)));
        GoalChooser {
            goals: each.collect(),
            router,
            next: AtomicUsize::new(0),
        }
    }
}

impl GoalChooser {
    /// Records a refused query in the ledger of errors.
    fn record(&self, task: &str, refused: &RoutingError) {
        let model = NamedVersion {
            name: task.into(),
            version: VERSION.into(),
        };
        let key = ErrorKey {
            subject: ErrorSubject::Request,
            outcome: ErrorOutcome::Refused,
            reason: refused.kind(),
        };
        let running = self.router.deployment().running();
        let ledger = running.engine.telemetry().ledger();
        ledger.record(key, THIS_PROCESS, Some(model), refused.to_string());
    }
}

impl fmt::Debug for GoalChooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goals = &self.goals;
        f.debug_struct("GoalChooser")
            .field("goals", goals)
            .finish_non_exhaustive()
    }
}

impl EntryChooser for GoalChooser {
    fn choose(&self, samples: usize) -> Result<ChosenEntry, String> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let Some((task, goals)) = self.goals.get(turn % self.goals.len().max(1)) else {
            return Err("no task is served".to_owned());
        };
        let samples = u32::try_from(samples).unwrap_or(u32::MAX);
        let routed = self.routed(task, *goals, samples);
        let (routed, engine) = routed.map_err(|refused| {
            self.record(task, &refused);
            refused.to_string()
        })?;
        Ok(ChosenEntry {
            engine,
            name: routed.entry().to_owned(),
            priority: routed.urgency().priority(),
            due: routed.due(),
            answered: Box::new(move |latency| {
                routed.answered(latency);
            }),
        })
    }
}

impl GoalChooser {
    /// Routes a query, and returns the engine that has the chosen variant.
    fn routed(
        &self,
        task: &str,
        goals: Option<QueryGoals>,
        samples: u32,
    ) -> Result<(RoutedQuery, Arc<Engine>), RoutingError> {
        let unknown = || RoutingError::NotLoaded {
            task: task.to_owned(),
        };
        loop {
            let router = self.router.follow();
            let found = router.tasks().catalog().task(task).ok_or_else(unknown)?;
            let unstated = || QueryGoals::unstated(router.tasks().catalog(), found, None);
            let routed = router.route(found, &goals.unwrap_or_else(unstated), samples)?;
            // The threads of the load do not wait, but later queries get the variant.
            if let Some(wanted) = routed.wanted() {
                self.router.loads().want(wanted);
            }
            let running = self.router.deployment().running();
            match running.catalogue.find(routed.entry(), None) {
                Some(_) => return Ok((routed, Arc::clone(&running.engine))),
                // The next engine took over meanwhile.
                None => routed.withdraw(),
            }
        }
    }
}
