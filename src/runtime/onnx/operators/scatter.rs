//! Updates written over values at constant positions.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::Binary;
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::indices;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// The most updates of one position that are combined one after the other.
const MOST_UPDATES: usize = 64;

/// `ScatterElements` and `ScatterND`. The last of several updates of a position remains, or all
/// updates are combined with the old value.
pub(super) fn scatter<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let updates = network.input(node, inputs, 2)?;
    let which = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let (dims, at) = match node.operator() {
        Some("ScatterND") => indices::nd(x.dims(), which, 0)?,
        _ => indices::elements(x.dims(), which, node.integer("axis"))?,
    };
    if dims != updates.dims() {
        let why = format!("updates of {:?} do not fit {dims:?}", updates.dims());
        return Err(NodeFault::Shapes(why).into());
    }
    let count = x.dims().iter().product();
    let flat = network.reshaped(node, &x, &[count])?;
    let updates = network.reshaped(node, &updates, &[at.len()])?;
    let made = match combination(node)? {
        None => {
            network.fold_budget.spend(count)?;
            let both = network.join(node, &[flat, updates], 0)?;
            let order = indices::overwritten(count, &at);
            network.at(node, &both, (vec![count], order))?
        }
        Some(by) => combined(network, node, flat, updates, &at, by)?,
    };
    network.reshaped(node, &made, x.dims())
}

/// The function that combines an update with the old value, and its neutral number.
struct Scatter {
    kind: Binary,
    neutral: f32,
}

/// Returns how updates are combined, or `None` if they replace values.
fn combination(node: Node<'_>) -> Result<Option<Scatter>, Refusal> {
    let (kind, neutral) = match node.text("reduction") {
        None | Some(b"none") => return Ok(None),
        Some(b"add") => (Binary::Add, 0.0),
        Some(b"mul") => (Binary::Mul, 1.0),
        Some(b"max") => (Binary::Max, f32::NEG_INFINITY),
        Some(b"min") => (Binary::Min, f32::INFINITY),
        Some(_) => return unsupported("unknown reduction"),
    };
    Ok(Some(Scatter { kind, neutral }))
}

/// Combines updates in rounds. Each round updates a position at most once.
fn combined<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    mut x: Activation,
    updates: Activation,
    at: &[usize],
    by: Scatter,
) -> Added {
    let count = x.dims()[0];
    let neutral = Constant {
        dims: vec![1],
        values: Values::Floats(vec![by.neutral].into()),
    };
    let neutral = network.operand(node, &Value::Constant(neutral))?;
    let numbers = x.numbers;
    let both = network.join(node, &[updates, neutral.typed(numbers)], 0)?;
    for round in rounds(network, count, at)? {
        let update = network.at(node, &both, (vec![count], round))?;
        x = network.pair(node, by.kind, &x, &update)?;
    }
    Ok(x)
}

/// Returns, for each round, the update of every position, or the number of updates if there is
/// none.
fn rounds(
    network: &mut PartialNetwork<'_>,
    count: usize,
    at: &[usize],
) -> Result<Vec<Vec<usize>>, Refusal> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut seen = vec![0; count];
    for (update, &position) in at.iter().enumerate() {
        if seen[position] == rounds.len() {
            if rounds.len() == MOST_UPDATES {
                return unsupported(format!("more than {MOST_UPDATES} updates of one position"));
            }
            network.fold_budget.spend(count)?;
            rounds.push(vec![at.len(); count]);
        }
        rounds[seen[position]][position] = update;
        seen[position] += 1;
    }
    Ok(rounds)
}
