//! Networks as lists of layers, in TOML files next to the manifest.
//!
//! ```toml
//! [[layers]]
//! name = "conv1"
//! op = "conv2d"
//! channels = 16
//! kernel = 3
//! padding = 1
//!
//! [[layers]]
//! name = "relu1"
//! op = "relu"
//! # without `from` a layer reads the previous one, here: from = ["conv1"]
//! ```

use serde::Deserialize;

use super::activation::Activation;
use super::channels::ResponseNorm;
use super::error::{GraphError, LayerFault};
use super::graph::{Graph, GraphBuilder, NodeId};
use super::op::Op;
use super::origin::ParameterOrigin;
use super::shape::{Shape, Sides};
use super::window::{Conv2d, Pool};

/// The content of a file of layers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayersFile {
    layers: Vec<toml::Spanned<WrittenLayer>>,
}

/// One layer as written: a flat table, so that an error can report its line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLayer {
    name: String,
    op: LayerKind,
    from: Option<Vec<String>>,
    channels: Option<usize>,
    kernel: Option<Sides>,
    stride: Option<usize>,
    padding: Option<Sides>,
    count_include_pad: Option<bool>,
    ceil_mode: Option<bool>,
    dilation: Option<usize>,
    groups: Option<usize>,
    bias: Option<bool>,
    features: Option<usize>,
    height: Option<usize>,
    width: Option<usize>,
    eps: Option<f32>,
    by: Option<f32>,
    first: Option<usize>,
    count: Option<usize>,
    size: Option<usize>,
    alpha: Option<f32>,
    beta: Option<f32>,
    k: Option<f32>,
    slope: Option<f32>,
    shift: Option<f32>,
    least: Option<f32>,
    most: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LayerKind {
    Conv2d,
    BatchNorm,
    Relu,
    Relu6,
    Scale,
    MaxPool,
    AvgPool,
    GlobalAvgPool,
    AdaptiveAvgPool,
    Linear,
    Add,
    Concat,
    Flatten,
    Upscale,
    Softmax,
    Mul,
    ChannelShuffle,
    Channels,
    LocalResponseNorm,
    LayerNorm,
    Clip,
    LeakyRelu,
    Elu,
    Sigmoid,
    HardSigmoid,
    Silu,
    HardSwish,
    Gelu,
    GeluTanh,
    Tanh,
    Softplus,
    Mish,
}

/// The reason why a file of layers is not a network, and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerError {
    /// Byte offset in the file's text.
    pub offset: usize,
    /// The error there.
    pub error: GraphError,
}

impl LayersFile {
    /// Builds the network for samples of shape `input`.
    ///
    /// # Errors
    /// A layer cannot be added; the error names its place in the text.
    pub fn build(&self, input: Shape) -> Result<Graph, LayerError> {
        let mut builder = GraphBuilder::new(input);
        for layer in &self.layers {
            let added = layer.get_ref().add(&mut builder, Vec::new());
            added.map_err(|error| LayerError {
                offset: layer.span().start,
                error,
            })?;
        }
        builder
            .build()
            .map_err(|error| LayerError { offset: 0, error })
    }
}

impl WrittenLayer {
    /// Adds the layer. Parameters with an origin are not stored in tensors named after it.
    pub(super) fn add(
        &self,
        builder: &mut GraphBuilder,
        origins: Vec<(&'static str, ParameterOrigin)>,
    ) -> Result<(), GraphError> {
        let inputs = match &self.from {
            None => vec![builder.last()],
            Some(names) => names
                .iter()
                .map(|name| self.find(builder, name))
                .collect::<Result<_, _>>()?,
        };
        let mut op = self.operation()?;
        if let (Op::MaxPool(pool) | Op::AvgPool(pool), Some(true)) = (&mut op, self.ceil_mode) {
            *pool = pool.covering(builder.shape(inputs.first().copied().unwrap_or(NodeId::INPUT)));
        }
        builder.add_from(&self.name, op, &inputs, origins)?;
        Ok(())
    }

    fn find(&self, builder: &GraphBuilder, name: &str) -> Result<NodeId, GraphError> {
        builder.find(name).ok_or_else(|| {
            self.error(LayerFault::UnknownInput {
                name: name.to_owned(),
            })
        })
    }

    fn error(&self, fault: LayerFault) -> GraphError {
        GraphError::Layer {
            layer: self.name.clone(),
            fault,
        }
    }

    fn need<T>(&self, field: &'static str, value: Option<T>) -> Result<T, GraphError> {
        value.ok_or_else(|| self.error(LayerFault::MissingField { field }))
    }

    fn operation(&self) -> Result<Op, GraphError> {
        self.refuse_strays()?;
        Ok(match self.op {
            LayerKind::Conv2d => Op::Conv2d(Conv2d {
                channels: self.need("channels", self.channels)?,
                kernel: self.need("kernel", self.kernel)?,
                stride: self.stride.unwrap_or(1),
                padding: self.padding.unwrap_or(Sides::square(0)),
                dilation: self.dilation.unwrap_or(1),
                groups: self.groups.unwrap_or(1),
                bias: self.bias.unwrap_or(false),
            }),
            LayerKind::BatchNorm => Op::BatchNorm {
                eps: self.eps.unwrap_or(1e-5),
            },
            LayerKind::Scale => Op::Scale {
                by: self.need("by", self.by)?,
            },
            LayerKind::MaxPool => Op::MaxPool(self.pool()?),
            LayerKind::AvgPool => Op::AvgPool(self.pool()?),
            LayerKind::GlobalAvgPool => Op::GlobalAvgPool,
            LayerKind::AdaptiveAvgPool => Op::AdaptiveAvgPool {
                height: self.need("height", self.height)?,
                width: self.need("width", self.width)?,
            },
            LayerKind::Linear => Op::Linear {
                features: self.need("features", self.features)?,
                bias: self.bias.unwrap_or(true),
            },
            LayerKind::Add => Op::Add,
            LayerKind::Concat => Op::Concat,
            LayerKind::Flatten => Op::Flatten,
            LayerKind::Upscale => Op::Upscale {
                height: self.need("height", self.height)?,
                width: self.need("width", self.width)?,
            },
            LayerKind::Softmax => Op::Softmax,
            LayerKind::Mul => Op::Mul,
            LayerKind::ChannelShuffle => Op::ChannelShuffle {
                groups: self.need("groups", self.groups)?,
            },
            LayerKind::Channels => Op::Channels {
                first: self.need("first", self.first)?,
                count: self.need("count", self.count)?,
            },
            LayerKind::LocalResponseNorm => Op::LocalResponseNorm(ResponseNorm {
                size: self.need("size", self.size)?,
                alpha: self.alpha.unwrap_or(1e-4),
                beta: self.beta.unwrap_or(0.75),
                k: self.k.unwrap_or(1.0),
            }),
            LayerKind::LayerNorm => Op::LayerNorm {
                eps: self.eps.unwrap_or(1e-5),
            },
            kind => Op::from(self.activation(kind)),
        })
    }

    /// Returns the activation of a kind that is not another operation.
    fn activation(&self, kind: LayerKind) -> Activation {
        match kind {
            LayerKind::Relu6 => Activation::Relu6,
            LayerKind::Clip => Activation::Clip {
                least: self.least.unwrap_or(f32::NEG_INFINITY),
                most: self.most.unwrap_or(f32::INFINITY),
            },
            LayerKind::LeakyRelu => Activation::LeakyRelu {
                slope: self.slope.unwrap_or(0.01),
            },
            LayerKind::Elu => Activation::Elu {
                alpha: self.alpha.unwrap_or(1.0),
            },
            LayerKind::HardSigmoid => Activation::HardSigmoid {
                slope: self.slope.unwrap_or(1.0 / 6.0),
                shift: self.shift.unwrap_or(0.5),
            },
            LayerKind::Sigmoid => Activation::Sigmoid,
            LayerKind::Silu => Activation::Silu,
            LayerKind::HardSwish => Activation::HardSwish,
            LayerKind::Gelu => Activation::Gelu,
            LayerKind::GeluTanh => Activation::GeluTanh,
            LayerKind::Tanh => Activation::Tanh,
            LayerKind::Softplus => Activation::Softplus,
            LayerKind::Mish => Activation::Mish,
            _ => Activation::Relu,
        }
    }

    fn pool(&self) -> Result<Pool, GraphError> {
        let kernel = self.square("kernel", self.need("kernel", self.kernel)?)?;
        Ok(Pool {
            kernel,
            stride: self.stride.unwrap_or(kernel),
            padding: self.square("padding", self.padding.unwrap_or(Sides::square(0)))?,
            count_include_pad: self.count_include_pad.unwrap_or(true),
            overhang: Sides::square(0),
        })
    }

    fn square(&self, field: &'static str, sides: Sides) -> Result<usize, GraphError> {
        if sides.height == sides.width {
            return Ok(sides.height);
        }
        Err(self.error(LayerFault::NotSquare {
            field,
            found: sides,
        }))
    }

    /// Returns an error if the layer has a field that its operation does not know.
    fn refuse_strays(&self) -> Result<(), GraphError> {
        let known: &'static [&'static str] = match self.op {
            LayerKind::Conv2d => &[
                "channels", "kernel", "stride", "padding", "dilation", "groups", "bias",
            ],
            LayerKind::MaxPool => &["kernel", "stride", "padding", "ceil_mode"],
            LayerKind::AvgPool => &[
                "kernel",
                "stride",
                "padding",
                "count_include_pad",
                "ceil_mode",
            ],
            LayerKind::Linear => &["features", "bias"],
            LayerKind::Upscale | LayerKind::AdaptiveAvgPool => &["height", "width"],
            LayerKind::Scale => &["by"],
            LayerKind::BatchNorm | LayerKind::LayerNorm => &["eps"],
            LayerKind::ChannelShuffle => &["groups"],
            LayerKind::Channels => &["first", "count"],
            LayerKind::LocalResponseNorm => &["size", "alpha", "beta", "k"],
            LayerKind::Clip => &["least", "most"],
            LayerKind::LeakyRelu => &["slope"],
            LayerKind::Elu => &["alpha"],
            LayerKind::HardSigmoid => &["slope", "shift"],
            _ => &[],
        };
        match self.written().find(|field| !known.contains(field)) {
            None => Ok(()),
            Some(field) => Err(self.error(LayerFault::StrayField { field, known })),
        }
    }

    fn written(&self) -> impl Iterator<Item = &'static str> {
        [
            ("channels", self.channels.is_some()),
            ("kernel", self.kernel.is_some()),
            ("stride", self.stride.is_some()),
            ("padding", self.padding.is_some()),
            ("count_include_pad", self.count_include_pad.is_some()),
            ("ceil_mode", self.ceil_mode.is_some()),
            ("dilation", self.dilation.is_some()),
            ("groups", self.groups.is_some()),
            ("bias", self.bias.is_some()),
            ("features", self.features.is_some()),
            ("height", self.height.is_some()),
            ("width", self.width.is_some()),
            ("eps", self.eps.is_some()),
            ("by", self.by.is_some()),
            ("first", self.first.is_some()),
            ("count", self.count.is_some()),
            ("size", self.size.is_some()),
            ("alpha", self.alpha.is_some()),
            ("beta", self.beta.is_some()),
            ("k", self.k.is_some()),
            ("slope", self.slope.is_some()),
            ("shift", self.shift.is_some()),
            ("least", self.least.is_some()),
            ("most", self.most.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, written)| written.then_some(name))
    }
}
