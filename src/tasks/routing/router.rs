//! Routes queries to variants: see [`TaskRouter`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use divisi_engine::deployment::ServingNumber;
use divisi_modelless::choice::ChosenVariant;
use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::variants::{TaskIndex, VariantIndex};
use divisi_runtime::lock::Leaf;

use super::backlog::QueryPlace;
use super::choosing::{ArrivedQuery, RunningChoice};
use super::clock::{RouterClock, VirtualTime};
use super::error::RoutingError;
use super::query::{Expected, RoutedQuery};
use super::series::AskedTally;
use super::state::RouterState;
use super::streams::{AskedQueries, StreamInterval};
use super::tally::{TaskTally, UnreachableTally, VariantTally};
use crate::served::{RunningVariant, ServedTasks, TaskQuery};

/// Chooses the variant that answers each query, and counts the outcomes.
pub struct TaskRouter {
    tasks: Arc<ServedTasks>,
    state: Leaf<RouterState>,
    clock: RouterClock,
}

impl TaskRouter {
    /// Creates a router without running variants.
    pub fn new(tasks: Arc<ServedTasks>) -> Self {
        Self::with_clock(tasks, RouterClock::Real(Instant::now()))
    }

    /// Creates a router without running variants in the time of a simulation.
    pub fn in_virtual_time(tasks: Arc<ServedTasks>, time: Arc<VirtualTime>) -> Self {
        Self::with_clock(tasks, RouterClock::Virtual(time))
    }

    fn with_clock(tasks: Arc<ServedTasks>, clock: RouterClock) -> Self {
        TaskRouter {
            state: Leaf::new(RouterState::new(&tasks)),
            tasks,
            clock,
        }
    }

    /// Creates a router for the next registrations of the tasks of another router, with its clock.
    pub(crate) fn after(before: &TaskRouter, tasks: Arc<ServedTasks>) -> Self {
        Self::with_clock(tasks, before.clock.clone())
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> &Arc<ServedTasks> {
        &self.tasks
    }

    /// Sets the running variants.
    pub fn set_running(&self, running: Vec<RunningVariant>) {
        self.state.lock().set_running(&self.tasks, None, running);
    }

    /// Sets the running variants and the matrix that serves them.
    pub(super) fn follow(&self, serving: ServingNumber, running: Vec<RunningVariant>) {
        let mut state = self.state.lock();
        state.set_running(&self.tasks, Some(serving), running);
    }

    /// Returns whether the running variants are those of this matrix.
    pub(super) fn follows(&self, serving: ServingNumber) -> bool {
        self.state.lock().serving == Some(serving)
    }

    /// Chooses the variant that answers a query of `samples` samples.
    ///
    /// # Errors
    /// Returns an error if no variant meets the goals, no running variant would answer in time, or
    /// none is running.
    pub fn route(
        self: &Arc<Self>,
        task: TaskIndex,
        goals: &QueryGoals,
        samples: u32,
    ) -> Result<RoutedQuery, RoutingError> {
        self.route_query(TaskQuery {
            task,
            goals,
            samples,
            priority: 0,
        })
    }

    /// Chooses the variant that answers a query, which may have its own priority.
    ///
    /// # Errors
    /// Returns the errors of [`TaskRouter::route`].
    pub fn route_query(
        self: &Arc<Self>,
        query: TaskQuery<'_>,
    ) -> Result<RoutedQuery, RoutingError> {
        let now = self.now();
        let mut state = self.state.lock();
        let asked = ArrivedQuery {
            query,
            stream: state.streams.find(query.task, query.goals),
            now,
        };
        match state.choose(&self.tasks, asked) {
            Ok(Some(chosen)) => Ok(self.routed(&mut state, asked, chosen)),
            refusal => Err(state.refuse(&self.tasks, asked, refusal.err())),
        }
    }

    /// Books a query for the chosen variant.
    fn routed(
        self: &Arc<Self>,
        state: &mut RouterState,
        asked: ArrivedQuery<'_>,
        (chosen, running): RunningChoice,
    ) -> RoutedQuery {
        let (query, now) = (asked.query, asked.now);
        let (goals, samples) = (query.goals, query.samples);
        let stream = state.streams.arrive(query, now);
        let found_room = chosen.missed.is_none();
        state.overload.arrived(stream, samples, found_room);
        let group = self.tasks.group_of(chosen.variant);
        let urgency = self.tasks.urgency(group, query);
        let prospect = state.prospect(&self.tasks, &running, asked);
        let booked = state.enter(&self.tasks, &running, &prospect, stream, samples);
        let due = match prospect.place {
            QueryPlace::DueBy(by) => Some(by.saturating_sub(now)),
            QueryPlace::Level(_) => None,
        };
        let wanted = chosen.start.filter(|_| goals.latency.is_none());
        RoutedQuery {
            router: Arc::clone(self),
            running,
            serving: state.serving,
            goals: *goals,
            stream,
            expected: self.expected(&chosen),
            wanted,
            samples,
            urgency,
            due,
            booked,
            since: self.now(),
            is_over: false,
        }
    }

    /// Returns the counts of refused queries of each task.
    pub fn task_tallies(&self) -> Vec<TaskTally> {
        self.state.lock().tasks.clone()
    }

    /// Returns the queries of each task whose goals no variant meets.
    pub(crate) fn unreachable(&self) -> Vec<UnreachableTally> {
        self.state.lock().unreachable.clone()
    }

    /// Returns the counts of each variant's queries.
    pub fn variant_tallies(&self) -> Vec<VariantTally> {
        self.state.lock().variants.clone()
    }

    /// Returns the counts of the queries of each task by goals.
    pub fn asked_tallies(&self) -> Vec<AskedTally> {
        self.state.lock().streams.asked()
    }

    /// Returns the running variants.
    pub fn running(&self) -> Vec<VariantIndex> {
        let state = self.state.lock();
        let running = state.running.iter();
        running.map(|running| running.variant).collect()
    }

    /// Removes the work of a finished query from its devices and counts its outcome: the time until
    /// its answer and the missed goals, or `None` without an answer.
    pub(super) fn leave(&self, query: &RoutedQuery, answer: Option<(Duration, MissedGoals)>) {
        self.state.lock().leave(&self.tasks, query, answer);
    }

    /// Withdraws a query that was not requested.
    pub(super) fn withdraw(&self, query: &RoutedQuery) {
        self.state.lock().withdraw(&self.tasks, query);
    }

    /// Returns the counts of each task and goals in the interval that ends now, and starts the next
    /// interval.
    pub fn interval(&self, length: Duration) -> Vec<StreamInterval> {
        self.state.lock().streams.interval(length)
    }

    /// Returns the time since the router was created.
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Returns the recorded queries that arrived after a time.
    pub fn recorded_queries(&self, after: Duration) -> AskedQueries {
        self.state.lock().streams.arrivals(after)
    }

    /// Returns the unanswered samples of each group.
    pub fn queued(&self) -> Vec<u32> {
        self.state.lock().queued.clone()
    }

    fn expected(&self, chosen: &ChosenVariant) -> Expected {
        let variant = self.tasks.catalog().variant(chosen.variant);
        Expected {
            finish: chosen.finish,
            missed: chosen.missed,
            accuracy: variant.accuracy.value(),
            cost: variant.query_cost(),
        }
    }
}
