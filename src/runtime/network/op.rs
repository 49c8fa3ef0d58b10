//! The operations of networks, and the shapes of their answers.

use serde::{Deserialize, Serialize};

use super::activation::Activation;
use super::channels::{ResponseNorm, paired, shuffled, sliced};
use super::dims::Dims;
use super::error::OpError;
use super::shape::Shape;
use super::tensor_op::TensorOp;
use super::window::{Conv2d, Pool, image_dims, positive, weights_are_reasonable};

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
    /// Sum of two inputs of equal shape, or of an image and a value for each of its channels
    /// (a vector, or an image of one pixel), in either order.
    Add,
    /// Product of two inputs, whose shapes are as for a sum.
    Mul,
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
    /// `exp(x)` over the sum of `exp` of the vector, or of each row of a tensor.
    Softmax,
    /// Like `Softmax`, but 0 for a row that holds only −∞: a query whose keys are all masked.
    MaskedSoftmax,
    /// Puts channel `i` of every group before channel `i + 1` of any group.
    ChannelShuffle {
        /// Groups of the input; each has as many channels.
        groups: usize,
    },
    /// Some channels of an image, or features of a vector.
    Channels {
        /// The first one.
        first: usize,
        /// How many.
        count: usize,
    },
    /// Normalisation of each value by the channels around it.
    LocalResponseNorm(ResponseNorm),
    /// Normalisation of the channels of each pixel, or of a vector: less their mean, over their
    /// deviation, times a weight and plus a bias for each.
    LayerNorm {
        /// Added to the variance before its square root is taken.
        #[serde(default = "default_eps")]
        eps: f32,
    },
    /// An operation on tensors of any rank.
    Tensor(TensorOp),
    /// Another activation; [`Op::from`] makes the operation of any.
    #[serde(untagged)]
    Activation(Activation),
}

impl Op {
    /// Returns how many inputs the operation takes: `(least, most)`.
    pub const fn arity(&self) -> (usize, usize) {
        match self {
            Op::Add | Op::Mul => (2, 2),
            Op::Concat => (1, usize::MAX),
            Op::Tensor(op) => op.arity(),
            _ => (1, 1),
        }
    }

    /// Returns the operation as an activation, or `None` if it is not an activation.
    pub const fn activation(&self) -> Option<Activation> {
        match self {
            Op::Relu => Some(Activation::Relu),
            Op::Relu6 => Some(Activation::Relu6),
            Op::Activation(activation) => Some(*activation),
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
            Op::AvgPool(pool) if pool.count_include_pad && pool.has_overhang() => {
                return Err(OpError::CountedOverhang);
            }
            Op::MaxPool(pool) | Op::AvgPool(pool) => pool.output(first)?,
            Op::BatchNorm { eps } | Op::LayerNorm { eps } => {
                if !(eps.is_finite() && *eps > 0.0) {
                    return Err(OpError::Eps { found: *eps });
                }
                first
            }
            Op::Scale { by } if !by.is_finite() => {
                return Err(OpError::Factor { found: *by });
            }
            Op::Relu | Op::Relu6 | Op::Scale { .. } => first,
            Op::Softmax | Op::MaskedSoftmax => {
                features_of(first)?;
                first
            }
            Op::Tensor(op) => op.output(inputs)?,
            Op::GlobalAvgPool => Shape::vector(image_dims(first)?.0),
            Op::Linear { features, .. } => {
                let inputs = features_of(first)?;
                positive("features", *features)?;
                weights_are_reasonable(&[*features, inputs])?;
                let stored = first.stored();
                Shape::tensor(stored.with(stored.rank() - 1, *features))
            }
            Op::Activation(activation) => {
                activation.check()?;
                first
            }
            Op::Add | Op::Mul => paired(first, inputs[1])?,
            Op::Channels { first: at, count } => sliced(first, *at, *count)?,
            Op::ChannelShuffle { groups } => shuffled(first, *groups)?,
            Op::LocalResponseNorm(norm) => {
                norm.check()?;
                first
            }
            Op::Concat => concat(inputs)?,
            Op::Flatten => match first {
                Shape::Tensor(_) => return Err(OpError::NotAnImage { found: first }),
                _ => Shape::vector(first.elements()),
            },
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
            other => Op::Activation(other),
        }
    }
}

/// Returns the features of a vector, or of each row of a tensor.
fn features_of(shape: Shape) -> Result<usize, OpError> {
    match shape {
        Shape::Image { .. } => Err(OpError::NotAVector { found: shape }),
        _ => Ok(shape.channels()),
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
            (Shape::Tensor(a), Shape::Tensor(b)) if alike(a, b) => {
                Shape::Tensor(a.with(a.rank() - 1, a.last_size() + b.last_size()))
            }
            (a, b) => return Err(OpError::NotConcatenable(vec![a, b])),
        };
    }
    Ok(all)
}

/// Returns whether tensors differ only in their last size.
fn alike(a: Dims, b: Dims) -> bool {
    a.rank() == b.rank() && a[..a.rank() - 1] == b[..b.rank() - 1]
}

const fn yes() -> bool {
    true
}

const fn default_eps() -> f32 {
    1e-5
}
