//! A query that is under way.

use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::quantities::{Accuracy, QueryCost};
use divisi_modelless::variants::VariantIndex;

use super::backlog::BookedWork;
use super::router::TaskRouter;
use super::streams::StreamIndex;
use crate::served::{QueryUrgency, RunningVariant};

/// The answer that is expected of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The time until it has answered.
    pub finish: Duration,
    /// The goals that it is expected to miss.
    pub missed: MissedGoals,
    /// How often its answers are right.
    pub accuracy: Accuracy,
    /// The cost of a sample.
    pub cost: QueryCost,
}

/// A query that is under way. Until it is answered or dropped its work is waited for by others.
pub struct RoutedQuery {
    router: Arc<TaskRouter>,
    running: Arc<RunningVariant>,
    goals: QueryGoals,
    stream: StreamIndex,
    expected: Expected,
    samples: u32,
    urgency: QueryUrgency,
    /// The time until it is due, if that says which query is first.
    due: Option<Duration>,
    booked: BookedWork,
    /// When it was routed, by the router's time.
    since: Duration,
    is_over: bool,
}

impl RoutedQuery {
    pub(super) fn new(
        router: Arc<TaskRouter>,
        running: Arc<RunningVariant>,
        (goals, stream): (QueryGoals, StreamIndex),
        expected: Expected,
        samples: u32,
        (urgency, due, booked): (QueryUrgency, Option<Duration>, BookedWork),
    ) -> Self {
        RoutedQuery {
            since: router.now(),
            router,
            running,
            goals,
            stream,
            expected,
            samples,
            urgency,
            due,
            booked,
            is_over: false,
        }
    }

    /// Returns the variant that answers.
    pub fn variant(&self) -> VariantIndex {
        self.running.variant
    }

    /// Returns the name of the variant's entry in the catalogue of models.
    pub fn entry(&self) -> &str {
        let tasks = self.router.tasks();
        &tasks.groups()[tasks.group_of(self.running.variant)].name
    }

    /// Returns the answer that is expected.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns how much it hurries.
    pub fn urgency(&self) -> QueryUrgency {
        self.urgency
    }

    /// Returns the time until it is to be answered, or `None` if that says nothing of which query is first.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }

    pub(super) fn booked(&self) -> &BookedWork {
        &self.booked
    }

    /// Returns the number of its samples.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// Counts an answer that came after `latency`. Returns the goals that it missed.
    pub fn answered(mut self, latency: Duration) -> MissedGoals {
        let Expected { accuracy, cost, .. } = self.expected;
        let missed = MissedGoals::of(&self.goals, accuracy, latency, cost);
        self.is_over = true;
        self.router.leave(&self, Some((latency, missed)));
        missed
    }

    /// Takes the query back as if it had not been asked: its variant left before it was, and another one
    /// is to answer.
    pub fn withdraw(mut self) {
        self.is_over = true;
        self.router.withdraw(&self);
    }

    /// Returns the time since it was routed.
    pub(super) fn waited(&self) -> Duration {
        self.router.now().saturating_sub(self.since)
    }

    pub(super) fn stream(&self) -> StreamIndex {
        self.stream
    }

    pub(super) fn running(&self) -> &RunningVariant {
        &self.running
    }
}

impl Drop for RoutedQuery {
    fn drop(&mut self) {
        if !self.is_over {
            self.router.leave(self, None);
        }
    }
}
