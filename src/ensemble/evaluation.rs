//! The contribution of each member to its ensemble, from samples that all members answered.

use std::sync::Arc;

use super::combination::Combination;
use super::rule::{CombinationRule, label_of};
use crate::device::MemberIndex;

/// A member's figures over the samples evaluated lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberFigures {
    /// Samples evaluated since the combination last changed.
    pub weighed: u64,
    /// The share whose likeliest class was the ensemble's.
    pub agreement: f64,
    /// The share whose likeliest class was the label, where labels are known.
    pub accuracy: Option<f64>,
    /// The mean total variation from the ensemble's scores; `None` if members return values
    /// that are no probabilities.
    pub disagreement: Option<f64>,
    /// The mean entropy as a share of its maximum; `None` as above.
    pub entropy: Option<f64>,
    /// The share whose answer would be another class if the member did not vote, or if it
    /// did where it does not. It is 1 for the only voter.
    pub flips: f64,
    /// The change of the accuracy in that case, where labels are known.
    pub accuracy_change: Option<f64>,
}

/// Evaluates members under one combination. Older samples count less and less.
pub struct MemberEvaluation {
    classes: usize,
    rule: Arc<dyn CombinationRule>,
    /// For each member, the rule with its vote inverted; `None` if nobody would vote.
    otherwise: Vec<Option<Arc<dyn CombinationRule>>>,
    members: Vec<MemberSums>,
    weighed: u64,
    /// The weight of all samples.
    weight: f64,
    /// The weight of those whose label is known.
    labelled: f64,
    /// Whether members return probabilities.
    probable: bool,
}

/// Weighted sums over samples, for one member.
#[derive(Clone, Copy, Debug, Default)]
struct MemberSums {
    agreed: f64,
    right: f64,
    distance: f64,
    entropy: f64,
    flipped: f64,
    change: f64,
}

/// The factor of a sample's weight when the next one comes: about the last two thousand
/// count.
const KEPT: f64 = 1.0 - 1.0 / 2000.0;

impl MemberEvaluation {
    /// The fewest samples from which figures mean anything.
    pub const LEAST: u64 = 50;

    /// Creates an evaluation without samples. `rule` is the one that `combination` builds.
    pub fn new(combination: &Combination, rule: Arc<dyn CombinationRule>, classes: usize) -> Self {
        let otherwise = |member: MemberIndex| {
            let votes = combination.voting[member];
            let other = combination.with_vote(member, !votes).ok()?;
            Some(other.build(classes))
        };
        let members = combination.voting.len();
        MemberEvaluation {
            classes,
            rule,
            otherwise: MemberIndex::all(members).map(otherwise).collect(),
            members: vec![MemberSums::default(); members],
            weighed: 0,
            weight: 0.0,
            labelled: 0.0,
            probable: true,
        }
    }

    /// Returns the evaluation for members that return values, without figures about
    /// distributions.
    #[must_use]
    pub fn of_values(self) -> Self {
        MemberEvaluation {
            probable: false,
            ..self
        }
    }

    /// Whether it evaluates answers by `rule`.
    pub fn is_for(&self, rule: &Arc<dyn CombinationRule>) -> bool {
        Arc::ptr_eq(&self.rule, rule)
    }

    /// Adds one sample: each member's probabilities, and the label where it is known.
    ///
    /// A sample that a member answered with NaN or infinities is left out.
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
        for (member, row) in MemberIndex::enumerate(rows) {
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

    /// Returns a member's figures, or `None` while there are fewer samples than
    /// [`MemberEvaluation::LEAST`].
    pub fn of(&self, member: MemberIndex) -> Option<MemberFigures> {
        if self.weighed < Self::LEAST {
            return None;
        }
        let sums = self.members.get(member.get())?;
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
    let voting = MemberIndex::enumerate(rows).filter(|(m, _)| rule.counts(*m));
    for (member, row) in voting {
        rule.fold(member, row, &mut state);
    }
    rule.finish(state, classes)
}

fn share(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// Returns the total variation between a distribution and scores that sum to `total`.
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
