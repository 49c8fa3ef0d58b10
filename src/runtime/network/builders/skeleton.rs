//! The ResNet skeleton with free depth and width (the networks of He et al., "Deep
//! residual learning", table 1, as an automatic search varies them).

use serde::{Deserialize, Serialize};

use super::classify;
use super::residual::basic_block;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool, Shape};

/// Basic blocks in four stages of `64 · width`, `128 · width`, `256 · width` and
/// `512 · width` filters, dealt to them as ResNet-34 does (3 : 4 : 6 : 3), at least one
/// each. Depth 34 and width 1 at 224×224 is ResNet-34.
///
/// Images of fewer than 64 pixels a side get a stem of one 3×3 convolution (section
/// 4.2), larger ones that of the ImageNet networks, which shrinks them by 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResnetSkeleton {
    /// Layers with weights: an even number from 10 to 132.
    pub depth: usize,
    /// Filters as a multiple of ResNet's, from 0.25 to 4.
    #[serde(default = "one")]
    pub width: f64,
}

const fn one() -> f64 {
    1.0
}

/// Images below this side are not shrunk by the stem.
const SMALL: usize = 64;

impl ResnetSkeleton {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        self.check()?;
        let mut b = GraphBuilder::new(input);
        let mut x = self.stem(&mut b, input)?;
        for (stage, blocks) in self.blocks().into_iter().enumerate() {
            for i in 0..blocks {
                let stride = if stage > 0 && i == 0 { 2 } else { 1 };
                let name = format!("layer{}.{i}", stage + 1);
                x = basic_block(&mut b, &name, x, self.filters(64 << stage), stride)?;
            }
        }
        classify(b, "fc", x, classes)
    }

    fn check(&self) -> Result<(), GraphError> {
        let wrong = |reason: String| GraphError::Layer {
            layer: "resnet-skeleton".into(),
            reason,
        };
        let depth = self.depth;
        if !(10..=132).contains(&depth) || !depth.is_multiple_of(2) {
            let why = format!("depth: expected an even number from 10 to 132, found {depth}");
            return Err(wrong(why));
        }
        if !(0.25..=4.0).contains(&self.width) {
            let why = format!("width: expected 0.25 to 4, found {}", self.width);
            return Err(wrong(why));
        }
        Ok(())
    }

    fn stem(&self, b: &mut GraphBuilder, input: Shape) -> Result<NodeId, GraphError> {
        match input {
            Shape::Image { height, width, .. } if height.min(width) < SMALL => {
                let conv = Conv2d::new(self.filters(64), 3).same();
                b.conv_bn("conv1", "bn1", conv, NodeId::INPUT, Norm::RELU)
            }
            _ => imagenet_stem(b, self.filters(64)),
        }
    }

    /// Blocks of each stage: two layers a block, beside the stem and the classifier.
    fn blocks(&self) -> [usize; 4] {
        let all = (self.depth - 2) / 2;
        let until = |sixteenths: usize| (all * sixteenths + 8) / 16;
        [
            until(3),
            until(7) - until(3),
            until(13) - until(7),
            all - until(13),
        ]
    }

    fn filters(&self, base: usize) -> usize {
        (base as f64 * self.width).round() as usize
    }
}

/// 7×7 of stride 2 and a 3×3 max pool of stride 2 (table 1, conv1).
pub(super) fn imagenet_stem(b: &mut GraphBuilder, filters: usize) -> Result<NodeId, GraphError> {
    let stem = Conv2d::new(filters, 7).same().strided(2);
    let x = b.conv_bn("conv1", "bn1", stem, NodeId::INPUT, Norm::RELU)?;
    b.add("maxpool", Op::MaxPool(Pool::new(3, 2).padded(1)), &[x])
}
