//! A bounded sample of requests whose members' answers are kept, to weigh the members.
//!
//! Requests are chosen at random when they are admitted: at most 200 samples per second and 1 % of
//! a core. They keep each member's rows until they are answered. Other requests cost only one
//! comparison.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::serving::batch::Range;
use divisi_model::ensemble::{
    AnswerKind, Combination, CombinationRule, Ensemble, MemberEvaluation, MemberFigures,
    OutputKind, Targets,
};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::lock::Ranked;

use super::locks::{EvaluationRank, SampleRowsRank};

/// The members' answers to the first samples of a request.
pub(crate) struct MemberSample {
    samples: usize,
    targets: Option<Targets>,
    /// The tokens of each sample, or `None` if all have the same number.
    tokens: Vec<Option<usize>>,
    /// The rows of each member, `[samples, width of its rows]`.
    rows: Ranked<SampleRowsRank, Vec<Vec<f32>>>,
}

impl MemberSample {
    /// Restricts the sample to the first part.
    pub(super) fn within(mut self, part: usize) -> Self {
        self.samples = self.samples.min(part);
        self
    }

    /// Keeps the needed part of `member`'s rows for a range.
    pub(super) fn keep(&self, member: MemberIndex, range: &Range, rows: &[f32]) {
        if range.part > 0 || range.first >= self.samples {
            return;
        }
        let width = rows.len() / range.len.max(1);
        let wanted = range.len.min(self.samples - range.first) * width;
        let kept = &mut self.rows.lock()[member];
        kept[range.first * width..][..wanted].copy_from_slice(&rows[..wanted]);
    }
}

/// Chooses the requests to weigh members by, and weighs them.
pub(crate) struct MemberSampler {
    /// Whether answers are meaningful.
    enabled: bool,
    answers: AnswerKind,
    /// The names of the classes, values or labels, if there are any.
    names: Option<Vec<String>>,
    /// The kind of numbers that each member returns.
    outputs: Vec<OutputKind>,
    /// The width of each member's rows.
    widths: Vec<usize>,
    /// Nanoseconds since the start until which no other request is kept.
    next: AtomicU64,
    evaluation: Ranked<EvaluationRank, MemberEvaluation>,
}

/// The most samples of one request.
const MOST: usize = 8;

/// The most values of members kept per request, 16 MiB. Larger answers, such as masks of many
/// classes and pixels, are not weighed.
const MOST_VALUES: usize = 4 << 20;

/// The most samples per second, and the largest share of a core for weighing.
const RATE: f64 = 200.0;
const SHARE: f64 = 0.01;

/// The approximate cost of weighing per member and class: its entropy, and its part in one
/// combination for each member.
const ENTROPY_S: f64 = 15e-9;
const FOLD_S: f64 = 1e-9;

impl MemberSampler {
    /// Creates a sampler that weighs by `rule`, built from `combination`, if answers are
    /// meaningful.
    pub(super) fn new(
        enabled: bool,
        combination: &Combination,
        rule: &Arc<dyn CombinationRule>,
        ensemble: &Ensemble,
    ) -> Self {
        let (answers, outputs) = (ensemble.answers, ensemble.outputs());
        let rule = Arc::clone(rule);
        let names = ensemble.answer_names.clone();
        let evaluation = MemberEvaluation::new(combination, rule, answers, &outputs);
        let evaluation = evaluation.with_names(names.as_deref());
        MemberSampler {
            enabled,
            answers,
            names,
            outputs,
            widths: ensemble.members.iter().map(|m| m.row_width()).collect(),
            next: AtomicU64::new(0),
            evaluation: Ranked::new(evaluation),
        }
    }

    /// Starts again with another combination, because earlier figures do not apply to it.
    pub(super) fn restart(&self, combination: &Combination, rule: &Arc<dyn CombinationRule>) {
        let rule = Arc::clone(rule);
        let new = MemberEvaluation::new(combination, rule, self.answers, &self.outputs);
        *self.evaluation.lock() = new.with_names(self.names.as_deref());
    }

    /// Returns the place for the members' answers to a request of `samples`, or `None` if they are
    /// not kept.
    pub(super) fn begin_sample(
        &self,
        now: Duration,
        samples: usize,
        targets: Option<(&Targets, usize)>,
        tokens_of: impl Fn(usize) -> Option<usize>,
    ) -> Option<MemberSample> {
        let samples = samples.min(MOST).min(MOST_VALUES / self.values());
        if !self.enabled || samples == 0 {
            return None;
        }
        let now = now.as_nanos() as u64;
        let next = self.next.load(Ordering::Relaxed);
        if now < next {
            return None;
        }
        let later = now + (self.pause(samples) * jitter(now) * 1e9) as u64;
        let mine = self
            .next
            .compare_exchange(next, later, Ordering::Relaxed, Ordering::Relaxed);
        mine.ok()?;
        let targets = targets.filter(|(all, _)| !all.is_empty());
        Some(MemberSample {
            samples,
            targets: targets.map(|(all, first)| all.range(first, samples)),
            tokens: (0..samples).map(tokens_of).collect(),
            rows: Ranked::new(self.widths.iter().map(|w| vec![0.0; w * samples]).collect()),
        })
    }

    /// Returns the seconds until the next request after one of this many samples.
    fn pause(&self, samples: usize) -> f64 {
        let fold = FOLD_S * self.widths.len() as f64;
        let cost = self.values() as f64 * (ENTROPY_S + fold);
        samples as f64 * (1.0 / RATE).max(cost / SHARE)
    }

    /// Returns the number of values of all members per sample.
    fn values(&self) -> usize {
        self.widths.iter().sum::<usize>().max(1)
    }

    /// Weighs the members by kept answers, unless `rule` was replaced.
    pub(super) fn weigh(&self, member_sample: &MemberSample, rule: &Arc<dyn CombinationRule>) {
        let mut evaluation = self.evaluation.lock();
        if !evaluation.is_for(rule) {
            return;
        }
        let rows = member_sample.rows.lock();
        for sample in 0..member_sample.samples {
            let of_members: Vec<&[f32]> = rows
                .iter()
                .zip(&self.widths)
                .map(|(rows, width)| &rows[sample * width..][..*width])
                .collect();
            let targets = member_sample.targets.as_ref();
            let target = targets.map(|all| all.target(sample));
            evaluation.weigh_tokens(&of_members, target, member_sample.tokens[sample]);
        }
    }

    /// Returns each member's figures, or `None` if too few samples were weighed.
    pub(super) fn member_figures(&self) -> Vec<Option<MemberFigures>> {
        let evaluation = self.evaluation.lock();
        MemberIndex::all(self.widths.len())
            .map(|member| evaluation.figures(member))
            .collect()
    }
}

/// Returns a factor between a half and one and a half, so that sampling does not follow a rhythm of
/// requests.
fn jitter(seed: u64) -> f64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    0.5 + (mixed >> 11) as f64 / (1u64 << 53) as f64
}
