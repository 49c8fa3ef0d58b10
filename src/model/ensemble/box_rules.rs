//! Combination rules for boxes: non-maximum suppression over the boxes of all members, and weighted
//! boxes fusion.
//!
//! The state holds the boxes of each voting member, so the answer does not depend on the order of
//! folding. Non-maximum suppression first reduces each member's boxes, because networks return many
//! candidates for one object.

use divisi_runtime::device::MemberIndex;

use super::answer_floats::AnswerFloats;
use super::answers::Threshold;
use super::box_outputs::BoxOutputs;
use super::boxes::{BoxRows, Corners, ScoredBox, iou, sort, without_overlaps};
use super::member::OutputKind;
use super::rule::{CombinationRule, VoteWeight};

/// The method that merges the boxes of all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoxRule {
    /// Of overlapping boxes, keeps the box with the highest score.
    Suppression,
    /// Fuses overlapping boxes into one.
    Fusion,
}

/// A rule over the boxes of all voting members.
pub(super) struct CombinedBoxes {
    rows: BoxRows,
    rule: BoxRule,
    /// The overlap from which two boxes count as one object, as a share of their area.
    overlap: Threshold,
    /// The minimum score of a box.
    least: Threshold,
    /// The layout of each member's rows.
    outputs: Vec<Option<BoxOutputs>>,
    /// The position of each member among the voting members.
    places: Vec<Option<usize>>,
    /// The weights of the voting members.
    weights: Vec<f64>,
}

impl CombinedBoxes {
    /// Creates the rule for the members whose entry in `voting` is true.
    pub(super) fn new(
        rule: BoxRule,
        rows: BoxRows,
        [overlap, least]: [Threshold; 2],
        outputs: &[OutputKind],
        voters: (&[VoteWeight], &[bool]),
    ) -> Self {
        let (weights, voting) = voters;
        let mut next = 0..;
        let mut place = |votes: &bool| votes.then(|| next.next()).flatten();
        let of_voters = weights.iter().zip(voting).filter(|(_, votes)| **votes);
        let read = |outputs: &OutputKind| match outputs {
            OutputKind::Boxes(boxes) => Some(*boxes),
            _ => None,
        };
        CombinedBoxes {
            rows,
            rule,
            overlap,
            least,
            outputs: outputs.iter().map(read).collect(),
            places: voting.iter().map(&mut place).collect(),
            weights: of_voters.map(|(weight, _)| weight.get()).collect(),
        }
    }

    fn combine(&self, of_members: Vec<Vec<ScoredBox>>) -> Vec<ScoredBox> {
        match self.rule {
            BoxRule::Suppression => {
                let mut all = of_members.concat();
                sort(&mut all);
                without_overlaps(&all, self.overlap, self.rows.capacity())
            }
            BoxRule::Fusion => fused(&of_members, &self.weights, self.overlap),
        }
    }
}

impl CombinationRule for CombinedBoxes {
    /// A row of boxes for each voting member.
    fn state_width(&self) -> usize {
        self.weights.len().max(1) * self.rows.width()
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let (Some(place), Some(outputs)) = (self.places[member], &self.outputs[member]) else {
            return;
        };
        let width = self.rows.width();
        let states = state.chunks_exact_mut(self.state_width());
        let samples = states.len().max(1);
        for (row, state) in rows.chunks_exact((rows.len() / samples).max(1)).zip(states) {
            let boxes = outputs.boxes(row, self.least.get() as f32);
            let boxes = without_overlaps(&boxes, self.overlap, self.rows.capacity());
            self.rows
                .write(&boxes, &mut state[place * width..][..width]);
        }
    }

    fn finish(&self, state: AnswerFloats, width: usize) -> AnswerFloats {
        let samples = state.chunks_exact(self.state_width());
        let mut answers = AnswerFloats::zeroed(samples.len() * width);
        for (state, row) in samples.zip(answers.chunks_exact_mut(width)) {
            let of_members = state.chunks_exact(self.rows.width());
            let of_members = of_members.filter_map(|kept| self.rows.boxes(kept));
            let combined = self.combine(of_members.collect());
            self.rows.write(&combined, row);
        }
        answers
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.places[member].is_some()
    }
}

/// Boxes of one object, to be fused.
struct BoxCluster {
    class: u32,
    count: usize,
    /// The sum of the weighted scores.
    score: f64,
    /// The sum of the corners, weighted by the weighted scores.
    corners: [f64; 4],
    fused: Corners,
}

impl BoxCluster {
    fn new(class: u32) -> Self {
        BoxCluster {
            class,
            count: 0,
            score: 0.0,
            corners: [0.0; 4],
            fused: [0.0; 4],
        }
    }

    /// Adds a box with its weighted score.
    fn add(&mut self, score: f64, corners: Corners) {
        self.count += 1;
        self.score += score;
        for (sum, corner) in self.corners.iter_mut().zip(corners) {
            *sum += score * f64::from(corner);
        }
        self.fused = self.corners.map(|sum| (sum / self.score) as f32);
    }

    /// Returns the fused box. The score is lower if fewer boxes than voting members are in the
    /// cluster.
    fn scored(&self, voters: usize, weights: f64) -> ScoredBox {
        let mean = self.score / self.count as f64;
        ScoredBox {
            class: self.class,
            score: (mean * self.count.min(voters) as f64 / weights) as f32,
            corners: self.fused,
        }
    }
}

/// Fuses the boxes of several members in descending score order. A box joins the cluster of its
/// class whose fused box has the largest overlap, if that exceeds `overlap`, and otherwise begins a
/// cluster. A fused box is the mean of its cluster weighted by scores. Its score is the cluster's
/// mean times `min(boxes, members) / members` (Solovyev, Wang, Gabruseva, "Weighted boxes fusion",
/// arXiv 1910.13302, section 3). Scores are weighted by the members' weights and divided by the sum
/// of the weights, as in the authors' program.
fn fused(of_members: &[Vec<ScoredBox>], weights: &[f64], overlap: Threshold) -> Vec<ScoredBox> {
    let members = of_members.iter().zip(weights);
    let weighted = members.flat_map(|(boxes, weight)| {
        boxes
            .iter()
            .map(move |found| (weight * f64::from(found.score), found))
    });
    // A box with score 0 does not affect a mean.
    let mut all: Vec<(f64, &ScoredBox)> = weighted.filter(|(score, _)| *score > 0.0).collect();
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut clusters: Vec<BoxCluster> = Vec::new();
    for (score, found) in all {
        let place = match nearest(&clusters, found, overlap) {
            Some(place) => place,
            None => {
                clusters.push(BoxCluster::new(found.class));
                clusters.len() - 1
            }
        };
        clusters[place].add(score, found.corners);
    }
    let sum = weights.iter().sum();
    let boxes = clusters
        .iter()
        .map(|cluster| cluster.scored(weights.len(), sum));
    let mut boxes: Vec<ScoredBox> = boxes.collect();
    sort(&mut boxes);
    boxes
}

/// Returns the cluster of the same class with the largest overlap, if that exceeds `overlap`.
fn nearest(clusters: &[BoxCluster], found: &ScoredBox, overlap: Threshold) -> Option<usize> {
    let same = clusters
        .iter()
        .enumerate()
        .filter(|(_, c)| c.class == found.class);
    let shares = same.map(|(place, c)| (place, iou(c.fused, found.corners)));
    let most = shares.reduce(|best, next| if next.1 > best.1 { next } else { best });
    most.filter(|(_, share)| *share > overlap.get())
        .map(|(place, _)| place)
}
