//! Transposed convolutions: a convolution over the image with zeros between its pixels.

use super::images::for_each_image;
use super::inputs::{Added, Inputs, image, in_rank_of, unsupported};
use crate::network::{Border, Conv2d, Op, Sides};
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// Weights `[channels in, channels of a group, height, width]`.
struct TurnedKernels {
    values: Vec<f32>,
    dims: [usize; 4],
    groups: usize,
}

impl TurnedKernels {
    fn read(node: Node<'_>, inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        let weight = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
        let dims = match weight.dims[..] {
            [c, m, w] => [c, m, 1, w],
            [c, m, h, w] => [c, m, h, w],
            _ => return unsupported("its weights do not have three or four dimensions"),
        };
        let groups = usize::try_from(node.integer("group").unwrap_or(1)).unwrap_or_default();
        if groups == 0 || !dims[0].is_multiple_of(groups) || weight.values.len() == 0 {
            let why = format!(
                "weights of {:?} do not divide into {groups} groups",
                weight.dims
            );
            return Err(NodeFault::Shapes(why).into());
        }
        Ok(TurnedKernels {
            values: inputs.required(1, &weight.dims)?,
            dims,
            groups,
        })
    }

    /// Returns the weights of the convolution: turned around, the channels of its answer first.
    fn turned(&self) -> Vec<f32> {
        let [c, m, h, w] = self.dims;
        let each = c / self.groups;
        let mut turned = Vec::with_capacity(self.values.len());
        for channel in 0..m * self.groups {
            let (group, of) = (channel / m, channel % m);
            for from in group * each..(group + 1) * each {
                let kernel = &self.values[(from * m + of) * h * w..][..h * w];
                turned.extend(kernel.iter().rev());
            }
        }
        turned
    }
}

/// How one axis of pixels grows.
#[derive(Clone, Copy)]
struct AxisGrowth {
    stride: usize,
    /// Zeros before and after; negative numbers cut off pixels.
    pads: [isize; 2],
}

/// Reads a list of numbers for the axes of pixels. A single number is the width.
fn numbers(node: Node<'_>, name: &str, axes: usize, default: i64) -> Option<Vec<i64>> {
    let Some(written) = node.integers(name) else {
        return Some(vec![default; 2]);
    };
    let fits = |v: &i64| (0..=i64::from(u16::MAX)).contains(v);
    let written = Some(written.to_vec()).filter(|w| w.len() == axes && w.iter().all(fits))?;
    Some(match axes {
        1 => vec![if name == "output_padding" { 0 } else { 1 }, written[0]],
        _ => written,
    })
}

/// Returns how both axes grow, and the dilation.
fn growth(
    node: Node<'_>,
    kernel: [usize; 2],
    size: [usize; 2],
    axes: usize,
) -> Result<([AxisGrowth; 2], usize), Refusal> {
    let wrong = || NodeFault::Attribute {
        name: "strides",
        expected: format!("{axes} whole numbers, as in dilations and output_padding"),
    };
    let strides = numbers(node, "strides", axes, 1).ok_or_else(wrong)?;
    let dilations = numbers(node, "dilations", axes, 1).ok_or_else(wrong)?;
    let more = numbers(node, "output_padding", axes, 0).ok_or_else(wrong)?;
    if strides.contains(&0) || dilations.contains(&0) {
        return Err(wrong().into());
    }
    let dilation = dilations[1];
    if axes == 2 && dilations[0] != dilation {
        return unsupported("dilations that differ between height and width");
    }
    let shape = node
        .integers("output_shape")
        .map(|s| &s[s.len().saturating_sub(axes)..]);
    let pads: Vec<i64> = match node.integers("pads") {
        Some(&[left, right]) => vec![0, left, 0, right],
        Some(pads) if pads.len() == 4 => pads.to_vec(),
        _ => vec![0; 4],
    };
    if pads.iter().any(|p| !(0..=i64::from(u16::MAX)).contains(p)) {
        return Err(wrong().into());
    }
    let auto = node.text("auto_pad").unwrap_or(b"NOTSET");
    let each = |at: usize| {
        let reach = dilation * (kernel[at] as i64 - 1);
        let full = strides[at] * (size[at] as i64 - 1) + reach + 1 + more[at];
        let same = matches!(auto, b"SAME_UPPER" | b"SAME_LOWER");
        let asked = match (shape, at.checked_sub(2 - axes)) {
            (Some(shape), Some(axis)) => shape.get(axis).copied(),
            (None, Some(_)) if same => Some(strides[at] * size[at] as i64),
            _ => None,
        };
        let (begin, end) = match asked {
            Some(asked) => {
                let all = full - asked.clamp(0, 1 << 24);
                let less = all.div_euclid(2);
                match auto {
                    b"SAME_UPPER" => (less, all - less),
                    _ => (all - less, less),
                }
            }
            None => (pads[at], pads[2 + at]),
        };
        AxisGrowth {
            stride: strides[at] as usize,
            pads: [(reach - begin) as isize, (reach - end + more[at]) as isize],
        }
    };
    Ok(([each(0), each(1)], dilation as usize))
}

pub(super) fn convolution<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    for_each_image(network, node, inputs, convolution_of_one)
}

fn convolution_of_one<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let weights = TurnedKernels::read(node, inputs)?;
    let [c, m, height, width] = weights.dims;
    let picture = match *x.dims() {
        [1, c, w] => network.reshaped(node, &x, &[1, c, 1, w])?,
        _ => x.clone(),
    };
    let &[1, channels, h, w] = picture.dims() else {
        return unsupported(format!(
            "its input of {:?} is not a batch of images",
            x.dims()
        ));
    };
    if channels != c {
        let why = format!("weights for {c} channels do not fit {channels}");
        return Err(NodeFault::Shapes(why).into());
    }
    let axes = x.dims().len() - 2;
    let (growth, dilation) = growth(node, [height, width], [h, w], axes)?;
    let spread = spread(network, node, &picture, growth)?;
    let Some(spread) = network.imaged(node, &spread)? else {
        return unsupported("its input is not an image");
    };
    let bias = inputs.floats(2, &[m * weights.groups])?;
    let op = Conv2d {
        channels: m * weights.groups,
        kernel: Sides { height, width },
        stride: 1,
        padding: Sides::square(0),
        dilation,
        groups: weights.groups,
        bias: bias.is_some(),
    };
    let bias = bias.map(|b| ("bias", b.into()));
    let values = [("weight", weights.turned().into())]
        .into_iter()
        .chain(bias);
    let made = image(network, node, &spread, Op::Conv2d(op), values.collect())?;
    in_rank_of(network, node, &x, made)
}

/// Returns an image with zeros between its pixels and around it.
fn spread<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    picture: &Activation,
    growth: [AxisGrowth; 2],
) -> Added {
    let mut x = picture.clone();
    for (axis, AxisGrowth { stride, pads }) in [2, 3].into_iter().zip(growth) {
        let size = x.dims()[axis];
        if stride > 1 && size > 1 {
            // Each pixel becomes a row of itself and zeros; the zeros after the last pixel are
            // removed.
            let mut dims = x.dims().to_vec();
            dims.insert(axis + 1, 1);
            x = network.reshaped(node, &x, &dims)?;
            let mut zeros = vec![(0, 0); dims.len()];
            zeros[axis + 1] = (0, stride - 1);
            x = network.pad(node, &x, &zeros, Border::Constant(0.0))?;
            dims.remove(axis + 1);
            dims[axis] = size * stride;
            x = network.reshaped(node, &x, &dims)?;
            x = network.slice(node, &x, axis, 0, (size - 1) * stride + 1, 1)?;
        }
        let cut = pads.map(|p| p.min(0).unsigned_abs());
        let left = x.dims()[axis].saturating_sub(cut[0] + cut[1]);
        x = network.slice(node, &x, axis, cut[0], left, 1)?;
        let mut zeros = vec![(0, 0); x.dims().len()];
        zeros[axis] = (pads[0].max(0).unsigned_abs(), pads[1].max(0).unsigned_abs());
        x = network.pad(node, &x, &zeros, Border::Constant(0.0))?;
    }
    Ok(x)
}
