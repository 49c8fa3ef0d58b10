//! Counts of finished queries.

use divisi_modelless::choice::ChoiceRefusal;
use divisi_modelless::goals::MissedGoals;

use super::query::RoutedQuery;

/// The refused queries of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTally {
    /// Queries whose goals no variant meets.
    pub unreachable: u64,
    /// Queries that no variant would have answered in time.
    pub too_late: u64,
    /// Queries without a loaded variant.
    pub not_loaded: u64,
}

impl TaskTally {
    pub(super) fn add(&mut self, other: &Self) {
        self.unreachable += other.unreachable;
        self.too_late += other.too_late;
        self.not_loaded += other.not_loaded;
    }

    pub(super) fn refuse(&mut self, refusal: &ChoiceRefusal) {
        match refusal {
            ChoiceRefusal::TooLate { .. } => self.too_late += 1,
            _ => self.unreachable += 1,
        }
    }
}

/// The queries of a task whose goals no variant meets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UnreachableTally {
    pub(crate) queries: u64,
    pub(crate) samples: u64,
    /// The variant nearest to the last such query, in words, and the goals it misses.
    pub(crate) nearest: Option<(String, MissedGoals)>,
}

impl UnreachableTally {
    pub(super) fn add(&mut self, samples: u32, nearest: String, missed: MissedGoals) {
        self.queries += 1;
        self.samples += u64::from(samples);
        self.nearest = Some((nearest, missed));
    }
}

/// The queries sent to a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VariantTally {
    /// Answered queries.
    pub answered: u64,
    /// Unanswered queries: refused, failed or cancelled.
    pub unanswered: u64,
    /// The samples of answered queries.
    pub samples: u64,
    /// Queries whose answers met all goals.
    pub met: u64,
    /// Queries whose answers were less accurate than requested.
    pub missed_accuracy: u64,
    /// Queries whose answers were later than requested.
    pub missed_latency: u64,
    /// Queries whose answers cost more than requested.
    pub missed_cost: u64,
    /// The cost of all answered samples.
    pub cost: f64,
}

impl VariantTally {
    pub(super) fn add(&mut self, other: &Self) {
        self.answered += other.answered;
        self.unanswered += other.unanswered;
        self.samples += other.samples;
        self.met += other.met;
        self.missed_accuracy += other.missed_accuracy;
        self.missed_latency += other.missed_latency;
        self.missed_cost += other.missed_cost;
        self.cost += other.cost;
    }

    pub(super) fn end(&mut self, query: &RoutedQuery, missed: Option<MissedGoals>) {
        let Some(missed) = missed else {
            self.unanswered += 1;
            return;
        };
        self.answered += 1;
        self.samples += u64::from(query.samples());
        self.met += u64::from(missed.is_none());
        self.missed_accuracy += u64::from(missed.accuracy.is_some());
        self.missed_latency += u64::from(missed.latency.is_some());
        self.missed_cost += u64::from(missed.cost.is_some());
        self.cost += f64::from(query.samples()) * query.expected().cost.get();
    }
}
