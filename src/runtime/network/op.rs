//! The operations a network is made of, and the shapes they give.

use serde::{Deserialize, Serialize};

use super::error::OpError;
use super::shape::Shape;
use super::window::{Conv2d, Pool, positive, weights_are_reasonable};

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
    Conv2d(Conv2d),
    /// Batch normalisation with running statistics (inference form).
    BatchNorm {
        #[serde(default = "default_eps")]
        eps: f32,
    },
    Relu,
    /// ReLU that stops at 6 (Krizhevsky, "Convolutional deep belief networks on
    /// CIFAR-10"; the MobileNets use it).
    Relu6,
    /// Every value times a constant.
    Scale {
        by: f32,
    },
    MaxPool(Pool),
    /// Mean over the window.
    AvgPool(Pool),
    /// Mean over height and width; gives a vector.
    GlobalAvgPool,
    /// Means over `height × width` windows that cover the image, of sizes that differ
    /// by at most one (PyTorch's `AdaptiveAvgPool2d`).
    AdaptiveAvgPool {
        height: usize,
        width: usize,
    },
    /// A fully connected layer, weights `[features, in]`.
    Linear {
        features: usize,
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
        height: usize,
        width: usize,
    },
    Softmax,
}

impl Op {
    /// How many inputs the operation takes: `(least, most)`.
    pub const fn arity(&self) -> (usize, usize) {
        match self {
            Op::Add => (2, 2),
            Op::Concat => (1, usize::MAX),
            _ => (1, 1),
        }
    }

    /// The activation that the operation is, if it is one.
    pub const fn activation(&self) -> Option<Activation> {
        match self {
            Op::Relu => Some(Activation::Relu),
            Op::Relu6 => Some(Activation::Relu6),
            _ => None,
        }
    }

    /// The shape of the answer, or why the operation cannot take `inputs`.
    ///
    /// `inputs` has the length that [`Op::arity`] allows.
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
            Op::Softmax => Shape::vector(first.as_vector()?),
            Op::GlobalAvgPool => Shape::vector(first.as_image()?.0),
            Op::Linear { features, .. } => {
                let inputs = first.as_vector()?;
                positive("features", *features)?;
                weights_are_reasonable(&[*features, inputs])?;
                Shape::vector(*features)
            }
            Op::Add => same(first, inputs[1])?,
            Op::Concat => concat(inputs)?,
            Op::Flatten => Shape::vector(first.elements()),
            Op::Upscale { height, width } | Op::AdaptiveAvgPool { height, width } => {
                Shape::image(first.as_image()?.0, *height, *width)
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
