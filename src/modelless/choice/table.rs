//! The variants of a task, laid out for fast choices.

use std::time::Duration;

use super::blocks::{ChoiceColumns, NEVER, TimeColumn};
use super::chosen::{ChoiceRefusal, ChosenVariant};
use super::load::VariantLoad;
use super::wanted::{WantedNumbers, nanos};
use crate::goals::{MissedGoals, QueryGoals};
use crate::quantities::{Accuracy, QueryCost};
use crate::variants::{AnsweringMembers, TaskIndex, VariantCatalog, VariantIndex};

/// The variants of a task, from the cheapest query to the most expensive, with their load.
#[derive(Clone, Debug)]
pub struct ChoiceTable {
    first: u32,
    models: usize,
    columns: ChoiceColumns,
    /// The answer times of running variants; never for the others.
    finish: TimeColumn,
    /// The answer times of variants that do not run, loading included; never for running ones.
    loaded: TimeColumn,
    /// The latency of each variant when idle, running or not.
    alone: TimeColumn,
    /// As `alone`, but never for running variants.
    inactive: TimeColumn,
    /// The time until each variant would have been loaded and have answered.
    start: Vec<u64>,
}

impl ChoiceTable {
    /// Creates the table of a task without running variants.
    pub fn new(catalog: &VariantCatalog, task: TaskIndex) -> Self {
        let range = catalog.range(task);
        let variants = &catalog.variants()[range.clone()];
        let columns = ChoiceColumns {
            accuracy: variants.iter().map(|v| v.accuracy.value().get()).collect(),
            cost: variants.iter().map(|v| v.query_cost().get()).collect(),
            model: variants.iter().map(|v| v.model.0).collect(),
            members: variants
                .iter()
                .map(AnsweringMembers::from_variant)
                .collect(),
        };
        let alone = variants.iter().map(|v| v.profile.latency.p99(1));
        let alone: Vec<Duration> = alone.collect();
        let loading = variants.iter().map(|v| v.profile.loading);
        let start = loading
            .zip(&alone)
            .map(|(l, p99)| nanos(l.saturating_add(*p99)));
        let start: Vec<u64> = start.collect();
        let alone: Vec<u64> = alone.into_iter().map(nanos).collect();
        ChoiceTable {
            first: range.start as u32,
            models: catalog.models(task).len(),
            finish: TimeColumn::new(vec![NEVER; alone.len()], &columns),
            loaded: TimeColumn::new(start.clone(), &columns),
            alone: TimeColumn::new(alone.clone(), &columns),
            inactive: TimeColumn::new(alone, &columns),
            start,
            columns,
        }
    }

    /// Sets the load of a variant of the task. Variants of other tasks are ignored.
    pub fn set_load(&mut self, catalog: &VariantCatalog, variant: VariantIndex, load: VariantLoad) {
        self.set_finish(variant, load.finish(catalog.variant(variant)));
    }

    /// Sets the expected answer time of a variant of the task, or `None` if it does not run.
    /// Variants of other tasks are ignored.
    pub fn set_finish(&mut self, variant: VariantIndex, finish: Option<Duration>) {
        let at = variant.0.checked_sub(self.first).map(|at| at as usize);
        let Some(at) = at.filter(|at| *at < self.start.len()) else {
            return;
        };
        let finish = finish.map_or(NEVER, nanos);
        if finish == self.finish.get(at) {
            return;
        }
        let changes = (finish == NEVER) != (self.finish.get(at) == NEVER);
        self.finish.set(at, finish, &self.columns);
        if changes {
            let unless_running = |time: u64| if finish == NEVER { time } else { NEVER };
            let (start, alone) = (self.start[at], self.alone.get(at));
            self.loaded.set(at, unless_running(start), &self.columns);
            self.inactive.set(at, unless_running(alone), &self.columns);
        }
    }

    /// Chooses the variant that answers a query.
    ///
    /// # Errors
    /// Returns an error if no registered variant meets the goals, or if no running or loadable
    /// variant would answer in time.
    pub fn choose(&self, goals: &QueryGoals) -> Result<ChosenVariant, ChoiceRefusal> {
        let wanted = WantedNumbers::from_goals(goals);
        if let Some(at) = self.finish.preferred(&self.columns, &wanted) {
            return Ok(self.chosen(at, self.finish.get(at), goals, None));
        }
        self.check_model(goals)?;
        self.check_reachable(goals, &wanted)?;
        let in_time = self.loaded.preferred(&self.columns, &wanted);
        let start = in_time.or_else(|| self.inactive.preferred(&self.columns, &wanted));
        let start = start.map(|at| self.index(at));
        let nearest = self.finish.nearest(&self.columns, &wanted);
        match (nearest.or_else(|| self.instead_of_whole(&wanted)), in_time) {
            (Some(at), _) if in_time.is_some() || self.answers_in_time(&wanted) => {
                Ok(self.chosen(at, self.finish.get(at), goals, start))
            }
            (None, Some(at)) => Ok(self.chosen(at, self.loaded.get(at), goals, start)),
            _ => Err(ChoiceRefusal::TooLate {
                goal: Duration::from_nanos(wanted.nanos),
                soonest: Duration::from_nanos(self.soonest(&wanted)),
                start,
            }),
        }
    }

    /// Returns the running variant nearest to the goals, late only if all are, or `None` if none
    /// runs: for clients that prefer waiting to a refusal.
    pub fn nearest(&self, goals: &QueryGoals) -> Option<ChosenVariant> {
        let wanted = WantedNumbers::from_goals(goals);
        let at = self.finish.nearest(&self.columns, &wanted)?;
        Some(self.chosen(at, self.finish.get(at), goals, None))
    }

    /// Returns the most accurate running variant for a query that asks for a whole ensemble.
    fn instead_of_whole(&self, wanted: &WantedNumbers) -> Option<usize> {
        wanted.whole?;
        self.finish
            .preferred(&self.columns, &wanted.of_any_members())
    }

    /// Returns the earliest time in which an allowed variant would answer, running or loaded.
    fn soonest(&self, wanted: &WantedNumbers) -> u64 {
        let soonest = |column: &TimeColumn| column.soonest(&self.columns, wanted);
        soonest(&self.finish).min(soonest(&self.loaded))
    }

    /// Returns whether a running variant would answer in time, regardless of accuracy and cost.
    fn answers_in_time(&self, wanted: &WantedNumbers) -> bool {
        let relaxed = wanted.time_alone();
        self.finish.preferred(&self.columns, &relaxed).is_some()
    }

    fn check_model(&self, goals: &QueryGoals) -> Result<(), ChoiceRefusal> {
        match goals.model {
            Some(model) if usize::from(model.0) >= self.models => {
                Err(ChoiceRefusal::UnknownModel {
                    asked: model.0,
                    models: self.models,
                })
            }
            _ => Ok(()),
        }
    }

    /// Refuses goals that no variant meets even when idle, running or not.
    fn check_reachable(
        &self,
        goals: &QueryGoals,
        wanted: &WantedNumbers,
    ) -> Result<(), ChoiceRefusal> {
        if self.alone.preferred(&self.columns, wanted).is_some() {
            return Ok(());
        }
        let Some(at) = self.alone.nearest(&self.columns, wanted) else {
            return Ok(());
        };
        let nearest = self.chosen(at, self.alone.get(at), goals, None);
        Err(ChoiceRefusal::Unreachable {
            nearest: nearest.variant,
            missed: nearest.missed,
        })
    }

    fn index(&self, at: usize) -> VariantIndex {
        VariantIndex(self.first + at as u32)
    }

    fn chosen(
        &self,
        at: usize,
        nanos: u64,
        goals: &QueryGoals,
        start: Option<VariantIndex>,
    ) -> ChosenVariant {
        let accuracy = Accuracy::new(self.columns.accuracy[at]).unwrap_or(Accuracy::NONE);
        let cost = QueryCost::new(self.columns.cost[at]).unwrap_or(QueryCost::FREE);
        let finish = Duration::from_nanos(nanos);
        ChosenVariant {
            variant: self.index(at),
            finish,
            missed: MissedGoals::compare(goals, accuracy, finish, cost),
            start,
        }
    }
}
