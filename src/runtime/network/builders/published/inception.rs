//! The parts of the Inception networks: units of convolution, batch norm and ReLU; branches
//! of units; and concatenations of branches.

use crate::network::{Conv2d, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

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

/// Returns a 3×3 max pool that halves the image.
pub(super) fn shrink() -> BranchLayer {
    BranchLayer::Plain(Op::MaxPool(Pool::new(3, 2)))
}

/// Returns a 3×3 average pool that keeps the image's size.
pub(super) fn smooth(pool: Pool) -> BranchLayer {
    BranchLayer::Plain(Op::AvgPool(pool.padded(1)))
}

/// Adds one layer.
pub(super) fn layer(
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
