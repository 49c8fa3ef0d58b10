//! What each member brings to its ensemble, from samples that all of them answered.

use std::sync::Arc;

use super::combination::Combination;
use super::rule::{CombinationRule, label_of};

/// A member's figures over the samples weighed lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberFigures {
    /// Samples since the combination last changed.
    pub weighed: u64,
    /// Share whose likeliest class was the ensemble's.
    pub agreement: f64,
    /// Share whose label was met, where labels are known.
    pub accuracy: Option<f64>,
    /// Mean total variation from the ensemble's scores; none where members give values
    /// that are no probabilities.
    pub disagreement: Option<f64>,
    /// Mean entropy over the most there can be, likewise.
    pub entropy: Option<f64>,
    /// Share whose answer would be another class without it; with it, where it does not
    /// vote. Without the only voter there would be no answer at all: 1.
    pub flips: f64,
    /// What accuracy would change by then, where labels are known.
    pub accuracy_change: Option<f64>,
}

/// Weighs members under one combination. Older samples count less and less.
pub struct MemberEvaluation {
    classes: usize,
    rule: Arc<dyn CombinationRule>,
    /// Of each member, the rule where it votes otherwise; none where nobody would vote.
    otherwise: Vec<Option<Arc<dyn CombinationRule>>>,
    members: Vec<MemberSums>,
    weighed: u64,
    /// Weights of all samples, and of those whose label is known.
    weight: f64,
    labelled: f64,
    /// Members give probabilities.
    probable: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct MemberSums {
    agreed: f64,
    right: f64,
    distance: f64,
    entropy: f64,
    flipped: f64,
    change: f64,
}

/// What is left of a sample's weight when the next one comes: about the last two
/// thousand count.
const KEPT: f64 = 1.0 - 1.0 / 2000.0;

impl MemberEvaluation {
    /// Samples under which figures mean nothing.
    pub const LEAST: u64 = 50;

    /// Nothing weighed yet; `rule` is what `combination` builds.
    pub fn new(combination: &Combination, rule: Arc<dyn CombinationRule>, classes: usize) -> Self {
        let otherwise = |member: usize| {
            let votes = combination.voting[member];
            let other = combination.with_vote(member, !votes).ok()?;
            Some(other.build(classes))
        };
        let members = combination.voting.len();
        MemberEvaluation {
            classes,
            rule,
            otherwise: (0..members).map(otherwise).collect(),
            members: vec![MemberSums::default(); members],
            weighed: 0,
            weight: 0.0,
            labelled: 0.0,
            probable: true,
        }
    }

    /// For members that give values: nothing is said of distributions.
    #[must_use]
    pub fn of_values(self) -> Self {
        MemberEvaluation {
            probable: false,
            ..self
        }
    }

    /// Whether answers by `rule` are weighed here.
    pub fn is_for(&self, rule: &Arc<dyn CombinationRule>) -> bool {
        Arc::ptr_eq(&self.rule, rule)
    }

    /// Weighs one sample: each member's probabilities, and the label where it is known.
    /// One that any member answered with NaN or infinities is left out: it would stay in
    /// every mean.
    pub fn weigh(&mut self, rows: &[&[f32]], label: Option<usize>) {
        if rows.iter().any(|row| row.iter().any(|p| !p.is_finite())) {
            return;
        }
        let scores = combine(self.rule.as_ref(), rows, self.classes);
        let answer = label_of(&scores);
        let total: f32 = scores.iter().sum();
        self.fade();
        self.weighed += 1;
        self.weight += 1.0;
        self.labelled += f64::from(u8::from(label.is_some()));
        for (member, row) in rows.iter().enumerate() {
            let other = self.otherwise[member].as_ref();
            let other =
                other.and_then(|rule| label_of(&combine(rule.as_ref(), rows, self.classes)));
            let sums = &mut self.members[member];
            sums.agreed += share(label_of(row) == answer);
            sums.distance += distance(row, &scores, total);
            sums.entropy += entropy(row);
            sums.flipped += share(other != answer);
            if let Some(label) = label {
                let now = share(answer == Some(label));
                sums.right += share(label_of(row) == Some(label));
                sums.change += other.map_or(0.0, |other| share(other == label) - now);
            }
        }
    }

    fn fade(&mut self) {
        self.weight *= KEPT;
        self.labelled *= KEPT;
        for sums in &mut self.members {
            for sum in [
                &mut sums.agreed,
                &mut sums.right,
                &mut sums.distance,
                &mut sums.entropy,
                &mut sums.flipped,
                &mut sums.change,
            ] {
                *sum *= KEPT;
            }
        }
    }

    /// A member's figures; none while too few samples were weighed.
    pub fn of(&self, member: usize) -> Option<MemberFigures> {
        if self.weighed < Self::LEAST {
            return None;
        }
        let sums = self.members.get(member)?;
        let mean = |sum: f64| sum / self.weight;
        let graded = |sum: f64| (self.labelled >= 1.0).then(|| sum / self.labelled);
        Some(MemberFigures {
            weighed: self.weighed,
            agreement: mean(sums.agreed),
            accuracy: graded(sums.right),
            disagreement: self.probable.then(|| mean(sums.distance)),
            entropy: self.probable.then(|| mean(sums.entropy)),
            flips: mean(sums.flipped),
            accuracy_change: graded(sums.change).filter(|_| self.otherwise[member].is_some()),
        })
    }
}

fn combine(rule: &dyn CombinationRule, rows: &[&[f32]], classes: usize) -> Vec<f32> {
    let mut state = vec![0.0; rule.state_width()];
    for (member, row) in rows.iter().enumerate().filter(|(m, _)| rule.counts(*m)) {
        rule.fold(member, row, &mut state);
    }
    rule.finish(state, classes)
}

fn share(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// Half the sum of differences between a distribution and scores that sum to `total`.
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
