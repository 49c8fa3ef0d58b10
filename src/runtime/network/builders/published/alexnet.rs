//! AlexNet in one column (Krizhevsky, "One weird trick for parallelizing convolutional
//! neural networks", section 5, footnote 1); torchvision's names.

use super::super::dense_head;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool};

/// Channels, kernel, stride and padding of each convolution, and whether a pool follows.
const FEATURES: [(usize, usize, usize, usize, bool); 5] = [
    (64, 11, 4, 2, true),
    (192, 5, 1, 2, true),
    (384, 3, 1, 1, false),
    (256, 3, 1, 1, false),
    (256, 3, 1, 1, true),
];

pub(super) fn build(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let mut x = NodeId::INPUT;
    // The features are numbered through: a convolution, its ReLU, a pool.
    let mut index = 0;
    for (channels, kernel, stride, padding, pooled) in FEATURES {
        let conv = Conv2d::new(channels, kernel)
            .strided(stride)
            .padded(padding)
            .biased();
        x = b.add(format!("features.{index}"), Op::Conv2d(conv), &[x])?;
        x = b.add(format!("features.{}", index + 1), Op::Relu, &[x])?;
        index += 2;
        if pooled {
            let pool = Op::MaxPool(Pool::new(3, 2));
            x = b.add(format!("features.{index}"), pool, &[x])?;
            index += 1;
        }
    }
    dense_head(b, x, 6, [1, 4, 6], classes)
}
