//! ConvNeXt (Liu et al., "A ConvNet for the 2020s", section 3 and figure 4), with torchvision's
//! names. Layers over the channels of each pixel are 1×1 convolutions.

use super::plain::linear;
use super::row::{PublishedRow, row};
use crate::network::{
    Activation, Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, ParameterOrigin,
};

/// The networks of section 3.
pub(super) const NETWORKS: [PublishedRow; 4] = [
    row("convnext-tiny", 224, |b, classes| {
        convnext(b, [96, 192, 384, 768], [3, 3, 9, 3], classes)
    }),
    row("convnext-small", 224, |b, classes| {
        convnext(b, [96, 192, 384, 768], [3, 3, 27, 3], classes)
    }),
    row("convnext-base", 224, |b, classes| {
        convnext(b, [128, 256, 512, 1024], [3, 3, 27, 3], classes)
    }),
    row("convnext-large", 224, |b, classes| {
        convnext(b, [192, 384, 768, 1536], [3, 3, 27, 3], classes)
    }),
];

const NORM: Op = Op::LayerNorm { eps: 1e-6 };

fn convnext(
    mut b: GraphBuilder,
    widths: [usize; 4],
    blocks: [usize; 4],
    classes: usize,
) -> Result<Graph, GraphError> {
    let patches = Conv2d::new(widths[0], 4).strided(4).biased();
    let x = b.add("features.0.0", Op::Conv2d(patches), &[NodeId::INPUT])?;
    let mut x = b.add("features.0.1", NORM, &[x])?;
    for (stage, (width, blocks)) in widths.into_iter().zip(blocks).enumerate() {
        if stage > 0 {
            x = b.add(format!("features.{}.0", 2 * stage), NORM, &[x])?;
            let halve = Op::Conv2d(Conv2d::new(width, 2).strided(2).biased());
            x = b.add(format!("features.{}.1", 2 * stage), halve, &[x])?;
        }
        for i in 0..blocks {
            x = block(&mut b, &format!("features.{}.{i}", 2 * stage + 1), width, x)?;
        }
    }
    let x = b.add("avgpool", Op::GlobalAvgPool, &[x])?;
    let x = b.add("classifier.0", NORM, &[x])?;
    b.add("classifier.2", linear(classes), &[x])?;
    b.build()
}

/// Figure 4, on the right, with a factor for each channel at the end.
fn block(
    b: &mut GraphBuilder,
    name: &str,
    width: usize,
    input: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let filter = Conv2d::new(width, 7).same().grouped(width).biased();
    let x = b.add(part("block.0"), Op::Conv2d(filter), &[input])?;
    let x = b.add(part("block.2"), NORM, &[x])?;
    let x = each_pixel(b, &part("block.3"), 4 * width, x)?;
    let x = b.add(part("block.4"), Activation::Gelu.into(), &[x])?;
    let x = each_pixel(b, &part("block.5"), width, x)?;
    let x = layer_scale(b, &part("layer_scale"), width, x)?;
    b.add(part("add"), Op::Add, &[x, input])
}

/// Adds a fully connected layer over the channels of each pixel.
fn each_pixel(
    b: &mut GraphBuilder,
    name: &str,
    features: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let weight = ParameterOrigin::Tensor {
        name: format!("{name}.weight"),
        shape: vec![features, b.shape(x).channels()],
    };
    let conv = Op::Conv2d(Conv2d::new(features, 1).biased());
    b.add_from(name, conv, &[x], vec![("weight", weight)])
}

/// Adds a product with a factor for each channel, as a batch norm with neutral statistics. The
/// previous convolution absorbs it.
fn layer_scale(
    b: &mut GraphBuilder,
    name: &str,
    width: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let weight = ParameterOrigin::Tensor {
        name: name.to_owned(),
        shape: vec![width, 1, 1],
    };
    let constant = |value| ParameterOrigin::Constant { value };
    let origins = vec![
        ("weight", weight),
        ("bias", constant(0.0)),
        ("running_mean", constant(0.0)),
        ("running_var", constant(1.0)),
    ];
    // So small that a variance of 1 stays 1.
    let norm = Op::BatchNorm { eps: 1e-30 };
    b.add_from(name, norm, &[x], origins)
}
