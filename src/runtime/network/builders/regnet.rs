//! RegNet X and Y (Radosavovic et al., "Designing network design spaces", figures 15, 16 and
//! tables 3, 4), with torchvision's names.

use super::inverted::SqueezeExcite;
use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Activation, Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op};

/// The networks by the multiply-adds that they were made for.
pub(super) const NETWORKS: [PublishedRow; 12] = [
    row("regnet-x-400mf", 224, |b, classes| X_400.build(b, classes)),
    row("regnet-x-800mf", 224, |b, classes| X_800.build(b, classes)),
    row("regnet-x-1-6gf", 224, |b, classes| X_1600.build(b, classes)),
    row("regnet-x-3-2gf", 224, |b, classes| X_3200.build(b, classes)),
    row("regnet-x-8gf", 224, |b, classes| X_8000.build(b, classes)),
    row("regnet-x-16gf", 224, |b, classes| X_16000.build(b, classes)),
    row("regnet-y-400mf", 224, |b, classes| Y_400.build(b, classes)),
    row("regnet-y-800mf", 224, |b, classes| Y_800.build(b, classes)),
    row("regnet-y-1-6gf", 224, |b, classes| Y_1600.build(b, classes)),
    row("regnet-y-3-2gf", 224, |b, classes| Y_3200.build(b, classes)),
    row("regnet-y-8gf", 224, |b, classes| Y_8000.build(b, classes)),
    row("regnet-y-16gf", 224, |b, classes| Y_16000.build(b, classes)),
];

const X_400: Regnet = x([1, 2, 7, 12], [32, 64, 160, 400], 16);
const X_800: Regnet = x([1, 3, 7, 5], [64, 128, 288, 672], 16);
const X_1600: Regnet = x([2, 4, 10, 2], [72, 168, 408, 912], 24);
const X_3200: Regnet = x([2, 6, 15, 2], [96, 192, 432, 1008], 48);
const X_8000: Regnet = x([2, 5, 15, 1], [80, 240, 720, 1920], 120);
const X_16000: Regnet = x([2, 6, 13, 1], [256, 512, 896, 2048], 128);
const Y_400: Regnet = y([1, 3, 6, 6], [48, 104, 208, 440], 8);
const Y_800: Regnet = y([1, 3, 8, 2], [64, 144, 320, 784], 16);
const Y_1600: Regnet = y([2, 6, 17, 2], [48, 120, 336, 888], 24);
const Y_3200: Regnet = y([2, 5, 13, 1], [72, 216, 576, 1512], 24);
const Y_8000: Regnet = y([2, 4, 10, 1], [224, 448, 896, 2016], 56);
const Y_16000: Regnet = y([2, 4, 11, 1], [224, 448, 1232, 3024], 112);

/// Blocks and channels of each stage, and channels of a group.
struct Regnet {
    blocks: [usize; 4],
    widths: [usize; 4],
    group: usize,
    /// Whether channels are weighted, as in RegNetY but not in RegNetX.
    weighted: bool,
}

const fn x(blocks: [usize; 4], widths: [usize; 4], group: usize) -> Regnet {
    Regnet {
        blocks,
        widths,
        group,
        weighted: false,
    }
}

const fn y(blocks: [usize; 4], widths: [usize; 4], group: usize) -> Regnet {
    Regnet {
        weighted: true,
        ..x(blocks, widths, group)
    }
}

impl Regnet {
    fn build(&self, mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
        let stem = Conv2d::new(32, 3).same().strided(2);
        let mut x = b.conv_bn("stem.0", "stem.1", stem, NodeId::INPUT, Norm::RELU)?;
        for (i, (blocks, width)) in self.blocks.into_iter().zip(self.widths).enumerate() {
            for block in 0..blocks {
                let stage = i + 1;
                let name = format!("trunk_output.block{stage}.block{stage}-{block}");
                let stride = if block == 0 { 2 } else { 1 };
                x = self.block(&mut b, &name, width, stride, x)?;
            }
        }
        classify(b, "fc", x, classes)
    }

    /// A bottleneck as wide inside as outside, in groups.
    fn block(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        width: usize,
        stride: usize,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let part = |suffix: &str| format!("{name}.{suffix}");
        let inputs = b.shape(input).channels();
        let point = Conv2d::new(width, 1);
        let x = b.conv_bn(&part("f.a.0"), &part("f.a.1"), point, input, Norm::RELU)?;
        let groups = width / self.group.min(width);
        let filter = Conv2d::new(width, 3).same().strided(stride).grouped(groups);
        let mut x = b.conv_bn(&part("f.b.0"), &part("f.b.1"), filter, x, Norm::RELU)?;
        if self.weighted {
            x = squeeze(inputs).add(b, &part("f.se"), x)?;
        }
        let x = b.conv_bn(&part("f.c.0"), &part("f.c.1"), point, x, Norm::PLAIN)?;
        let mut short = input;
        if stride != 1 || inputs != width {
            let project = point.strided(stride);
            let (conv, bn) = (part("proj.0"), part("proj.1"));
            short = b.conv_bn(&conv, &bn, project, input, Norm::PLAIN)?;
        }
        let sum = b.add(part("add"), Op::Add, &[x, short])?;
        b.add(part("activation"), Op::Relu, &[sum])
    }
}

/// Returns the weighting of channels for a block of `inputs` channels. Its inner width is a quarter
/// of `inputs`, with halves rounded to even.
fn squeeze(inputs: usize) -> SqueezeExcite {
    SqueezeExcite {
        inner: (inputs as f64 / 4.0).round_ties_even() as usize,
        activation: Activation::Relu,
        gate: Activation::Sigmoid,
    }
}
