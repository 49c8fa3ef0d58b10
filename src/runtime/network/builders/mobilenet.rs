//! MobileNet (Howard et al., "MobileNets", table 1) with ReLU6 as in its release, named as timm's
//! `mobilenetv1_100`; and, with torchvision's names, MobileNet v2 (Sandler et al., "MobileNetV2",
//! table 2), MobileNet v3 (Howard et al., "Searching for MobileNetV3", tables 1 and 2) and MNASNet
//! (Tan et al., "MnasNet", figure 7), which differ only in their tables.

use super::inverted::{InvertedBottleneck, SqueezeExcite, divisible};
use super::plain::{classify, linear};
use super::row::{PublishedRow, row};
use crate::network::{Activation, Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op};

/// The MobileNets and MNASNets.
pub(super) const NETWORKS: [PublishedRow; 8] = [
    row("mnasnet0-5", 224, |b, classes| mnasnet(b, 0.5, classes)),
    row("mnasnet0-75", 224, |b, classes| mnasnet(b, 0.75, classes)),
    row("mnasnet1-0", 224, |b, classes| mnasnet(b, 1.0, classes)),
    row("mnasnet1-3", 224, |b, classes| mnasnet(b, 1.3, classes)),
    row("mobilenet-v1", 224, mobilenet_v1),
    row("mobilenet-v2", 224, mobilenet_v2),
    row("mobilenet-v3-large", 224, |b, classes| {
        mobilenet_v3(b, &V3_LARGE, 1280, classes)
    }),
    row("mobilenet-v3-small", 224, |b, classes| {
        mobilenet_v3(b, &V3_SMALL, 1024, classes)
    }),
];

/// Layers and channels of each stage; stages after the first begin with stride 2.
const V1_STAGES: [(usize, usize); 5] = [(1, 64), (2, 128), (2, 256), (6, 512), (2, 1024)];

fn mobilenet_v1(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
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

fn mobilenet_v2(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(32, 3).same().strided(2);
    let (conv, bn) = ("features.0.0", "features.0.1");
    let mut x = b.conv_bn(conv, bn, stem, NodeId::INPUT, Norm::RELU6)?;
    let mut index = 1;
    for (expansion, outputs, blocks, first_stride) in V2_STAGES {
        for i in 0..blocks {
            let name = format!("features.{index}.conv");
            let block = InvertedBottleneck {
                hidden: expansion * b.shape(x).channels(),
                outputs,
                kernel: 3,
                stride: if i == 0 { first_stride } else { 1 },
                norm: Norm::RELU6,
                squeeze: None,
            };
            x = block.add(&mut b, x, &|part, is_last| match is_last {
                false => (format!("{name}.{part}.0"), format!("{name}.{part}.1")),
                true => (format!("{name}.{part}"), format!("{name}.{}", part + 1)),
            })?;
            index += 1;
        }
    }
    let (conv, bn) = (format!("features.{index}.0"), format!("features.{index}.1"));
    let x = b.conv_bn(&conv, &bn, Conv2d::new(1280, 1), x, Norm::RELU6)?;
    classify(b, "classifier.1", x, classes)
}

/// Kernel, channels inside, channels, whether channels are weighted, whether the activation is a
/// hard swish, and stride of each block.
type V3Row = (usize, usize, usize, bool, bool, usize);

/// Table 1.
const V3_LARGE: [V3Row; 15] = [
    (3, 16, 16, false, false, 1),
    (3, 64, 24, false, false, 2),
    (3, 72, 24, false, false, 1),
    (5, 72, 40, true, false, 2),
    (5, 120, 40, true, false, 1),
    (5, 120, 40, true, false, 1),
    (3, 240, 80, false, true, 2),
    (3, 200, 80, false, true, 1),
    (3, 184, 80, false, true, 1),
    (3, 184, 80, false, true, 1),
    (3, 480, 112, true, true, 1),
    (3, 672, 112, true, true, 1),
    (5, 672, 160, true, true, 2),
    (5, 960, 160, true, true, 1),
    (5, 960, 160, true, true, 1),
];

/// Table 2.
const V3_SMALL: [V3Row; 11] = [
    (3, 16, 16, true, false, 2),
    (3, 72, 24, false, false, 2),
    (3, 88, 24, false, false, 1),
    (5, 96, 40, true, true, 2),
    (5, 240, 40, true, true, 1),
    (5, 240, 40, true, true, 1),
    (5, 120, 48, true, true, 1),
    (5, 144, 48, true, true, 1),
    (5, 288, 96, true, true, 2),
    (5, 576, 96, true, true, 1),
    (5, 576, 96, true, true, 1),
];

/// Builds the network of a table, with `last` features before the classifier.
fn mobilenet_v3(
    mut b: GraphBuilder,
    blocks: &[V3Row],
    last: usize,
    classes: usize,
) -> Result<Graph, GraphError> {
    let norm = |activation| Norm::RELU.eps(1e-3).activated(activation);
    let swish = norm(Activation::HardSwish);
    let stem = Conv2d::new(16, 3).same().strided(2);
    let (conv, bn) = ("features.0.0", "features.0.1");
    let mut x = b.conv_bn(conv, bn, stem, NodeId::INPUT, swish)?;
    for (i, &(kernel, hidden, outputs, weighted, swishes, stride)) in blocks.iter().enumerate() {
        let block = InvertedBottleneck {
            hidden,
            outputs,
            kernel,
            stride,
            norm: if swishes {
                swish
            } else {
                norm(Activation::Relu)
            },
            squeeze: weighted.then(|| SqueezeExcite {
                inner: divisible(hidden as f64 / 4.0),
                activation: Activation::Relu,
                gate: Activation::HARD_SIGMOID,
            }),
        };
        let name = format!("features.{}.block", i + 1);
        x = block.add(&mut b, x, &|part, _| {
            (format!("{name}.{part}.0"), format!("{name}.{part}.1"))
        })?;
    }
    let at = format!("features.{}", blocks.len() + 1);
    let widen = Conv2d::new(6 * b.shape(x).channels(), 1);
    let x = b.conv_bn(&format!("{at}.0"), &format!("{at}.1"), widen, x, swish)?;
    let x = b.add("avgpool", Op::GlobalAvgPool, &[x])?;
    let x = b.add("classifier.0", linear(last), &[x])?;
    let x = b.add("classifier.1", Activation::HardSwish.into(), &[x])?;
    b.add("classifier.3", linear(classes), &[x])?;
    b.build()
}

/// Channels, kernel, first stride, expansion and blocks of each stage.
const MNAS_STAGES: [(f64, usize, usize, usize, usize); 6] = [
    (24.0, 3, 2, 3, 3),
    (40.0, 5, 2, 3, 3),
    (80.0, 5, 2, 6, 3),
    (96.0, 3, 1, 6, 2),
    (192.0, 5, 2, 6, 4),
    (320.0, 3, 1, 6, 1),
];

/// Builds MNASNet-B1 with `width` times the channels.
fn mnasnet(mut b: GraphBuilder, width: f64, classes: usize) -> Result<Graph, GraphError> {
    let widths = |channels: f64| divisible(channels * width);
    let stem = Conv2d::new(widths(32.0), 3).same().strided(2);
    let x = b.conv_bn("layers.0", "layers.1", stem, NodeId::INPUT, Norm::RELU)?;
    let channels = b.shape(x).channels();
    let filter = Conv2d::new(channels, 3).same().grouped(channels);
    let x = b.conv_bn("layers.3", "layers.4", filter, x, Norm::RELU)?;
    let narrow = Conv2d::new(widths(16.0), 1);
    let mut x = b.conv_bn("layers.6", "layers.7", narrow, x, Norm::PLAIN)?;
    for (stage, (channels, kernel, stride, expansion, blocks)) in
        MNAS_STAGES.into_iter().enumerate()
    {
        for i in 0..blocks {
            let block = InvertedBottleneck {
                hidden: expansion * b.shape(x).channels(),
                outputs: widths(channels),
                kernel,
                stride: if i == 0 { stride } else { 1 },
                norm: Norm::RELU,
                squeeze: None,
            };
            // Layers are numbered through: convolution, batch norm, ReLU.
            let name = format!("layers.{}.{i}.layers", 8 + stage);
            x = block.add(&mut b, x, &|part, _| {
                (
                    format!("{name}.{}", 3 * part),
                    format!("{name}.{}", 3 * part + 1),
                )
            })?;
        }
    }
    let x = b.conv_bn(
        "layers.14",
        "layers.15",
        Conv2d::new(1280, 1),
        x,
        Norm::RELU,
    )?;
    classify(b, "classifier.1", x, classes)
}
