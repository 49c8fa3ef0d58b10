//! MobileNet v2 (Sandler et al., "MobileNetV2", table 2); torchvision's names.

use super::classify;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op};

/// Expansion, channels, blocks and first stride of each stage (t, c, n, s).
const STAGES: [(usize, usize, usize, usize); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

pub(super) fn build(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(32, 3).same().strided(2);
    let (conv, bn) = ("features.0.0", "features.0.1");
    let mut x = b.conv_bn(conv, bn, stem, NodeId::INPUT, Norm::RELU6)?;
    let (mut inputs, mut index) = (32, 1);
    for (expansion, outputs, blocks, first_stride) in STAGES {
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
