//! Whether a rollback helped.

use divisi_engine::changes::{Judge, missed_share, together};
use divisi_model::metrics::Reading;
use divisi_modelless::demands::QueryStream;

use super::seconds::QuerySecond;

/// The least number of seconds before a verdict.
const SECONDS: u32 = 5;

/// The time after a rollback. If as many queries still miss their goals, the change was not the
/// cause.
#[derive(Clone, Debug)]
pub(super) struct Aftermath {
    judged: Vec<QueryStream>,
    /// The share of missed queries above which the rollback did not help: halfway between the
    /// shares before and after the change.
    most: f64,
    /// The share of the busiest core that other programs may take.
    most_others: f64,
    /// The counted seconds, or `None` before the rollback.
    seconds: Option<u32>,
    seen: Reading,
}

impl Aftermath {
    /// Creates the aftermath of a change that affected some streams, with the shares of missed
    /// queries before and after it.
    pub(super) fn new(judged: Vec<QueryStream>, before: f64, after: f64, most_others: f64) -> Self {
        Aftermath {
            judged,
            most: (before + after) / 2.0,
            most_others,
            seconds: None,
            seen: Reading::default(),
        }
    }

    /// Starts to count: the change is rolled back. The next second is still that of the rollback.
    pub(super) fn begin(&mut self) {
        (self.seconds, self.seen) = (Some(0), Reading::default());
    }

    /// Counts a second. Returns whether the rollback helped once that is known.
    pub(super) fn second(&mut self, second: &QuerySecond) -> Option<bool> {
        let seconds = self.seconds.as_mut()?;
        if second.others > self.most_others {
            return None;
        }
        *seconds += 1;
        if *seconds == 1 {
            return None;
        }
        let all = [self.seen.clone(), second.reading(&self.judged)];
        self.seen = together(&all);
        let is_known = self.seen.answered + self.seen.failed >= Judge::LEAST;
        (*seconds > SECONDS && is_known).then(|| missed_share(&self.seen) <= self.most)
    }
}
