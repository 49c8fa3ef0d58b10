//! The shape of one sample at one point of a network.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::{OpError, ShapeError};

/// The shape of one sample, without the batch dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub enum Shape {
    /// `channels × height × width`.
    Image {
        channels: usize,
        height: usize,
        width: usize,
    },
    /// A row of features.
    Vector { features: usize },
}

/// More values than this in one sample is taken for a mistake.
pub(super) const MAX_ELEMENTS: usize = 1 << 28;

impl Shape {
    /// An image of `channels × height × width`.
    pub const fn image(channels: usize, height: usize, width: usize) -> Self {
        Shape::Image {
            channels,
            height,
            width,
        }
    }

    /// A row of `features`.
    pub const fn vector(features: usize) -> Self {
        Shape::Vector { features }
    }

    /// Values in one sample of this shape.
    pub const fn elements(self) -> usize {
        match self {
            Shape::Image {
                channels,
                height,
                width,
            } => channels * height * width,
            Shape::Vector { features } => features,
        }
    }

    /// Channels of an image, or features of a vector.
    pub const fn channels(self) -> usize {
        match self {
            Shape::Image { channels, .. } => channels,
            Shape::Vector { features } => features,
        }
    }

    /// Channels, height and width, or why the shape is no image.
    pub(super) fn as_image(self) -> Result<(usize, usize, usize), OpError> {
        match self {
            Shape::Image {
                channels,
                height,
                width,
            } => Ok((channels, height, width)),
            Shape::Vector { features } => Err(OpError::NotAnImage { features }),
        }
    }

    /// Features, or why the shape is no vector.
    pub(super) fn as_vector(self) -> Result<usize, OpError> {
        match self {
            Shape::Vector { features } => Ok(features),
            Shape::Image { .. } => Err(OpError::NotAVector { found: self }),
        }
    }

    /// Whether the shape has at least one value and no more than [`MAX_ELEMENTS`].
    pub fn is_reasonable(self) -> bool {
        let dims: Vec<usize> = self.into();
        dims.iter()
            .try_fold(1usize, |all, &d| all.checked_mul(d))
            .is_some_and(|n| n > 0 && n <= MAX_ELEMENTS)
    }
}

impl From<Shape> for Vec<usize> {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Image {
                channels,
                height,
                width,
            } => vec![channels, height, width],
            Shape::Vector { features } => vec![features],
        }
    }
}

impl TryFrom<Vec<usize>> for Shape {
    type Error = ShapeError;

    fn try_from(dims: Vec<usize>) -> Result<Self, Self::Error> {
        let shape = match dims[..] {
            [channels, height, width] => Shape::image(channels, height, width),
            [features] => Shape::vector(features),
            _ => return Err(ShapeError::Dimensions { found: dims.len() }),
        };
        if shape.is_reasonable() {
            Ok(shape)
        } else {
            Err(ShapeError::Unreasonable { found: dims })
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Image {
                channels,
                height,
                width,
            } => write!(f, "{channels}×{height}×{width}"),
            Shape::Vector { features } => write!(f, "{features}"),
        }
    }
}
