//! The input of a network, and the conversion of the ensemble's samples to it.

use crate::compute::resize_planes;
use crate::network::Shape;

use super::normalisation::{Normalisation, NormalisationSteps, NotFinite};

/// The input of a network: its shape and the normalisation of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The shape of a sample.
    pub shape: Shape,
    /// The normalisation of its values.
    pub normalisation: Normalisation,
}

impl Input {
    /// Creates the input of samples of `shape`, normalised by `steps`.
    ///
    /// # Errors
    /// The factors of a channel are not finite in float32.
    pub fn new(shape: Shape, steps: &NormalisationSteps) -> Result<Self, NotFinite> {
        let normalisation = Normalisation::new(steps, shape)?;
        Ok(Input {
            shape,
            normalisation,
        })
    }

    /// Normalises samples that have this shape already, from `from` to `to`.
    pub fn transform(&self, from: &[f32], to: &mut [f32]) {
        self.normalisation.map(self.shape, from, to);
    }

    /// Converts samples of shape `sample` to this input: resized (bilinear, half-pixel
    /// centres) where the sizes differ, then normalised.
    ///
    /// The two shapes must be equal, or images of as many channels.
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

/// The distinct inputs of an ensemble's members. A sample is converted once to each,
/// however many members and workers read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transforms {
    sample: Shape,
    distinct: Vec<Input>,
    of_member: Vec<usize>,
}

impl Transforms {
    /// Collects the distinct inputs of `members`, for samples of shape `sample`.
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

    /// Returns the shape of a sample before it is converted.
    pub fn sample(&self) -> Shape {
        self.sample
    }

    /// Returns the index in [`Transforms::distinct`] of the input of a member.
    pub fn of(&self, member: usize) -> usize {
        self.of_member[member]
    }

    /// Returns that index for every member.
    pub fn by_member(&self) -> &[usize] {
        &self.of_member
    }

    /// Returns the distinct inputs, in the order of the first member that has each.
    pub fn distinct(&self) -> &[Input] {
        &self.distinct
    }

    /// Returns the number of values of one sample in all distinct inputs together.
    pub fn values(&self) -> usize {
        self.distinct.iter().map(|i| i.shape.elements()).sum()
    }
}
