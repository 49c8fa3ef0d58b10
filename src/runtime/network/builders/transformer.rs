//! The two halves of a transformer's layer (Vaswani et al., "Attention is all you need", sections
//! 3.2 and 3.3): attention in heads, and two fully connected layers.

use super::plain::linear;
use crate::network::{
    Activation, Binary, Dims, GraphBuilder, GraphError, LayerFault, NodeId, Op, ParameterOrigin,
    Shape, TensorOp,
};

/// The names of attention's parameters, after the layer's name.
pub(super) struct AttentionNames {
    /// The layer that makes queries, keys and values.
    pub all: &'static str,
    /// Between that name and `weight` or `bias`.
    pub separator: &'static str,
    /// The layer after the heads.
    pub out: &'static str,
}

/// The names of the fully connected layers, after the layer's name.
pub(super) struct MlpNames {
    pub widen: &'static str,
    pub narrow: &'static str,
}

/// A constant that is added to the scores of attention.
pub(super) struct ScoreMask {
    pub name: &'static str,
    pub dims: Dims,
    pub origin: ParameterOrigin,
}

/// Adds attention among the tokens of `x`, `[…, tokens, width]`. Each leading position is
/// independent. `masks` are added to scores `[…, heads, tokens, tokens]`.
pub(super) fn attention(
    b: &mut GraphBuilder,
    name: &str,
    names: &AttentionNames,
    heads: usize,
    masks: &[ScoreMask],
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let before = b.shape(x).stored();
    let depth = before.last_size() / heads.max(1);
    let all = projected(b, &part(names.all), names.separator, x)?;
    let [query, key, value] = split(b, &part("attention"), all, heads, &before)?;
    let rank = before.rank();
    let turned = swapped(rank + 1, rank - 1, rank)?;
    let key = b.add(part("attention.key.turned"), Op::Tensor(turned), &[key])?;
    let scores = Op::Tensor(TensorOp::MatMul);
    let scores = b.add(part("attention.products"), scores, &[query, key])?;
    let by = (depth as f32).sqrt().recip();
    let mut scores = b.add(part("attention.scores"), Op::Scale { by }, &[scores])?;
    for mask in masks {
        let (kind, first) = (Binary::Add, false);
        let dims = mask.dims;
        let with = Op::Tensor(TensorOp::With { kind, dims, first });
        let origin = vec![("value", mask.origin.clone())];
        scores = b.add_from(part(mask.name), with, &[scores], origin)?;
    }
    let shares = b.add(part("attention.shares"), Op::Softmax, &[scores])?;
    let product = Op::Tensor(TensorOp::MatMul);
    let x = b.add(part("attention.heads"), product, &[shares, value])?;
    let turned = swapped(rank + 1, rank - 2, rank - 1)?;
    let x = b.add(part("attention.tokens"), Op::Tensor(turned), &[x])?;
    let x = viewed(b, &part("attention.joined"), &before, x)?;
    b.add(part(names.out), linear(before.last_size()), &[x])
}

/// Adds one layer that makes queries, keys and values together.
fn projected(
    b: &mut GraphBuilder,
    name: &str,
    separator: &str,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let width = b.shape(x).channels();
    let stored = |suffix: &str, shape: Vec<usize>| ParameterOrigin::Tensor {
        name: format!("{name}{separator}{suffix}"),
        shape,
    };
    let origins = vec![
        ("weight", stored("weight", vec![3 * width, width])),
        ("bias", stored("bias", vec![3 * width])),
    ];
    b.add_from(name, linear(3 * width), &[x], origins)
}

/// Returns queries, keys and values as `[…, heads, tokens, depth]`, of `[…, tokens, 3 · width]`.
fn split(
    b: &mut GraphBuilder,
    name: &str,
    all: NodeId,
    heads: usize,
    before: &Dims,
) -> Result<[NodeId; 3], GraphError> {
    let leading = before.rank() - 2;
    let (outer, tokens) = (&before[..leading], before[leading]);
    let depth = before.last_size() / heads.max(1);
    let apart = tensor(&[outer, &[tokens, 3, heads, depth]].concat())?;
    let all = viewed(b, &format!("{name}.apart"), &apart, all)?;
    // Queries, keys and values first, then heads before tokens.
    let axes: Vec<usize> = (0..leading).collect();
    let [t, three, h, d] = [0, 1, 2, 3].map(|axis| leading + axis);
    let order = tensor(&[&[three], &axes[..], &[h, t, d]].concat())?;
    let turn = Op::Tensor(TensorOp::Transpose { order });
    let all = b.add(format!("{name}.turned"), turn, &[all])?;
    let dims = tensor(&[outer, &[heads, tokens, depth]].concat())?;
    let mut one = |start: usize, part: &str| {
        let slice = Op::Tensor(TensorOp::Slice {
            axis: 0,
            start,
            count: 1,
            step: 1,
        });
        let x = b.add(format!("{name}.{part}.part"), slice, &[all])?;
        viewed(b, &format!("{name}.{part}"), &dims, x)
    };
    Ok([one(0, "query")?, one(1, "key")?, one(2, "value")?])
}

/// Adds two fully connected layers, the first four times as wide, with a GELU between them.
pub(super) fn mlp(
    b: &mut GraphBuilder,
    name: &str,
    names: &MlpNames,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let width = b.shape(x).channels();
    let x = b.add(part(names.widen), linear(4 * width), &[x])?;
    let x = b.add(part("mlp.gelu"), Activation::Gelu.into(), &[x])?;
    b.add(part(names.narrow), linear(width), &[x])
}

/// Returns dimensions of up to eight sizes.
///
/// # Errors
/// There are more.
pub(super) fn tensor(sizes: &[usize]) -> Result<Dims, GraphError> {
    Dims::new(sizes).map_err(|fault| GraphError::Layer {
        layer: "tokens".into(),
        fault: LayerFault::Shape(fault),
    })
}

/// Adds the same values under other dimensions.
pub(super) fn viewed(
    b: &mut GraphBuilder,
    name: &str,
    dims: &Dims,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let shape = Shape::tensor(*dims);
    b.add(name, Op::Tensor(TensorOp::View { shape }), &[x])
}

/// Returns the operation that changes two of `rank` axes for each other.
fn swapped(rank: usize, one: usize, other: usize) -> Result<TensorOp, GraphError> {
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(one, other);
    let order = tensor(&axes)?;
    Ok(TensorOp::Transpose { order })
}
