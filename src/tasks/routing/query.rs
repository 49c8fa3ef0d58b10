//! A query in progress.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::deployment::ServingNumber;
use divisi_inference::ensemble::FoundEntry;
use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::quantities::{Accuracy, QueryCost};
use divisi_modelless::variants::{AnsweringMembers, VariantIndex};

use super::backlog::BookedWork;
use super::router::TaskRouter;
use super::streams::StreamIndex;
use crate::served::{QueryUrgency, RunningVariant};

/// The expected answer of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The expected time until the answer.
    pub finish: Duration,
    /// The goals that the answer is expected to miss.
    pub missed: MissedGoals,
    /// The accuracy of the variant.
    pub accuracy: Accuracy,
    /// The cost of a sample.
    pub cost: QueryCost,
}

/// A query in progress. Its work counts as queued until it is answered or dropped.
pub struct RoutedQuery {
    pub(super) router: Arc<TaskRouter>,
    pub(super) running: Arc<RunningVariant>,
    /// The generation and matrix that serve the variant, if known.
    pub(super) serving: Option<ServingNumber>,
    pub(super) goals: QueryGoals,
    pub(super) stream: StreamIndex,
    pub(super) expected: Expected,
    /// A variant that would meet the goals if it were loaded.
    pub(super) wanted: Option<VariantIndex>,
    pub(super) samples: u32,
    pub(super) urgency: QueryUrgency,
    /// The time until its deadline, if deadlines decide the order.
    pub(super) due: Option<Duration>,
    pub(super) booked: BookedWork,
    /// The time when it was routed, by the router's clock.
    pub(super) since: Duration,
    pub(super) is_over: bool,
}

impl RoutedQuery {
    /// Returns the variant that answers.
    pub fn variant(&self) -> VariantIndex {
        self.running.variant
    }

    /// Returns the name of the variant's model.
    pub fn entry(&self) -> &str {
        let tasks = self.router.tasks();
        &tasks.groups()[tasks.group_of(self.running.variant)].name
    }

    /// Returns the entry of the variant's model, or `None` if what serves it is unknown.
    pub(crate) fn found(&self) -> Option<FoundEntry> {
        self.serving.map(|serving| FoundEntry {
            generation: serving.generation(),
            entry: self.running.entry,
        })
    }

    /// Returns the expected answer.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns the variant that would meet the goals that this one misses if it were loaded, for a
    /// query without a latency goal.
    pub fn wanted(&self) -> Option<VariantIndex> {
        self.wanted
    }

    /// Returns whether all members that its goals require answer.
    pub(crate) fn is_of_whole(&self) -> bool {
        let variant = self.router.tasks().catalog().variant(self.running.variant);
        let answering = AnsweringMembers::from_variant(variant);
        self.goals.whole.is_none_or(|whole| whole == answering)
    }

    pub(crate) fn goals(&self) -> &QueryGoals {
        &self.goals
    }

    /// Returns its urgency.
    pub fn urgency(&self) -> QueryUrgency {
        self.urgency
    }

    /// Returns the time until its deadline, or `None` if deadlines do not decide the order.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns the number of its samples.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// Records an answer after `latency`. Returns the goals that it missed.
    pub fn answered(mut self, latency: Duration) -> MissedGoals {
        let Expected { accuracy, cost, .. } = self.expected;
        let missed = MissedGoals::compare(&self.goals, accuracy, latency, cost);
        self.is_over = true;
        self.router.leave(&self, Some((latency, missed)));
        missed
    }

    /// Withdraws the query without counting it: its variant was unloaded before the request, and
    /// another variant is to answer.
    pub fn withdraw(mut self) {
        self.is_over = true;
        self.router.withdraw(&self);
    }

    /// Returns the time since it was routed.
    pub(super) fn waited(&self) -> Duration {
        self.router.now().saturating_sub(self.since)
    }
}

impl Drop for RoutedQuery {
    fn drop(&mut self) {
        if !self.is_over {
            self.router.leave(self, None);
        }
    }
}
