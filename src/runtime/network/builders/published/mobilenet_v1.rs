//! MobileNet (Howard et al., "MobileNets", table 1) with ReLU6, as it was released;
//! names of timm's `mobilenetv1_100`.

use super::classify;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm};

/// Layers and channels of each stage; stages after the first begin with stride 2.
const STAGES: [(usize, usize); 5] = [(1, 64), (2, 128), (2, 256), (6, 512), (2, 1024)];

pub(super) fn build(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(32, 3).same().strided(2);
    let mut x = b.conv_bn("conv_stem", "bn1", stem, NodeId::INPUT, Norm::RELU6)?;
    let mut inputs = 32;
    for (stage, (layers, channels)) in STAGES.into_iter().enumerate() {
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
