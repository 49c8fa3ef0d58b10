//! SqueezeNet (Iandola et al., "SqueezeNet", table 1) and its version 1.1, with torchvision's
//! names.

use super::row::{PublishedRow, row};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool};

/// Both versions.
pub(super) const NETWORKS: [PublishedRow; 2] = [
    row("squeezenet1-0", 224, |b, classes| V1_0.build(b, classes)),
    row("squeezenet1-1", 224, |b, classes| V1_1.build(b, classes)),
];

/// Channels of the first convolution, its kernel, and the places of the pools among the layers.
struct Squeezenet {
    channels: usize,
    kernel: usize,
    pools: [usize; 3],
}

const V1_0: Squeezenet = Squeezenet {
    channels: 96,
    kernel: 7,
    pools: [2, 6, 11],
};

const V1_1: Squeezenet = Squeezenet {
    channels: 64,
    kernel: 3,
    pools: [2, 5, 8],
};

/// Channels between the convolutions of each fire module, and of each of its two ends.
const FIRES: [(usize, usize); 8] = [
    (16, 64),
    (16, 64),
    (32, 128),
    (32, 128),
    (48, 192),
    (48, 192),
    (64, 256),
    (64, 256),
];

impl Squeezenet {
    fn build(&self, mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
        let first = Conv2d::new(self.channels, self.kernel).strided(2);
        let mut x = relued(&mut b, "features.0", first, NodeId::INPUT)?;
        // The features are numbered through: the convolution, its ReLU, pools and modules.
        let mut index = 2;
        for (inner, outer) in FIRES {
            if self.pools.contains(&index) {
                x = pool(&mut b, index, x)?;
                index += 1;
            }
            x = fire(&mut b, &format!("features.{index}"), inner, outer, x)?;
            index += 1;
        }
        let x = relued(&mut b, "classifier.1", Conv2d::new(classes, 1), x)?;
        b.add("avgpool", Op::GlobalAvgPool, &[x])?;
        b.build()
    }
}

fn relued(b: &mut GraphBuilder, name: &str, conv: Conv2d, x: NodeId) -> Result<NodeId, GraphError> {
    let x = b.add(name, Op::Conv2d(conv.biased()), &[x])?;
    b.add(format!("{name}.relu"), Op::Relu, &[x])
}

fn pool(b: &mut GraphBuilder, index: usize, x: NodeId) -> Result<NodeId, GraphError> {
    let pool = Op::MaxPool(Pool::new(3, 2).covering(b.shape(x)));
    b.add(format!("features.{index}"), pool, &[x])
}

/// Figure 1: 1×1 convolutions to few channels, 1×1 and 3×3 ones to many.
fn fire(
    b: &mut GraphBuilder,
    name: &str,
    inner: usize,
    outer: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let x = relued(b, &part("squeeze"), Conv2d::new(inner, 1), x)?;
    let ends = [
        relued(b, &part("expand1x1"), Conv2d::new(outer, 1), x)?,
        relued(b, &part("expand3x3"), Conv2d::new(outer, 3).same(), x)?,
    ];
    b.add(part("concat"), Op::Concat, &ends)
}
