//! Networks of depthwise separable convolutions: MobileNet (Howard et al., "MobileNets",
//! table 1) with ReLU6, as it was released, named as timm's `mobilenetv1_100`; MobileNet v2
//! (Sandler et al., "MobileNetV2", table 2), named as torchvision's; and Xception (Chollet,
//! "Xception: deep learning with depthwise separable convolutions", figure 5), with names and
//! `eps` as in timm's `legacy_xception`, made for 299×299.

use super::plain::classify;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

/// Layers and channels of each stage; stages after the first begin with stride 2.
const V1_STAGES: [(usize, usize); 5] = [(1, 64), (2, 128), (2, 256), (6, 512), (2, 1024)];

pub(super) fn mobilenet_v1(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(32, 3).same().strided(2);
    let mut x = b.conv_bn("conv_stem", "bn1", stem, NodeId::INPUT, Norm::RELU6)?;
    let mut inputs = 32;
    for (stage, (layers, channels)) in V1_STAGES.into_iter().enumerate() {
        for layer in 0..layers {
            let stride = if stage > 0 && layer == 0 { 2 } else { 1 };
            let part = |suffix: &str| format!("blocks.{stage}.{layer}.{suffix}");
            let depthwise = Conv2d::new(inputs, 3)
                .same()
                .strided(stride)
                .grouped(inputs);
            x = b.conv_bn(&part("conv_dw"), &part("bn1"), depthwise, x, Norm::RELU6)?;
            let pointwise = Conv2d::new(channels, 1);
            x = b.conv_bn(&part("conv_pw"), &part("bn2"), pointwise, x, Norm::RELU6)?;
            inputs = channels;
        }
    }
    classify(b, "classifier", x, classes)
}

/// Expansion, channels, blocks and first stride of each stage (t, c, n, s).
const V2_STAGES: [(usize, usize, usize, usize); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

pub(super) fn mobilenet_v2(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(32, 3).same().strided(2);
    let (conv, bn) = ("features.0.0", "features.0.1");
    let mut x = b.conv_bn(conv, bn, stem, NodeId::INPUT, Norm::RELU6)?;
    let (mut inputs, mut index) = (32, 1);
    for (expansion, outputs, blocks, first_stride) in V2_STAGES {
        for i in 0..blocks {
            let block = InvertedResidual {
                inputs,
                hidden: expansion * inputs,
                outputs,
                stride: if i == 0 { first_stride } else { 1 },
            };
            x = block.add(&mut b, &format!("features.{index}"), x)?;
            (inputs, index) = (outputs, index + 1);
        }
    }
    let (conv, bn) = (format!("features.{index}.0"), format!("features.{index}.1"));
    let x = b.conv_bn(&conv, &bn, Conv2d::new(1280, 1), x, Norm::RELU6)?;
    classify(b, "classifier.1", x, classes)
}

/// Figure 4(d): widen, filter each channel, narrow without an activation.
struct InvertedResidual {
    inputs: usize,
    hidden: usize,
    outputs: usize,
    stride: usize,
}

impl InvertedResidual {
    fn add(&self, b: &mut GraphBuilder, name: &str, input: NodeId) -> Result<NodeId, GraphError> {
        let part = |suffix: String| format!("{name}.conv.{suffix}");
        let mut at = 0;
        let mut x = input;
        if self.hidden != self.inputs {
            let widen = Conv2d::new(self.hidden, 1);
            let (conv, bn) = (part("0.0".into()), part("0.1".into()));
            x = b.conv_bn(&conv, &bn, widen, x, Norm::RELU6)?;
            at = 1;
        }
        let filter = Conv2d::new(self.hidden, 3).same().strided(self.stride);
        let (conv, bn) = (part(format!("{at}.0")), part(format!("{at}.1")));
        x = b.conv_bn(&conv, &bn, filter.grouped(self.hidden), x, Norm::RELU6)?;
        let narrow = Conv2d::new(self.outputs, 1);
        let (conv, bn) = (part(format!("{}", at + 1)), part(format!("{}", at + 2)));
        x = b.conv_bn(&conv, &bn, narrow, x, Norm::PLAIN)?;
        if b.shape(x) == b.shape(input) {
            x = b.add(format!("{name}.add"), Op::Add, &[x, input])?;
        }
        Ok(x)
    }
}

/// Channels of the middle flow.
const MIDDLE: usize = 728;

pub(super) fn xception(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
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

/// Separable convolutions of `widths` with a ReLU before each (before the first only
/// where `active`), a max pool where `stride` is 2, and a shortcut.
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
