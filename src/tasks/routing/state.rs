//! The state that a router uses for its decisions.

use std::sync::Arc;
use std::time::Duration;

use divisi_model::allocation::Matrix;
use divisi_modelless::choice::{ChoiceRefusal, ChosenVariant, TaskChoices};
use divisi_modelless::goals::{LatencyGoal, MissedGoals, QueryGoals};
use divisi_modelless::variants::{TaskIndex, Variant, VariantIndex};

use super::backlog::{Backlog, BookedWork, DUE_LEVEL, LONG, QueryPlace, QueryWork};
use super::delay::{Certainty, ObservedDelay};
use super::error::{RoutingError, refused};
use super::query::RoutedQuery;
use super::streams::QueryStreams;
use super::tally::{TaskTally, UnreachableTally, VariantTally};
use crate::served::{QueryUrgency, RunningVariant, ServedTasks, TaskQuery};

/// The loading time of variants for queries: queries with a latency goal use running variants or
/// are refused, so loading does not make them late.
const LOADING: Duration = Duration::from_secs(86_400);

/// The time between two decays of the delays.
const FORGETS: Duration = Duration::from_millis(250);

/// The expected answer time of a variant, from its profile and the work ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryProspect {
    pub(super) place: QueryPlace,
    pub(super) finish: Duration,
    /// The device time of the query.
    pub(super) work: Duration,
    /// The 99th percentile of its batch.
    batch: Duration,
}

/// The number of an engine generation, and its matrix.
pub(super) type ServingMatrix = (u64, Matrix);

/// The running variants, their queued samples, and the counts of queries.
pub(super) struct RouterState {
    choices: TaskChoices,
    running: Vec<Arc<RunningVariant>>,
    /// The matrix that serves them, if known.
    pub(super) serving: Option<ServingMatrix>,
    /// The longest batch of the running variants.
    largest: Duration,
    backlog: Backlog,
    /// The unanswered samples of each group.
    pub(super) queued: Vec<u32>,
    /// The delay of each group.
    delays: Vec<ObservedDelay>,
    /// The time of the last decay of the delays.
    forgot: Duration,
    pub(super) tasks: Vec<TaskTally>,
    pub(super) variants: Vec<VariantTally>,
    pub(super) streams: QueryStreams,
    /// The unreachable queries of each task.
    pub(super) unreachable: Vec<UnreachableTally>,
}

impl RouterState {
    /// Creates the state of a router without running variants.
    pub(super) fn new(tasks: &ServedTasks) -> Self {
        let catalog = tasks.catalog();
        let latencies = catalog.variants().iter();
        let quickest = latencies.map(|v| v.profile.latency.p99(1)).min();
        RouterState {
            choices: TaskChoices::new(catalog.loading_in(LOADING)),
            running: Vec::new(),
            serving: None,
            largest: Duration::ZERO,
            backlog: Backlog::new(quickest.unwrap_or_default()),
            queued: vec![0; tasks.groups().len()],
            delays: vec![ObservedDelay::default(); tasks.groups().len()],
            forgot: Duration::ZERO,
            tasks: vec![TaskTally::default(); catalog.tasks().count()],
            variants: vec![VariantTally::default(); catalog.variants().len()],
            streams: QueryStreams::default(),
            unreachable: vec![UnreachableTally::default(); catalog.tasks().count()],
        }
    }

    /// Counts a refused query. Returns the refusal; `None` means that no variant runs.
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
        // Goals that variants can meet are counted as demand.
        if matches!(&refusal, None | Some(ChoiceRefusal::TooLate { .. })) {
            let of = (task, goals);
            let stream = self.streams.arrive(of, asked);
            self.streams.end(stream, asked.1, false);
        }
        let refusal = match refusal {
            Some(refusal) => refused(tasks, task, refusal),
            None => RoutingError::NotLoaded {
                task: tasks.catalog().name(task).to_owned(),
            },
        };
        if let RoutingError::Unreachable {
            nearest, missed, ..
        } = &refusal
        {
            self.unreachable[usize::from(task.0)].add(asked.1, nearest.clone(), *missed);
        }
        refusal
    }

    /// Returns the running variants.
    pub(super) fn running(&self) -> &[Arc<RunningVariant>] {
        &self.running
    }

    /// Sets the running variants and the matrix that serves them.
    pub(super) fn set_running(
        &mut self,
        tasks: &ServedTasks,
        serving: Option<ServingMatrix>,
        running: Vec<RunningVariant>,
    ) {
        self.serving = serving;
        let before = std::mem::take(&mut self.running);
        for variant in before.iter().map(|running| running.variant) {
            self.choices.set_finish(variant, None);
        }
        let batches = running
            .iter()
            .map(|r| tasks.catalog().variant(r.variant).p99());
        self.largest = batches.max().unwrap_or_default();
        self.running = running.into_iter().map(Arc::new).collect();
    }

    fn running_as(&self, variant: VariantIndex) -> Option<&Arc<RunningVariant>> {
        self.running
            .iter()
            .find(|running| running.variant == variant)
    }

    /// Chooses a running variant for a query: a variant whose answers nearly always meet its goals,
    /// else a variant whose answers usually do, else the nearest. Returns `Ok(None)` if the chosen
    /// variant does not run.
    pub(super) fn choose(
        &mut self,
        tasks: &ServedTasks,
        query: TaskQuery<'_>,
        now: Duration,
    ) -> Result<Option<(ChosenVariant, Arc<RunningVariant>)>, ChoiceRefusal> {
        self.forget(now);
        self.backlog.pass(now);
        let TaskQuery { task, goals, .. } = query;
        self.refresh(tasks, query, now, Certainty::NearlyAll);
        let mut chosen = self.choices.choose(task, goals);
        if !meets_all(&chosen) {
            self.refresh(tasks, query, now, Certainty::Usual);
            let usually = self.choices.choose(task, goals);
            if chosen.is_err() || meets_all(&usually) {
                chosen = usually;
            }
        }
        let chosen = match chosen {
            Err(ChoiceRefusal::TooLate { .. }) if !self.runs(tasks, query) => return Ok(None),
            chosen => chosen?,
        };
        let running = self.running_as(chosen.variant).cloned();
        Ok(running.map(|running| (chosen, running)))
    }

    /// Returns whether a variant that may answer the query runs, however late its answer.
    fn runs(&self, tasks: &ServedTasks, query: TaskQuery<'_>) -> bool {
        let (catalog, asked) = (tasks.catalog(), query.goals.model);
        let mut running = self.running.iter().map(|running| running.variant);
        running.any(|variant| {
            let model = catalog.variant(variant).model;
            catalog.task_of(variant) == query.task && asked.is_none_or(|asked| asked == model)
        })
    }

    fn forget(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.forgot);
        if passed >= FORGETS {
            let all = self.delays.iter_mut();
            all.for_each(|delay| delay.pass(passed));
            self.forgot = now;
        }
    }

    /// Updates the expected answer times of the task's running variants.
    fn refresh(&mut self, tasks: &ServedTasks, query: TaskQuery<'_>, now: Duration, by: Certainty) {
        let all = std::mem::take(&mut self.running);
        let of_task = all
            .iter()
            .filter(|r| tasks.groups()[tasks.group_of(r.variant)].task == query.task);
        for running in of_task {
            let finish = self.finish(tasks, running, query, (now, by));
            self.choices.set_finish(running.variant, Some(finish));
        }
        self.running = all;
    }

    /// Returns the expected answer time of a variant, set after the goal if the query would make
    /// others late.
    fn finish(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        query: TaskQuery<'_>,
        (now, by): (Duration, Certainty),
    ) -> Duration {
        let goal = query.goals.latency.map(LatencyGoal::get);
        let prospect = self.prospect(tasks, running, query, now);
        let delay = &self.delays[tasks.group_of(running.variant)];
        let finish = delay.delayed(prospect.finish, by);
        // A query that would make others late counts as late.
        let late = self.backlog.lateness(&running.devices, prospect.work);
        match goal.filter(|_| !late.is_zero()) {
            Some(goal) => finish.max(goal.saturating_add(late)),
            None => finish,
        }
    }

    /// Returns the position of a query in a variant's queue, and its expected answer time from the
    /// variant's profile and the work ahead.
    pub(super) fn prospect(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        query: TaskQuery<'_>,
        now: Duration,
    ) -> QueryProspect {
        let variant = tasks.catalog().variant(running.variant);
        let group = tasks.group_of(running.variant);
        let place = place(tasks, group, query, now);
        self.backlog.update_prospects(place);
        let wait = self.backlog.wait(&running.devices);
        let batch = self.batch(variant, group, query.samples, wait);
        QueryProspect {
            place,
            finish: wait.saturating_add(batch),
            work: self.work(variant, group, query.samples, wait),
            batch,
        }
    }

    /// Returns the 99th percentile of the batch of a waiting query, which it shares with other
    /// waiting queries.
    ///
    /// If it waits longer than any batch takes, the batch of this variant matters little.
    /// Otherwise, queries would all go to the variant with the smallest batch once no variant is in
    /// time.
    fn batch(&self, variant: &Variant, group: usize, samples: u32, wait: Duration) -> Duration {
        if wait > self.largest {
            return self.largest;
        }
        let waiting = self.queued[group].saturating_add(samples);
        let joined = waiting.min(variant.batch.get()).max(samples);
        variant.profile.latency.p99(joined)
    }

    /// Returns the device time of a waiting query: its share of a full batch after a long wait,
    /// else of a batch with the queries already waiting.
    fn work(&self, variant: &Variant, group: usize, samples: u32, wait: Duration) -> Duration {
        let full = variant.batch.get();
        let together = match wait > LONG {
            true => full,
            false => full.min(self.queued[group].saturating_add(samples)),
        };
        part_of_batch(variant, samples, together)
    }

    /// Books the work of a query that a variant answers.
    pub(super) fn enter(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        prospect: &QueryProspect,
        samples: u32,
    ) -> BookedWork {
        let group = tasks.group_of(running.variant);
        self.queued[group] = self.queued[group].saturating_add(samples);
        let batch = prospect.batch;
        let work = QueryWork {
            work: prospect.work,
            batch,
            answering: self.delays[group].delayed(batch, Certainty::Usual),
        };
        self.backlog.book(&running.devices, work, prospect.place)
    }

    /// Removes the work of a finished query from its devices and counts its outcome.
    pub(super) fn leave(
        &mut self,
        tasks: &ServedTasks,
        query: &RoutedQuery,
        answer: Option<(Duration, MissedGoals)>,
    ) {
        let variant = query.running().variant;
        let group = tasks.group_of(variant);
        if query.urgency() == QueryUrgency::Timed {
            self.learn(group, query, answer.map(|(latency, _)| latency));
        }
        let missed = answer.map(|(_, missed)| missed);
        self.queued[group] = self.queued[group].saturating_sub(query.samples());
        self.backlog
            .take_off(&query.running().devices, query.booked());
        self.variants[variant.get()].end(query, missed);
        let met = missed.is_some_and(|missed| missed.is_none());
        self.streams.end(query.stream(), query.samples(), met);
    }

    /// Withdraws a query that was not requested.
    pub(super) fn withdraw(&mut self, tasks: &ServedTasks, query: &RoutedQuery) {
        let group = tasks.group_of(query.running().variant);
        self.queued[group] = self.queued[group].saturating_sub(query.samples());
        let devices = &query.running().devices;
        self.backlog.take_off(devices, query.booked());
        self.streams.withdraw(query.stream(), query.samples());
    }

    /// Learns the delay of a query that was answered after `latency`, or cancelled.
    fn learn(&mut self, group: usize, query: &RoutedQuery, latency: Option<Duration>) {
        let (devices, booked) = (&query.running().devices, query.booked());
        let ahead = self.backlog.ahead(devices, booked);
        let expected = ahead.saturating_add(booked.batch());
        let took = latency.unwrap_or_else(|| query.waited());
        // A query that was cancelled before it was late carries no information.
        if latency.is_none() && took <= expected {
            return;
        }
        match ahead >= LONG {
            true => self.backlog.answered(devices, booked, (ahead, took)),
            false => self.delays[group].answered(expected, took),
        }
    }

    /// Stops offering the variants of these groups, unless a task has no others.
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

/// Returns the position of a query among those waiting for a variant of a group.
fn place(tasks: &ServedTasks, group: usize, query: TaskQuery<'_>, now: Duration) -> QueryPlace {
    match (tasks.level(group, query), tasks.latency(group, query)) {
        (DUE_LEVEL, Some(goal)) => QueryPlace::DueBy(now.saturating_add(goal)),
        (urgency, _) => QueryPlace::Level(urgency),
    }
}

/// Returns the device time of samples in a batch of `together` samples, or in their own batch if
/// they are more.
fn part_of_batch(variant: &Variant, samples: u32, together: u32) -> Duration {
    let together = together.max(samples).max(1);
    let batch = variant.profile.latency.mean(together);
    batch.saturating_mul(samples) / together
}

/// Returns whether a chosen variant is expected to meet all goals.
fn meets_all(chosen: &Result<ChosenVariant, ChoiceRefusal>) -> bool {
    chosen.as_ref().is_ok_and(|chosen| chosen.missed.is_none())
}
