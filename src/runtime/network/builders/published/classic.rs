//! Networks from before global pooling: AlexNet in one column (Krizhevsky, "One weird trick
//! for parallelizing convolutional neural networks", section 5, footnote 1) and VGG without
//! batch norm (Simonyan and Zisserman, "Very deep convolutional networks", table 1,
//! configurations D and E); torchvision's names.

use super::super::heads::linear;
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool};

/// Channels, kernel, stride and padding of each convolution, and whether a pool follows.
const FEATURES: [(usize, usize, usize, usize, bool); 5] = [
    (64, 11, 4, 2, true),
    (192, 5, 1, 2, true),
    (384, 3, 1, 1, false),
    (256, 3, 1, 1, false),
    (256, 3, 1, 1, true),
];

pub(super) fn alexnet(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
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

/// 3×3 convolutions of each stage.
pub(super) const V16: [usize; 5] = [2, 2, 3, 3, 3];
pub(super) const V19: [usize; 5] = [2, 2, 4, 4, 4];

const CHANNELS: [usize; 5] = [64, 128, 256, 512, 512];

pub(super) fn vgg(
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

/// The head of the networks before global pooling: an average pool to `side × side`,
/// two layers of 4096 and the classifier, named `classifier.` and their place there.
fn dense_head(
    mut builder: GraphBuilder,
    from: NodeId,
    side: usize,
    places: [usize; 3],
    classes: usize,
) -> Result<Graph, GraphError> {
    let pool = Op::AdaptiveAvgPool {
        height: side,
        width: side,
    };
    let x = builder.add("avgpool", pool, &[from])?;
    let mut x = builder.add("flatten", Op::Flatten, &[x])?;
    for place in &places[..2] {
        x = builder.add(format!("classifier.{place}"), linear(4096), &[x])?;
        x = builder.add(format!("classifier.{place}.relu"), Op::Relu, &[x])?;
    }
    let last = format!("classifier.{}", places[2]);
    builder.add(last, linear(classes), &[x])?;
    builder.build()
}
