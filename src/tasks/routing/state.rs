//! All that a router decides by.

use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::choice::{ChoiceRefusal, ChosenVariant, TaskChoices};
use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::variants::{TaskIndex, Variant, VariantIndex};

use super::backlog::Backlog;
use super::delay::{Certainty, ObservedDelay};
use super::error::{RoutingError, refused};
use super::query::{Expected, RoutedQuery};
use super::streams::QueryStreams;
use super::tally::{TaskTally, VariantTally};
use crate::served::{QueryUrgency, RunningVariant, ServedTasks, TaskQuery};

/// The time in which variants are loaded, as far as queries know: those that name a time are answered by
/// what runs, or refused, and do not make later ones late.
const LOADING: Duration = Duration::from_secs(86_400);

/// The time after which delays are forgotten in part.
const FORGETS: Duration = Duration::from_millis(250);

/// The variants that run, the samples that wait for them, and what became of queries so far.
pub(super) struct RouterState {
    pub(super) choices: TaskChoices,
    pub(super) running: Vec<Arc<RunningVariant>>,
    pub(super) backlog: Backlog,
    /// The samples of each group that are not answered yet.
    pub(super) queued: Vec<u32>,
    /// By group.
    pub(super) delays: Vec<ObservedDelay>,
    /// When delays were last forgotten in part.
    forgot: Duration,
    pub(super) tasks: Vec<TaskTally>,
    pub(super) variants: Vec<VariantTally>,
    pub(super) streams: QueryStreams,
}

impl RouterState {
    /// Creates the state of a router of which no variant runs yet.
    pub(super) fn new(tasks: &ServedTasks) -> Self {
        let catalog = tasks.catalog();
        RouterState {
            choices: TaskChoices::new(catalog.loading_in(LOADING)),
            running: Vec::new(),
            backlog: Backlog::default(),
            queued: vec![0; tasks.groups().len()],
            delays: vec![ObservedDelay::default(); tasks.groups().len()],
            forgot: Duration::ZERO,
            tasks: vec![TaskTally::default(); catalog.tasks().count()],
            variants: vec![VariantTally::default(); catalog.variants().len()],
            streams: QueryStreams::default(),
        }
    }

    /// Counts a query that no variant answers. Returns the refusal; `None` is that nothing runs.
    pub(super) fn refuse(
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

    /// Chooses a variant that runs for a query: one whose answers nearly all meet its goals, else one of
    /// which they usually do, else the nearest. `Ok(None)` is that what was chosen does not run.
    pub(super) fn choose(
        &mut self,
        tasks: &ServedTasks,
        query: TaskQuery<'_>,
        now: Duration,
    ) -> Result<Option<(ChosenVariant, Arc<RunningVariant>)>, ChoiceRefusal> {
        self.forget(now);
        let TaskQuery { task, goals, .. } = query;
        self.refresh(tasks, query, Certainty::NearlyAll);
        let mut chosen = self.choices.choose(task, goals);
        if !meets_all(&chosen) {
            self.refresh(tasks, query, Certainty::Usual);
            let usually = self.choices.choose(task, goals);
            if chosen.is_err() || meets_all(&usually) {
                chosen = usually;
            }
        }
        let chosen = chosen?;
        let running = self.running_as(chosen.variant).cloned();
        Ok(running.map(|running| (chosen, running)))
    }

    fn forget(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.forgot);
        if passed >= FORGETS {
            let all = self.delays.iter_mut();
            all.for_each(|delay| delay.pass(passed));
            self.forgot = now;
        }
    }

    /// Works out anew when the variants of its task that run would have answered a query.
    pub(super) fn refresh(&mut self, tasks: &ServedTasks, query: TaskQuery<'_>, by: Certainty) {
        for running in &self.running {
            let group = tasks.group_of(running.variant);
            if tasks.groups()[group].task != query.task {
                continue;
            }
            let urgency = tasks.urgency(group, query);
            let undisturbed = self.undisturbed(tasks, running, query.samples, urgency);
            let finish = self.delays[group].delayed(undisturbed, by);
            self.choices.set_finish(running.variant, Some(finish));
        }
    }

    /// Returns when a variant would have answered a query of `samples` samples by its profile and the
    /// work that goes before it.
    pub(super) fn undisturbed(
        &self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        samples: u32,
        urgency: QueryUrgency,
    ) -> Duration {
        let variant = tasks.catalog().variant(running.variant);
        let wait = self.backlog.wait(&running.devices, urgency);
        // Those that wait now run in its batch; full batches run before it.
        let joined = self.queued[tasks.group_of(running.variant)]
            .saturating_add(samples)
            .min(variant.batch.get().max(samples));
        wait.saturating_add(variant.profile.latency.p99(joined))
    }

    pub(super) fn enter(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        expected: &Expected,
        samples: u32,
        urgency: QueryUrgency,
    ) {
        let queued = &mut self.queued[tasks.group_of(running.variant)];
        *queued = queued.saturating_add(samples);
        self.backlog
            .add(&running.devices, expected.work.as_secs_f64(), urgency);
    }

    /// Takes the work of a query that is over off its devices, and counts how it ended.
    pub(super) fn leave(
        &mut self,
        tasks: &ServedTasks,
        query: &RoutedQuery,
        answer: Option<(Duration, MissedGoals)>,
    ) {
        let variant = query.running().variant;
        let group = tasks.group_of(variant);
        let (delay, expected) = (&mut self.delays[group], query.expected().undisturbed);
        match (query.urgency(), answer) {
            // Later queries may have gone before it, however long it was to wait.
            (QueryUrgency::Untimed, _) => {}
            (QueryUrgency::Timed, Some((latency, _))) => delay.answered(expected, latency),
            (QueryUrgency::Timed, None) => delay.given_up(expected, query.waited()),
        }
        let missed = answer.map(|(_, missed)| missed);
        self.queued[group] = self.queued[group].saturating_sub(query.samples());
        let work = query.expected().work.as_secs_f64();
        let devices = &query.running().devices;
        self.backlog.add(devices, -work, query.urgency());
        self.variants[variant.get()].end(query, missed);
        let met = missed.is_some_and(|missed| missed.is_none());
        self.streams.end(query.stream(), query.samples(), met);
    }

    /// Offers no variants of these groups from now on, but those of a task that has no others.
    pub(super) fn leave_out(&mut self, tasks: &ServedTasks, groups: &[usize]) {
        let task = |group: usize| tasks.groups()[group].task;
        let running = self.running.iter().map(|r| tasks.group_of(r.variant));
        let staying: Vec<TaskIndex> = running
            .filter(|group| !groups.contains(group))
            .map(task)
            .collect();
        let choices = &mut self.choices;
        self.running.retain(|running| {
            let group = tasks.group_of(running.variant);
            let stays = !groups.contains(&group) || !staying.contains(&task(group));
            if !stays {
                choices.set_finish(running.variant, None);
            }
            stays
        });
    }
}

/// Whether a variant was chosen that is expected to meet all goals.
fn meets_all(chosen: &Result<ChosenVariant, ChoiceRefusal>) -> bool {
    chosen.as_ref().is_ok_and(|chosen| chosen.missed.is_none())
}

/// Returns the time that a variant's device takes for some samples, in full batches where there are as
/// many.
pub(super) fn work(variant: &Variant, samples: u32) -> Duration {
    let size = variant.batch.get().min(samples.max(1));
    variant.profile.latency.mean(size).saturating_mul(samples) / size
}
