//! The operations of networks, and the shapes of their answers.

use serde::{Deserialize, Serialize};

use super::error::OpError;
use super::shape::Shape;
use super::window::{Conv2d, Pool, image_dims, positive, weights_are_reasonable};

/// A function applied to every value after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), 6)`.
    Relu6,
}

/// One operation of a network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Op {
    /// A two-dimensional convolution.
    Conv2d(Conv2d),
    /// Batch normalisation with running statistics (inference form).
    BatchNorm {
        /// Added to the variance before its square root is taken.
        #[serde(default = "default_eps")]
        eps: f32,
    },
    /// `max(x, 0)`.
    Relu,
    /// ReLU that stops at 6 (Krizhevsky, "Convolutional deep belief networks on
    /// CIFAR-10"; the MobileNets use it).
    Relu6,
    /// Every value times a constant.
    Scale {
        /// The constant.
        by: f32,
    },
    /// Maximum over each window.
    MaxPool(Pool),
    /// Mean over each window.
    AvgPool(Pool),
    /// Mean over height and width: an image becomes a vector of its channels.
    GlobalAvgPool,
    /// Means over `height × width` windows that cover the image, of sizes that differ
    /// by at most one (PyTorch's `AdaptiveAvgPool2d`).
    AdaptiveAvgPool {
        /// Windows along the height.
        height: usize,
        /// Windows along the width.
        width: usize,
    },
    /// A fully connected layer, weights `[features, in]`.
    Linear {
        /// Features of the answer.
        features: usize,
        /// Whether each feature has a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Element-wise sum of two inputs of equal shape.
    Add,
    /// Concatenation of images along channels, or of vectors.
    Concat,
    /// An image as a vector, channels slowest.
    Flatten,
    /// Bilinear resize, half-pixel centres.
    Upscale {
        /// Height of the answer.
        height: usize,
        /// Width of the answer.
        width: usize,
    },
    /// `exp(x)` over the sum of `exp` of the vector.
    Softmax,
}

impl Op {
    /// Returns how many inputs the operation takes: `(least, most)`.
    pub const fn arity(&self) -> (usize, usize) {
        match self {
            Op::Add => (2, 2),
            Op::Concat => (1, usize::MAX),
            _ => (1, 1),
        }
    }

    /// Returns the operation as an activation, or `None` if it is none.
    pub const fn activation(&self) -> Option<Activation> {
        match self {
            Op::Relu => Some(Activation::Relu),
            Op::Relu6 => Some(Activation::Relu6),
            _ => None,
        }
    }

    /// Returns the shape of the answer. `inputs` has a length that [`Op::arity`] allows.
    ///
    /// # Errors
    /// The operation does not take `inputs`, or its own numbers make no sense.
    pub fn output(&self, inputs: &[Shape]) -> Result<Shape, OpError> {
        let first = inputs[0];
        let shape = match self {
            Op::Conv2d(conv) => conv.output(first)?,
            Op::MaxPool(pool) | Op::AvgPool(pool) => pool.output(first)?,
            Op::BatchNorm { eps } => {
                if !(eps.is_finite() && *eps > 0.0) {
                    return Err(OpError::Eps { found: *eps });
                }
                first
            }
            Op::Scale { by } if !by.is_finite() => {
                return Err(OpError::Factor { found: *by });
            }
            Op::Relu | Op::Relu6 | Op::Scale { .. } => first,
            Op::Softmax => Shape::vector(features_of(first)?),
            Op::GlobalAvgPool => Shape::vector(image_dims(first)?.0),
            Op::Linear { features, .. } => {
                let inputs = features_of(first)?;
                positive("features", *features)?;
                weights_are_reasonable(&[*features, inputs])?;
                Shape::vector(*features)
            }
            Op::Add => same(first, inputs[1])?,
            Op::Concat => concat(inputs)?,
            Op::Flatten => Shape::vector(first.elements()),
            Op::Upscale { height, width } | Op::AdaptiveAvgPool { height, width } => {
                Shape::image(image_dims(first)?.0, *height, *width)
            }
        };
        if shape.is_reasonable() {
            Ok(shape)
        } else {
            Err(OpError::Unreasonable { answer: shape })
        }
    }
}

impl From<Activation> for Op {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::Relu => Op::Relu,
            Activation::Relu6 => Op::Relu6,
        }
    }
}

fn features_of(shape: Shape) -> Result<usize, OpError> {
    match shape {
        Shape::Vector { features } => Ok(features),
        Shape::Image { .. } => Err(OpError::NotAVector { found: shape }),
    }
}

fn same(a: Shape, b: Shape) -> Result<Shape, OpError> {
    if a == b {
        Ok(a)
    } else {
        Err(OpError::UnequalShapes(a, b))
    }
}

fn concat(inputs: &[Shape]) -> Result<Shape, OpError> {
    let mut all = inputs[0];
    for next in &inputs[1..] {
        all = match (all, *next) {
            (Shape::Vector { features: a }, Shape::Vector { features: b }) => Shape::vector(a + b),
            (
                Shape::Image {
                    channels: a,
                    height,
                    width,
                },
                Shape::Image {
                    channels: b,
                    height: h,
                    width: w,
                },
            ) if (height, width) == (h, w) => Shape::image(a + b, height, width),
            (a, b) => return Err(OpError::NotConcatenable(a, b)),
        };
    }
    Ok(all)
}

const fn yes() -> bool {
    true
}

const fn default_eps() -> f32 {
    1e-5
}
