//! Inception v4 and Inception-ResNet v2 (Szegedy et al., "Inception-v4, Inception-ResNet and
//! the impact of residual connections", figures 3 to 9 and 14 to 20, residuals scaled as in
//! section 3.3), with timm's names. Made for 299×299.

use super::inception::{Branch, chain, fork, same, shrink, smooth, valid};
use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool, Shape};

const AVERAGE: Pool = Pool::new(3, 1).inside();

/// Inception v4 and Inception-ResNet v2.
pub(super) const NETWORKS: [PublishedRow; 2] = [
    row("inception-resnet-v2", 299, inception_resnet_v2),
    row("inception-v4", 299, inception_v4),
];

fn inception_v4(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let mut x = v4_stem(&mut b)?;
    for i in 6..10 {
        x = block_a(&mut b, &format!("features.{i}"), x)?;
    }
    x = v4_reduce_a(&mut b, "features.10", x)?;
    for i in 11..18 {
        x = block_b(&mut b, &format!("features.{i}"), x)?;
    }
    x = v4_reduce_b(&mut b, "features.18", x)?;
    for i in 19..22 {
        x = block_c(&mut b, &format!("features.{i}"), x)?;
    }
    classify(b, "last_linear", x, classes)
}

/// Figure 3.
fn v4_stem(b: &mut GraphBuilder) -> Result<NodeId, GraphError> {
    let first = [
        ("0", valid(32, 3, 2)),
        ("1", valid(32, 3, 1)),
        ("2", same(64, 3)),
    ];
    let x = chain(b, "features", &first, NodeId::INPUT)?;
    let (pool, conv) = ([("pool", shrink())], [("conv", valid(96, 3, 2))]);
    let x = fork(b, "features.3", &[&pool, &conv], x)?;
    let branches: [&[_]; 2] = [
        &[("branch0.0", same(64, 1)), ("branch0.1", valid(96, 3, 1))],
        &[
            ("branch1.0", same(64, 1)),
            ("branch1.1", same(64, (1, 7))),
            ("branch1.2", same(64, (7, 1))),
            ("branch1.3", valid(96, 3, 1)),
        ],
    ];
    let x = fork(b, "features.4", &branches, x)?;
    let conv = [("conv", valid(192, 3, 2))];
    fork(b, "features.5", &[&conv, &pool], x)
}

/// Figure 4.
fn block_a(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch0", same(96, 1))],
        &[("branch1.0", same(64, 1)), ("branch1.1", same(96, 3))],
        &[
            ("branch2.0", same(64, 1)),
            ("branch2.1", same(96, 3)),
            ("branch2.2", same(96, 3)),
        ],
        &[("branch3.0", smooth(AVERAGE)), ("branch3.1", same(96, 1))],
    ];
    fork(b, name, &branches, x)
}

/// Figure 7 with k, l, m, n = 192, 224, 256, 384: from 35×35 to 17×17.
fn v4_reduce_a(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch0", valid(384, 3, 2))],
        &[
            ("branch1.0", same(192, 1)),
            ("branch1.1", same(224, 3)),
            ("branch1.2", valid(256, 3, 2)),
        ],
        &[("branch2", shrink())],
    ];
    fork(b, name, &branches, x)
}

/// Figure 5.
fn block_b(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch0", same(384, 1))],
        &[
            ("branch1.0", same(192, 1)),
            ("branch1.1", same(224, (1, 7))),
            ("branch1.2", same(256, (7, 1))),
        ],
        &[
            ("branch2.0", same(192, 1)),
            ("branch2.1", same(192, (7, 1))),
            ("branch2.2", same(224, (1, 7))),
            ("branch2.3", same(224, (7, 1))),
            ("branch2.4", same(256, (1, 7))),
        ],
        &[("branch3.0", smooth(AVERAGE)), ("branch3.1", same(128, 1))],
    ];
    fork(b, name, &branches, x)
}

/// Figure 8: from 17×17 to 8×8.
fn v4_reduce_b(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch0.0", same(192, 1)), ("branch0.1", valid(192, 3, 2))],
        &[
            ("branch1.0", same(256, 1)),
            ("branch1.1", same(256, (1, 7))),
            ("branch1.2", same(320, (7, 1))),
            ("branch1.3", valid(320, 3, 2)),
        ],
        &[("branch2", shrink())],
    ];
    fork(b, name, &branches, x)
}

/// Figure 6.
fn block_c(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let single = chain(b, name, &[("branch0", same(256, 1))], x)?;
    let short = chain(b, name, &[("branch1_0", same(384, 1))], x)?;
    let long = [
        ("branch2_0", same(384, 1)),
        ("branch2_1", same(448, (3, 1))),
        ("branch2_2", same(512, (1, 3))),
    ];
    let long = chain(b, name, &long, x)?;
    let mut ends = vec![single];
    for (part, from, kernel) in [
        ("branch1_1a", short, (1, 3)),
        ("branch1_1b", short, (3, 1)),
        ("branch2_3a", long, (1, 3)),
        ("branch2_3b", long, (3, 1)),
    ] {
        ends.push(chain(b, name, &[(part, same(256, kernel))], from)?);
    }
    let pooled = [("branch3.0", smooth(AVERAGE)), ("branch3.1", same(256, 1))];
    ends.push(chain(b, name, &pooled, x)?);
    b.add(format!("{name}.concat"), Op::Concat, &ends)
}

fn inception_resnet_v2(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let mut x = resnet_stem(&mut b)?;
    for i in 0..10 {
        x = block_35(&mut b, &format!("repeat.{i}"), x)?;
    }
    x = resnet_reduce_a(&mut b, x)?;
    for i in 0..20 {
        x = block_17(&mut b, &format!("repeat_1.{i}"), x)?;
    }
    x = resnet_reduce_b(&mut b, x)?;
    for i in 0..9 {
        x = block_8(&mut b, &format!("repeat_2.{i}"), 0.2, x)?;
        x = b.add(format!("repeat_2.{i}.relu"), Op::Relu, &[x])?;
    }
    // The last block has neither scale nor ReLU.
    x = block_8(&mut b, "block8", 1.0, x)?;
    x = chain(&mut b, "", &[("conv2d_7b", same(1536, 1))], x)?;
    classify(b, "classif", x, classes)
}

fn resnet_stem(b: &mut GraphBuilder) -> Result<NodeId, GraphError> {
    let layers = [
        ("conv2d_1a", valid(32, 3, 2)),
        ("conv2d_2a", valid(32, 3, 1)),
        ("conv2d_2b", same(64, 3)),
        ("maxpool_3a", shrink()),
        ("conv2d_3b", same(80, 1)),
        ("conv2d_4a", valid(192, 3, 1)),
        ("maxpool_5a", shrink()),
    ];
    let x = chain(b, "", &layers, NodeId::INPUT)?;
    let branches: [&[_]; 4] = [
        &[("branch0", same(96, 1))],
        &[("branch1.0", same(48, 1)), ("branch1.1", same(64, 5))],
        &[
            ("branch2.0", same(64, 1)),
            ("branch2.1", same(96, 3)),
            ("branch2.2", same(96, 3)),
        ],
        &[("branch3.0", smooth(AVERAGE)), ("branch3.1", same(64, 1))],
    ];
    fork(b, "mixed_5b", &branches, x)
}

/// Figure 16.
fn block_35(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch0", same(32, 1))],
        &[("branch1.0", same(32, 1)), ("branch1.1", same(32, 3))],
        &[
            ("branch2.0", same(32, 1)),
            ("branch2.1", same(48, 3)),
            ("branch2.2", same(64, 3)),
        ],
    ];
    let x = residual(b, name, &branches, 0.17, x)?;
    b.add(format!("{name}.relu"), Op::Relu, &[x])
}

/// Figure 7 with k, l, m, n = 256, 256, 384, 384: from 35×35 to 17×17.
fn resnet_reduce_a(b: &mut GraphBuilder, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch0", valid(384, 3, 2))],
        &[
            ("branch1.0", same(256, 1)),
            ("branch1.1", same(256, 3)),
            ("branch1.2", valid(384, 3, 2)),
        ],
        &[("branch2", shrink())],
    ];
    fork(b, "mixed_6a", &branches, x)
}

/// Figure 17.
fn block_17(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 2] = [
        &[("branch0", same(192, 1))],
        &[
            ("branch1.0", same(128, 1)),
            ("branch1.1", same(160, (1, 7))),
            ("branch1.2", same(192, (7, 1))),
        ],
    ];
    let x = residual(b, name, &branches, 0.1, x)?;
    b.add(format!("{name}.relu"), Op::Relu, &[x])
}

/// Figure 18: from 17×17 to 8×8.
fn resnet_reduce_b(b: &mut GraphBuilder, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch0.0", same(256, 1)), ("branch0.1", valid(384, 3, 2))],
        &[("branch1.0", same(256, 1)), ("branch1.1", valid(288, 3, 2))],
        &[
            ("branch2.0", same(256, 1)),
            ("branch2.1", same(288, 3)),
            ("branch2.2", valid(320, 3, 2)),
        ],
        &[("branch3", shrink())],
    ];
    fork(b, "mixed_7a", &branches, x)
}

/// Figure 19, without its ReLU.
fn block_8(b: &mut GraphBuilder, name: &str, scale: f32, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 2] = [
        &[("branch0", same(192, 1))],
        &[
            ("branch1.0", same(192, 1)),
            ("branch1.1", same(224, (1, 3))),
            ("branch1.2", same(256, (3, 1))),
        ],
    ];
    residual(b, name, &branches, scale, x)
}

/// Branches brought back to the channels of `x`, scaled, and added to it.
fn residual(
    b: &mut GraphBuilder,
    name: &str,
    branches: &[Branch<'_>],
    scale: f32,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let Shape::Image { channels, .. } = b.shape(x) else {
        return Ok(x);
    };
    let joined = fork(b, name, branches, x)?;
    let widen = Op::Conv2d(Conv2d::new(channels, 1).biased());
    let mut branch = b.add(format!("{name}.conv2d"), widen, &[joined])?;
    if scale != 1.0 {
        branch = b.add(format!("{name}.scale"), Op::Scale { by: scale }, &[branch])?;
    }
    b.add(format!("{name}.add"), Op::Add, &[branch, x])
}
