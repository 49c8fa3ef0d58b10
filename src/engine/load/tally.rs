//! The counters of a generator, and the comparison of its answers with the targets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::serving::{Answer, Graded, Outcome};
use divisi_model::ensemble::{
    AnswerKind, Ensemble, Measure, MeasureTally, Quality, SampleTarget, Samples, Targets, is_right,
};
use divisi_runtime::lock::Leaf;

/// The counters of a generator.
#[derive(Debug, Default)]
pub struct LoadTally {
    /// Requests sent.
    pub sent: AtomicU64,
    /// Requests refused.
    pub refused: AtomicU64,
    /// Requests that failed.
    pub failed: AtomicU64,
    /// Samples answered.
    pub answered: AtomicU64,
    /// Answered samples that count in the quality figures: of the first entry, and of other entries
    /// if all are of classes.
    pub compared: AtomicU64,
    /// Compared samples whose answer was the target, for ensembles of classes or labels.
    pub right: AtomicU64,
    /// Answers compared with targets, for ensembles without classes.
    measured: Leaf<Option<MeasureTally>>,
    /// The delay of the last request of an open pattern, in microseconds. If it grows, the
    /// generator or the door is the bottleneck.
    pub behind: AtomicU64,
}

impl LoadTally {
    /// Returns the quality figures of the answers so far, the main one first. Empty without
    /// answers.
    pub fn qualities(&self, answers: AnswerKind) -> Vec<Quality> {
        let compared = self.compared.load(Ordering::Relaxed);
        if !answers.is_of_classes() {
            let measured = self.measured.lock();
            return measured
                .as_ref()
                .map_or_else(Vec::new, |tally| tally.qualities());
        }
        let right = self.right.load(Ordering::Relaxed);
        let accuracy = (compared > 0).then(|| Quality {
            measure: Measure::Accuracy,
            value: right as f64 / compared as f64,
        });
        accuracy.into_iter().collect()
    }

    pub(super) fn count(&self, outcome: &Outcome, sent: &SentSamples) {
        let Ok(answer) = outcome else {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let samples = answer.len() as u64;
        self.answered.fetch_add(samples, Ordering::Relaxed);
        if !sent.is_compared {
            return;
        }
        let targets = sent.samples.targets();
        let right = targets.map_or(0, |targets| self.compare(answer, sent, targets));
        self.compared.fetch_add(samples, Ordering::Relaxed);
        self.right.fetch_add(right as u64, Ordering::Relaxed);
    }

    /// Compares answers with targets. Returns the number of right answers, 0 for answers without
    /// right and wrong.
    fn compare(&self, answer: &Answer, sent: &SentSamples, targets: &Targets) -> usize {
        let rows = || {
            let rows = answer.rows().enumerate();
            rows.map(|(i, row)| (row, targets.target(sent.first + i)))
        };
        if !sent.ensemble.answers.is_of_classes() {
            let mut measured = self.measured.lock();
            let tally = measured.get_or_insert_with(|| sent.no_answers());
            rows().for_each(|(row, target)| tally.add(row, target));
        }
        if !sent.ensemble.answers.can_be_right() {
            return 0;
        }
        let right = |(row, target): &(&[f32], SampleTarget<'_>)| {
            is_right(sent.ensemble.answers, row, *target)
        };
        let right = rows().filter(right).count();
        sent.graded.count(answer.len(), right);
        right
    }
}

/// The number of latest samples whose boxes count.
const LATEST_BOXES: usize = 1024;

/// The samples of a request, and the counters of their answers.
pub(super) struct SentSamples {
    pub(super) ensemble: Arc<Ensemble>,
    pub(super) samples: Arc<Samples>,
    pub(super) first: usize,
    /// Whether the answers count in the quality figures.
    pub(super) is_compared: bool,
    pub(super) graded: Arc<Graded>,
}

impl SentSamples {
    /// Returns an empty tally of answers.
    fn no_answers(&self) -> MeasureTally {
        let names = self.ensemble.answer_names.as_deref();
        MeasureTally::with_names(self.ensemble.answers, names).limited_to_latest(LATEST_BOXES)
    }
}
