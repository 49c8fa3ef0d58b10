//! VGG without batch norm (Simonyan and Zisserman, "Very deep convolutional networks",
//! table 1, configurations D and E); torchvision's names.

use super::super::dense_head;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool};

/// 3×3 convolutions of each stage.
pub(super) const V16: [usize; 5] = [2, 2, 3, 3, 3];
pub(super) const V19: [usize; 5] = [2, 2, 4, 4, 4];

const CHANNELS: [usize; 5] = [64, 128, 256, 512, 512];

pub(super) fn build(
    mut b: GraphBuilder,
    stages: [usize; 5],
    classes: usize,
) -> Result<Graph, GraphError> {
    let mut x = NodeId::INPUT;
    // The features are numbered through: a convolution, its ReLU, a pool.
    let mut index = 0;
    for (convolutions, channels) in stages.into_iter().zip(CHANNELS) {
        for _ in 0..convolutions {
            let conv = Conv2d::new(channels, 3).same().biased();
            x = b.add(format!("features.{index}"), Op::Conv2d(conv), &[x])?;
            x = b.add(format!("features.{}", index + 1), Op::Relu, &[x])?;
            index += 2;
        }
        let pool = Op::MaxPool(Pool::tiled(2));
        x = b.add(format!("features.{index}"), pool, &[x])?;
        index += 1;
    }
    dense_head(b, x, 7, [0, 3, 6], classes)
}
