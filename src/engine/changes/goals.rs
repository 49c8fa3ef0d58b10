//! The probation of a policy's change, judged by the goals of the queries that it can affect.

use std::time::Duration;

use divisi_model::metrics::Reading;

use super::judge::{Baseline, Check, Judge, JudgeVerdict, Terms};

/// The evidence about a policy's change, up to the last second.
///
/// The policy counts, because it alone knows which queries the change can affect and which seconds
/// are comparable; the machine of changes judges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoalEvidence {
    /// The affected queries of each comparable second before the change. A missed goal is a failure.
    pub before: Vec<Reading>,
    /// The affected queries of each comparable second since the change.
    pub after: Vec<Reading>,
    /// The comparable time since the change.
    pub counted: Duration,
    /// Why no verdict is possible, or `None` if one is. It ends the probation.
    pub unclear: Option<String>,
    /// Why the change stays even if it does worse, or `None` if it can be rolled back.
    pub excuse: Option<String>,
}

impl GoalEvidence {
    /// The comparable seconds after a change until its probation ends.
    pub const LASTS: Duration = Duration::from_secs(10);
    /// The additional share of queries that may miss their goals after a change.
    const MORE_MISSED: f64 = 0.01;
    /// The fewest seconds with too many misses: a single one is chance.
    const WORSE: usize = 2;

    /// Returns whether there were enough queries before the change for a comparison.
    pub fn is_enough(&self) -> bool {
        let before = together(&self.before);
        before.answered + before.failed >= Judge::LEAST
    }

    /// Returns the terms: the length, and the allowed rise of missed goals as that of failures.
    pub(super) fn terms() -> Terms {
        Terms {
            lasts: GoalEvidence::LASTS,
            p99: None,
            failures: Some(GoalEvidence::MORE_MISSED),
            accuracy: None,
        }
    }

    /// Returns the state of the limit.
    pub(super) fn checks(&self) -> Vec<Check> {
        self.judge().checks(&together(&self.after))
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> JudgeVerdict {
        if let Some(why) = &self.unclear {
            return JudgeVerdict::Passed(Some(why.clone()));
        }
        match self.judge().step(self.counted, &together(&self.after), 0) {
            JudgeVerdict::Failed(_) if self.worse_seconds() < GoalEvidence::WORSE => {
                match self.counted < GoalEvidence::LASTS {
                    true => JudgeVerdict::Watching,
                    false => JudgeVerdict::Passed(Some("one second was worse".to_owned())),
                }
            }
            JudgeVerdict::Failed(_) if self.excuse.is_some() => {
                JudgeVerdict::Passed(self.excuse.clone())
            }
            verdict => verdict,
        }
    }

    fn judge(&self) -> Judge {
        let before = Baseline {
            whole: together(&self.before),
            pieces: self.before.clone(),
        };
        Judge::of_goals(GoalEvidence::terms(), &before)
    }

    fn worse_seconds(&self) -> usize {
        let most = missed_share(&together(&self.before)) + GoalEvidence::MORE_MISSED;
        let worse = self
            .after
            .iter()
            .filter(|second| missed_share(second) > most);
        worse.count()
    }
}

/// Returns the counts of some readings together.
pub fn together(readings: &[Reading]) -> Reading {
    let sum = |all: Reading, more: &Reading| Reading {
        answered: all.answered + more.answered,
        failed: all.failed + more.failed,
        ..all
    };
    readings.iter().fold(Reading::default(), sum)
}

/// Returns the share of the queries of a reading that missed a goal.
pub fn missed_share(reading: &Reading) -> f64 {
    reading.failed as f64 / (reading.answered + reading.failed).max(1) as f64
}
