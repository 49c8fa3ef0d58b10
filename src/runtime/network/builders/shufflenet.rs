//! ShuffleNet v2 (Ma et al., "ShuffleNet V2", table 5 and figure 3), with torchvision's names.

use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool};

/// The networks by their width.
pub(super) const NETWORKS: [PublishedRow; 4] = [
    row("shufflenet-v2-x0-5", 224, |b, classes| {
        shufflenet(b, [48, 96, 192], 1024, classes)
    }),
    row("shufflenet-v2-x1-0", 224, |b, classes| {
        shufflenet(b, [116, 232, 464], 1024, classes)
    }),
    row("shufflenet-v2-x1-5", 224, |b, classes| {
        shufflenet(b, [176, 352, 704], 1024, classes)
    }),
    row("shufflenet-v2-x2-0", 224, |b, classes| {
        shufflenet(b, [244, 488, 976], 2048, classes)
    }),
];

/// Units of each stage. The first unit halves the image.
const UNITS: [usize; 3] = [4, 8, 4];

fn shufflenet(
    mut b: GraphBuilder,
    widths: [usize; 3],
    last: usize,
    classes: usize,
) -> Result<Graph, GraphError> {
    let stem = Conv2d::new(24, 3).same().strided(2);
    let x = b.conv_bn("conv1.0", "conv1.1", stem, NodeId::INPUT, Norm::RELU)?;
    let mut x = b.add("maxpool", Op::MaxPool(Pool::new(3, 2).padded(1)), &[x])?;
    for (stage, (units, width)) in UNITS.into_iter().zip(widths).enumerate() {
        for unit in 0..units {
            let name = format!("stage{}.{unit}", stage + 2);
            x = match unit {
                0 => halving(&mut b, &name, width / 2, x)?,
                _ => keeping(&mut b, &name, width / 2, x)?,
            };
        }
    }
    let x = b.conv_bn("conv5.0", "conv5.1", Conv2d::new(last, 1), x, Norm::RELU)?;
    classify(b, "fc", x, classes)
}

/// Figure 3(d): both branches read the whole input.
fn halving(
    b: &mut GraphBuilder,
    name: &str,
    width: usize,
    input: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |at: usize| format!("{name}.branch1.{at}");
    let filter = filter(b, input, 2);
    let x = b.conv_bn(&part(0), &part(1), filter, input, Norm::PLAIN)?;
    let x = b.conv_bn(&part(2), &part(3), Conv2d::new(width, 1), x, Norm::RELU)?;
    let other = branch(b, name, width, 2, input)?;
    mixed(b, name, [x, other])
}

/// Figure 3(c): half of the channels passes through the branch.
fn keeping(
    b: &mut GraphBuilder,
    name: &str,
    width: usize,
    input: NodeId,
) -> Result<NodeId, GraphError> {
    let mut half = |first: usize| {
        let part = Op::Channels {
            first,
            count: width,
        };
        b.add(format!("{name}.half{first}"), part, &[input])
    };
    let (kept, other) = (half(0)?, half(width)?);
    let other = branch(b, name, width, 1, other)?;
    mixed(b, name, [kept, other])
}

fn branch(
    b: &mut GraphBuilder,
    name: &str,
    width: usize,
    stride: usize,
    input: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |at: usize| format!("{name}.branch2.{at}");
    let point = Conv2d::new(width, 1);
    let x = b.conv_bn(&part(0), &part(1), point, input, Norm::RELU)?;
    let filter = filter(b, x, stride);
    let x = b.conv_bn(&part(3), &part(4), filter, x, Norm::PLAIN)?;
    b.conv_bn(&part(5), &part(6), point, x, Norm::RELU)
}

/// Returns a 3×3 convolution of each channel of `x`.
fn filter(b: &GraphBuilder, x: NodeId, stride: usize) -> Conv2d {
    let channels = b.shape(x).channels();
    let filter = Conv2d::new(channels, 3).same();
    filter.strided(stride).grouped(channels)
}

/// Adds both branches, their channels in turns.
fn mixed(b: &mut GraphBuilder, name: &str, branches: [NodeId; 2]) -> Result<NodeId, GraphError> {
    let x = b.add(format!("{name}.concat"), Op::Concat, &branches)?;
    let shuffle = Op::ChannelShuffle { groups: 2 };
    b.add(format!("{name}.shuffle"), shuffle, &[x])
}
