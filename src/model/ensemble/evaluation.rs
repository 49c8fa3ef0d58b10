//! The contribution of each member to its ensemble, computed from samples that all members
//! answered.

use std::sync::Arc;

use divisi_runtime::device::MemberIndex;

use super::answers::AnswerKind;
use super::combination::Combination;
use super::measure::{Measure, Quality};
use super::measure_tally::MeasureTally;
use super::member::OutputKind;
use super::own_answers::OwnAnswers;
use super::rule::CombinationRule;
use super::samples::SampleTarget;

/// A member's figures over recent samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberFigures {
    /// The samples evaluated since the combination last changed.
    pub weighed: u64,
    /// The similarity of its answers to the ensemble's answers, by [`Measure::of_similarity`].
    pub agreement: Quality,
    /// The quality of its answers against the targets, by [`Measure::main`], if targets are known.
    pub quality: Option<Quality>,
    /// The mean total variation from the ensemble's scores, or `None` if members do not return
    /// class probabilities.
    pub disagreement: Option<f64>,
    /// The mean entropy as a share of its maximum, or `None` as above.
    pub entropy: Option<f64>,
    /// The similarity to the ensemble's answers if the member's vote were inverted, in the measure
    /// of `agreement`, or `None` for the only voting member.
    pub otherwise: Option<f64>,
    /// The change of the ensemble's quality in that case, if targets are known.
    pub quality_change: Option<f64>,
}

impl MemberFigures {
    /// Returns the share of answers, pixels or tokens that would have another class or other labels
    /// if the member's vote were inverted. Returns `None` for the only voting member, without which
    /// there are no answers, and for values and boxes, which would all change.
    pub fn flips(&self) -> Option<f64> {
        let are_counted = self.agreement.measure.counts_answers();
        let same = self.otherwise.filter(|_| are_counted);
        same.map(|same| 1.0 - same)
    }
}

/// Evaluates members under one combination. Older samples count less.
pub struct MemberEvaluation {
    answers: AnswerKind,
    own: OwnAnswers,
    rule: Arc<dyn CombinationRule>,
    /// For each member, the rule with its vote inverted, or `None` if no member would vote.
    otherwise: Vec<Option<Arc<dyn CombinationRule>>>,
    members: Vec<MemberTallies>,
    /// The ensemble's answers against the targets.
    whole: MeasureTally,
    weighed: u64,
    /// The weight of all samples.
    weight: f64,
    /// Whether members return class probabilities.
    probable: bool,
}

/// Sums over samples, for one member.
#[derive(Clone, Debug)]
struct MemberTallies {
    /// Its answers against the ensemble's.
    agreed: MeasureTally,
    /// Its answers against the targets.
    right: MeasureTally,
    /// The answers with its vote inverted, against the ensemble's.
    changed: MeasureTally,
    /// The answers with its vote inverted, against the targets.
    changed_right: MeasureTally,
    distance: f64,
    entropy: f64,
}

impl MemberTallies {
    fn new(empty: &MeasureTally) -> Self {
        MemberTallies {
            agreed: empty.clone(),
            right: empty.clone(),
            changed: empty.clone(),
            changed_right: empty.clone(),
            distance: 0.0,
            entropy: 0.0,
        }
    }

    fn fade(&mut self) {
        let Self {
            agreed,
            right,
            changed,
            changed_right,
            distance,
            entropy,
        } = self;
        for tally in [agreed, right, changed, changed_right] {
            tally.fade(KEPT);
        }
        *distance *= KEPT;
        *entropy *= KEPT;
    }
}

/// The number of latest samples whose boxes count.
const LATEST_BOXES: usize = 256;

/// The factor for the weight of older samples at each new sample. About the last two thousand
/// samples count.
const KEPT: f64 = 1.0 - 1.0 / 2000.0;

impl MemberEvaluation {
    /// The minimum number of samples for meaningful figures.
    pub const LEAST: u64 = 50;

    /// Creates an evaluation without samples, for members with these outputs. `rule` is the rule of
    /// `combination` for them.
    pub fn new(
        combination: &Combination,
        rule: Arc<dyn CombinationRule>,
        answers: AnswerKind,
        outputs: &[OutputKind],
    ) -> Self {
        let otherwise = |member: MemberIndex| {
            let votes = combination.voting[member];
            let other = combination.with_vote(member, !votes).ok()?;
            Some(other.build_for(answers, outputs))
        };
        let members = combination.voting.len();
        let distributions = outputs.iter().all(|outputs| outputs.is_distribution());
        MemberEvaluation {
            answers,
            own: OwnAnswers::new(answers, outputs, &combination.temperatures),
            rule,
            otherwise: MemberIndex::all(members).map(otherwise).collect(),
            members: vec![MemberTallies::new(&MeasureTally::new(answers)); members],
            whole: MeasureTally::new(answers),
            weighed: 0,
            weight: 0.0,
            probable: answers.is_of_classes() && distributions,
        }
    }

    /// Returns the evaluation with class names.
    #[must_use]
    pub fn with_names(self, names: Option<&[String]>) -> Self {
        let empty = MeasureTally::with_names(self.answers, names).limited_to_latest(LATEST_BOXES);
        MemberEvaluation {
            members: vec![MemberTallies::new(&empty); self.members.len()],
            whole: empty,
            ..self
        }
    }

    /// Returns whether it evaluates answers of `rule`.
    pub fn is_for(&self, rule: &Arc<dyn CombinationRule>) -> bool {
        Arc::ptr_eq(&self.rule, rule)
    }

    /// Adds one sample: each member's row, and the target if it is known.
    ///
    /// A sample is left out if a member or the ensemble answered NaN or infinities.
    pub fn weigh(&mut self, rows: &[&[f32]], target: Option<SampleTarget<'_>>) {
        self.weigh_tokens(rows, target, None);
    }

    /// Adds one sample of `tokens` tokens, as [`MemberEvaluation::weigh`] does. Later tokens of the
    /// rows are ignored.
    pub fn weigh_tokens(
        &mut self,
        rows: &[&[f32]],
        target: Option<SampleTarget<'_>>,
        tokens: Option<usize>,
    ) {
        let answers = self.answers;
        if rows.iter().any(|row| row.iter().any(|p| !p.is_finite())) {
            return;
        }
        let answer = combine(self.rule.as_ref(), rows, self.answers.width());
        if answer.iter().any(|score| !score.is_finite()) {
            return;
        }
        let total: f32 = answer.iter().sum();
        self.fade();
        self.weighed += 1;
        self.weight += 1.0;
        if let Some(target) = target {
            self.whole.add(&answer, target);
        }
        for (member, row) in MemberIndex::enumerate(rows) {
            let own = self.own.answer(member, row);
            let tallies = &mut self.members[member];
            let whole = answers.token_part(&answer, tokens);
            tallies
                .agreed
                .add_alike(answers.token_part(&own, tokens), whole);
            if self.probable {
                tallies.distance += distance(row, &answer, total);
                tallies.entropy += entropy(row);
            }
            if let Some(target) = target {
                tallies.right.add(&own, target);
            }
            if let Some(rule) = &self.otherwise[member] {
                let other = combine(rule.as_ref(), rows, self.answers.width());
                let otherwise = answers.token_part(&other, tokens);
                tallies.changed.add_alike(otherwise, whole);
                if let Some(target) = target {
                    tallies.changed_right.add(&other, target);
                }
            }
        }
    }

    fn fade(&mut self) {
        self.weight *= KEPT;
        self.whole.fade(KEPT);
        self.members.iter_mut().for_each(MemberTallies::fade);
    }

    /// Returns a member's figures, or `None` below [`MemberEvaluation::LEAST`] samples.
    pub fn figures(&self, member: MemberIndex) -> Option<MemberFigures> {
        if self.weighed < Self::LEAST {
            return None;
        }
        let tallies = self.members.get(member.get())?;
        let mean = |sum: f64| self.probable.then(|| sum / self.weight);
        let (alike, main) = (
            Measure::of_similarity(self.answers),
            Measure::main(self.answers),
        );
        let graded = |tally: &MeasureTally| {
            let known = tally.weight() >= 1.0;
            tally.quality(main).filter(|_| known)
        };
        let whole = graded(&self.whole);
        let changed = graded(&tallies.changed_right);
        Some(MemberFigures {
            weighed: self.weighed,
            agreement: tallies.agreed.quality(alike)?,
            quality: graded(&tallies.right),
            disagreement: mean(tallies.distance),
            entropy: mean(tallies.entropy),
            otherwise: tallies.changed.value(alike),
            quality_change: changed.zip(whole).map(|(new, old)| new.value - old.value),
        })
    }
}

fn combine(rule: &dyn CombinationRule, rows: &[&[f32]], classes: usize) -> Vec<f32> {
    let mut state = vec![0.0; rule.state_width()];
    let voting = MemberIndex::enumerate(rows).filter(|(m, _)| rule.counts(*m));
    for (member, row) in voting {
        rule.fold(member, row, &mut state);
    }
    rule.finish(state.into(), classes).into_vec()
}

/// Returns the total variation between a distribution and scores with the sum `total`.
fn distance(row: &[f32], scores: &[f32], total: f32) -> f64 {
    let pairs = row.iter().zip(scores);
    let sum: f32 = pairs.map(|(p, s)| (p - s / total).abs()).sum();
    0.5 * f64::from(sum)
}

fn entropy(row: &[f32]) -> f64 {
    if row.len() < 2 {
        return 0.0;
    }
    let bits = row.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln());
    f64::from(bits.sum::<f32>()) / (row.len() as f64).ln()
}
