//! Inverted bottlenecks (Sandler et al., "MobileNetV2", figure 4(d)) with squeeze and excitation
//! (Hu et al., "Squeeze-and-excitation networks", figure 2), shared by several families.

use super::plain::linear;
use crate::network::{
    Activation, Conv2d, GraphBuilder, GraphError, NodeId, Norm, Op, ParameterOrigin,
};

/// Widen, filter each channel, weight channels, narrow without an activation; with a shortcut if
/// the shapes are equal.
pub(super) struct InvertedBottleneck {
    /// Channels of the filter. If the input has the same number, nothing is widened.
    pub hidden: usize,
    pub outputs: usize,
    pub kernel: usize,
    pub stride: usize,
    /// The norm of all convolutions. Its activation applies to all except the last.
    pub norm: Norm,
    pub squeeze: Option<SqueezeExcite>,
}

/// Returns the names of a part's convolution and batch norm, or of its squeeze and excitation
/// as the first one's beginning, by its number and whether it is the last.
pub(super) type PartNames<'a> = &'a dyn Fn(usize, bool) -> (String, String);

impl InvertedBottleneck {
    pub(super) fn add(
        &self,
        b: &mut GraphBuilder,
        input: NodeId,
        names: PartNames<'_>,
    ) -> Result<NodeId, GraphError> {
        let mut part = 0;
        let mut x = input;
        if self.hidden != b.shape(input).channels() {
            let (conv, bn) = names(part, false);
            x = b.conv_bn(&conv, &bn, Conv2d::new(self.hidden, 1), x, self.norm)?;
            part += 1;
        }
        let filter = Conv2d::new(self.hidden, self.kernel).same();
        let filter = filter.strided(self.stride).grouped(self.hidden);
        let (conv, bn) = names(part, false);
        x = b.conv_bn(&conv, &bn, filter, x, self.norm)?;
        if let Some(squeeze) = self.squeeze {
            part += 1;
            let (first, _) = names(part, false);
            x = squeeze.add(b, first.strip_suffix(".0").unwrap_or(&first), x)?;
        }
        let (conv, bn) = names(part + 1, true);
        let plain = Norm {
            activation: None,
            ..self.norm
        };
        let x = b.conv_bn(&conv, &bn, Conv2d::new(self.outputs, 1), x, plain)?;
        shortcut(b, &format!("{bn}.add"), input, x)
    }
}

/// Adds the input to `x` if their shapes are equal.
pub(super) fn shortcut(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    match b.shape(x) == b.shape(input) {
        true => b.add(name, Op::Add, &[x, input]),
        false => Ok(x),
    }
}

/// Each channel times a weight, which two layers make from the means of all channels.
#[derive(Clone, Copy)]
pub(super) struct SqueezeExcite {
    /// Features between the layers.
    pub inner: usize,
    pub activation: Activation,
    /// The function that computes the weights.
    pub gate: Activation,
}

impl SqueezeExcite {
    /// Adds layers `name.fc1` and `name.fc2`, which files hold as convolutions.
    pub(super) fn add(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let part = |suffix: &str| format!("{name}.{suffix}");
        let channels = b.shape(input).channels();
        let x = b.add(part("avgpool"), Op::GlobalAvgPool, &[input])?;
        let x = pointwise(b, &part("fc1"), self.inner, x)?;
        let x = b.add(part("activation"), self.activation.into(), &[x])?;
        let x = pointwise(b, &part("fc2"), channels, x)?;
        let x = b.add(part("scale_activation"), self.gate.into(), &[x])?;
        b.add(part("mul"), Op::Mul, &[input, x])
    }
}

/// Adds a fully connected layer with the weights of a 1×1 convolution.
fn pointwise(
    b: &mut GraphBuilder,
    name: &str,
    features: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let weight = ParameterOrigin::Tensor {
        name: format!("{name}.weight"),
        shape: vec![features, b.shape(x).channels(), 1, 1],
    };
    b.add_from(name, linear(features), &[x], vec![("weight", weight)])
}

/// Channels are multiples of this.
const DIVISOR: usize = 8;

/// Returns the multiple of 8 nearest to `channels`, or the next higher one if the nearest is less
/// than nine tenths of `channels`, as the code of MobileNet v3 rounds widths.
pub(super) fn divisible(channels: f64) -> usize {
    let nearest = (channels / DIVISOR as f64 + 0.5) as usize * DIVISOR;
    let nearest = nearest.max(DIVISOR);
    match (nearest as f64) < 0.9 * channels {
        true => nearest + DIVISOR,
        false => nearest,
    }
}
