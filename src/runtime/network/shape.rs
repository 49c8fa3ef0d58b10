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
        /// Channels, the slowest dimension.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Pixels of a row.
        width: usize,
    },
    /// A row of features.
    Vector {
        /// Number of features.
        features: usize,
    },
}

/// The most values of one sample; more are taken for a mistake.
pub(super) const MAX_ELEMENTS: usize = 1 << 28;

impl Shape {
    /// Returns the shape of an image of `channels × height × width`.
    pub const fn image(channels: usize, height: usize, width: usize) -> Self {
        Shape::Image {
            channels,
            height,
            width,
        }
    }

    /// Returns the shape of a row of `features`.
    pub const fn vector(features: usize) -> Self {
        Shape::Vector { features }
    }

    /// Returns the number of values in one sample.
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

    /// Returns the channels of an image, or the features of a vector.
    pub const fn channels(self) -> usize {
        match self {
            Shape::Image { channels, .. } => channels,
            Shape::Vector { features } => features,
        }
    }

    /// Returns channels, height and width of an image.
    ///
    /// # Errors
    /// [`OpError::NotAnImage`].
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

    /// Returns the features of a vector.
    ///
    /// # Errors
    /// [`OpError::NotAVector`].
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
