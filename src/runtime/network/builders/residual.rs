//! Residual blocks (He et al., "Deep residual learning", figures 2 and 5), with
//! torchvision's names.

use crate::network::{Conv2d, GraphBuilder, GraphError, NodeId, Norm, Op};

/// Two 3×3 convolutions beside a shortcut; the first has `stride`.
pub(super) fn basic_block(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    channels: usize,
    stride: usize,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let first = Conv2d::new(channels, 3).same().strided(stride);
    let x = b.conv_bn(&part("conv1"), &part("bn1"), first, input, Norm::RELU)?;
    let second = Conv2d::new(channels, 3).same();
    let x = b.conv_bn(&part("conv2"), &part("bn2"), second, x, Norm::PLAIN)?;
    join(b, name, input, x, channels, stride)
}

/// The widths of a bottleneck: 1×1 to `inner` channels, 3×3 in `groups`, 1×1 to `outer`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bottleneck {
    pub inner: usize,
    pub groups: usize,
    pub outer: usize,
}

/// 1×1, 3×3 and 1×1 convolutions beside a shortcut; the 3×3 one has `stride`
/// (torchvision's place for it; the paper has it in the first).
pub(super) fn bottleneck(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    widths: Bottleneck,
    stride: usize,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let Bottleneck {
        inner,
        groups,
        outer,
    } = widths;
    let squeeze = Conv2d::new(inner, 1);
    let x = b.conv_bn(&part("conv1"), &part("bn1"), squeeze, input, Norm::RELU)?;
    let middle = Conv2d::new(inner, 3).same().strided(stride).grouped(groups);
    let x = b.conv_bn(&part("conv2"), &part("bn2"), middle, x, Norm::RELU)?;
    let widen = Conv2d::new(outer, 1);
    let x = b.conv_bn(&part("conv3"), &part("bn3"), widen, x, Norm::PLAIN)?;
    join(b, name, input, x, outer, stride)
}

/// The shortcut, projected where the shapes differ, the sum and its ReLU.
fn join(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    x: NodeId,
    channels: usize,
    stride: usize,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let shortcut = if b.shape(input) == b.shape(x) {
        input
    } else {
        let project = Conv2d::new(channels, 1).strided(stride);
        let (conv, bn) = (part("downsample.0"), part("downsample.1"));
        b.conv_bn(&conv, &bn, project, input, Norm::PLAIN)?
    };
    let sum = b.add(part("add"), Op::Add, &[x, shortcut])?;
    b.add(part("relu"), Op::Relu, &[sum])
}
