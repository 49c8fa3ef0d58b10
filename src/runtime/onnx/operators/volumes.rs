//! Convolutions over volumes whose window has one position along some axis. If two axes have one
//! position, they form one side of an image. Otherwise each position of the axis is a separate
//! image, and groups of one convolution keep the images apart.

use super::convolution::{ConvolutionWeights, Window, check_groups, convolved, groups};
use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Border, Sides};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// Adds a convolution with weights `[channels, per_group, ...]` over three axes. The weights
/// of all images count as values that are made of constants.
pub(super) fn conv<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let weight = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let (&[1, c, _, _, _], &[channels, _, depth, height, width]) = (x.dims(), &weight.dims[..])
    else {
        return unsupported(format!("its input of {:?} is not a volume", x.dims()));
    };
    let window = VolumeWindow::new(node, [depth, height, width])?;
    check_groups(node, &weight.dims, c)?;
    if let Some(along) = window.only_axis() {
        return conv_along(network, node, inputs, x, along, window);
    }
    let flat = window.flat()?;
    let x = window.positions(network, node, &x, flat)?;
    let images = x.dims()[2 + flat];
    network
        .fold_budget
        .spend(weight.values.len().saturating_mul(images))?;
    let [first, second] = other_axes(flat);
    let filters = ConvolutionWeights {
        values: inputs.required(1, &weight.dims)?.repeat(images).into(),
        bias: inputs.floats(2, &[channels])?.map(|b| b.repeat(images)),
        channels: channels.saturating_mul(images),
        kernel: Sides {
            height: window.kernel[first],
            width: window.kernel[second],
        },
        groups: groups(node).saturating_mul(images),
    };
    let pictures = x.transposed(&[0, 2 + flat, 1, 2 + first, 2 + second]);
    let [height, width] = [first, second].map(|axis| x.dims()[2 + axis]);
    let pictures = network.reshaped(node, &pictures, &[1, images * c, height, width])?;
    let made = convolved(network, node, &pictures, filters, window.over(flat)?)?;
    as_separate_images(network, node, &made, [images, channels], flat)
}

/// Adds a convolution whose window has several positions along one axis at most, over an image of that
/// axis and the two others as one. The weights stay as they are.
fn conv_along<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    mut x: Activation,
    along: usize,
    window: VolumeWindow,
) -> Added {
    let weight = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let channels = weight.dims[0];
    let filters = ConvolutionWeights {
        values: inputs.weights(1, &weight.dims)?,
        bias: inputs.floats(2, &[channels])?,
        channels,
        kernel: Sides {
            height: window.kernel[along],
            width: 1,
        },
        groups: groups(node),
    };
    for axis in (0..3).filter(|&axis| window.kernel[axis] == 1) {
        x = window.positions(network, node, &x, axis)?;
    }
    let [first, second] = other_axes(along);
    let order = [0, 1, 2 + along, 2 + first, 2 + second];
    let sides = [along, first, second].map(|axis| x.dims()[2 + axis]);
    let image = [1, x.dims()[1], sides[0], sides[1] * sides[2]];
    let image = network.reshaped(node, &x.transposed(&order), &image)?;
    let made = convolved(network, node, &image, filters, window.along(along))?;
    let dims = [1, channels, made.dims()[2], sides[1], sides[2]];
    let made = network.reshaped(node, &made, &dims)?;
    Ok(made.transposed_back(&order))
}

/// Checks a convolution by its weights if its input is unknown.
pub(super) fn check_weights(node: Node<'_>, inputs: &[Option<Value>]) -> Result<(), Refusal> {
    let weight = inputs.get(1).and_then(Option::as_ref);
    match weight.and_then(Value::dims) {
        Some(&[_, _, depth, height, width]) if node.operator() == Some("Conv") => {
            let window = VolumeWindow::new(node, [depth, height, width])?;
            match window.only_axis() {
                Some(_) => Ok(()),
                None => window.over(window.flat()?).map(|_| ()),
            }
        }
        _ => Ok(()),
    }
}

/// Returns the volume of images that lie as channels of one.
fn as_separate_images<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    made: &Activation,
    [images, channels]: [usize; 2],
    flat: usize,
) -> Added {
    let [height, width] = [made.dims()[2], made.dims()[3]];
    let made = network.reshaped(node, made, &[1, images, channels, height, width])?;
    let mut order = vec![0, 2, 3, 4];
    order.insert(2 + flat, 1);
    Ok(made.transposed(&order))
}

/// Returns the other two axes of a volume.
fn other_axes(flat: usize) -> [usize; 2] {
    match flat {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

/// A window over the three axes of a volume.
struct VolumeWindow {
    kernel: [usize; 3],
    strides: [usize; 3],
    dilations: [usize; 3],
    /// Before the first position of each axis, then after the last.
    pads: [usize; 6],
}

impl VolumeWindow {
    fn new(node: Node<'_>, kernel: [usize; 3]) -> Result<Self, Refusal> {
        let written: [usize; 3] = node.sizes("kernel_shape", 1, 0)?;
        if kernel.contains(&0) || (written != [0; 3] && written != kernel) {
            let why = format!("kernel_shape of {written:?} does not fit weights of {kernel:?}");
            return Err(NodeFault::Shapes(why).into());
        }
        let pads = match node.text("auto_pad").unwrap_or(b"NOTSET") {
            b"NOTSET" => node.sizes("pads", 0, 0)?,
            b"VALID" => [0; 6],
            other => {
                let other = String::from_utf8_lossy(other);
                return unsupported(format!("auto_pad {other} over a volume"));
            }
        };
        Ok(VolumeWindow {
            kernel,
            strides: node.sizes("strides", 1, 1)?,
            dilations: node.sizes("dilations", 1, 1)?,
            pads,
        })
    }

    /// Returns the axis along which alone the window may have several positions, or `None` if there are
    /// two of them.
    fn only_axis(&self) -> Option<usize> {
        let mut wide = (0..3).filter(|axis| self.kernel[*axis] > 1);
        match (wide.next(), wide.next()) {
            (along, None) => Some(along.unwrap_or(0)),
            _ => None,
        }
    }

    /// Returns the window over an image whose height is the axis `along`. If the window has one
    /// position along that axis too, the image already includes borders and strides.
    fn along(&self, along: usize) -> Window {
        let is_flat = self.kernel[along] == 1;
        let of = |number: usize, none: usize| if is_flat { none } else { number };
        Window {
            strides: [of(self.strides[along], 1), 1],
            pads: [of(self.pads[along], 0), 0, of(self.pads[along + 3], 0), 0],
            dilation: of(self.dilations[along], 1),
        }
    }

    /// Returns the axis along which the window has one position: one along which it takes every
    /// position, if there is such.
    fn flat(&self) -> Result<usize, Refusal> {
        let is_flat = |axis: &usize| self.kernel[*axis] == 1;
        let takes_all = |axis: &usize| {
            self.strides[*axis] == 1 && [self.pads[*axis], self.pads[*axis + 3]] == [0; 2]
        };
        let found = (0..3).rfind(|axis| is_flat(axis) && takes_all(axis));
        match found.or_else(|| (0..3).rfind(is_flat)) {
            Some(axis) => Ok(axis),
            None => unsupported("a window of more than one position along all three axes"),
        }
    }

    /// Adds the positions along `flat` that the window takes, borders among them.
    fn positions<'a>(
        &self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        x: &Activation,
        flat: usize,
    ) -> Added {
        let mut pads = vec![(0, 0); 5];
        pads[2 + flat] = (self.pads[flat], self.pads[flat + 3]);
        let x = network.pad(node, x, &pads, Border::Constant(0.0))?;
        let stride = self.strides[flat];
        let count = x.dims()[2 + flat].div_ceil(stride);
        network.slice(node, &x, 2 + flat, 0, count, stride as isize)
    }

    /// Returns the window over the images that lie along `flat`.
    fn over(&self, flat: usize) -> Result<Window, Refusal> {
        let [a, b] = other_axes(flat);
        let dilation = match (self.kernel[a], self.kernel[b]) {
            (1, _) => self.dilations[b],
            (_, 1) => self.dilations[a],
            _ if self.dilations[a] == self.dilations[b] => self.dilations[a],
            _ => return unsupported("dilations that differ between height and width"),
        };
        Ok(Window {
            strides: [self.strides[a], self.strides[b]],
            pads: [
                self.pads[a],
                self.pads[b],
                self.pads[a + 3],
                self.pads[b + 3],
            ],
            dilation,
        })
    }
}
