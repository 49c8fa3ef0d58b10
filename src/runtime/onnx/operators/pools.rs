//! Pools of any rank and window: largest values and means along one axis after the other.

use super::inputs::{Added, Inputs, image, pixels, unsupported};
use super::windows::square_pool;
use crate::network::{Binary, Border, Unary};
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// The window along one axis.
#[derive(Clone, Copy)]
struct AxisWindow {
    kernel: usize,
    stride: usize,
    dilation: usize,
    before: usize,
    after: usize,
    /// Positions of the answer.
    count: usize,
}

impl AxisWindow {
    /// Returns the positions that a window covers.
    const fn reach(&self) -> usize {
        self.dilation * (self.kernel - 1) + 1
    }

    /// Returns how many of a window's positions are counted, for each window.
    fn counts(&self, size: usize, with_padding: bool) -> Vec<usize> {
        let (from, to) = match with_padding {
            true => (0, self.before + size + self.after),
            false => (self.before, self.before + size),
        };
        let counted = |window: usize| {
            let taps = (0..self.kernel).map(|tap| window * self.stride + tap * self.dilation);
            taps.filter(|at| (from..to).contains(at)).count()
        };
        (0..self.count).map(counted).collect()
    }
}

/// Reads the windows along all axes of pixels.
fn windows(node: Node<'_>, sizes: &[usize]) -> Result<Vec<AxisWindow>, Refusal> {
    let rank = sizes.len();
    let read = |name: &'static str, least: i64, default: Option<usize>, count: usize| {
        let Some(written) = node.integers(name) else {
            let default = default.ok_or(NodeFault::Attribute {
                name,
                expected: "sizes".into(),
            })?;
            return Ok(vec![default; count]);
        };
        let fits = |v: &i64| (least..=i64::from(u16::MAX)).contains(v);
        match written.len() == count && written.iter().all(fits) {
            true => Ok(written.iter().map(|v| *v as usize).collect()),
            false => Err(NodeFault::Attribute {
                name,
                expected: format!("{count} whole numbers of at least {least}, found {written:?}"),
            }),
        }
    };
    let kernel = read("kernel_shape", 1, None, rank)?;
    let strides = read("strides", 1, Some(1), rank)?;
    let dilations = read("dilations", 1, Some(1), rank)?;
    let pads = read("pads", 0, Some(0), 2 * rank)?;
    let auto = node.text("auto_pad").unwrap_or(b"NOTSET");
    let ceil = node.integer("ceil_mode") == Some(1);
    let each = (0..rank).map(|at| {
        let mut window = AxisWindow {
            kernel: kernel[at],
            stride: strides[at],
            dilation: dilations[at],
            before: pads[at],
            after: pads[rank + at],
            count: 0,
        };
        let (size, stride) = (sizes[at], window.stride);
        match auto {
            b"SAME_UPPER" | b"SAME_LOWER" => {
                window.count = size.div_ceil(stride);
                let all = ((window.count - 1) * stride + window.reach()).saturating_sub(size);
                let less = all / 2;
                (window.before, window.after) = match auto {
                    b"SAME_UPPER" => (less, all - less),
                    _ => (all - less, less),
                };
            }
            b"VALID" => (window.before, window.after) = (0, 0),
            _ => {}
        }
        let padded = size + window.before + window.after;
        // The only window may be larger than the values, by less than a stride.
        let short = window.reach().saturating_sub(padded);
        if short > 0 && !(ceil && short < stride) {
            let why = format!("a window of {} does not fit {padded}", window.reach());
            return Err(NodeFault::Shapes(why).into());
        }
        let free = padded.saturating_sub(window.reach());
        if window.count == 0 {
            window.count = match ceil {
                true => free.div_ceil(stride) + 1,
                false => free / stride + 1,
            };
            // A window that would begin after the values does not exist.
            if ceil && (window.count - 1) * stride >= size + window.before {
                window.count -= 1;
            }
        }
        Ok(window)
    });
    each.collect()
}

/// `MaxPool`, `AveragePool` and `LpPool`.
pub(super) fn pool<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    if node
        .outputs()
        .iter()
        .skip(1)
        .any(|name| network.is_read(name))
    {
        return unsupported("the output of positions (Indices)");
    }
    let is_image = x.dims().len() == 4 && x.dims()[0] == 1;
    if is_image && node.operator() != Some("LpPool") {
        let (picture, [_, h, w]) = pixels(network, node, &x)?;
        match square_pool(node, [h, w]) {
            Ok(op) => return image(network, node, &picture, op, Vec::new()),
            Err(Refusal::Unsupported(_)) => {}
            Err(fault) => return Err(fault),
        }
    }
    let Some(sizes) = x.dims().get(2..).filter(|sizes| !sizes.is_empty()) else {
        return unsupported(format!("a pool over {:?}", x.dims()));
    };
    let windows = windows(node, sizes)?;
    match node.operator() {
        Some("MaxPool") => along_axes(network, node, &x, &windows, Binary::Max),
        Some("LpPool") => {
            let p = node.integer("p").unwrap_or(2) as f32;
            let x = network.unary(node, Unary::Abs, &x)?;
            let x = network.with_number(node, Binary::Pow, &x, p, false)?;
            let all = along_axes(network, node, &x, &windows, Binary::Add)?;
            network.with_number(node, Binary::Pow, &all, p.recip(), false)
        }
        _ => means(network, node, &x, &windows),
    }
}

/// Folds the values of each window, along one axis after the other.
fn along_axes<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    windows: &[AxisWindow],
    kind: Binary,
) -> Added {
    let border = match kind {
        Binary::Max => Border::Constant(f32::NEG_INFINITY),
        _ => Border::Constant(0.0),
    };
    let mut all = x.clone();
    for (axis, window) in (2..).zip(windows) {
        let size = all.dims()[axis];
        let end = (window.count - 1) * window.stride + window.reach();
        let after = end.saturating_sub(size + window.before);
        let mut pads = vec![(0, 0); all.dims().len()];
        pads[axis] = (window.before, after);
        all = network.pad(node, &all, &pads, border)?;
        let mut taps = None;
        for tap in 0..window.kernel {
            let start = tap * window.dilation;
            let step = window.stride as isize;
            let part = network.slice(node, &all, axis, start, window.count, step)?;
            taps = Some(match taps {
                None => part,
                Some(before) => network.pair(node, kind, &before, &part)?,
            });
        }
        all = taps.unwrap_or(all);
    }
    Ok(all)
}

fn means<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    windows: &[AxisWindow],
) -> Added {
    let with_padding = node.integer("count_include_pad") == Some(1);
    let mut all = along_axes(network, node, x, windows, Binary::Add)?;
    for (axis, window) in (2..).zip(windows) {
        let counts = window.counts(x.dims()[axis], with_padding);
        let shares = counts.into_iter().map(|n| (n.max(1) as f32).recip());
        let mut dims = vec![1; all.dims().len()];
        dims[axis] = window.count;
        let values = Values::Floats(shares.collect());
        all = network.with(node, Binary::Mul, &all, &Constant { dims, values }, false)?;
    }
    Ok(all)
}
