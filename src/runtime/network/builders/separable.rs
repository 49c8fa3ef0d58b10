//! Xception (Chollet, "Xception: deep learning with depthwise separable convolutions",
//! figure 5), with names and `eps` as in timm's `legacy_xception`, made for 299×299.

use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

/// Xception.
pub(super) const NETWORKS: [PublishedRow; 1] = [row("xception", 299, xception)];

/// Channels of the middle flow.
const MIDDLE: usize = 728;

fn xception(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let first = Conv2d::new(32, 3).strided(2);
    let x = b.conv_bn("conv1", "bn1", first, NodeId::INPUT, Norm::RELU)?;
    let mut x = b.conv_bn("conv2", "bn2", Conv2d::new(64, 3), x, Norm::RELU)?;
    for (i, channels) in [128, 256, MIDDLE].into_iter().enumerate() {
        let widths = [channels, channels];
        x = block(&mut b, &format!("block{}", i + 1), &widths, i > 0, 2, x)?;
    }
    for i in 4..12 {
        x = block(&mut b, &format!("block{i}"), &[MIDDLE; 3], true, 1, x)?;
    }
    x = block(&mut b, "block12", &[MIDDLE, 1024], true, 2, x)?;
    for (i, channels) in [(3, 1536), (4, 2048)] {
        x = separable(&mut b, &format!("conv{i}"), &format!("bn{i}"), channels, x)?;
        x = b.add(format!("act{i}"), Op::Relu, &[x])?;
    }
    classify(b, "fc", x, classes)
}

/// Adds separable convolutions of `widths`, each after a ReLU (the first only if `active`), a max
/// pool if `stride` is 2, and a shortcut.
fn block(
    b: &mut GraphBuilder,
    name: &str,
    widths: &[usize],
    active: bool,
    stride: usize,
    input: NodeId,
) -> Result<NodeId, GraphError> {
    // Layers are numbered through: ReLU, separable convolution, batch norm.
    let mut index = 0;
    let mut x = input;
    for (i, &channels) in widths.iter().enumerate() {
        if active || i > 0 {
            x = b.add(format!("{name}.rep.{index}"), Op::Relu, &[x])?;
            index += 1;
        }
        let (conv, bn) = (index, index + 1);
        let part = |at: usize| format!("{name}.rep.{at}");
        x = separable(b, &part(conv), &part(bn), channels, x)?;
        index += 2;
    }
    if stride > 1 {
        let pool = Op::MaxPool(Pool::new(3, stride).padded(1));
        x = b.add(format!("{name}.rep.{index}"), pool, &[x])?;
    }
    let shortcut = shortcut(b, name, input, x, stride)?;
    b.add(format!("{name}.add"), Op::Add, &[x, shortcut])
}

fn shortcut(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    x: NodeId,
    stride: usize,
) -> Result<NodeId, GraphError> {
    if b.shape(input) == b.shape(x) {
        return Ok(input);
    }
    let project = Conv2d::new(channels(b, x), 1).strided(stride);
    let (conv, bn) = (format!("{name}.skip"), format!("{name}.skipbn"));
    b.conv_bn(&conv, &bn, project, input, Norm::PLAIN)
}

/// A 3×3 convolution of each channel, then a 1×1 convolution of all, then a norm.
fn separable(
    b: &mut GraphBuilder,
    conv: &str,
    bn: &str,
    outputs: usize,
    from: NodeId,
) -> Result<NodeId, GraphError> {
    let inputs = channels(b, from);
    let depthwise = Conv2d::new(inputs, 3).same().grouped(inputs);
    let x = b.add(format!("{conv}.conv1"), Op::Conv2d(depthwise), &[from])?;
    let pointwise = format!("{conv}.pointwise");
    b.conv_bn(&pointwise, bn, Conv2d::new(outputs, 1), x, Norm::PLAIN)
}

fn channels(b: &GraphBuilder, value: NodeId) -> usize {
    b.shape(value).channels()
}
