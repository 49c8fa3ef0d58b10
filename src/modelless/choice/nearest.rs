//! The nearest variant to goals that no variant meets.
//!
//! A variant that answers in time is nearer than every variant that does not: a late answer is
//! useless to most clients, whatever its accuracy. Among variants that are equally in time, the
//! nearest has the smallest [`Distances`].

use super::blocks::{ChoiceColumns, NEVER, TimeColumn};
use super::wanted::WantedNumbers;

/// The distance of a variant from goals: the sum of the misses relative to the goals, as in
/// [`crate::goals::MissedGoals::distance`].
#[derive(Clone, Copy)]
struct Distances {
    accuracy: f64,
    nanos: f64,
    cost: f64,
}

impl Distances {
    fn from_wanted(wanted: &WantedNumbers) -> Self {
        let part = |goal: f64| 1.0 / goal.max(f64::MIN_POSITIVE);
        Distances {
            accuracy: part(wanted.accuracy),
            nanos: part(wanted.nanos as f64),
            cost: part(wanted.cost),
        }
    }

    fn from(&self, wanted: &WantedNumbers, accuracy: f64, nanos: u64, cost: f64) -> f64 {
        // A cost without a bound is infinite: infinity times 0 would be NaN.
        let dear = match cost > wanted.cost {
            true => (cost - wanted.cost) * self.cost,
            false => 0.0,
        };
        (wanted.accuracy - accuracy).max(0.0) * self.accuracy
            + nanos.saturating_sub(wanted.nanos) as f64 * self.nanos
            + dear
    }
}

impl TimeColumn {
    /// Returns the variant nearest to the goals, the cheapest of equally near ones.
    pub(super) fn nearest(&self, columns: &ChoiceColumns, wanted: &WantedNumbers) -> Option<usize> {
        let distances = Distances::from_wanted(wanted);
        let away = |accuracy, nanos, cost| {
            let distance = distances.from(wanted, accuracy, nanos, cost);
            (nanos > wanted.nanos, distance)
        };
        let (mut nearest, mut least) = (None, (true, f64::INFINITY));
        for (range, best) in self.blocks() {
            if away(best.accuracy, best.nanos, columns.cost[range.start]) >= least {
                continue;
            }
            for at in range {
                let nanos = self.get(at);
                if nanos == NEVER || !columns.allows(at, wanted) {
                    continue;
                }
                let found = away(columns.accuracy[at], nanos, columns.cost[at]);
                if found < least {
                    (nearest, least) = (Some(at), found);
                }
            }
        }
        nearest
    }
}
