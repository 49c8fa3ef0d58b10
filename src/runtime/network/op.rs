//! The operations of networks: the shapes of their answers, and from a graph alone the trained
//! tensors by name and shape, and the floating-point operations of one sample.

use serde::{Deserialize, Serialize};

use super::activation::Activation;
use super::channels::{ResponseNorm, paired, shuffled, sliced};
use super::dims::Dims;
use super::error::OpError;
use super::graph::{Graph, Node};
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
    /// Channel `i` of each of `groups` goes before channel `i + 1` of any.
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

    /// Returns the operation as an activation, or `None` if it is none.
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
            Op::Softmax => {
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
            (a, b) => return Err(OpError::NotConcatenable(a, b)),
        };
    }
    Ok(all)
}

/// Whether tensors differ in their last size alone.
fn alike(a: Dims, b: Dims) -> bool {
    a.rank() == b.rank() && a[..a.rank() - 1] == b[..b.rank() - 1]
}

const fn yes() -> bool {
    true
}

const fn default_eps() -> f32 {
    1e-5
}

/// The role of a parameter in its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRole {
    /// Weights of a convolution or of a fully connected layer.
    Weight {
        /// Weights that contribute to one output.
        fan_in: usize,
    },
    /// A bias for each output.
    Bias,
    /// The learned scale of a norm.
    Scale,
    /// The running mean of a batch norm: a statistic, not counted as a parameter.
    RunningMean,
    /// The running variance of a batch norm: a statistic, not counted as a parameter.
    RunningVariance,
    /// A tensor of an operation on tensors, which may hold infinities.
    Operand,
}

impl ParameterRole {
    /// Whether training learns the values, as papers count parameters.
    pub const fn is_learned(self) -> bool {
        !matches!(
            self,
            ParameterRole::RunningMean | ParameterRole::RunningVariance
        )
    }
}

/// One tensor of weights, named as torchvision names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the layer, a dot, and the name of the tensor in it.
    pub name: String,
    /// Dimensions, the slowest first.
    pub shape: Vec<usize>,
    /// The role of the tensor in its layer.
    pub role: ParameterRole,
}

impl Parameter {
    /// Returns the number of values in the tensor.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Graph {
    /// Returns the number of learned values of node number `index`.
    pub fn node_weights(&self, index: usize) -> usize {
        let all = self.node_parameters(index);
        let learned = all.iter().filter(|p| p.role.is_learned());
        learned.map(Parameter::elements).sum()
    }

    /// Returns the tensors of weights that node number `index` needs.
    pub fn node_parameters(&self, index: usize) -> Vec<Parameter> {
        let node = &self.nodes()[index];
        node_parameters(node, self.shape(node.inputs[0]))
    }

    /// Returns the tensors of weights that the network needs, in the order of its layers.
    pub fn parameters(&self) -> Vec<Parameter> {
        let nodes = 0..self.nodes().len();
        nodes
            .flat_map(|index| self.node_parameters(index))
            .collect()
    }

    /// Returns the number of learned values, as papers count them: without running
    /// statistics.
    pub fn parameter_count(&self) -> u64 {
        self.parameters()
            .iter()
            .filter(|p| p.role.is_learned())
            .map(|p| p.elements() as u64)
            .sum()
    }

    /// Returns the bytes of all tensors in float32, running statistics included.
    pub fn weight_bytes(&self) -> u64 {
        self.parameters()
            .iter()
            .map(|p| 4 * p.elements() as u64)
            .sum()
    }

    /// Returns the floating-point operations for one sample. A multiplication and its
    /// addition count as two, convolutions as the direct algorithm.
    pub fn flops(&self) -> u64 {
        (0..self.nodes().len()).map(|i| self.node_flops(i)).sum()
    }

    /// Returns the floating-point operations of node number `index` for one sample.
    pub fn node_flops(&self, index: usize) -> u64 {
        let node = &self.nodes()[index];
        node_flops(node, self.shape(node.inputs[0]))
    }
}

fn node_parameters(node: &Node, input: Shape) -> Vec<Parameter> {
    let named = |suffix: &str, shape: Vec<usize>, role| Parameter {
        name: format!("{}.{suffix}", node.name),
        shape,
        role,
    };
    let weighted = |shape: Vec<usize>, bias: bool| {
        let fan_in = shape[1..].iter().product();
        let outputs = shape[0];
        let mut all = vec![named("weight", shape, ParameterRole::Weight { fan_in })];
        if bias {
            all.push(named("bias", vec![outputs], ParameterRole::Bias));
        }
        all
    };
    match node.op {
        Op::Conv2d(conv) => {
            let per_group = input.channels() / conv.groups;
            let kernel = conv.kernel;
            let shape = vec![conv.channels, per_group, kernel.height, kernel.width];
            weighted(shape, conv.bias)
        }
        Op::Linear { features, bias } => weighted(vec![features, input.channels()], bias),
        Op::BatchNorm { .. } => {
            let c = vec![input.channels()];
            vec![
                named("weight", c.clone(), ParameterRole::Scale),
                named("bias", c.clone(), ParameterRole::Bias),
                named("running_mean", c.clone(), ParameterRole::RunningMean),
                named("running_var", c, ParameterRole::RunningVariance),
            ]
        }
        Op::Tensor(op) => {
            let all = op.parameters().into_iter();
            all.map(|(suffix, dims, role)| named(suffix, dims.to_vec(), role))
                .collect()
        }
        Op::LayerNorm { .. } => {
            let c = vec![input.channels()];
            vec![
                named("weight", c.clone(), ParameterRole::Scale),
                named("bias", c, ParameterRole::Bias),
            ]
        }
        _ => Vec::new(),
    }
}

fn node_flops(node: &Node, input: Shape) -> u64 {
    let out = node.shape.elements() as u64;
    match node.op {
        Op::Conv2d(conv) => {
            let Shape::Image { channels, .. } = input else {
                return 0;
            };
            let products = conv.kernel.area() * channels / conv.groups;
            out * (2 * products as u64 + u64::from(conv.bias))
        }
        Op::Linear { bias, .. } => out * (2 * input.channels() as u64 + u64::from(bias)),
        Op::MaxPool(pool) | Op::AvgPool(pool) => out * (pool.kernel * pool.kernel) as u64,
        // Windows may share a row or column at their edges; that is not counted.
        Op::GlobalAvgPool | Op::AdaptiveAvgPool { .. } => input.elements() as u64,
        Op::BatchNorm { .. } => 2 * out,
        Op::Relu | Op::Relu6 | Op::Activation(_) | Op::Scale { .. } | Op::Add | Op::Mul => out,
        Op::Upscale { .. } | Op::LayerNorm { .. } => 8 * out,
        Op::LocalResponseNorm(norm) => out * (2 * norm.size as u64 + 3),
        Op::Softmax => 3 * out,
        Op::Tensor(op) => op.flops(out, input),
        Op::Flatten | Op::Concat | Op::ChannelShuffle { .. } | Op::Channels { .. } => 0,
    }
}
