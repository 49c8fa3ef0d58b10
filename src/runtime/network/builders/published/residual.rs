//! ResNet (He et al., "Deep residual learning", table 1), ResNeXt (Xie et al., "Aggregated
//! residual transformations", table 1) and DenseNet (Huang et al., "Densely connected
//! convolutional networks", table 1); torchvision's names.

use super::super::densenet::{dense_blocks, norm_relu};
use super::super::heads::classify;
use super::super::resnet::{Bottleneck, basic_block, bottleneck, imagenet_stem};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

/// Blocks of each stage, and which.
#[derive(Clone, Copy)]
pub(super) struct ResnetTable {
    blocks: [usize; 4],
    block: ResnetBlock,
}

#[derive(Clone, Copy)]
enum ResnetBlock {
    Basic,
    /// Groups of the 3×3 convolution; its width in the first stage.
    Bottleneck {
        groups: usize,
        width: usize,
    },
}

const NARROW: ResnetBlock = ResnetBlock::Bottleneck {
    groups: 1,
    width: 64,
};
const GROUPED: ResnetBlock = ResnetBlock::Bottleneck {
    groups: 32,
    width: 32 * 4,
};

pub(super) const R18: ResnetTable = table([2, 2, 2, 2], ResnetBlock::Basic);
pub(super) const R34: ResnetTable = table([3, 4, 6, 3], ResnetBlock::Basic);
pub(super) const R50: ResnetTable = table([3, 4, 6, 3], NARROW);
pub(super) const R101: ResnetTable = table([3, 4, 23, 3], NARROW);
pub(super) const R152: ResnetTable = table([3, 8, 36, 3], NARROW);
pub(super) const X50: ResnetTable = table([3, 4, 6, 3], GROUPED);
pub(super) const X101: ResnetTable = table([3, 4, 23, 3], GROUPED);

const fn table(blocks: [usize; 4], block: ResnetBlock) -> ResnetTable {
    ResnetTable { blocks, block }
}

pub(super) fn resnet(
    mut b: GraphBuilder,
    table: ResnetTable,
    classes: usize,
) -> Result<Graph, GraphError> {
    let mut x = imagenet_stem(&mut b, 64)?;
    for (stage, &blocks) in table.blocks.iter().enumerate() {
        for i in 0..blocks {
            let stride = if stage > 0 && i == 0 { 2 } else { 1 };
            let name = format!("layer{}.{i}", stage + 1);
            x = table.block.add(&mut b, &name, x, stage, stride)?;
        }
    }
    classify(b, "fc", x, classes)
}

impl ResnetBlock {
    fn add(
        self,
        b: &mut GraphBuilder,
        name: &str,
        x: NodeId,
        stage: usize,
        stride: usize,
    ) -> Result<NodeId, GraphError> {
        match self {
            ResnetBlock::Basic => basic_block(b, name, x, 64 << stage, stride),
            ResnetBlock::Bottleneck { groups, width } => {
                let widths = Bottleneck {
                    inner: width << stage,
                    groups,
                    outer: 256 << stage,
                };
                bottleneck(b, name, x, widths, stride)
            }
        }
    }
}

/// Layers of each dense block.
pub(super) const D121: [usize; 4] = [6, 12, 24, 16];
pub(super) const D169: [usize; 4] = [6, 12, 32, 32];
pub(super) const D201: [usize; 4] = [6, 12, 48, 32];

/// Channels each layer adds.
const GROWTH: usize = 32;

pub(super) fn densenet(
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
