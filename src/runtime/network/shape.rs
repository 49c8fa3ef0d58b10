//! The shape of one sample at one point of a network, and the sides of windows.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::dims::{Dims, MAX_RANK};

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
    /// A tensor of two or more dimensions, the last one the fastest.
    Tensor(Dims),
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

    /// Returns the shape of a tensor of `dims`: a vector if it has at most one dimension.
    pub fn tensor(dims: Dims) -> Self {
        match dims[..] {
            [] => Shape::vector(1),
            [features] => Shape::vector(features),
            _ => Shape::Tensor(dims),
        }
    }

    /// Returns the dimensions in storage order: an image's channels come last.
    pub fn stored(self) -> Dims {
        let dims = match self {
            Shape::Image {
                channels,
                height,
                width,
            } => Dims::new(&[height, width, channels]),
            Shape::Vector { features } => Dims::new(&[features]),
            Shape::Tensor(dims) => Ok(dims),
        };
        // Three dimensions are not too many.
        dims.unwrap_or_else(|_| unreachable!("at most {MAX_RANK} dimensions"))
    }

    /// Returns the number of values in one sample.
    pub fn elements(self) -> usize {
        match self {
            Shape::Image {
                channels,
                height,
                width,
            } => channels * height * width,
            Shape::Vector { features } => features,
            Shape::Tensor(dims) => dims.elements(),
        }
    }

    /// Returns the channels of an image, the features of a vector, or the last size of a tensor.
    pub fn channels(self) -> usize {
        match self {
            Shape::Image { channels, .. } => channels,
            Shape::Vector { features } => features,
            Shape::Tensor(dims) => dims.last_size(),
        }
    }

    /// Returns whether the shape has at least one value and at most 2²⁸.
    pub fn is_reasonable(self) -> bool {
        let dims: Vec<usize> = self.into();
        dims.iter()
            .try_fold(1usize, |all, &d| all.checked_mul(d))
            .is_some_and(|n| n > 0 && n <= MAX_ELEMENTS)
    }
}

/// The reason why dimensions are not a valid shape of a sample.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ShapeError {
    /// More dimensions than a tensor may have, or none.
    #[error("a shape has 1 to {MAX_RANK} dimensions, found {found}")]
    Dimensions {
        /// How many were found.
        found: usize,
    },
    /// No value at all, or more than a sample may have.
    #[error(
        "each dimension of a shape is at least 1 and their product at most {MAX_ELEMENTS}, \
         found {found:?}"
    )]
    Unreasonable {
        /// The dimensions.
        found: Vec<usize>,
    },
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
            Shape::Tensor(dims) => dims.into(),
        }
    }
}

/// Three dimensions are an image's.
impl TryFrom<Vec<usize>> for Shape {
    type Error = ShapeError;

    fn try_from(dims: Vec<usize>) -> Result<Self, Self::Error> {
        let shape = match dims[..] {
            [channels, height, width] => Shape::image(channels, height, width),
            [] => return Err(ShapeError::Dimensions { found: 0 }),
            _ => Shape::tensor(Dims::new(&dims)?),
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
            Shape::Tensor(dims) => write!(f, "{dims}"),
        }
    }
}

/// Height and width of a kernel, or of the padding around an image. In files it is one
/// number if both are the same, else `[height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Hash, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenSides", into = "WrittenSides")]
pub struct Sides {
    /// Along the height of the image.
    pub height: usize,
    /// Along the width of the image.
    pub width: usize,
}

impl Sides {
    /// Returns `side` for both.
    pub const fn square(side: usize) -> Self {
        Sides {
            height: side,
            width: side,
        }
    }

    /// Returns the number of positions in a window of this size.
    pub const fn area(self) -> usize {
        self.height * self.width
    }
}

impl From<usize> for Sides {
    fn from(side: usize) -> Self {
        Sides::square(side)
    }
}

impl From<(usize, usize)> for Sides {
    fn from((height, width): (usize, usize)) -> Self {
        Sides { height, width }
    }
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.height == self.width {
            write!(f, "{}", self.height)
        } else {
            write!(f, "{}×{}", self.height, self.width)
        }
    }
}

/// [`Sides`] as they are written in a file.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "expected a whole number, or [height, width] as whole numbers"
)]
enum WrittenSides {
    Square(usize),
    Both(usize, usize),
}

impl From<WrittenSides> for Sides {
    fn from(written: WrittenSides) -> Self {
        match written {
            WrittenSides::Square(side) => Sides::square(side),
            WrittenSides::Both(height, width) => Sides { height, width },
        }
    }
}

impl From<Sides> for WrittenSides {
    fn from(Sides { height, width }: Sides) -> Self {
        if height == width {
            WrittenSides::Square(height)
        } else {
            WrittenSides::Both(height, width)
        }
    }
}
