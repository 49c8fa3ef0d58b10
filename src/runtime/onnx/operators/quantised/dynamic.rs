//! Integers by the range of each sample, and products of integers.
//!
//! If the only readers are products with constant weights, all scaled back to numbers, the integers
//! are never computed. The value is then held as the numbers that the integers represent, and the
//! graph marks it as the rounding of another value.

use std::ops::RangeInclusive;

use super::numbers::bounded;
use super::{for_lines, scaled};
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::activation::{Activation, NumberType};
use crate::onnx::layout::Layout;
use crate::onnx::node::Node;
use crate::onnx::operators::dense::{self, Dense};
use crate::onnx::operators::inputs::{Added, Inputs, unsupported};
use crate::onnx::partial::{PartialNetwork, Refusal};

/// From the least to the largest byte.
const BYTES: RangeInclusive<f32> = 0.0..=255.0;

/// Integers from 0 to 255 that represent numbers, with their scale and zero point.
struct RangedIntegers {
    integers: Activation,
    scale: Activation,
    zero: Activation,
}

/// Integers from 0 to 255, and the scale and the zero that suit the values.
pub(in crate::onnx::operators) fn dynamic<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.input(node, inputs, 0)?;
    let holds_numbers = network.take_scaled_products(node, &x);
    let x = match holds_numbers {
        true => network.in_rows(node, &x)?,
        false => x,
    };
    let made = network.ranged(node, &x)?;
    let answer = match holds_numbers {
        true => network.rounded(node, &x, &made)?,
        false => made.integers.typed(NumberType::Integers),
    };
    let [scale, zero] = [made.scale, made.zero].map(|x| network.reshaped(node, &x, &[]));
    Ok(vec![answer, scale?, zero?.typed(NumberType::Integers)])
}

impl<'a> PartialNetwork<'a> {
    /// Returns `x` in memory with its last axis last, as products with weights read it.
    fn in_rows(&mut self, node: Node<'a>, x: &Activation) -> Added {
        let last = x.dims().len().saturating_sub(1);
        let axes = x.layout.ending_in(&[last]);
        let id = self.stored(node, x, &axes)?;
        let layout = Layout::new(x.dims().to_vec(), &axes);
        Ok(Activation {
            id,
            ..x.with_layout(layout)
        })
    }

    fn ranged(&mut self, node: Node<'a>, x: &Activation) -> Result<RangedIntegers, Refusal> {
        let over: Vec<usize> = (0..x.dims().len()).collect();
        let most = self.reduce(node, Reduction::Max, x, &over)?;
        let most = self.with_number(node, Binary::Max, &most, 0.0, false)?;
        let least = self.reduce(node, Reduction::Min, x, &over)?;
        let least = self.with_number(node, Binary::Min, &least, 0.0, false)?;
        let scale = self.pair(node, Binary::Sub, &most, &least)?;
        let scale = self.with_number(node, Binary::Div, &scale, 255.0, false)?;
        // Zeros alone have no range, and are 0 by any scale.
        let scale = self.with_number(node, Binary::Max, &scale, f32::MIN_POSITIVE, false)?;
        let zero = self.pair(node, Binary::Div, &least, &scale)?;
        let zero = self.unary(node, Unary::Neg, &zero)?;
        let zero = self.unary(node, Unary::Round, &zero)?;
        let zero = bounded(self, node, &zero, &BYTES)?;
        let made = self.pair(node, Binary::Div, x, &scale)?;
        let made = self.unary(node, Unary::Round, &made)?;
        let made = self.pair(node, Binary::Add, &made, &zero)?;
        let integers = bounded(self, node, &made, &BYTES)?;
        Ok(RangedIntegers {
            integers,
            scale,
            zero,
        })
    }

    /// Returns the numbers that the integers of `x` represent.
    fn rounded(&mut self, node: Node<'a>, x: &Activation, of: &RangedIntegers) -> Added {
        let centred = self.pair(node, Binary::Sub, &of.integers, &of.zero)?;
        let made = self.pair(node, Binary::Mul, &centred, &of.scale)?;
        if made.layout == x.layout && self.shape(made.id) == self.shape(x.id) {
            self.builder.note_rounding(made.id, x.id);
        }
        Ok(made)
    }
}

pub(in crate::onnx::operators) fn product<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let name = node.outputs().first().map_or("", String::as_str);
    if let Some(scaled) = network.scaled_products.remove(name) {
        let x = network.input(node, inputs, 0)?;
        let Some(layer) = Dense::new(&scaled.matrix, false, 1.0) else {
            return unsupported("its weights are not finite");
        };
        let made = dense::with_bias(network, scaled.last, &x, layer)?;
        for follower in [scaled.cast, scaled.last] {
            network.set(follower, vec![made.clone().into()]);
        }
        return Ok(made);
    }
    if let Some(layer) = scaled::layer_of(inputs) {
        let x = centred(network, node, inputs, 0, true)?;
        let made = layer.add(network, node, &x)?;
        return Ok(made.typed(NumberType::Integers));
    }
    let a = centred(network, node, inputs, 0, true)?;
    let b = centred(network, node, inputs, 1, false)?;
    let made = network.product(node, &a, &b)?;
    Ok(made.typed(NumberType::Integers))
}

/// Returns input `at` minus its zero point, input `at + 2`, as floats. Each line may have its own
/// zero point.
fn centred<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    at: usize,
    is_row: bool,
) -> Added {
    let x = network.input(node, inputs, at)?.typed(NumberType::Floats);
    if !inputs.has(at + 2) {
        return Ok(x);
    }
    let zero = for_lines(network, node, inputs.value(at + 2)?, is_row)?;
    network.binary(node, Binary::Sub, &x.into(), &zero)
}
