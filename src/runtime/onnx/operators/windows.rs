//! Convolutions, pools and means over images.

use super::dense::Dense;
use super::inputs::{Added, Inputs, image, pixels, unsupported};
use crate::network::{Conv2d, Op, Pool, Shape, Sides};
use crate::onnx::error::NodeFault;
use crate::onnx::fold::axes;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{Activation, DimOrder, PartialNetwork, Refusal};

pub(super) fn conv<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let x = inputs.activation(0)?;
    let weight = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let &[channels, per_group, height, width] = weight.dims.as_slice() else {
        return unsupported(format!(
            "weights of {:?}, not of four dimensions",
            weight.dims
        ));
    };
    let window = window(node, Sides { height, width })?;
    let [groups] = [node.integer("group").unwrap_or(1)];
    let groups = usize::try_from(groups).unwrap_or_default();
    let values = inputs.required(1, &weight.dims)?;
    let bias = inputs.floats(2, &[channels])?;
    if let &[1, c, 1, 1] = x.dims.as_slice()
        && matches!(network.shape(x.id), Shape::Vector { .. })
        && (groups, height, width, window.padding) == (1, 1, 1, Sides::square(0))
    {
        // One pixel under a kernel of one pixel is a fully connected layer.
        let dense = Dense {
            values,
            bias,
            inputs: c,
            features: channels,
        };
        let id = dense.add(network, node, x)?;
        return Ok(Activation::new(id, vec![1, channels, 1, 1]));
    }
    let [c, ..] = pixels(network, x)?;
    if groups == 0 || per_group.checked_mul(groups) != Some(c) {
        let why = format!(
            "weights of {:?} in {groups} groups for {c} channels",
            weight.dims
        );
        return Err(NodeFault::Shapes(why).into());
    }
    let op = Conv2d {
        channels,
        kernel: Sides { height, width },
        stride: window.stride,
        padding: window.padding,
        dilation: window.dilation,
        groups,
        bias: bias.is_some(),
    };
    let bias = bias.map(|b| ("bias", b));
    let weights = [("weight", values)].into_iter().chain(bias).collect();
    image(network, node, x, Op::Conv2d(op), weights)
}

/// A convolution's window as the network's operations have it.
struct Window {
    stride: usize,
    padding: Sides,
    dilation: usize,
}

/// Reads the window of a convolution with weights of `kernel`.
fn window(node: Node<'_>, kernel: Sides) -> Result<Window, Refusal> {
    let [height, width] = node.sizes("kernel_shape", 1, 0)?;
    let written = Sides { height, width };
    if written != Sides::square(0) && written != kernel {
        let why = format!("kernel_shape of {written} and weights of {kernel}");
        return Err(NodeFault::Shapes(why).into());
    }
    let (stride, dilation) = steps(node)?;
    match padding(node, kernel, stride, dilation)? {
        [height, width, bottom, right] if (height, width) == (bottom, right) => Ok(Window {
            stride,
            padding: Sides { height, width },
            dilation,
        }),
        pads => unsupported(format!("padding that differs between ends ({pads:?})")),
    }
}

/// Reads a window's stride and dilation.
fn steps(node: Node<'_>) -> Result<(usize, usize), Refusal> {
    let [stride, across] = node.sizes("strides", 1, 1)?;
    let [dilation, other] = node.sizes("dilations", 1, 1)?;
    match stride == across && dilation == other {
        true => Ok((stride, dilation)),
        false => unsupported("strides or dilations that differ between height and width"),
    }
}

/// Returns the padding at the top, left, bottom and right.
fn padding(
    node: Node<'_>,
    kernel: Sides,
    stride: usize,
    dilation: usize,
) -> Result<[usize; 4], Refusal> {
    let all = |side: usize| side.saturating_sub(1).saturating_mul(dilation);
    let (height, width) = (all(kernel.height), all(kernel.width));
    let (less, more) = (
        (height / 2, width / 2),
        (height.div_ceil(2), width.div_ceil(2)),
    );
    match node.text("auto_pad").unwrap_or(b"NOTSET") {
        b"NOTSET" => Ok(node.sizes("pads", 0, 0)?),
        b"VALID" => Ok([0; 4]),
        b"SAME_UPPER" if stride == 1 => Ok([less.0, less.1, more.0, more.1]),
        b"SAME_LOWER" if stride == 1 => Ok([more.0, more.1, less.0, less.1]),
        other => {
            let other = String::from_utf8_lossy(other);
            unsupported(format!("auto_pad {other} with a stride of {stride}"))
        }
    }
}

/// A pool as the network's operations have it.
fn pool(network: &PartialNetwork<'_>, node: Node<'_>, x: &Activation) -> Result<Pool, Refusal> {
    let [_, h, w] = pixels(network, x)?;
    let [height, width] = node.sizes("kernel_shape", 1, 0)?;
    let kernel = Sides { height, width };
    let (stride, dilation) = steps(node)?;
    let pads = padding(node, kernel, stride, dilation)?;
    let [top, left, bottom, right] = pads;
    if height != width || top != left || bottom < top || right < left || dilation != 1 {
        return unsupported(format!(
            "a window of {kernel}, padding {pads:?}, dilation {dilation}"
        ));
    }
    let ceil = node.integer("ceil_mode") == Some(1);
    let overhang = |side: usize, end: usize| {
        let rest = (side + top + end).saturating_sub(height) % stride;
        let start = (side + top + end).saturating_sub(height) + stride - rest;
        // A window that would begin behind the image is none.
        let more = ceil && rest > 0 && start < side + top;
        end - top + if more { stride - rest } else { 0 }
    };
    let overhang = Sides {
        height: overhang(h, bottom),
        width: overhang(w, right),
    };
    let pool = Pool {
        kernel: height,
        stride,
        padding: top,
        count_include_pad: node.integer("count_include_pad") == Some(1),
        overhang,
    };
    Ok(pool)
}

pub(super) fn max_pool<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    let op = Op::MaxPool(pool(network, node, x)?);
    image(network, node, x, op, Vec::new())
}

pub(super) fn average_pool<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    let pool = pool(network, node, x)?;
    if pool.count_include_pad && pool.has_overhang() {
        return unsupported("means that count padding which differs between ends");
    }
    let op = Op::AvgPool(pool);
    image(network, node, x, op, Vec::new())
}

/// Adds the mean over an image, as a vector under `dims`.
fn mean<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    dims: Vec<usize>,
) -> Added {
    let id = network.layer(node, Op::GlobalAvgPool, &[x.id], Vec::new())?;
    Ok(Activation::new(id, dims))
}

pub(super) fn global_average<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    let [c, ..] = pixels(network, x)?;
    mean(network, node, x, vec![1, c, 1, 1])
}

/// The mean over height and width, wherever the file sees them.
pub(super) fn reduce_mean<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    let sides = match (x.order, network.shape(x.id)) {
        (DimOrder::ChannelsFirst, Shape::Image { .. }) => [2, 3],
        (DimOrder::ChannelsLast, Shape::Image { .. }) => [1, 2],
        _ => return unsupported(format!("its input of {:?} is no batch of images", x.dims)),
    };
    let written = axes(node, &inputs.constants()).unwrap_or_default();
    let over = written.iter().map(|a| axis(*a, 4));
    let mut over: Vec<usize> = over.collect::<Result<_, _>>()?;
    over.sort_unstable();
    if over != sides {
        return unsupported(format!("a mean over axes {written:?}; {sides:?} are known"));
    }
    let keeps = node.integer("keepdims").unwrap_or(1) != 0;
    let left = |(at, d): (usize, &usize)| match sides.contains(&at) {
        false => Some(*d),
        true => keeps.then_some(1),
    };
    let dims = x.dims.iter().enumerate().filter_map(left).collect();
    mean(network, node, x, dims)
}
