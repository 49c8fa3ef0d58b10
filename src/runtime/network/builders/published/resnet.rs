//! ResNet (He et al., "Deep residual learning", table 1) and ResNeXt (Xie et al.,
//! "Aggregated residual transformations", table 1); torchvision's names.

use super::super::residual::{Bottleneck, basic_block, bottleneck};
use super::super::skeleton::imagenet_stem;
use super::classify;
use crate::network::{Graph, GraphBuilder, GraphError, NodeId};

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

pub(super) fn build(
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
