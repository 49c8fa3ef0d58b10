//! DenseNet (Huang et al., "Densely connected convolutional networks", table 1);
//! torchvision's names.

use super::super::densenet::{dense_blocks, norm_relu};
use super::classify;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

/// Layers of each dense block.
pub(super) const D121: [usize; 4] = [6, 12, 24, 16];
pub(super) const D169: [usize; 4] = [6, 12, 32, 32];
pub(super) const D201: [usize; 4] = [6, 12, 48, 32];

/// Channels each layer adds.
const GROWTH: usize = 32;

pub(super) fn build(
    mut b: GraphBuilder,
    blocks: [usize; 4],
    classes: usize,
) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(2 * GROWTH, 7).same().strided(2);
    let (conv, norm) = ("features.conv0", "features.norm0");
    let x = b.conv_bn(conv, norm, stem, NodeId::INPUT, Norm::RELU)?;
    let pool = Op::MaxPool(Pool::new(3, 2).padded(1));
    let x = b.add("features.pool0", pool, &[x])?;
    let x = dense_blocks(&mut b, GROWTH, &blocks, x)?;
    let x = norm_relu(&mut b, "features.norm5", x)?;
    classify(b, "classifier", x, classes)
}
