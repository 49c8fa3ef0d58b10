//! Functions of the bits of integers.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Unary};
use crate::onnx::kinds::narrow;
use crate::onnx::node::Node;
use crate::onnx::partial::PartialNetwork;

/// Returns the least and the number of the integers of the first input's type, if it is narrow.
fn own_bits<'a>(network: &PartialNetwork<'a>, node: Node<'a>) -> Option<(f32, f32)> {
    let name = node.inputs().first()?;
    network.element_type(name).and_then(narrow)
}

/// `TensorProto.DataType` of unsigned integers of 32 and 64 bits.
const WIDE_UNSIGNED: [i32; 2] = [12, 13];

/// All bits inverted: `−x − 1`, counted from 0 for unsigned types.
pub(super) fn inverted<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let name = node.inputs().first();
    let own = name.and_then(|name| network.element_type(name));
    if own.is_some_and(|own| WIDE_UNSIGNED.contains(&own)) {
        return unsupported("unsigned integers of more than 16 bits");
    }
    let x = network.input(node, inputs, 0)?;
    let x = network.unary(node, Unary::Neg, &x)?;
    let x = network.with_number(node, Binary::Sub, &x, 1.0, false)?;
    let bits = own_bits(network, node);
    network.wrapped(node, &x, bits)
}

/// Products with powers of 2, and quotients rounded down.
pub(super) fn shifted<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.exact(node, inputs.value(0)?)?;
    let x = network.operand(node, &x)?;
    let by = network.input(node, inputs, 1)?;
    let power = network.with_number(node, Binary::Pow, &by, 2.0, true)?;
    match node.text("direction") {
        Some(b"LEFT") => {
            let made = network.pair(node, Binary::Mul, &x, &power)?;
            let bits = own_bits(network, node);
            network.wrapped(node, &made, bits)
        }
        Some(b"RIGHT") => network.pair(node, Binary::Div, &x, &power),
        _ => unsupported("unknown direction"),
    }
}
