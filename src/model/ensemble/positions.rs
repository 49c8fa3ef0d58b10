//! Classes at each position of a sample (pixels of a mask or tokens of a text), and the layout of
//! their scores in rows.

use std::ops::Range;

use super::answer_floats::AnswerFloats;
use super::answers::Threshold;
use super::rule::label_of;

/// The positions of a sample, and the layout of their class scores in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionRows {
    classes: usize,
    sides: [usize; 2],
    /// Whether the scores of a class at all positions are contiguous, rather than the scores of all
    /// classes at a position.
    in_planes: bool,
}

/// The number of positions that are copied and combined together, small enough to stay in cache.
pub(super) const BLOCK: usize = 256;

impl PositionRows {
    /// Returns the pixels of a mask of height and width: `[classes, height, width]`.
    pub(super) fn pixels(classes: usize, sides: [usize; 2]) -> Self {
        PositionRows {
            classes,
            sides,
            in_planes: true,
        }
    }

    /// Returns the tokens of a text: `[length, classes]`.
    pub(super) fn tokens(classes: usize, length: usize) -> Self {
        PositionRows {
            classes,
            sides: [1, length],
            in_planes: false,
        }
    }

    /// Returns their number.
    pub fn count(self) -> usize {
        self.sides[0] * self.sides[1]
    }

    /// Returns the height and width of a mask. Tokens form a single row.
    pub fn sides(self) -> [usize; 2] {
        self.sides
    }

    /// Returns the number of scores of a row.
    pub fn width(self) -> usize {
        self.classes.saturating_mul(self.count())
    }

    /// Returns the dimensions of a row.
    pub fn dims(self) -> Vec<usize> {
        match (self.in_planes, self.sides) {
            (true, [height, width]) => vec![self.classes, height, width],
            (false, [_, length]) => vec![length, self.classes],
        }
    }

    /// Returns the number of class numbers. A single class has two: 1 inside and 0 outside.
    pub fn numbers(self) -> usize {
        self.classes.max(2)
    }

    /// Returns the number of classes that have scores.
    pub(super) fn scores(self) -> usize {
        self.classes
    }

    /// Returns whether positions belong to a single class or not.
    pub fn is_binary(self) -> bool {
        self.classes == 1
    }

    /// Returns the number of the most likely class at each position, or `None` if a score is NaN or
    /// infinite. A position belongs to a single class if its probability is at least a half.
    pub fn classes(self, row: &[f32]) -> Option<Vec<u32>> {
        if row.iter().any(|score| !score.is_finite()) {
            return None;
        }
        if self.is_binary() {
            let is_met = |p: &f32| u32::from(Threshold::default().is_met(*p));
            return Some(row.iter().map(is_met).collect());
        }
        match self.in_planes {
            true => Some(self.likeliest_planes(row)),
            false => row
                .chunks_exact(self.classes)
                .map(|scores| label_of(scores).and_then(|class| u32::try_from(class).ok()))
                .collect(),
        }
    }

    fn likeliest_planes(self, row: &[f32]) -> Vec<u32> {
        let mut best = row[..self.count()].to_vec();
        let mut classes = vec![0; self.count()];
        for (class, plane) in (0..).zip(row.chunks_exact(self.count())).skip(1) {
            for ((best, number), score) in best.iter_mut().zip(&mut classes).zip(plane) {
                if *score > *best {
                    (*best, *number) = (*score, class);
                }
            }
        }
        classes
    }

    /// Copies the scores of some positions to rows of classes.
    pub(super) fn gather(self, row: &[f32], range: Range<usize>, to: &mut Vec<f32>) {
        to.clear();
        if !self.in_planes {
            to.extend_from_slice(&row[range.start * self.classes..range.end * self.classes]);
            return;
        }
        to.resize(range.len() * self.classes, 0.0);
        for (class, plane) in row.chunks_exact(self.count()).enumerate() {
            let to = to[class..].iter_mut().step_by(self.classes);
            to.zip(&plane[range.clone()])
                .for_each(|(to, score)| *to = *score);
        }
    }

    /// Returns rows of classes for each position as rows of the answers.
    pub(super) fn scatter(self, rows: AnswerFloats) -> AnswerFloats {
        if !self.in_planes || self.classes == 1 {
            return rows;
        }
        let mut to = AnswerFloats::zeroed(rows.len());
        let samples = rows
            .chunks_exact(self.width())
            .zip(to.chunks_exact_mut(self.width()));
        for (row, to) in samples {
            for first in (0..self.count()).step_by(BLOCK) {
                let range = first..(first + BLOCK).min(self.count());
                let block = &row[first * self.classes..range.end * self.classes];
                for (class, plane) in to.chunks_exact_mut(self.count()).enumerate() {
                    let scores = block[class..].iter().step_by(self.classes);
                    plane[range.clone()]
                        .iter_mut()
                        .zip(scores)
                        .for_each(|(to, s)| *to = *s);
                }
            }
        }
        to
    }
}
