//! Decodes the boxes that networks return as raw rows of candidates.

use std::cmp::Ordering;

use super::boxes::{Corners, ScoredBox};

/// The form of a network's boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxForm {
    /// The centre, the width and the height.
    Centre,
    /// Left, top, right and bottom.
    Corners,
}

/// The conversion of a network's scores to probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxScores {
    /// They are probabilities.
    Probabilities,
    /// By a sigmoid for each score.
    Sigmoid,
    /// By a softmax over all classes and the background.
    Softmax,
}

/// The layout of one kind of numbers in a row: number `n` of candidate `c` lies at `first + c ×
/// candidate + n × number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxStrides {
    pub(super) first: u32,
    pub(super) candidate: u32,
    pub(super) number: u32,
}

impl BoxStrides {
    fn at(self, candidate: usize, number: usize) -> usize {
        let [first, of_candidate, of_number] =
            [self.first, self.candidate, self.number].map(|stride| stride as usize);
        first + candidate * of_candidate + number * of_number
    }
}

/// The layout of boxes in a network's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxOutputs {
    /// The number of candidates of a row.
    pub(super) candidates: u32,
    /// The number of classes of a candidate, without the background.
    pub(super) classes: u32,
    pub(super) form: BoxForm,
    pub(super) scores: BoxScores,
    /// The four numbers of a box.
    pub(super) place: BoxStrides,
    /// The scores of the classes, without the background.
    pub(super) of_classes: BoxStrides,
    /// The probability that a candidate is an object, if there is one.
    pub(super) objectness: Option<BoxStrides>,
    /// The score of the background, if there is one.
    pub(super) background: Option<BoxStrides>,
    /// The width and height of the coordinate system, and of the ensemble's input.
    pub(super) scale: [[u32; 2]; 2],
}

/// The maximum number of candidates of a row, taken by highest score. As many as torchvision takes
/// from four levels of its networks.
const MOST_CANDIDATES: usize = 4096;

impl BoxOutputs {
    /// Returns the boxes of a row with scores of at least `least`, in descending order.
    pub(super) fn boxes(&self, row: &[f32], least: f32) -> Vec<ScoredBox> {
        let candidates = 0..self.candidates as usize;
        let likeliest = candidates.filter_map(|candidate| {
            let (class, score) = self.likeliest(row, candidate)?;
            (score >= least).then_some((candidate, class, score))
        });
        let mut likeliest: Vec<(usize, u32, f32)> = likeliest.collect();
        let by_score = |a: &(usize, u32, f32), b: &(usize, u32, f32)| -> Ordering {
            b.2.total_cmp(&a.2).then(a.0.cmp(&b.0))
        };
        likeliest.sort_unstable_by(by_score);
        likeliest.truncate(MOST_CANDIDATES);
        let boxes = likeliest
            .into_iter()
            .filter_map(|(candidate, class, score)| {
                let corners = self.corners(row, candidate)?;
                Some(ScoredBox {
                    class,
                    score,
                    corners,
                })
            });
        boxes.collect()
    }

    /// Returns the most likely class of a candidate and its probability.
    fn likeliest(&self, row: &[f32], candidate: usize) -> Option<(u32, f32)> {
        let score = |class: u32| row[self.of_classes.at(candidate, class as usize)];
        let higher = |best: u32, class: u32| {
            if score(class) > score(best) {
                class
            } else {
                best
            }
        };
        let class = (0..self.classes).reduce(higher)?;
        let probability = match self.scores {
            BoxScores::Probabilities => score(class),
            BoxScores::Sigmoid => sigmoid(score(class)),
            BoxScores::Softmax => self.softmax(row, candidate, score(class)),
        };
        let object = self.objectness.map_or(1.0, |at| {
            let object = row[at.at(candidate, 0)];
            match self.scores {
                BoxScores::Sigmoid => sigmoid(object),
                BoxScores::Probabilities | BoxScores::Softmax => object,
            }
        });
        Some((class, (probability * object).clamp(0.0, 1.0)))
    }

    /// Returns the probability of the highest logit among all classes and the background.
    fn softmax(&self, row: &[f32], candidate: usize, highest: f32) -> f32 {
        let background = self.background.map(|at| row[at.at(candidate, 0)]);
        let classes =
            (0..self.classes as usize).map(|class| row[self.of_classes.at(candidate, class)]);
        let all = classes.chain(background);
        // Infinite only if the background is far more likely. The probability is then 0.
        1.0 / all.map(|logit| (logit - highest).exp()).sum::<f32>()
    }

    /// Returns the corners of a candidate in pixels of the ensemble's input, or `None` if they do
    /// not form a box.
    fn corners(&self, row: &[f32], candidate: usize) -> Option<Corners> {
        let number = |at: usize| row[self.place.at(candidate, at)];
        let [a, b, c, d] = [number(0), number(1), number(2), number(3)];
        let corners = match self.form {
            BoxForm::Corners => [a, b, c, d],
            BoxForm::Centre => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
        };
        let factor = [0, 1].map(|axis| self.scale[1][axis] as f32 / self.scale[0][axis] as f32);
        let [left, top, right, bottom] = corners;
        let scaled = [
            left * factor[0],
            top * factor[1],
            right * factor[0],
            bottom * factor[1],
        ];
        let is_box = scaled.iter().all(|c| c.is_finite())
            && scaled[0] <= scaled[2]
            && scaled[1] <= scaled[3];
        is_box.then_some(scaled)
    }
}

fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}
