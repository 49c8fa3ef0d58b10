//! Nodes whose inputs are constants, computed while loading: shapes, axes and laid-out weights.

use super::error::NodeFault;
use super::node::{Node, axis};
use super::select::{gathered, joined, sliced, transposed};
use super::shapes::{bounded, integers, reshape_dims, squeeze_dims, unsqueeze_dims};
use super::tensor::{Constant, Values};

/// Returns the answer of a node from its constant inputs, or `None` if its operator is not
/// folded.
pub(super) fn fold(
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Option<Result<Constant, NodeFault>> {
    let input = |n: usize| {
        inputs
            .get(n)
            .copied()
            .flatten()
            .ok_or(NodeFault::NoInput(n))
    };
    let first = || input(0).cloned();
    Some(match node.operator()? {
        "Identity" | "Dropout" => first(),
        "Cast" => first().and_then(|c| cast(c, node)),
        "Reshape" => first().and_then(|c| reshaped(c, input(1)?)),
        "Flatten" => first().and_then(|c| flat(c, node.integer("axis").unwrap_or(1))),
        "Squeeze" => first().and_then(|c| squeezed(c, axes(node, inputs))),
        "Unsqueeze" => first().and_then(|c| unsqueezed(c, &axes(node, inputs).unwrap_or_default())),
        "Transpose" => first().and_then(|c| transposed(&c, node.integers("perm"))),
        "Gather" => first().and_then(|c| gathered(&c, input(1)?, node.integer("axis"))),
        "Slice" => first().and_then(|c| sliced(&c, node, inputs)),
        "Concat" => joined(inputs, node.integer("axis").unwrap_or_default()),
        "ConstantOfShape" => first().and_then(|c| filled(&c, node)),
        "Add" | "Sub" | "Mul" | "Div" => input(0).and_then(|a| arithmetic(node, a, input(1)?)),
        _ => return None,
    })
}

/// Returns the axes of a node: an attribute, and an input from opset 13 on.
pub(super) fn axes(node: Node<'_>, inputs: &[Option<&Constant>]) -> Option<Vec<i64>> {
    let written = node.integers("axes");
    let given = || {
        inputs
            .get(1)
            .copied()
            .flatten()
            .and_then(Constant::as_integers)
    };
    written.or_else(given).map(<[i64]>::to_vec)
}

fn with_dims(constant: Constant, dims: Vec<usize>) -> Constant {
    Constant { dims, ..constant }
}

fn reshaped(constant: Constant, target: &Constant) -> Result<Constant, NodeFault> {
    let target = target.as_integers().ok_or_else(|| integers("shape"))?;
    let dims = reshape_dims(&constant.dims, target)?;
    Ok(with_dims(constant, dims))
}

fn flat(constant: Constant, at: i64) -> Result<Constant, NodeFault> {
    let rank = constant.dims.len();
    let at = if at == rank as i64 {
        rank
    } else {
        axis(at, rank)?
    };
    let dims = vec![
        constant.dims[..at].iter().product(),
        constant.dims[at..].iter().product(),
    ];
    Ok(with_dims(constant, dims))
}

fn squeezed(constant: Constant, axes: Option<Vec<i64>>) -> Result<Constant, NodeFault> {
    let dims = squeeze_dims(&constant.dims, axes.as_deref())?;
    Ok(with_dims(constant, dims))
}

fn unsqueezed(constant: Constant, axes: &[i64]) -> Result<Constant, NodeFault> {
    let dims = unsqueeze_dims(&constant.dims, axes)?;
    Ok(with_dims(constant, dims))
}

fn cast(constant: Constant, node: Node<'_>) -> Result<Constant, NodeFault> {
    let values = match (node.integer("to").unwrap_or_default(), constant.values) {
        (1 | 10 | 11 | 16, Values::Integers(v)) => {
            Values::Floats(v.into_iter().map(|v| v as f32).collect())
        }
        (2..=7 | 12 | 13, Values::Floats(v)) => {
            Values::Integers(v.into_iter().map(|v| v as i64).collect())
        }
        (2..=7 | 12 | 13, Values::Booleans(v)) => {
            Values::Integers(v.into_iter().map(i64::from).collect())
        }
        (1 | 10 | 11 | 16, values @ Values::Floats(_))
        | (2..=7 | 12 | 13, values @ Values::Integers(_)) => values,
        (to, _) => {
            return Err(NodeFault::Attribute {
                name: "to",
                expected: format!("a type of floats or integers, found {to}"),
            });
        }
    };
    let dims = constant.dims;
    Ok(Constant { dims, values })
}

fn filled(shape: &Constant, node: Node<'_>) -> Result<Constant, NodeFault> {
    let shape = shape.as_integers().ok_or_else(|| integers("shape"))?;
    let dims = shape.iter().map(|&d| usize::try_from(d));
    let dims: Vec<usize> = dims
        .collect::<Result<_, _>>()
        .map_err(|_| NodeFault::Shapes(format!("{shape:?} is no shape")))?;
    let count = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    bounded(count.unwrap_or(usize::MAX), 1)?;
    let count = count.unwrap_or_default();
    let value = node.attribute("value").and_then(|a| a.t.as_ref());
    let value = value.map(|t| Constant::read(t, None)).transpose();
    let value = value.map_err(|why| NodeFault::Shapes(why.to_string()))?;
    let values = match value.map(|c| c.values) {
        None => Values::Floats(vec![0.0; count]),
        Some(Values::Floats(v)) => Values::Floats(vec![v.first().copied().unwrap_or(0.0); count]),
        Some(Values::Integers(v)) => Values::Integers(vec![v.first().copied().unwrap_or(0); count]),
        Some(Values::Booleans(v)) => {
            Values::Booleans(vec![v.first().copied().unwrap_or(false); count])
        }
    };
    Ok(Constant { dims, values })
}

/// Computes with shapes: operands of equal dimensions, or one of them a single value.
fn arithmetic(node: Node<'_>, a: &Constant, b: &Constant) -> Result<Constant, NodeFault> {
    let (n, m) = (a.values.len(), b.values.len());
    let empty = n == 0 || m == 0;
    if a.dims != b.dims && (empty || n != 1 && m != 1) {
        let why = format!("{:?} and {:?} are not of one shape", a.dims, b.dims);
        return Err(NodeFault::Shapes(why));
    }
    let dims = if n >= m {
        a.dims.clone()
    } else {
        b.dims.clone()
    };
    let pairs = (0..n.max(m)).map(|i| (i.min(n - 1), i.min(m - 1)));
    let operator = node.operator().unwrap_or_default();
    let values = match (&a.values, &b.values) {
        (Values::Floats(a), Values::Floats(b)) => {
            let values = pairs.map(|(i, j)| match operator {
                "Add" => a[i] + b[j],
                "Sub" => a[i] - b[j],
                "Mul" => a[i] * b[j],
                _ => a[i] / b[j],
            });
            Values::Floats(values.collect())
        }
        (Values::Integers(a), Values::Integers(b)) => {
            let values = pairs.map(|(i, j)| match operator {
                "Add" => a[i].checked_add(b[j]),
                "Sub" => a[i].checked_sub(b[j]),
                "Mul" => a[i].checked_mul(b[j]),
                _ => a[i].checked_div(b[j]),
            });
            let values: Option<Vec<i64>> = values.collect();
            let overflow = || NodeFault::Shapes("its integers leave their range".into());
            Values::Integers(values.ok_or_else(overflow)?)
        }
        _ => {
            return Err(NodeFault::Shapes(
                "its inputs are of different types".into(),
            ));
        }
    };
    Ok(Constant { dims, values })
}
