//! MobileNet (Howard et al., "MobileNets", table 1) with ReLU6, as it was released, named as
//! timm's `mobilenetv1_100`; MobileNet v2 (Sandler et al., "MobileNetV2", table 2), named as
//! torchvision's.

use super::super::heads::classify;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op};

/// Layers and channels of each stage; stages after the first begin with stride 2.
const V1_STAGES: [(usize, usize); 5] = [(1, 64), (2, 128), (2, 256), (6, 512), (2, 1024)];

pub(super) fn v1(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
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

pub(super) fn v2(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
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
