//! The origins of layer parameters that no tensor of their own name and shape holds.
//!
//! PyTorch keeps some parameters under other names (`in_proj_weight`), with dimensions of one
//! position (`[1, 197, 768]`), or in a form from which a network computes others.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The source of a parameter's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum ParameterOrigin {
    /// The values of a tensor, in the same order.
    Tensor {
        /// The tensor's full name.
        name: String,
        /// Its dimensions.
        shape: Vec<usize>,
    },
    /// One number everywhere, from no tensor.
    Constant {
        /// The number.
        value: f32,
    },
    /// A bias for each two pixels of a window and each head, `[heads, window², window²]`, by
    /// their relative position (Liu et al., "Swin transformer", equation 4).
    RelativeBias {
        /// The full name of a tensor `[(2·window − 1)², heads]`.
        name: String,
        /// The side of a window.
        window: usize,
        /// Heads of the attention.
        heads: usize,
    },
    /// The mask that separates pixels of shifted windows that are not neighbours in the image,
    /// `[windows, 1, window², window²]`: 0, or −100 (section 3.2, figure 4).
    ShiftMask(ShiftMask),
}

/// Windows over an image whose rows and columns were moved around its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShiftMask {
    /// Rows and columns of the image.
    pub sides: [usize; 2],
    /// The number of pixels by which each axis was moved.
    pub shifts: [usize; 2],
    /// The side of a window.
    pub window: usize,
}

impl ParameterOrigin {
    /// Returns the tensor that holds the values, or `None` if they are computed.
    pub fn tensor(&self) -> Option<(&str, Vec<usize>)> {
        match self {
            ParameterOrigin::Tensor { name, shape } => Some((name, shape.clone())),
            ParameterOrigin::RelativeBias {
                name,
                window,
                heads,
            } => {
                let reach = (2 * window).saturating_sub(1);
                Some((name, vec![reach * reach, *heads]))
            }
            ParameterOrigin::Constant { .. } | ParameterOrigin::ShiftMask(_) => None,
        }
    }

    /// Returns `count` values of the parameter, computed from the tensor.
    pub(super) fn values<'a>(&self, tensor: &'a [f32], count: usize) -> Cow<'a, [f32]> {
        match *self {
            ParameterOrigin::Tensor { .. } => Cow::Borrowed(tensor),
            ParameterOrigin::Constant { value } => vec![value; count].into(),
            ParameterOrigin::RelativeBias { window, heads, .. } => {
                relative_bias(tensor, window, heads).into()
            }
            ParameterOrigin::ShiftMask(mask) => mask.values().into(),
        }
    }
}

/// Returns the biases of each head for each two pixels, of a table by their distances in rows and
/// columns.
fn relative_bias(table: &[f32], window: usize, heads: usize) -> Vec<f32> {
    let pixels = window * window;
    let reach = (2 * window).saturating_sub(1);
    let mut all = Vec::with_capacity(heads * pixels * pixels);
    for head in 0..heads {
        for (one, other) in pairs(pixels) {
            let down = one / window + window - 1 - other / window;
            let right = one % window + window - 1 - other % window;
            let at = (down * reach + right) * heads + head;
            all.push(table.get(at).copied().unwrap_or(0.0));
        }
    }
    all
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (0..count).map(move |other| (one, other)))
}

/// Added to scores of pixels that are not neighbours, as in the published networks.
const APART: f32 = -100.0;

impl ShiftMask {
    fn values(&self) -> Vec<f32> {
        let window = self.window.max(1);
        let [rows, columns] = self.sides.map(|side| side / window);
        let windows = (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column]));
        let mut all = Vec::with_capacity(rows * columns * window.pow(4));
        for at in windows {
            let regions: Vec<[usize; 2]> = (0..window * window)
                .map(|pixel| [pixel / window, pixel % window])
                .map(|pixel| [0, 1].map(|axis| self.region(axis, at[axis] * window + pixel[axis])))
                .collect();
            let apart = |(one, other): (usize, usize)| match regions[one] == regions[other] {
                true => 0.0,
                false => APART,
            };
            all.extend(pairs(regions.len()).map(apart));
        }
        all
    }

    /// Returns the part of the unmoved image that contains a row or column: the last window of a
    /// moved axis holds two parts.
    fn region(&self, axis: usize, at: usize) -> usize {
        let (side, shift) = (self.sides[axis], self.shifts[axis]);
        let behind = |from_end: usize| usize::from(shift > 0 && at + from_end >= side);
        behind(self.window) + behind(shift)
    }
}

#[cfg(test)]
#[path = "../../../tests/runtime/units/network/origin.rs"]
mod tests;
