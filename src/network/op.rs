//! The operations a network is made of, and the shapes they give.

use serde::{Deserialize, Serialize};

use super::shape::Shape;

/// A two-dimensional convolution, weights `[channels, in / groups, kernel, kernel]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conv2d {
    /// Output channels.
    pub channels: usize,
    /// Side of the square kernel.
    pub kernel: usize,
    #[serde(default = "one")]
    pub stride: usize,
    #[serde(default)]
    pub padding: usize,
    #[serde(default = "one")]
    pub dilation: usize,
    #[serde(default = "one")]
    pub groups: usize,
    #[serde(default)]
    pub bias: bool,
}

impl Conv2d {
    /// A convolution without padding, stride 1, one group, no bias.
    pub const fn new(channels: usize, kernel: usize) -> Self {
        Conv2d {
            channels,
            kernel,
            stride: 1,
            padding: 0,
            dilation: 1,
            groups: 1,
            bias: false,
        }
    }

    /// The same with `padding` zeros on every side.
    pub const fn padded(self, padding: usize) -> Self {
        Conv2d { padding, ..self }
    }

    /// The same with `stride`.
    pub const fn strided(self, stride: usize) -> Self {
        Conv2d { stride, ..self }
    }

    /// The same with a bias per output channel.
    pub const fn biased(self) -> Self {
        Conv2d { bias: true, ..self }
    }

    fn output(&self, input: Shape) -> Result<Shape, String> {
        let (c, h, w) = image(input)?;
        positive("channels", self.channels)?;
        positive("groups", self.groups)?;
        if !c.is_multiple_of(self.groups) || !self.channels.is_multiple_of(self.groups) {
            return Err(format!(
                "groups ({}) must divide the input channels ({c}) and the channels ({})",
                self.groups, self.channels
            ));
        }
        let out = |side| window(side, self.kernel, self.stride, self.padding, self.dilation);
        let shape = Shape::image(self.channels, out(h)?, out(w)?);
        weights_are_reasonable(&[self.channels, c / self.groups, self.kernel, self.kernel])?;
        Ok(shape)
    }
}

/// A pooling window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Side of the square window.
    pub kernel: usize,
    pub stride: usize,
    #[serde(default)]
    pub padding: usize,
}

impl Pool {
    /// Windows of `kernel` that neither overlap nor leave gaps.
    pub const fn tiled(kernel: usize) -> Self {
        Pool {
            kernel,
            stride: kernel,
            padding: 0,
        }
    }

    fn output(&self, input: Shape) -> Result<Shape, String> {
        let (c, h, w) = image(input)?;
        if self.padding * 2 > self.kernel {
            return Err(format!(
                "padding ({}) is at most half the kernel ({})",
                self.padding, self.kernel
            ));
        }
        let out = |side| window(side, self.kernel, self.stride, self.padding, 1);
        Ok(Shape::image(c, out(h)?, out(w)?))
    }
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
    MaxPool(Pool),
    /// Mean over the window; padding counts as zeros (torchvision's default).
    AvgPool(Pool),
    /// Mean over height and width; gives a vector.
    GlobalAvgPool,
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

    /// The shape of the answer, or why the operation cannot take `inputs`.
    ///
    /// `inputs` has the length that [`Op::arity`] allows.
    pub fn output(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let first = inputs[0];
        let shape = match self {
            Op::Conv2d(conv) => conv.output(first)?,
            Op::MaxPool(pool) | Op::AvgPool(pool) => pool.output(first)?,
            Op::BatchNorm { eps } => {
                if !(eps.is_finite() && *eps > 0.0) {
                    return Err(format!("eps must be a positive number, found {eps}"));
                }
                first
            }
            Op::Relu => first,
            Op::Softmax => Shape::vector(vector(first)?),
            Op::GlobalAvgPool => Shape::vector(image(first)?.0),
            Op::Linear { features, .. } => {
                let inputs = vector(first)?;
                positive("features", *features)?;
                weights_are_reasonable(&[*features, inputs])?;
                Shape::vector(*features)
            }
            Op::Add => same(first, inputs[1])?,
            Op::Concat => concat(inputs)?,
            Op::Flatten => Shape::vector(first.elements()),
            Op::Upscale { height, width } => Shape::image(image(first)?.0, *height, *width),
        };
        if shape.is_reasonable() {
            Ok(shape)
        } else {
            Err(format!("the answer would have the shape {shape}"))
        }
    }
}

/// More values than this in one tensor of weights is taken for a mistake.
const MAX_WEIGHTS: usize = 1 << 32;

fn weights_are_reasonable(dims: &[usize]) -> Result<(), String> {
    let values = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    match values {
        Some(values) if values <= MAX_WEIGHTS => Ok(()),
        _ => Err(format!("its weights {dims:?} would be too many")),
    }
}

fn same(a: Shape, b: Shape) -> Result<Shape, String> {
    if a == b {
        Ok(a)
    } else {
        Err(format!("add takes two equal shapes, found {a} and {b}"))
    }
}

fn concat(inputs: &[Shape]) -> Result<Shape, String> {
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
            (a, b) => {
                return Err(format!(
                    "concat takes images of one size or vectors, found {a} and {b}"
                ));
            }
        };
    }
    Ok(all)
}

fn window(
    side: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
) -> Result<usize, String> {
    positive("kernel", kernel)?;
    positive("stride", stride)?;
    positive("dilation", dilation)?;
    let reach = dilation
        .checked_mul(kernel - 1)
        .and_then(|r| r.checked_add(1));
    let padded = padding.checked_mul(2).and_then(|p| p.checked_add(side));
    match (reach, padded) {
        (Some(reach), Some(padded)) if reach <= padded => Ok((padded - reach) / stride + 1),
        _ => Err(format!(
            "a kernel of {kernel} (dilation {dilation}) does not fit a side of {side} with padding {padding}"
        )),
    }
}

fn positive(field: &str, value: usize) -> Result<(), String> {
    if value == 0 {
        Err(format!("{field} must be at least 1, found 0"))
    } else {
        Ok(())
    }
}

fn image(shape: Shape) -> Result<(usize, usize, usize), String> {
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } => Ok((channels, height, width)),
        Shape::Vector { features } => Err(format!(
            "takes an image (channels, height, width), found a vector of {features}"
        )),
    }
}

fn vector(shape: Shape) -> Result<usize, String> {
    match shape {
        Shape::Vector { features } => Ok(features),
        Shape::Image { .. } => Err(format!(
            "takes a vector, found an image {shape}; put a flatten or global-avg-pool before it"
        )),
    }
}

const fn one() -> usize {
    1
}

const fn yes() -> bool {
    true
}

const fn default_eps() -> f32 {
    1e-5
}
