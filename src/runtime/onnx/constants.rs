//! Nodes whose answers depend only on constants and dimensions.

use super::activation::{NumberType, Value};
use super::error::{NodeFault, OnnxError};
use super::fold::{eye, fold};
use super::node::Node;
use super::tensor::{Constant, Values, are_bounded};

pub(super) fn failed(node: Node<'_>, fault: NodeFault) -> OnnxError {
    OnnxError::Node {
        node: node.label(),
        fault: Box::new(fault),
    }
}

/// Returns the dimensions of a node's inputs as a text.
pub(super) fn shapes(inputs: &[Option<Value>]) -> String {
    let shapes = inputs.iter().map(|value| match value {
        None => "none".to_owned(),
        Some(value) => value
            .dims()
            .map_or_else(|| "?".into(), |d| format!("{d:?}")),
    });
    shapes.collect::<Vec<_>>().join(", ")
}

/// Returns the constants that a node makes, or `None` if they depend on the sample's values.
pub(super) fn folded(
    node: Node<'_>,
    inputs: &[Option<Value>],
) -> Option<Result<Vec<Constant>, NodeFault>> {
    fold_node(node, inputs).map(|constants| constants.and_then(bounded))
}

/// Checks that constants without values do not have large dimensions.
fn bounded(made: Vec<Constant>) -> Result<Vec<Constant>, NodeFault> {
    match made.iter().find(|constant| !are_bounded(&constant.dims)) {
        None => Ok(made),
        Some(of) => Err(NodeFault::Shapes(format!(
            "{:?} are too many values",
            of.dims
        ))),
    }
}

fn fold_node(node: Node<'_>, inputs: &[Option<Value>]) -> Option<Result<Vec<Constant>, NodeFault>> {
    let dims = inputs.first().and_then(|of| of.as_ref()?.dims());
    match (node.operator()?, dims) {
        ("Constant", _) => return Some(value(node).map(|c| vec![c])),
        ("Shape", Some(dims)) => return Some(shape(node, dims).map(|c| vec![c])),
        ("Size", Some(dims)) => {
            let count = dims.iter().product::<usize>() as i64;
            return Some(Ok(vec![Constant {
                dims: Vec::new(),
                values: Values::Integers(vec![count].into()),
            }]));
        }
        ("EyeLike", Some(dims)) => {
            let like = inputs
                .first()
                .is_some_and(|x| x.as_ref().is_some_and(is_integers));
            return Some(eye(node, dims, like).map(|c| vec![c]));
        }
        _ => {}
    }
    let constants = inputs.iter().map(|value| match value {
        Some(Value::Constant(constant)) => Some(Some(constant)),
        None => Some(None),
        _ => None,
    });
    let constants: Vec<Option<&Constant>> = constants.collect::<Option<_>>()?;
    fold(node, &constants)
}

/// Returns whether a value holds integers or booleans.
fn is_integers(value: &Value) -> bool {
    match value {
        Value::Constant(constant) => !matches!(constant.values, Values::Floats(_)),
        Value::Activation(activation) => activation.numbers != NumberType::Floats,
        Value::Unknown => false,
    }
}

/// Returns dimensions as a vector, from `start` to `end` if the node sets them.
fn shape(node: Node<'_>, dims: &[usize]) -> Result<Constant, NodeFault> {
    let rank = dims.len() as i64;
    let bound = |name: &str, default: i64| {
        let written = node.integer(name).unwrap_or(default);
        let from_start = if written < 0 {
            written.saturating_add(rank)
        } else {
            written
        };
        from_start.clamp(0, rank) as usize
    };
    let (start, end) = (bound("start", 0), bound("end", rank));
    let part = dims.get(start..end).unwrap_or_default();
    Ok(Constant::integers(part.iter().map(|&d| d as i64).collect()))
}

/// Returns the value of a node `Constant`.
fn value(node: Node<'_>) -> Result<Constant, NodeFault> {
    let attribute = |name| node.attribute(name);
    if let Some(tensor) = attribute("value").and_then(|a| a.t.as_ref()) {
        let read = Constant::read(tensor, None, None);
        return read.map_err(|why| NodeFault::Shapes(why.to_string()));
    }
    let scalar = |values| Constant {
        dims: Vec::new(),
        values,
    };
    if let Some(value) = node.float("value_float") {
        return Ok(scalar(Values::Floats(vec![value].into())));
    }
    if let Some(value) = node.integer("value_int") {
        return Ok(scalar(Values::Integers(vec![value].into())));
    }
    if let Some(values) = node.integers("value_ints") {
        return Ok(Constant::integers(values.to_vec()));
    }
    if let Some(values) = attribute("value_floats") {
        return Ok(Constant {
            dims: vec![values.floats.len()],
            values: Values::Floats(values.floats.clone().into()),
        });
    }
    Err(NodeFault::Attribute {
        name: "value",
        expected: "a tensor or numbers".into(),
    })
}
