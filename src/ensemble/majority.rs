//! One vote a member.

use super::combination::{CombinationRule, label_of};

/// One vote a member for its likeliest class.
///
/// A score is the share of votes. Of classes with equally many, the one with the
/// largest summed probability wins, then the lowest; the winner's score is then the next
/// float above, so that it is the only highest. No score is above 1.
pub struct MajorityVote {
    classes: usize,
    voting: Vec<bool>,
    voters: usize,
}

impl MajorityVote {
    /// Of those members that are said to vote.
    pub fn of(classes: usize, voting: &[bool]) -> Self {
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

    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]) {
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

    fn finish(&self, state: Vec<f32>, classes: usize) -> Vec<f32> {
        let voters = self.voters as f32;
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * classes) {
            let (votes, sums) = sample.split_at(classes);
            let first = scores.len();
            scores.extend(votes.iter().map(|v| v / voters));
            let winner = winner(votes, sums);
            if is_tied(votes, winner) {
                // Two share the most votes, so this is half at most.
                scores[first + winner] = scores[first + winner].next_up();
            }
        }
        scores
    }

    fn counts(&self, member: usize) -> bool {
        self.voting[member]
    }
}

/// Most votes, then the largest sum, then the lowest class.
fn winner(votes: &[f32], sums: &[f32]) -> usize {
    let mut best = 0;
    for class in 1..votes.len() {
        if (votes[class], sums[class]) > (votes[best], sums[best]) {
            best = class;
        }
    }
    best
}

/// Whether another class has as many votes as the winner.
fn is_tied(votes: &[f32], winner: usize) -> bool {
    let others = votes
        .iter()
        .enumerate()
        .filter(|(class, _)| *class != winner);
    others.into_iter().any(|(_, v)| *v >= votes[winner])
}
