//! Combination rules, which fold members' rows incrementally and in any order, and the weights and
//! temperatures of members.

use std::fmt;
use std::sync::Arc;

use crate::ranged::{OutOfRange, ranged};
use divisi_runtime::device::MemberIndex;

use super::answer_floats::AnswerFloats;

/// A rule that folds members' rows into an ensemble's answer, in any order.
///
/// The state of one sample is [`CombinationRule::state_width`] floats, initially zero. For an
/// ensemble of classes, members return probabilities (or the outputs that their manifest declares).
/// For values and labels, they return their networks' rows. An answer is a row of scores of
/// classes, values or probabilities of labels.
pub trait CombinationRule: Send + Sync {
    /// Returns the number of floats of state for each sample.
    fn state_width(&self) -> usize;

    /// Folds `rows` (`[n, width]`, of `member`) into `state` (`[n, state_width]`).
    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]);

    /// Returns the answers (`[n, width]`) to samples from their state (`[n, state_width]`), after
    /// all members were folded.
    fn finish(&self, state: AnswerFloats, width: usize) -> AnswerFloats;

    /// Returns whether a member votes. Rows of a member that does not vote must not be folded.
    fn counts(&self, _member: MemberIndex) -> bool {
        true
    }
}

/// Returns the class with the highest score (the lowest class of equal scores), or `None` if a
/// score is NaN or infinite.
pub fn label_of(scores: &[f32]) -> Option<usize> {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if !score.is_finite() {
            return None;
        }
        if *score > scores[best] {
            best = class;
        }
    }
    (!scores.is_empty()).then_some(best)
}

/// The mean or weighted mean of probabilities over the voting members.
pub struct Average {
    classes: usize,
    /// The share of each member, or `None` for a member that does not vote.
    shares: Vec<Option<f32>>,
}

impl Average {
    /// Creates the rule for the members whose entry in `voting` is true. Normalises their weights
    /// to a sum of one.
    pub fn new(classes: usize, weights: &[VoteWeight], voting: &[bool]) -> Self {
        Average {
            classes,
            shares: shares(weights, voting),
        }
    }
}

/// Returns the share of each voting member: its weight divided by the sum of the weights.
pub(super) fn shares(weights: &[VoteWeight], voting: &[bool]) -> Vec<Option<f32>> {
    let cast = weights
        .iter()
        .zip(voting)
        .map(|(w, votes)| votes.then_some(w.get()));
    let cast: Vec<Option<f64>> = cast.collect();
    let total: f64 = cast.iter().flatten().sum();
    let share = |w: Option<f64>| w.map(|w| (w / total) as f32);
    cast.into_iter().map(share).collect()
}

impl CombinationRule for Average {
    fn state_width(&self) -> usize {
        self.classes
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let Some(share) = self.shares[member] else {
            return;
        };
        for (sum, p) in state.iter_mut().zip(rows) {
            *sum += share * p;
        }
    }

    fn finish(&self, state: AnswerFloats, _classes: usize) -> AnswerFloats {
        state
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.shares[member].is_some()
    }
}

/// One vote per member, for its most likely class.
///
/// A score is the share of votes. Of classes with equally many votes, the class with the largest
/// summed probability wins, then the lowest class. The winner's score is then the next float above,
/// so that no other score is as high. No score is above 1.
pub struct MajorityVote {
    classes: usize,
    voting: Vec<bool>,
    voters: usize,
}

impl MajorityVote {
    /// Creates the rule for the members whose entry in `voting` is true.
    pub fn new(classes: usize, voting: &[bool]) -> Self {
        MajorityVote {
            classes,
            voting: voting.to_vec(),
            voters: voting.iter().filter(|votes| **votes).count(),
        }
    }
}

impl CombinationRule for MajorityVote {
    fn state_width(&self) -> usize {
        2 * self.classes
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        if !self.voting[member] {
            return;
        }
        let states = state.chunks_exact_mut(2 * self.classes);
        for (row, state) in rows.chunks_exact(self.classes).zip(states) {
            let (votes, sums) = state.split_at_mut(self.classes);
            match label_of(row) {
                Some(label) => votes[label] += 1.0,
                None => votes.fill(f32::NAN),
            }
            for (sum, p) in sums.iter_mut().zip(row) {
                *sum += p;
            }
        }
    }

    fn finish(&self, state: AnswerFloats, classes: usize) -> AnswerFloats {
        let voters = self.voters as f32;
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * classes) {
            let (votes, sums) = sample.split_at(classes);
            let first = scores.len();
            scores.extend(votes.iter().map(|v| v / voters));
            let winner = winner(votes, sums);
            if is_tied(votes, winner) {
                // Two classes share the most votes, so this is at most a half.
                scores[first + winner] = scores[first + winner].next_up();
            }
        }
        scores.into()
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.voting[member]
    }
}

/// Returns the class with the most votes, then the largest sum, then the lowest number.
fn winner(votes: &[f32], sums: &[f32]) -> usize {
    let mut best = 0;
    for class in 1..votes.len() {
        if (votes[class], sums[class]) > (votes[best], sums[best]) {
            best = class;
        }
    }
    best
}

/// Returns whether another class has as many votes as the winner.
fn is_tied(votes: &[f32], winner: usize) -> bool {
    let others = votes
        .iter()
        .enumerate()
        .filter(|(class, _)| *class != winner);
    others.into_iter().any(|(_, v)| *v >= votes[winner])
}

/// The softmax of the mean logit of the voting members.
///
/// A network's logits follow from its probabilities up to a constant, which a softmax ignores. The
/// result is the normalised geometric mean of the probabilities. Float32 limits it: a class less
/// likely than 1.2e-38 counts as that likely.
pub struct AverageLogits {
    classes: usize,
    /// The factor of each member's logarithms, or `None` for a member that does not vote.
    shares: Vec<Option<f32>>,
}

impl AverageLogits {
    /// Creates the rule for the members whose entry in `voting` is true, each at its
    /// temperature.
    pub fn new(classes: usize, voting: &[bool], temperatures: &[Temperature]) -> Self {
        let voters = voting.iter().filter(|votes| **votes).count() as f64;
        let share = |t: &Temperature| (1.0 / (voters * t.get())) as f32;
        let each = voting.iter().zip(temperatures);
        AverageLogits {
            classes,
            shares: each.map(|(votes, t)| votes.then(|| share(t))).collect(),
        }
    }
}

impl CombinationRule for AverageLogits {
    /// A sum and its rounding error. Logarithms reach 87, so with a plain sum the answer would
    /// depend on the order of folding.
    fn state_width(&self) -> usize {
        2 * self.classes
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let Some(share) = self.shares[member] else {
            return;
        };
        let states = state.chunks_exact_mut(2 * self.classes);
        for (row, state) in rows.chunks_exact(self.classes).zip(states) {
            let (sums, lost) = state.split_at_mut(self.classes);
            for ((sum, lost), p) in sums.iter_mut().zip(lost).zip(row) {
                add(sum, lost, share * log(*p));
            }
        }
    }

    fn finish(&self, state: AnswerFloats, classes: usize) -> AnswerFloats {
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * classes) {
            let (sums, lost) = sample.split_at(classes);
            let logit = |class: usize| f64::from(sums[class]) + f64::from(lost[class]);
            let most = (0..classes).map(logit).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = (0..classes).map(|c| (logit(c) - most).exp()).sum();
            scores.extend((0..classes).map(|c| ((logit(c) - most).exp() / total) as f32));
        }
        scores.into()
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.shares[member].is_some()
    }
}

/// Adds `value` to `sum`, and the rounding error of that to `lost` (Knuth's two-sum).
pub(super) fn add(sum: &mut f32, lost: &mut f32, value: f32) {
    let old = *sum;
    let new = old + value;
    let taken = new - old;
    *lost += (old - (new - taken)) + (value - taken);
    *sum = new;
}

/// Returns the natural logarithm of a probability, finite also for 0. A softmax in float32 returns
/// 0 for classes that are only very unlikely.
pub(super) fn log(p: f32) -> f32 {
    p.max(f32::MIN_POSITIVE).ln()
}

/// A rule over members' probabilities at their own temperatures.
pub(super) struct Tempered {
    pub(super) classes: usize,
    pub(super) temperatures: Vec<Temperature>,
    pub(super) rule: Arc<dyn CombinationRule>,
}

impl CombinationRule for Tempered {
    fn state_width(&self) -> usize {
        self.rule.state_width()
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let temperature = self.temperatures[member];
        if temperature.is_one() || !self.counts(member) {
            return self.rule.fold(member, rows, state);
        }
        let mut rows = rows.to_vec();
        temperature.apply(&mut rows, self.classes);
        self.rule.fold(member, &rows, state);
    }

    fn finish(&self, state: AnswerFloats, classes: usize) -> AnswerFloats {
        self.rule.finish(state, classes)
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.rule.counts(member)
    }
}

ranged! {
    /// A member's weight in `weighted-average`.
    ///
    /// A weight is never 0. In files and dialogs, 0 stands for a member that does not vote, under
    /// any rule ([`VoteWeight::written`]). Within these bounds the sum of an ensemble's weights is
    /// finite and above 0, and no share vanishes in float32.
    VoteWeight(f64) = 1e-6, 1e6, "a number from {} to {}"
}

impl VoteWeight {
    /// Creates a weight from a number as users write it. Returns `None` for 0, a member that does
    /// not vote.
    ///
    /// # Errors
    /// The number is neither a weight nor 0.
    pub fn written(weight: f64) -> Result<Option<Self>, OutOfRange> {
        if weight == 0.0 {
            return Ok(None);
        }
        let weight = Self::new(weight).map_err(|why| OutOfRange {
            range: format!("{}, or 0 for a member that does not vote", why.range),
            ..why
        });
        weight.map(Some)
    }
}

impl Default for VoteWeight {
    fn default() -> Self {
        VoteWeight(1.0)
    }
}

impl fmt::Display for VoteWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

ranged! {
    /// The divisor of a member's logits before they become probabilities.
    ///
    /// A temperature above 1 evens out the probabilities, one below 1 sharpens them. The most
    /// likely class does not change. Calibration finds the temperature (Guo et al., arXiv
    /// 1706.04599).
    Temperature(f64) = 0.01, 100.0, "a temperature from {} to {}"
}

impl Temperature {
    /// Probabilities as the network returns them.
    pub const ONE: Temperature = Temperature(1.0);

    /// Returns whether it changes nothing.
    pub fn is_one(self) -> bool {
        self == Self::ONE
    }

    /// Replaces rows of probabilities by the probabilities at this temperature: `softmax(logits /
    /// T)`, which is `p^(1/T)` divided by its sum.
    ///
    /// Probabilities below the smallest normal float32 count as that value.
    pub fn apply(self, rows: &mut [f32], classes: usize) {
        let power = (1.0 / self.0) as f32;
        for row in rows.chunks_exact_mut(classes.max(1)) {
            let most = log(row.iter().copied().fold(0.0, f32::max));
            let mut sum = 0.0;
            for p in row.iter_mut() {
                *p = ((log(*p) - most) * power).exp();
                sum += *p;
            }
            row.iter_mut().for_each(|p| *p /= sum);
        }
    }
}

impl Default for Temperature {
    fn default() -> Self {
        Temperature::ONE
    }
}
