//! See [`TaskRouter`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use divisi::lock::Leaf;
use divisi_modelless::choice::{ChoiceRefusal, ChosenVariant, TaskChoices};
use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::variants::{TaskIndex, Variant, VariantIndex};
use thiserror::Error;

use super::backlog::Backlog;
use super::query::{Expected, RoutedQuery};
use super::streams::{AskedQueries, QueryStreams, StreamInterval};
use super::tally::{TaskTally, VariantTally};
use crate::served::{RunningVariant, ServedTasks};

/// Chooses the variant that answers each query, and counts what became of them.
pub struct TaskRouter {
    tasks: Arc<ServedTasks>,
    state: Leaf<RouterState>,
    began: Instant,
}

struct RouterState {
    choices: TaskChoices,
    running: Vec<Arc<RunningVariant>>,
    backlog: Backlog,
    /// The samples of each group that are not answered yet.
    queued: Vec<u32>,
    tasks: Vec<TaskTally>,
    variants: Vec<VariantTally>,
    streams: QueryStreams,
}

/// Why no variant answers a query.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RoutingError {
    /// No registered variant meets the goals even without other queries.
    #[error("task `{task}`: no variant meets the goals; the nearest is {nearest}: {missed}")]
    Unreachable {
        /// The task.
        task: String,
        /// The nearest variant in words.
        nearest: String,
        /// The goals that it misses.
        missed: MissedGoals,
    },
    /// Nothing that runs would answer in time.
    #[error(
        "task `{task}`: no variant answers within {goal:?} now; the soonest would after {soonest:?}"
    )]
    TooLate {
        /// The task.
        task: String,
        /// The goal.
        goal: Duration,
        /// The time until the soonest variant would have answered.
        soonest: Duration,
    },
    /// No variant of the task runs.
    #[error("task `{task}`: none of its variants is loaded")]
    NotLoaded {
        /// The task.
        task: String,
    },
    /// The task has no such ensemble.
    #[error("task `{task}`: expected an ensemble from 0 to {last}, found {found}")]
    Model {
        /// The task.
        task: String,
        /// The last ensemble.
        last: usize,
        /// The number that was asked for.
        found: u16,
    },
}

impl RoutingError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            RoutingError::Unreachable { .. } => "goals_unreachable",
            RoutingError::TooLate { .. } => "too_late",
            RoutingError::NotLoaded { .. } => "task_not_loaded",
            RoutingError::Model { .. } => "model_unknown",
        }
    }
}

impl TaskRouter {
    /// Creates a router of which no variant runs yet.
    pub fn new(tasks: Arc<ServedTasks>) -> Self {
        let catalog = tasks.catalog();
        let state = RouterState {
            choices: TaskChoices::new(catalog.clone()),
            running: Vec::new(),
            backlog: Backlog::default(),
            queued: vec![0; tasks.groups().len()],
            tasks: vec![TaskTally::default(); catalog.tasks().count()],
            variants: vec![VariantTally::default(); catalog.variants().len()],
            streams: QueryStreams::default(),
        };
        TaskRouter {
            tasks,
            state: Leaf::new(state),
            began: Instant::now(),
        }
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> &Arc<ServedTasks> {
        &self.tasks
    }

    /// Takes the variants that run from now on.
    pub fn set_running(&self, running: Vec<RunningVariant>) {
        let mut state = self.state.lock();
        let before = std::mem::take(&mut state.running);
        for variant in before.iter().map(|variant| variant.variant) {
            state.choices.set_finish(variant, None);
        }
        state.running = running.into_iter().map(Arc::new).collect();
        state.refresh(&self.tasks, None, 1);
    }

    /// Chooses the variant that answers a query of `samples` samples.
    ///
    /// # Errors
    /// No variant meets the goals, none that runs would in time, or none runs.
    pub fn route(
        self: &Arc<Self>,
        task: TaskIndex,
        goals: &QueryGoals,
        samples: u32,
    ) -> Result<RoutedQuery, RoutingError> {
        let mut state = self.state.lock();
        state.refresh(&self.tasks, Some(task), samples);
        let chosen = state.choices.choose(task, goals);
        let running = chosen
            .as_ref()
            .ok()
            .and_then(|chosen| state.running_as(chosen.variant).cloned());
        let (chosen, running) = match (chosen, running) {
            (Ok(chosen), Some(running)) => (chosen, running),
            (refusal, _) => {
                let of = (task, goals);
                let asked = (self.began.elapsed(), samples);
                return Err(state.refuse(&self.tasks, of, asked, refusal.err()));
            }
        };
        let stream = state
            .streams
            .arrive((task, goals), (self.began.elapsed(), samples));
        let expected = self.expected(&chosen, samples);
        state.enter(&self.tasks, &running, &expected, samples);
        Ok(RoutedQuery::new(
            Arc::clone(self),
            running,
            (*goals, stream),
            expected,
            samples,
        ))
    }

    /// Returns what became of the queries of each task so far.
    pub fn task_tallies(&self) -> Vec<TaskTally> {
        self.state.lock().tasks.clone()
    }

    /// Returns what became of the queries of each variant so far.
    pub fn variant_tallies(&self) -> Vec<VariantTally> {
        self.state.lock().variants.clone()
    }

    /// Returns the variants that run.
    pub fn running(&self) -> Vec<VariantIndex> {
        let state = self.state.lock();
        state
            .running
            .iter()
            .map(|running| running.variant)
            .collect()
    }

    /// Takes the work of a query that is over off its devices, and counts how it ended: the goals that
    /// its answer missed, or `None` where there was no answer.
    pub(super) fn leave(&self, query: &RoutedQuery, missed: Option<MissedGoals>) {
        let mut state = self.state.lock();
        let variant = query.running().variant;
        let group = self.tasks.group_of(variant);
        state.queued[group] = state.queued[group].saturating_sub(query.samples());
        let work = query.expected().work.as_secs_f64();
        state.backlog.add(&query.running().devices, -work);
        state.variants[variant.get()].end(query, missed);
        let met = missed.is_some_and(|missed| missed.is_none());
        state.streams.end(query.stream(), query.samples(), met);
    }

    /// Returns what became of the queries of each task and goals in an interval that ends now, and
    /// begins the next one.
    pub fn interval(&self, length: Duration) -> Vec<StreamInterval> {
        self.state.lock().streams.interval(length)
    }

    /// Returns the time since the router was made.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the queries that arrived after a time, as far as they are kept.
    pub fn asked(&self, after: Duration) -> AskedQueries {
        self.state.lock().streams.arrivals(after)
    }

    /// Returns the samples of each group that are not answered yet.
    pub fn queued(&self) -> Vec<u32> {
        self.state.lock().queued.clone()
    }

    /// Offers no variants of these groups from now on: they are about to leave. Those of a task that
    /// has no others are offered still.
    pub fn leave_out(&self, groups: &[usize]) {
        let mut state = self.state.lock();
        let task = |group: usize| self.tasks.groups()[group].task;
        let running = state.running.iter().map(|r| self.tasks.group_of(r.variant));
        let staying: Vec<TaskIndex> = running
            .filter(|group| !groups.contains(group))
            .map(task)
            .collect();
        let RouterState {
            running, choices, ..
        } = &mut *state;
        running.retain(|running| {
            let group = self.tasks.group_of(running.variant);
            let stays = !groups.contains(&group) || !staying.contains(&task(group));
            if !stays {
                choices.set_finish(running.variant, None);
            }
            stays
        });
    }

    fn expected(&self, chosen: &ChosenVariant, samples: u32) -> Expected {
        let variant = self.tasks.catalog().variant(chosen.variant);
        Expected {
            finish: chosen.finish,
            missed: chosen.missed,
            accuracy: variant.accuracy.value(),
            cost: variant.query_cost(),
            work: work(variant, samples),
        }
    }
}

/// Returns the refusal of a query of a task in words.
pub(super) fn refused(
    tasks: &ServedTasks,
    task: TaskIndex,
    refusal: ChoiceRefusal,
) -> RoutingError {
    let task = tasks.catalog().name(task).to_owned();
    match refusal {
        ChoiceRefusal::Unreachable { nearest, missed } => RoutingError::Unreachable {
            task,
            nearest: tasks.words(nearest),
            missed,
        },
        ChoiceRefusal::TooLate { goal, soonest, .. } => RoutingError::TooLate {
            task,
            goal,
            soonest,
        },
        ChoiceRefusal::UnknownModel { asked, models } => RoutingError::Model {
            task,
            last: models.saturating_sub(1),
            found: asked,
        },
        _ => RoutingError::NotLoaded { task },
    }
}

impl RouterState {
    /// Counts a query that no variant answers. Returns the refusal; `None` is that nothing runs.
    fn refuse(
        &mut self,
        tasks: &ServedTasks,
        (task, goals): (TaskIndex, &QueryGoals),
        asked: (Duration, u32),
        refusal: Option<ChoiceRefusal>,
    ) -> RoutingError {
        let tally = &mut self.tasks[usize::from(task.0)];
        match &refusal {
            Some(refusal) => tally.refuse(refusal),
            None => tally.not_loaded += 1,
        }
        // Of goals that could be met it is known how often they are asked for.
        if matches!(&refusal, None | Some(ChoiceRefusal::TooLate { .. })) {
            let of = (task, goals);
            let stream = self.streams.arrive(of, asked);
            self.streams.end(stream, asked.1, false);
        }
        match refusal {
            Some(refusal) => refused(tasks, task, refusal),
            None => RoutingError::NotLoaded {
                task: tasks.catalog().name(task).to_owned(),
            },
        }
    }

    fn running_as(&self, variant: VariantIndex) -> Option<&Arc<RunningVariant>> {
        self.running
            .iter()
            .find(|running| running.variant == variant)
    }

    /// Works out anew when the variants that run, of one task or of all, would have answered a query of
    /// `samples` samples.
    fn refresh(&mut self, tasks: &ServedTasks, task: Option<TaskIndex>, samples: u32) {
        for running in &self.running {
            let group = tasks.group_of(running.variant);
            if task.is_some_and(|task| tasks.groups()[group].task != task) {
                continue;
            }
            let variant = tasks.catalog().variant(running.variant);
            let wait = self.backlog.wait(&running.devices);
            // Those that wait now run in its batch; full batches run before it.
            let joined = self.queued[group]
                .saturating_add(samples)
                .min(variant.batch.get().max(samples));
            let finish = wait.saturating_add(variant.profile.latency.p99(joined));
            self.choices.set_finish(running.variant, Some(finish));
        }
    }

    fn enter(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        expected: &Expected,
        samples: u32,
    ) {
        let queued = &mut self.queued[tasks.group_of(running.variant)];
        *queued = queued.saturating_add(samples);
        self.backlog
            .add(&running.devices, expected.work.as_secs_f64());
    }
}

/// Returns the time that a variant's device takes for some samples, in full batches where there are as
/// many.
fn work(variant: &Variant, samples: u32) -> Duration {
    let size = variant.batch.get().min(samples.max(1));
    variant.profile.latency.mean(size).saturating_mul(samples) / size
}
