//! The combined answer of members for one row, in integers. Members are added and removed in any
//! order, and the result is exactly that of the current members.
//!
//! A number is a multiple of 2^-40. Scores from 2^-16 up are exact, as float32 has 24 bits, and no
//! sum of 64 members exceeds 2^57. An answer can differ from a served one only if two classes are
//! closer than the rounding of float32 sums.

use super::rules::{ClassRule, likeliest};
use super::scores::ScoreTable;

const UNIT: f64 = (1_u64 << 40) as f64;

fn fixed(value: f64) -> i64 {
    (value * UNIT).round() as i64
}

/// The members' contributions to a row, and the sum of the current members.
pub(super) struct RowTally {
    classes: usize,
    label: usize,
    /// The contribution of each member to each class: `[members, classes]`.
    sums: Vec<i64>,
    /// The vote of each member: the class and its weight. Empty under averaging rules.
    votes: Vec<(usize, i64)>,
    folded_sums: Vec<i64>,
    folded_votes: Vec<i64>,
}

impl RowTally {
    pub(super) fn new(classes: usize) -> Self {
        RowTally {
            classes,
            label: 0,
            sums: Vec::new(),
            votes: Vec::new(),
            folded_sums: vec![0; classes],
            folded_votes: vec![0; classes],
        }
    }

    /// Starts a row without members.
    pub(super) fn begin(&mut self, table: &ScoreTable, weights: &FixedWeights, row: usize) {
        self.label = table.label(row);
        self.sums.clear();
        self.votes.clear();
        for member in 0..table.members() {
            let scores = table.scores(member, row);
            let weight = weights.of_scores(member);
            let sums = scores.iter().map(|s| fixed(f64::from(*s) * weight));
            self.sums.extend(sums);
            if let Some(vote) = weights.of_vote(member, likeliest(scores)) {
                self.votes.push((likeliest(scores), vote));
            }
        }
        self.folded_sums.fill(0);
        self.folded_votes.fill(0);
    }

    /// Adds a member.
    pub(super) fn add(&mut self, member: usize) {
        let sums = &self.sums[member * self.classes..][..self.classes];
        for (folded, sum) in self.folded_sums.iter_mut().zip(sums) {
            *folded += sum;
        }
        if let Some((class, vote)) = self.votes.get(member) {
            self.folded_votes[*class] += vote;
        }
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, member: usize) {
        let sums = &self.sums[member * self.classes..][..self.classes];
        for (folded, sum) in self.folded_sums.iter_mut().zip(sums) {
            *folded -= sum;
        }
        if let Some((class, vote)) = self.votes.get(member) {
            self.folded_votes[*class] -= vote;
        }
    }

    /// Returns whether the winning class is the row's label. The class with the most votes wins,
    /// then the largest sum, then the lowest number.
    pub(super) fn is_right(&self) -> bool {
        let both = self.folded_votes.iter().zip(&self.folded_sums);
        let label = (self.folded_votes[self.label], self.folded_sums[self.label]);
        let mut others = both.enumerate();
        others.all(|(class, (votes, sum))| match class < self.label {
            true => (*votes, *sum) < label,
            false => (*votes, *sum) <= label,
        })
    }
}

/// The weights of a rule, divided by the largest weight.
pub(super) struct FixedWeights {
    scores: Vec<f64>,
    votes: Option<Vec<Vec<i64>>>,
}

impl FixedWeights {
    /// Returns the weights of a rule that was checked against the table.
    pub(super) fn new(rule: &ClassRule, table: &ScoreTable) -> Self {
        let even = vec![1.0; table.members()];
        let most = |weights: &[f64]| weights.iter().copied().fold(0.0, f64::max);
        let (scores, votes) = match rule {
            ClassRule::Average => (even, None),
            ClassRule::WeightedAverage(weights) => {
                let most = most(weights);
                (weights.iter().map(|w| w / most).collect(), None)
            }
            ClassRule::MajorityVote => {
                (even, Some(vec![vec![1; table.classes()]; table.members()]))
            }
            ClassRule::ClassWeightedVote(rows) => {
                let most = rows.iter().map(|row| most(row)).fold(0.0, f64::max);
                let fixed = |row: &Vec<f64>| row.iter().map(|w| fixed(w / most)).collect();
                (even, Some(rows.iter().map(fixed).collect()))
            }
        };
        FixedWeights { scores, votes }
    }

    fn of_scores(&self, member: usize) -> f64 {
        self.scores[member]
    }

    fn of_vote(&self, member: usize, class: usize) -> Option<i64> {
        self.votes.as_ref().map(|votes| votes[member][class])
    }
}
