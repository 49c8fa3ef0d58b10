//! What a network takes, and how the ensemble's samples become that.

use crate::compute::resize_planes;
use crate::network::Shape;

use super::normalisation::{Normalisation, NormalisationSteps};

/// The shape of what a network takes and how values are normalised on the way in.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub shape: Shape,
    pub normalisation: Normalisation,
}

impl Input {
    /// Samples of `shape`, normalised by `steps`.
    ///
    /// # Errors
    /// The first channel whose numbers would not be finite in float32.
    pub fn new(shape: Shape, steps: &NormalisationSteps) -> Result<Self, usize> {
        let normalisation = Normalisation::new(steps, shape)?;
        Ok(Input {
            shape,
            normalisation,
        })
    }

    /// Writes samples that have this shape already to `to`, normalised.
    pub fn transform(&self, from: &[f32], to: &mut [f32]) {
        self.normalisation.map(self.shape, from, to);
    }

    /// Writes samples of shape `sample`, one after the other, as this input wants them:
    /// resized (bilinear, half-pixel centres) where the sizes differ, then normalised.
    ///
    /// Both shapes are images of as many channels, or equal.
    pub fn convert(&self, sample: Shape, from: &[f32], to: &mut [f32]) {
        match (sample, self.shape) {
            (
                Shape::Image { height, width, .. },
                Shape::Image {
                    height: rows,
                    width: columns,
                    ..
                },
            ) if sample != self.shape => {
                resize_planes((height, width), (rows, columns), from, to);
                self.normalisation.apply(self.shape, to);
            }
            _ => self.transform(from, to),
        }
    }
}

/// The distinct inputs of an ensemble's members: what a sample is converted to, once
/// each, however many members and workers read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transforms {
    sample: Shape,
    distinct: Vec<Input>,
    of_member: Vec<usize>,
}

impl Transforms {
    /// The distinct ones of `members`, for samples of shape `sample`.
    pub fn new(sample: Shape, members: impl IntoIterator<Item = Input>) -> Self {
        let mut distinct: Vec<Input> = Vec::new();
        let of_member = members
            .into_iter()
            .map(|input| {
                let known = distinct.iter().position(|known| *known == input);
                known.unwrap_or_else(|| {
                    distinct.push(input);
                    distinct.len() - 1
                })
            })
            .collect();
        Transforms {
            sample,
            distinct,
            of_member,
        }
    }

    /// The shape of a sample before any of them.
    pub fn sample(&self) -> Shape {
        self.sample
    }

    /// Which of [`Transforms::distinct`] member number `member` reads.
    pub fn of(&self, member: usize) -> usize {
        self.of_member[member]
    }

    /// The same of every member.
    pub fn by_member(&self) -> &[usize] {
        &self.of_member
    }

    /// Every distinct input, in the order of the first member that has it.
    pub fn distinct(&self) -> &[Input] {
        &self.distinct
    }

    /// Values of one sample in all distinct inputs together.
    pub fn values(&self) -> usize {
        self.distinct.iter().map(|i| i.shape.elements()).sum()
    }
}
