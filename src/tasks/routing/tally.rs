//! Queries that are over, counted.

use divisi_modelless::choice::ChoiceRefusal;
use divisi_modelless::goals::MissedGoals;

use super::query::RoutedQuery;

/// The queries of a task that no variant took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTally {
    /// No variant meets their goals.
    pub unreachable: u64,
    /// None would have answered in time.
    pub too_late: u64,
    /// None was loaded.
    pub not_loaded: u64,
}

impl TaskTally {
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
    /// The variant that is nearest to the last of them, in words, and what it misses.
    pub(crate) nearest: Option<(String, MissedGoals)>,
}

impl UnreachableTally {
    pub(super) fn add(&mut self, samples: u32, nearest: String, missed: MissedGoals) {
        self.queries += 1;
        self.samples += u64::from(samples);
        self.nearest = Some((nearest, missed));
    }
}

/// The queries that a variant took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VariantTally {
    /// Those that were answered.
    pub answered: u64,
    /// Those that were not: refused, failed or given up.
    pub unanswered: u64,
    /// The samples of those that were answered.
    pub samples: u64,
    /// Those whose answers met all goals.
    pub met: u64,
    /// Those whose answers were less accurate than asked for.
    pub missed_accuracy: u64,
    /// Those whose answers came later than asked for.
    pub missed_latency: u64,
    /// Those whose answers cost more than asked for.
    pub missed_cost: u64,
    /// The cost of all samples that were answered.
    pub cost: f64,
}

impl VariantTally {
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
