//! The choice of the running variant that answers a query.

use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::choice::{ChoiceRefusal, ChosenVariant};
use divisi_modelless::goals::LatencyGoal;
use divisi_modelless::variants::{Variant, VariantIndex};

use super::backlog::{LONG, QueryPlace};
use super::delay::Certainty;
use super::prospect::{QueryProspect, part_of_batch, place};
use super::state::RouterState;
use super::streams::StreamIndex;
use crate::served::{RunningVariant, ServedTasks, TaskQuery};

/// The share of its latency goal after which a query is due that goes ahead of more expensive ones.
/// The rest covers delays that profiles do not contain.
const HURRIED: u32 = 2;

/// A query when it arrives.
#[derive(Clone, Copy)]
pub(super) struct ArrivedQuery<'a> {
    pub(super) query: TaskQuery<'a>,
    /// The stream of its goals, if it is known.
    pub(super) stream: Option<StreamIndex>,
    pub(super) now: Duration,
}

/// A choice with the running variant.
pub(super) type RunningChoice = (ChosenVariant, Arc<RunningVariant>);

impl RouterState {
    fn running_as(&self, variant: VariantIndex) -> Option<&Arc<RunningVariant>> {
        self.running
            .iter()
            .find(|running| running.variant == variant)
    }

    /// Chooses a running variant for a query. Returns `Ok(None)` if no variant of the task runs.
    pub(super) fn choose(
        &mut self,
        tasks: &ServedTasks,
        asked: ArrivedQuery<'_>,
    ) -> Result<Option<RunningChoice>, ChoiceRefusal> {
        self.forget(asked.now);
        self.review(tasks, asked.now);
        self.backlog.pass(asked.now);
        let chosen = match self.choose_by_certainty(tasks, asked) {
            Err(ChoiceRefusal::TooLate { .. }) if !self.runs(tasks, asked.query) => {
                return Ok(None);
            }
            chosen => chosen?,
        };
        let running = self.running_as(chosen.variant).cloned();
        Ok(running.map(|running| (chosen, running)))
    }

    /// Chooses a variant whose answers nearly always meet the goals, else a variant whose answers
    /// usually do, else the nearest.
    fn choose_by_certainty(
        &mut self,
        tasks: &ServedTasks,
        asked: ArrivedQuery<'_>,
    ) -> Result<ChosenVariant, ChoiceRefusal> {
        let TaskQuery { task, goals, .. } = asked.query;
        self.refresh(tasks, asked, Certainty::NearlyAll);
        let chosen = self.choices.choose(task, goals);
        if meets_all(&chosen) {
            return chosen;
        }
        self.refresh(tasks, asked, Certainty::Usual);
        let usually = self.choices.choose(task, goals);
        match chosen.is_err() || meets_all(&usually) {
            true => usually,
            false => chosen,
        }
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

    /// Updates the expected answer times of the task's running variants.
    fn refresh(&mut self, tasks: &ServedTasks, asked: ArrivedQuery<'_>, by: Certainty) {
        let all = std::mem::take(&mut self.running);
        let of_task = all
            .iter()
            .filter(|r| tasks.groups()[tasks.group_of(r.variant)].task == asked.query.task);
        for running in of_task {
            let finish = self.finish(tasks, running, asked, by);
            self.choices.set_finish(running.variant, Some(finish));
        }
        self.running = all;
    }

    /// Returns the expected answer time of a variant, set after the goal if the query would make
    /// others late or would not leave them their time.
    fn finish(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        asked: ArrivedQuery<'_>,
        by: Certainty,
    ) -> Duration {
        let prospect = self.prospect(tasks, running, asked);
        let delay = &self.delays[tasks.group_of(running.variant)];
        let finish = delay.delayed(prospect.finish, by);
        let Some(goal) = asked.query.goals.latency.map(LatencyGoal::get) else {
            return finish;
        };
        let after = finish.saturating_add(self.left_to_others(running, asked, &prospect, goal));
        let finish = if after > goal { after } else { finish };
        let late = self.lateness(running, asked, &prospect);
        match late.is_zero() {
            true => finish,
            false => finish.max(goal.saturating_add(late)),
        }
    }

    /// Returns how late accepted queries would become, unless the query goes ahead of them.
    fn lateness(
        &self,
        running: &RunningVariant,
        asked: ArrivedQuery<'_>,
        prospect: &QueryProspect,
    ) -> Duration {
        match prospect.place {
            QueryPlace::DueBy(_) if self.hurries(asked.stream) => Duration::ZERO,
            _ => self.backlog.lateness(&running.devices, prospect.work),
        }
    }

    /// Returns the time that the query leaves to expected queries of other goals.
    fn left_to_others(
        &self,
        running: &RunningVariant,
        asked: ArrivedQuery<'_>,
        prospect: &QueryProspect,
        goal: Duration,
    ) -> Duration {
        let (overload, devices) = (&self.overload, &running.devices);
        let terms = match (prospect.place, overload.terms(asked.stream)) {
            (QueryPlace::DueBy(_), Some(terms)) => terms,
            _ => return Duration::ZERO,
        };
        match overload.is_kept(asked.stream, devices, prospect.work, goal) {
            true => Duration::ZERO,
            false => self
                .backlog
                .time_of(devices, |device| terms.left(device, goal)),
        }
    }

    fn hurries(&self, stream: Option<StreamIndex>) -> bool {
        self.overload
            .terms(stream)
            .is_some_and(|terms| terms.hurries)
    }

    /// Returns the position of a query in a variant's queue, and its expected answer time from the
    /// variant's profile and the work ahead.
    pub(super) fn prospect(
        &mut self,
        tasks: &ServedTasks,
        running: &RunningVariant,
        asked: ArrivedQuery<'_>,
    ) -> QueryProspect {
        let (query, variant) = (asked.query, tasks.catalog().variant(running.variant));
        let group = tasks.group_of(running.variant);
        let place = match place(tasks, group, query, asked.now) {
            QueryPlace::DueBy(by) if self.hurries(asked.stream) => {
                QueryPlace::DueBy(asked.now + by.saturating_sub(asked.now) / HURRIED)
            }
            place => place,
        };
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
}

/// Returns whether a chosen variant is expected to meet all goals.
fn meets_all(chosen: &Result<ChosenVariant, ChoiceRefusal>) -> bool {
    chosen.as_ref().is_ok_and(|chosen| chosen.missed.is_none())
}
