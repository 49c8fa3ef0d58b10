//! A convolution over one image as an operation of the network, whatever its node read it from.

use super::dense::Dense;
use super::inputs::{Added, image, in_rank_of, pixels};
use crate::network::{Border, Conv2d, Op, Sides};
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::floats::Floats;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// The weights of a convolution, `[channels, of a group, height, width]`, which fit its input.
pub(super) struct ConvolutionWeights {
    pub(super) values: Floats,
    pub(super) bias: Option<Vec<f32>>,
    pub(super) channels: usize,
    pub(super) kernel: Sides,
    pub(super) groups: usize,
}

/// Checks that weights `[channels, per_group, ...]` fit an input of `inputs` channels.
pub(super) fn check_groups(node: Node<'_>, dims: &[usize], inputs: usize) -> Result<(), NodeFault> {
    let groups = groups(node);
    match groups > 0 && dims[1].checked_mul(groups) == Some(inputs) {
        true => Ok(()),
        false => {
            let why = format!("weights of {dims:?} in {groups} groups for {inputs} channels");
            Err(NodeFault::Shapes(why))
        }
    }
}

/// Reads the number of groups; one that cannot be is 0.
pub(super) fn groups(node: Node<'_>) -> usize {
    usize::try_from(node.integer("group").unwrap_or(1)).unwrap_or_default()
}

/// Adds a convolution over one image.
pub(super) fn convolved<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    filters: ConvolutionWeights,
    window: Window,
) -> Added {
    let ConvolutionWeights {
        values,
        bias,
        channels,
        kernel,
        groups,
    } = filters;
    let (point, no_pads) = ((1, Sides::square(1)), [0; 4]);
    if let [1, c, 1, 1] = *x.dims()
        && ((groups, kernel), window.pads) == (point, no_pads)
    {
        // One pixel under a kernel of one pixel is a fully connected layer.
        let dense = Dense {
            values,
            bias,
            inputs: c,
            features: channels,
        };
        let row = network.reshaped(node, x, &[1, c])?;
        let made = dense.add(network, node, &row)?;
        return network.reshaped(node, &made, &[1, channels, 1, 1]);
    }
    let (picture, [_, height, _]) = pixels(network, node, x)?;
    let (picture, padding) = padded(network, node, picture, window.pads)?;
    let [stride, across] = window.strides;
    let reach = (kernel.height - 1).saturating_mul(window.dilation) + 1;
    let is_one_line = height + window.pads[0] + window.pads[2] == reach;
    let alike = stride == across || is_one_line;
    let op = Conv2d {
        channels,
        kernel,
        stride: if alike { across } else { 1 },
        padding,
        dilation: window.dilation,
        groups,
        bias: bias.is_some(),
    };
    let bias = bias.map(|b| ("bias", b.into()));
    let weights = [("weight", values)].into_iter().chain(bias).collect();
    let mut made = image(network, node, &picture, Op::Conv2d(op), weights)?;
    if !alike {
        for (axis, step) in [(2, stride), (3, across)] {
            let count = made.dims()[axis].div_ceil(step);
            let step = isize::try_from(step).unwrap_or(1);
            made = network.slice(node, &made, axis, 0, count, step)?;
        }
    }
    in_rank_of(network, node, x, made)
}

/// Returns an image and the padding of a convolution over it. Padding that differs between
/// ends is put around the image.
fn padded<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    picture: Activation,
    pads: [usize; 4],
) -> Result<(Activation, Sides), Refusal> {
    let [height, width, bottom, right] = pads;
    if (height, width) == (bottom, right) {
        return Ok((picture, Sides { height, width }));
    }
    let pads = [(0, 0), (0, 0), (height, bottom), (width, right)];
    let picture = network.pad(node, &picture, &pads, Border::Constant(0.0))?;
    let picture = network.imaged(node, &picture)?.unwrap_or(picture);
    Ok((picture, Sides::square(0)))
}

/// A convolution's window as the network's operations have it.
pub(super) struct Window {
    /// Along the height and the width.
    pub(super) strides: [usize; 2],
    /// At the top, left, bottom and right.
    pub(super) pads: [usize; 4],
    pub(super) dilation: usize,
}
