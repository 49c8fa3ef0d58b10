//! Inception v3 without its auxiliary head (Szegedy et al., "Rethinking the Inception
//! architecture", table 1 and figures 5 to 7), with torchvision's names, for 299×299 images; and
//! the units and branches of all Inception networks.
//!
//! torchvision's trained weights come from TensorFlow, where inputs range from −1 to 1.
//! torchvision's model therefore converts ImageNet's normalisation first. A manifest enables this
//! conversion with `transform_input`.

use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

/// Inception v3.
pub(super) const NETWORKS: [PublishedRow; 1] = [row("inception-v3", 299, inception_v3)];

const AVERAGE: Pool = Pool::new(3, 1);

fn inception_v3(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let mut x = stem(&mut b)?;
    for (name, pooled) in [("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)] {
        x = block_a(&mut b, name, pooled, x)?;
    }
    x = reduce_a(&mut b, "Mixed_6a", x)?;
    let inner = [128, 160, 160, 192];
    for (name, inner) in ["Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"]
        .into_iter()
        .zip(inner)
    {
        x = block_b(&mut b, name, inner, x)?;
    }
    x = reduce_b(&mut b, "Mixed_7a", x)?;
    for name in ["Mixed_7b", "Mixed_7c"] {
        x = block_c(&mut b, name, x)?;
    }
    classify(b, "fc", x, classes)
}

fn stem(b: &mut GraphBuilder) -> Result<NodeId, GraphError> {
    let layers = [
        ("Conv2d_1a_3x3", valid(32, 3, 2)),
        ("Conv2d_2a_3x3", valid(32, 3, 1)),
        ("Conv2d_2b_3x3", same(64, 3)),
        ("maxpool1", shrink()),
        ("Conv2d_3b_1x1", same(80, 1)),
        ("Conv2d_4a_3x3", valid(192, 3, 1)),
        ("maxpool2", shrink()),
    ];
    chain(b, "", &layers, NodeId::INPUT)
}

/// Figure 5, with a 5×5 branch kept.
fn block_a(
    b: &mut GraphBuilder,
    name: &str,
    pooled: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch1x1", same(64, 1))],
        &[("branch5x5_1", same(48, 1)), ("branch5x5_2", same(64, 5))],
        &[
            ("branch3x3dbl_1", same(64, 1)),
            ("branch3x3dbl_2", same(96, 3)),
            ("branch3x3dbl_3", same(96, 3)),
        ],
        &[("pool", smooth(AVERAGE)), ("branch_pool", same(pooled, 1))],
    ];
    fork(b, name, &branches, x)
}

/// Figure 10: from 35×35 to 17×17.
fn reduce_a(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[("branch3x3", valid(384, 3, 2))],
        &[
            ("branch3x3dbl_1", same(64, 1)),
            ("branch3x3dbl_2", same(96, 3)),
            ("branch3x3dbl_3", valid(96, 3, 2)),
        ],
        &[("pool", shrink())],
    ];
    fork(b, name, &branches, x)
}

/// Figure 6: 7×7 convolutions as 1×7 and 7×1.
fn block_b(
    b: &mut GraphBuilder,
    name: &str,
    inner: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 4] = [
        &[("branch1x1", same(192, 1))],
        &[
            ("branch7x7_1", same(inner, 1)),
            ("branch7x7_2", same(inner, (1, 7))),
            ("branch7x7_3", same(192, (7, 1))),
        ],
        &[
            ("branch7x7dbl_1", same(inner, 1)),
            ("branch7x7dbl_2", same(inner, (7, 1))),
            ("branch7x7dbl_3", same(inner, (1, 7))),
            ("branch7x7dbl_4", same(inner, (7, 1))),
            ("branch7x7dbl_5", same(192, (1, 7))),
        ],
        &[("pool", smooth(AVERAGE)), ("branch_pool", same(192, 1))],
    ];
    fork(b, name, &branches, x)
}

/// From 17×17 to 8×8.
fn reduce_b(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let branches: [&[_]; 3] = [
        &[
            ("branch3x3_1", same(192, 1)),
            ("branch3x3_2", valid(320, 3, 2)),
        ],
        &[
            ("branch7x7x3_1", same(192, 1)),
            ("branch7x7x3_2", same(192, (1, 7))),
            ("branch7x7x3_3", same(192, (7, 1))),
            ("branch7x7x3_4", valid(192, 3, 2)),
        ],
        &[("pool", shrink())],
    ];
    fork(b, name, &branches, x)
}

/// Figure 7: the last convolutions split into 1×3 and 3×1 side by side.
fn block_c(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let single = chain(b, name, &[("branch1x1", same(320, 1))], x)?;
    let short = chain(b, name, &[("branch3x3_1", same(384, 1))], x)?;
    let long = [
        ("branch3x3dbl_1", same(448, 1)),
        ("branch3x3dbl_2", same(384, 3)),
    ];
    let long = chain(b, name, &long, x)?;
    let mut ends = vec![single];
    for (part, from, kernel) in [
        ("branch3x3_2a", short, (1, 3)),
        ("branch3x3_2b", short, (3, 1)),
        ("branch3x3dbl_3a", long, (1, 3)),
        ("branch3x3dbl_3b", long, (3, 1)),
    ] {
        ends.push(chain(b, name, &[(part, same(384, kernel))], from)?);
    }
    let pooled = [("pool", smooth(AVERAGE)), ("branch_pool", same(192, 1))];
    ends.push(chain(b, name, &pooled, x)?);
    b.add(format!("{name}.concat"), Op::Concat, &ends)
}

/// One layer of a branch.
#[derive(Clone, Copy)]
pub(super) enum BranchLayer {
    /// A convolution with its norm and ReLU: `name.conv`, `name.bn`.
    Unit(Conv2d),
    /// An operation without weights.
    Plain(Op),
}

/// Layers in sequence, by name.
pub(super) type Branch<'a> = &'a [(&'a str, BranchLayer)];

/// Returns a unit of `channels` that keeps the image's size; `kernel` is a side or
/// `(height, width)`.
pub(super) fn same(channels: usize, kernel: impl Into<crate::network::Sides>) -> BranchLayer {
    BranchLayer::Unit(Conv2d::new(channels, kernel).same())
}

/// Returns a unit of `channels` without padding, every `stride` pixels.
pub(super) fn valid(channels: usize, kernel: usize, stride: usize) -> BranchLayer {
    BranchLayer::Unit(Conv2d::new(channels, kernel).strided(stride))
}

/// Returns a unit of `channels` that halves the image.
pub(super) fn strided(channels: usize, kernel: usize) -> BranchLayer {
    BranchLayer::Unit(Conv2d::new(channels, kernel).same().strided(2))
}

/// Returns an operation without weights.
pub(super) const fn plain(op: Op) -> BranchLayer {
    BranchLayer::Plain(op)
}

/// Returns a 3×3 max pool that halves the image.
pub(super) fn shrink() -> BranchLayer {
    BranchLayer::Plain(Op::MaxPool(Pool::new(3, 2)))
}

/// Returns a 3×3 average pool that keeps the image's size.
pub(super) fn smooth(pool: Pool) -> BranchLayer {
    BranchLayer::Plain(Op::AvgPool(pool.padded(1)))
}

/// Adds one layer.
fn layer(
    b: &mut GraphBuilder,
    name: &str,
    layer: BranchLayer,
    from: NodeId,
) -> Result<NodeId, GraphError> {
    // TensorFlow's eps, which the published weights were trained with.
    let norm = Norm::RELU.eps(1e-3);
    match layer {
        BranchLayer::Plain(op) => b.add(name, op, &[from]),
        BranchLayer::Unit(conv) => {
            let (at, bn) = (format!("{name}.conv"), format!("{name}.bn"));
            b.conv_bn(&at, &bn, conv, from, norm)
        }
    }
}

/// Adds layers in sequence, each named `prefix.name` (`name` without a prefix).
pub(super) fn chain(
    b: &mut GraphBuilder,
    prefix: &str,
    layers: Branch<'_>,
    from: NodeId,
) -> Result<NodeId, GraphError> {
    layers.iter().try_fold(from, |x, (name, one)| {
        let full = match prefix {
            "" => (*name).to_owned(),
            _ => format!("{prefix}.{name}"),
        };
        layer(b, &full, *one, x)
    })
}

/// Adds branches that read `from`, and their concatenation.
pub(super) fn fork(
    b: &mut GraphBuilder,
    name: &str,
    branches: &[Branch<'_>],
    from: NodeId,
) -> Result<NodeId, GraphError> {
    let ends = branches
        .iter()
        .map(|branch| chain(b, name, branch, from))
        .collect::<Result<Vec<_>, _>>()?;
    b.add(format!("{name}.concat"), Op::Concat, &ends)
}
