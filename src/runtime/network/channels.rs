//! Operations on the channels of each pixel: products and sums with a value for each channel,
//! slices, shuffles and normalisation across channels.

use serde::{Deserialize, Serialize};

use super::error::OpError;
use super::shape::Shape;
use super::window::positive;

/// Normalisation of each value by its neighbours among the channels of its pixel (Krizhevsky,
/// Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks",
/// 3.3): `x / (k + alpha / size · Σ x²)^beta`, the sum over `size` channels around its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseNorm {
    /// Channels of the sum. If the number is even, one more lies after the own channel than before
    /// it.
    pub size: usize,
    /// The factor of the mean of squares.
    pub alpha: f32,
    /// The exponent.
    pub beta: f32,
    /// Added to the mean of squares.
    pub k: f32,
}

impl ResponseNorm {
    pub(super) fn check(&self) -> Result<(), OpError> {
        positive("size", self.size)?;
        let all = [("alpha", self.alpha), ("beta", self.beta), ("k", self.k)];
        match all.into_iter().find(|(_, v)| !v.is_finite()) {
            Some((field, found)) => Err(OpError::NotFinite { field, found }),
            None => Ok(()),
        }
    }

    /// Returns how many channels of the sum lie before and after a value's own.
    pub const fn reach(&self) -> (usize, usize) {
        let others = self.size.saturating_sub(1);
        (others / 2, others - others / 2)
    }
}

/// Returns the shape of a sum or product of two values: of equal shapes, or of an image and a
/// value for each of its channels, in either order.
pub(super) fn paired(a: Shape, b: Shape) -> Result<Shape, OpError> {
    let fits = |image: Shape, row: Shape| {
        matches!(image, Shape::Image { .. })
            && row.elements() == image.channels()
            && row.channels() == image.channels()
    };
    match (a, b) {
        _ if a == b || fits(a, b) => Ok(a),
        _ if fits(b, a) => Ok(b),
        _ => Err(OpError::UnequalShapes(vec![a, b])),
    }
}

/// Returns the shape of `count` channels of `shape` from channel `first` on.
pub(super) fn sliced(shape: Shape, first: usize, count: usize) -> Result<Shape, OpError> {
    positive("count", count)?;
    let channels = shape.channels();
    if first.checked_add(count).is_none_or(|end| end > channels) {
        return Err(OpError::ChannelRange {
            first,
            count,
            channels,
        });
    }
    Ok(match shape {
        Shape::Image { height, width, .. } => Shape::image(count, height, width),
        Shape::Vector { .. } => Shape::vector(count),
        Shape::Tensor(dims) => Shape::Tensor(dims.with(dims.rank() - 1, count)),
    })
}

/// Checks that `groups` divide the channels of `shape`.
pub(super) fn shuffled(shape: Shape, groups: usize) -> Result<Shape, OpError> {
    positive("groups", groups)?;
    let channels = shape.channels();
    if !channels.is_multiple_of(groups) {
        return Err(OpError::Groups {
            groups,
            inputs: channels,
            outputs: channels,
        });
    }
    Ok(shape)
}
