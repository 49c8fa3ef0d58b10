//! Windows that slide over images: convolutions and pools.

use serde::{Deserialize, Serialize};

use super::error::OpError;
use super::shape::{MAX_ELEMENTS, Shape, Sides};

/// A two-dimensional convolution, weights
/// `[channels, in / groups, kernel.height, kernel.width]`.
#[derive(Clone, Copy, Debug, PartialEq, Hash, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conv2d {
    /// Output channels.
    pub channels: usize,
    /// Height and width of the kernel.
    pub kernel: Sides,
    /// Pixels from one position of the kernel to the next, along both sides.
    #[serde(default = "one")]
    pub stride: usize,
    /// Zeros above and below the image (height), left and right of it (width).
    #[serde(default = "none")]
    pub padding: Sides,
    /// Pixels from one tap of the kernel to the next, along both sides.
    #[serde(default = "one")]
    pub dilation: usize,
    /// Groups of channels. The outputs of a group read only the inputs of that group.
    #[serde(default = "one")]
    pub groups: usize,
    /// Whether each output channel has a bias.
    #[serde(default)]
    pub bias: bool,
}

impl Conv2d {
    /// Creates a convolution without padding, of stride 1, in one group, without bias.
    /// `kernel` is a side or `(height, width)`.
    pub fn new(channels: usize, kernel: impl Into<Sides>) -> Self {
        Conv2d {
            channels,
            kernel: kernel.into(),
            stride: 1,
            padding: none(),
            dilation: 1,
            groups: 1,
            bias: false,
        }
    }

    /// Returns the convolution with zeros around the image.
    #[must_use]
    pub fn padded(self, padding: impl Into<Sides>) -> Self {
        Conv2d {
            padding: padding.into(),
            ..self
        }
    }

    /// Returns the convolution padded so that an odd kernel of stride 1 keeps the image's
    /// size.
    #[must_use]
    pub fn same(self) -> Self {
        self.padded((self.kernel.height / 2, self.kernel.width / 2))
    }

    /// Returns the convolution with `stride`.
    #[must_use]
    pub const fn strided(self, stride: usize) -> Self {
        Conv2d { stride, ..self }
    }

    /// Returns the convolution in `groups` groups of channels.
    #[must_use]
    pub const fn grouped(self, groups: usize) -> Self {
        Conv2d { groups, ..self }
    }

    /// Returns the convolution with a bias for each output channel.
    #[must_use]
    pub const fn biased(self) -> Self {
        Conv2d { bias: true, ..self }
    }

    pub(super) fn output(&self, input: Shape) -> Result<Shape, OpError> {
        let (c, h, w) = image_dims(input)?;
        positive("channels", self.channels)?;
        positive("groups", self.groups)?;
        if !c.is_multiple_of(self.groups) || !self.channels.is_multiple_of(self.groups) {
            return Err(OpError::Groups {
                groups: self.groups,
                inputs: c,
                outputs: self.channels,
            });
        }
        let (k, p) = (self.kernel, self.padding);
        let height = window(h, k.height, self.stride, p.height, self.dilation)?;
        let width = window(w, k.width, self.stride, p.width, self.dilation)?;
        padding_is_reasonable([c, h, w], p)?;
        weights_are_reasonable(&[self.channels, c / self.groups, k.height, k.width])?;
        Ok(Shape::image(self.channels, height, width))
    }
}

/// A pooling window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Side of the square window.
    pub kernel: usize,
    /// Pixels from one window to the next, along both sides.
    pub stride: usize,
    /// Pixels of padding on every side of the image.
    #[serde(default)]
    pub padding: usize,
    /// Whether an average counts the padding as zeros (PyTorch's default). Otherwise only the
    /// pixels inside the image count. A maximum ignores the padding.
    #[serde(default = "yes")]
    pub count_include_pad: bool,
    /// Pixels by which windows may reach past the padding, at the bottom (height) and on the right
    /// (width). ONNX calls this `ceil_mode`, or padding at the ends. These pixels are never
    /// counted.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub overhang: Sides,
}

impl Pool {
    /// Creates windows of side `kernel` every `stride` pixels, without padding.
    pub const fn new(kernel: usize, stride: usize) -> Self {
        Pool {
            kernel,
            stride,
            padding: 0,
            count_include_pad: true,
            overhang: none(),
        }
    }

    /// Creates windows of side `kernel` that neither overlap nor leave gaps.
    pub const fn tiled(kernel: usize) -> Self {
        Pool::new(kernel, kernel)
    }

    /// Returns the windows with `padding` on every side.
    #[must_use]
    pub const fn padded(self, padding: usize) -> Self {
        Pool { padding, ..self }
    }

    /// Returns whether windows may reach past the padding.
    pub fn has_overhang(&self) -> bool {
        !is_none(&self.overhang)
    }

    /// Returns the windows with the overhang that covers all of an image (PyTorch's `ceil_mode`).
    #[must_use]
    pub fn covering(self, image: Shape) -> Self {
        let Shape::Image { height, width, .. } = image else {
            return self;
        };
        let missing = |side: usize| {
            let padded = side + 2 * self.padding;
            // The only window may be larger than the image, by less than a stride.
            let short = self.kernel.saturating_sub(padded);
            if (1..self.stride).contains(&short) {
                return short;
            }
            let rest = padded.saturating_sub(self.kernel) % self.stride.max(1);
            // A window that begins after the image and its leading padding does not exist.
            let begins = (padded + self.stride).saturating_sub(rest + self.kernel);
            match rest > 0 && begins < side + self.padding {
                true => self.stride - rest,
                false => 0,
            }
        };
        let overhang = Sides {
            height: missing(height),
            width: missing(width),
        };
        Pool { overhang, ..self }
    }

    pub(super) fn output(&self, input: Shape) -> Result<Shape, OpError> {
        let (c, h, w) = image_dims(input)?;
        if self.padding * 2 > self.kernel {
            return Err(OpError::Padding {
                padding: self.padding,
                kernel: self.kernel,
            });
        }
        let (height, width) = (self.overhang.height, self.overhang.width);
        Ok(Shape::image(
            c,
            self.windows(h, height)?,
            self.windows(w, width)?,
        ))
    }

    /// Returns the number of windows along a side. Each holds a pixel of the image.
    fn windows(&self, side: usize, overhang: usize) -> Result<usize, OpError> {
        let fits = |side| window(side, self.kernel, self.stride, self.padding, 1);
        let windows = fits(side.saturating_add(overhang))?;
        match (windows - 1).checked_mul(self.stride) {
            Some(last) if last < side.saturating_add(self.padding) => Ok(windows),
            _ => Err(OpError::Overhang { overhang, side }),
        }
    }
}

fn window(
    side: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
) -> Result<usize, OpError> {
    positive("kernel", kernel)?;
    positive("stride", stride)?;
    positive("dilation", dilation)?;
    let reach = dilation
        .checked_mul(kernel - 1)
        .and_then(|r| r.checked_add(1));
    let padded = padding.checked_mul(2).and_then(|p| p.checked_add(side));
    match (reach, padded) {
        (Some(reach), Some(padded)) if reach <= padded => Ok((padded - reach) / stride + 1),
        _ => Err(OpError::Window {
            kernel,
            dilation,
            side,
            padding,
        }),
    }
}

/// Checks that an image with its padding is not larger than a sample may be. Kernels may copy it.
fn padding_is_reasonable([c, h, w]: [usize; 3], padding: Sides) -> Result<(), OpError> {
    let side = |side: usize, padding: usize| padding.checked_mul(2)?.checked_add(side);
    let values = || {
        let pixels = side(h, padding.height)?.checked_mul(side(w, padding.width)?)?;
        pixels.checked_mul(c)
    };
    match values() {
        Some(values) if values <= MAX_ELEMENTS => Ok(()),
        _ => Err(OpError::TooMuchPadding { padding }),
    }
}

pub(super) fn positive(field: &'static str, value: usize) -> Result<(), OpError> {
    if value == 0 {
        Err(OpError::Zero { field })
    } else {
        Ok(())
    }
}

/// The most values in one tensor of weights; more are taken for a mistake.
const MAX_WEIGHTS: usize = 1 << 32;

pub(super) fn weights_are_reasonable(dims: &[usize]) -> Result<(), OpError> {
    let values = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    match values {
        Some(values) if values <= MAX_WEIGHTS => Ok(()),
        _ => Err(OpError::TooManyWeights {
            shape: dims.to_vec(),
        }),
    }
}

const fn one() -> usize {
    1
}

const fn none() -> Sides {
    Sides::square(0)
}

fn is_none(sides: &Sides) -> bool {
    *sides == none()
}

const fn yes() -> bool {
    true
}

/// Returns channels, height and width of an image.
///
/// # Errors
/// [`OpError::NotAnImage`].
pub(super) fn image_dims(shape: Shape) -> Result<(usize, usize, usize), OpError> {
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } => Ok((channels, height, width)),
        found => Err(OpError::NotAnImage { found }),
    }
}
