//! Convolutions, pools and means over images.

use super::convolution::{ConvolutionWeights, Window, check_groups, convolved, groups};
use super::images::for_each_image;
use super::inputs::{Added, Inputs, unsupported};
use super::volumes;
use crate::network::{Op, Pool, Sides};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

pub(super) fn conv<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    match inputs.value(1)?.dims() {
        Some([_, _, _, _, _]) => volumes::conv(network, node, inputs),
        _ => for_each_image(network, node, inputs, conv_of_one),
    }
}

fn conv_of_one<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let x = network.input(node, inputs, 0)?;
    let weight = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let (channels, kernel) = match weight.dims[..] {
        [channels, _, width] => (channels, Sides { height: 1, width }),
        [channels, _, height, width] => (channels, Sides { height, width }),
        _ => return unsupported("its weights do not have three to five dimensions"),
    };
    let size = match *x.dims() {
        [_, _, width] => [1, width],
        [_, _, height, width] => [height, width],
        _ => {
            return unsupported(format!(
                "its input of {:?} is not a batch of images",
                x.dims()
            ));
        }
    };
    let window = window(node, kernel, size)?;
    check_groups(node, &weight.dims, x.dims()[1])?;
    let filters = ConvolutionWeights {
        values: inputs.weights(1, &weight.dims)?,
        bias: inputs.floats(2, &[channels])?,
        channels,
        kernel,
        groups: groups(node),
    };
    convolved(network, node, &x, filters, window)
}

/// Reads the window of a convolution with weights of `kernel` over an image of `size`.
fn window(node: Node<'_>, kernel: Sides, size: [usize; 2]) -> Result<Window, Refusal> {
    if kernel.area() == 0 {
        return Err(NodeFault::Shapes("its weights are empty".into()).into());
    }
    let written = sides(node, "kernel_shape", 1, 0)?;
    let written = match written {
        [1, width] if node.integers("kernel_shape").is_some_and(|k| k.len() == 1) => {
            Sides { height: 1, width }
        }
        [height, width] => Sides { height, width },
    };
    if written != Sides::square(0) && written != kernel {
        let why = format!("kernel_shape of {written} does not fit weights of {kernel}");
        return Err(NodeFault::Shapes(why).into());
    }
    let strides = sides(node, "strides", 1, 1)?;
    let dilation = dilation(node)?;
    let pads = match node.text("auto_pad").unwrap_or(b"NOTSET") {
        upper @ (b"SAME_UPPER" | b"SAME_LOWER") => {
            let reach = [kernel.height, kernel.width].map(|k| (k - 1).saturating_mul(dilation) + 1);
            let [h, w] = [0, 1].map(|at| {
                let windows = size[at].div_ceil(strides[at]);
                let end = (windows - 1) * strides[at] + reach[at];
                let all = end.saturating_sub(size[at]);
                match upper {
                    b"SAME_UPPER" => (all / 2, all - all / 2),
                    _ => (all - all / 2, all / 2),
                }
            });
            [h.0, w.0, h.1, w.1]
        }
        _ => padding(node, kernel, 1, dilation)?,
    };
    Ok(Window {
        strides,
        pads,
        dilation,
    })
}

/// Reads the distance of a window's positions.
fn dilation(node: Node<'_>) -> Result<usize, Refusal> {
    let [dilation, other] = sides(node, "dilations", 1, 1)?;
    match dilation == other {
        true => Ok(dilation),
        false => unsupported("dilations that differ between height and width"),
    }
}

/// Reads sizes for height and width, or for a single axis of pixels, whose height is 1.
fn sides(
    node: Node<'_>,
    name: &'static str,
    least: i64,
    default: usize,
) -> Result<[usize; 2], NodeFault> {
    match node.integers(name) {
        Some([_]) => {
            let [width] = node.sizes(name, least, default)?;
            Ok([if name == "kernel_shape" { 1 } else { width }, width])
        }
        _ => node.sizes(name, least, default),
    }
}

/// Reads a window's stride and dilation.
fn steps(node: Node<'_>) -> Result<(usize, usize), Refusal> {
    let [stride, across] = sides(node, "strides", 1, 1)?;
    let [dilation, other] = sides(node, "dilations", 1, 1)?;
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
        b"NOTSET" if node.integers("pads").is_some_and(|p| p.len() == 2) => {
            let [left, right] = node.sizes("pads", 0, 0)?;
            Ok([0, left, 0, right])
        }
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
fn pool(node: Node<'_>, [h, w]: [usize; 2]) -> Result<Pool, Refusal> {
    let [height, width] = node.sizes("kernel_shape", 1, 0)?;
    let kernel = Sides { height, width };
    let (stride, dilation) = steps(node)?;
    let pads = padding(node, kernel, stride, dilation)?;
    let [top, left, bottom, right] = pads;
    let lone = 2 * top > height;
    if height != width || top != left || bottom < top || right < left || dilation != 1 || lone {
        return unsupported(format!(
            "a window of {kernel}, padding {pads:?}, dilation {dilation}"
        ));
    }
    let ceil = node.integer("ceil_mode") == Some(1);
    let overhang = |side: usize, end: usize| {
        // The only window may be larger than the image, by less than a stride.
        let short = height.saturating_sub(side + top + end);
        if ceil && (1..stride).contains(&short) {
            return end - top + short;
        }
        let rest = (side + top + end).saturating_sub(height) % stride;
        let start = (side + top + end).saturating_sub(height) + stride - rest;
        // A window that would begin after the image does not exist.
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

/// Returns a pool with a square window over an image.
///
/// # Errors
/// Its window is another one, which [`super::pools`] computes.
pub(super) fn square_pool(node: Node<'_>, sides: [usize; 2]) -> Result<Op, Refusal> {
    let pool = pool(node, sides)?;
    match node.operator() {
        Some("MaxPool") => Ok(Op::MaxPool(pool)),
        _ if pool.count_include_pad && pool.has_overhang() => {
            unsupported("count_include_pad with padding that differs between ends")
        }
        _ => Ok(Op::AvgPool(pool)),
    }
}
