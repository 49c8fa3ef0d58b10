//! The discrete Fourier transform, as a product with its matrix.

use std::f64::consts::TAU;

use super::dense::Dense;
use super::inputs::{Added, Inputs, unsupported};
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::PartialNetwork;
use crate::onnx::shapes::transformed_axis;

/// `DFT`: numbers lie along the last axis, as one real value or as the two of a complex one.
pub(super) fn transform<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let along = axis(transformed_axis(node, inputs.integers(2)?), rank)?;
    let parts = x.dims().last().copied().unwrap_or_default();
    if along + 1 >= rank || !(1..=2).contains(&parts) {
        return unsupported(format!("a transform along axis {along} of {:?}", x.dims()));
    }
    let length = inputs.integers(1)?.and_then(|sizes| sizes.first().copied());
    let (inputs_along, is_inverse) = (x.dims()[along], node.integer("inverse") == Some(1));
    let length = match length {
        None => inputs_along,
        Some(length) => usize::try_from(length).unwrap_or(0),
    };
    let is_onesided = node.integer("onesided") == Some(1);
    if length != inputs_along || (is_onesided && is_inverse) {
        return unsupported(format!(
            "a transform of length {length} over {inputs_along} values"
        ));
    }
    let frequencies = if is_onesided { length / 2 + 1 } else { length };
    let matrix = FourierMatrix {
        length,
        frequencies,
        parts,
        is_inverse,
    };
    network.fold_budget.spend(matrix.values())?;
    let mut order: Vec<usize> = (0..rank - 1).filter(|a| *a != along).collect();
    let mut dims: Vec<usize> = order.iter().map(|&a| x.dims()[a]).collect();
    order.extend([along, rank - 1]);
    let rows = network.reshaped(
        node,
        &x.transposed(&order),
        &[dims.clone(), vec![length * parts]].concat(),
    )?;
    let dense = Dense {
        values: matrix.rows().into(),
        bias: None,
        inputs: length * parts,
        features: frequencies * 2,
    };
    let made = dense.add(network, node, &rows)?;
    dims.extend([frequencies, 2]);
    let made = network.reshaped(node, &made, &dims)?;
    Ok(made.transposed_back(&order))
}

/// The matrix of a transform, `[frequencies, 2, length, parts]`.
struct FourierMatrix {
    length: usize,
    frequencies: usize,
    /// 1 for real values, 2 for complex ones.
    parts: usize,
    is_inverse: bool,
}

impl FourierMatrix {
    fn values(&self) -> usize {
        let rows = self.frequencies.saturating_mul(2);
        rows.saturating_mul(self.length).saturating_mul(self.parts)
    }

    fn rows(&self) -> Vec<f32> {
        let mut all = Vec::with_capacity(self.values());
        for frequency in 0..self.frequencies {
            for is_imaginary in [false, true] {
                let pairs = (0..self.length).map(|at| self.pair(frequency, at, is_imaginary));
                all.extend(pairs.flat_map(|pair| pair.into_iter().take(self.parts)));
            }
        }
        all
    }

    /// Returns the factors of a value's real and imaginary part in one part of a frequency.
    fn pair(&self, frequency: usize, at: usize, is_imaginary: bool) -> [f32; 2] {
        // Whole turns are left out, so that angles stay exact.
        let turns = (frequency as u128 * at as u128 % self.length as u128) as f64;
        let angle = TAU * turns / self.length as f64;
        let (sin, cos) = angle.sin_cos();
        let (sin, scale) = match self.is_inverse {
            true => (sin, 1.0 / self.length as f64),
            false => (-sin, 1.0),
        };
        let pair = match is_imaginary {
            false => [cos, -sin],
            true => [sin, cos],
        };
        pair.map(|v| (v * scale) as f32)
    }
}
