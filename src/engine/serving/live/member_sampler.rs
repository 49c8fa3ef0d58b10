//! A bounded sample of requests whose members' answers are kept, to weigh members by.
//!
//! Requests are chosen when they are admitted, at random: at most 200 samples a second and 1 % of
//! a core. They keep each member's rows until they are answered; others pay for one comparison.

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
    /// The tokens of each sample, or none where all have as many.
    tokens: Vec<Option<usize>>,
    /// Of each member `[samples, width of its rows]`.
    rows: Ranked<SampleRowsRank, Vec<Vec<f32>>>,
}

impl MemberSample {
    /// Only samples of the first part are kept.
    pub(super) fn within(mut self, part: usize) -> Self {
        self.samples = self.samples.min(part);
        self
    }

    /// Keeps what is wanted of `member`'s rows for a range.
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

/// Decides which requests are weighed, and weighs them.
pub(crate) struct MemberSampler {
    /// Answers mean something here.
    enabled: bool,
    answers: AnswerKind,
    /// The names of the classes, values or labels, if they have any.
    names: Option<Vec<String>>,
    /// The kind of numbers that each member returns.
    outputs: Vec<OutputKind>,
    /// The width of each member's rows.
    widths: Vec<usize>,
    /// Nanoseconds since the start before which nothing more is kept.
    next: AtomicU64,
    evaluation: Ranked<EvaluationRank, MemberEvaluation>,
}

/// Samples of one request at most.
const MOST: usize = 8;

/// The most values of members that are kept of a request, 16 MiB: of larger answers, as masks of
/// many classes and pixels, nothing is weighed.
const MOST_VALUES: usize = 4 << 20;

/// Samples a second at most, and the share of a core that weighing may take.
const RATE: f64 = 200.0;
const SHARE: f64 = 0.01;

/// About what weighing costs for each member and class: its entropy, and its part in one
/// combination for each member.
const ENTROPY_S: f64 = 15e-9;
const FOLD_S: f64 = 1e-9;

impl MemberSampler {
    /// Weighs by `rule`, which `combination` builds, where that means something.
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
        let evaluation = evaluation.named(names.as_deref());
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

    /// Another combination: what was weighed under the last says nothing of it.
    pub(super) fn restart(&self, combination: &Combination, rule: &Arc<dyn CombinationRule>) {
        let rule = Arc::clone(rule);
        let new = MemberEvaluation::new(combination, rule, self.answers, &self.outputs);
        *self.evaluation.lock() = new.named(self.names.as_deref());
    }

    /// Where the answers to a request of `samples` are kept, if they are to be.
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

    /// Seconds until the next request after one of so many samples.
    fn pause(&self, samples: usize) -> f64 {
        let fold = FOLD_S * self.widths.len() as f64;
        let cost = self.values() as f64 * (ENTROPY_S + fold);
        samples as f64 * (1.0 / RATE).max(cost / SHARE)
    }

    /// Returns the values that all members answer for a sample.
    fn values(&self) -> usize {
        self.widths.iter().sum::<usize>().max(1)
    }

    /// Weighs what was answered by `rule`.
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
            let target = targets.map(|all| all.of(sample));
            evaluation.weigh_tokens(&of_members, target, member_sample.tokens[sample]);
        }
    }

    /// Each member's figures; none while too few samples were weighed.
    pub(super) fn member_figures(&self) -> Vec<Option<MemberFigures>> {
        let evaluation = self.evaluation.lock();
        MemberIndex::all(self.widths.len())
            .map(|member| evaluation.of(member))
            .collect()
    }
}

/// From a half to one and a half, so that no rhythm of requests is followed.
fn jitter(seed: u64) -> f64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    0.5 + (mixed >> 11) as f64 / (1u64 << 53) as f64
}
