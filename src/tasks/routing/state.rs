//! The state that a router uses for its decisions.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::deployment::ServingNumber;
use divisi_modelless::choice::{ChoiceRefusal, TaskChoices};
use divisi_modelless::goals::MissedGoals;

use super::backlog::{Backlog, BookedWork, LONG, QueryWork};
use super::choosing::ArrivedQuery;
use super::delay::{Certainty, ObservedDelay};
use super::error::{RoutingError, refused};
use super::offers::offer;
use super::overload::OverloadTerms;
use super::prospect::QueryProspect;
use super::query::RoutedQuery;
use super::streams::{QueryStreams, StreamIndex};
use super::tally::{TaskTally, UnreachableTally, VariantTally};
use crate::served::{QueryUrgency, RunningVariant, ServedTasks};

/// The loading time of variants for queries: queries with a latency goal use running variants or
/// are refused, so loading does not make them late.
const LOADING: Duration = Duration::from_secs(86_400);

/// The time between two decays of the delays.
const FORGETS: Duration = Duration::from_millis(250);

/// The running variants, their queued samples, and the counts of queries.
pub(super) struct RouterState {
    pub(super) choices: TaskChoices,
    pub(super) running: Vec<Arc<RunningVariant>>,
    /// The generation and matrix that serve them, if known.
    pub(super) serving: Option<ServingNumber>,
    /// The longest batch of the running variants.
    pub(super) largest: Duration,
    pub(super) backlog: Backlog,
    pub(super) overload: OverloadTerms,
    /// The unanswered samples of each group.
    pub(super) queued: Vec<u32>,
    /// The delay of each group.
    pub(super) delays: Vec<ObservedDelay>,
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
            overload: OverloadTerms::default(),
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
        asked: ArrivedQuery<'_>,
        refusal: Option<ChoiceRefusal>,
    ) -> RoutingError {
        let query = asked.query;
        let (task, samples) = (query.task, query.samples);
        let tally = &mut self.tasks[usize::from(task.0)];
        match &refusal {
            Some(refusal) => tally.refuse(refusal),
            None => tally.not_loaded += 1,
        }
        // Goals that variants can meet are counted as demand.
        if matches!(&refusal, None | Some(ChoiceRefusal::TooLate { .. })) {
            let stream = self.streams.arrive(query, asked.now);
            self.overload.arrived(stream, samples, false);
            self.streams.end(stream, query.goals, samples, false);
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
            self.unreachable[usize::from(task.0)].add(samples, nearest.clone(), *missed);
        }
        refusal
    }

    /// Sets the running variants and what serves them.
    pub(super) fn set_running(
        &mut self,
        tasks: &ServedTasks,
        serving: Option<ServingNumber>,
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

    pub(super) fn forget(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.forgot);
        if passed >= FORGETS {
            let all = self.delays.iter_mut();
            all.for_each(|delay| delay.pass(passed));
            self.forgot = now;
        }
    }

    /// Renews the terms of all streams a few times a second.
    pub(super) fn review(&mut self, tasks: &ServedTasks, now: Duration) {
        if !self.overload.is_due(now) {
            return;
        }
        let streams = self.streams.all();
        let offers = streams.map(|stream| offer(tasks, &self.running, stream));
        let offers: Vec<_> = offers.collect();
        self.overload.review(now, &offers);
    }

    /// Books the work of a query that a variant answers.
    pub(super) fn enter(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        prospect: &QueryProspect,
        stream: StreamIndex,
        samples: u32,
    ) -> BookedWork {
        let group = tasks.group_of(running.variant);
        self.queued[group] = self.queued[group].saturating_add(samples);
        self.overload.booked(stream, samples, prospect.work);
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
        let variant = query.variant();
        let group = tasks.group_of(variant);
        if query.urgency() == QueryUrgency::Timed {
            self.learn(group, query, answer.map(|(latency, _)| latency));
        }
        let missed = answer.map(|(_, missed)| missed);
        self.queued[group] = self.queued[group].saturating_sub(query.samples());
        self.take_off(query);
        self.variants[variant.get()].end(query, missed);
        let met = missed.is_some_and(|missed| missed.is_none()) && query.is_of_whole();
        let (stream, goals) = (query.stream, query.goals());
        self.streams.end(stream, goals, query.samples(), met);
    }

    /// Withdraws a query that was not requested.
    pub(super) fn withdraw(&mut self, tasks: &ServedTasks, query: &RoutedQuery) {
        let group = tasks.group_of(query.variant());
        self.queued[group] = self.queued[group].saturating_sub(query.samples());
        self.take_off(query);
        self.streams.withdraw(query.stream, query.samples());
    }

    fn take_off(&mut self, query: &RoutedQuery) {
        let (devices, booked) = (&query.running.devices, &query.booked);
        self.backlog.take_off(devices, booked);
        self.overload.ended(query.stream, booked.work());
    }

    /// Learns the delay of a query that was answered after `latency`, or cancelled.
    fn learn(&mut self, group: usize, query: &RoutedQuery, latency: Option<Duration>) {
        let (devices, booked) = (&query.running.devices, &query.booked);
        let ahead = self.backlog.ahead(devices, booked);
        let expected = ahead.saturating_add(booked.batch());
        let took = latency.unwrap_or_else(|| query.waited());
        // A query that was cancelled before it was late carries no information.
        if latency.is_none() && took <= expected {
            return;
        }
        match ahead >= LONG {
            true => self.backlog.answered(devices, booked, ahead, took),
            false => self.delays[group].answered(expected, took),
        }
    }
}
