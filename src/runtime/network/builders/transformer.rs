//! Attention in heads (Vaswani et al., "Attention is all you need", section 3.2).

use serde::Deserialize;

use super::plain::linear;
use crate::network::{
    Binary, Dims, GraphBuilder, GraphError, LayerFault, NodeId, Op, ParameterOrigin, Shape,
    TensorOp,
};

/// Attention among the tokens of the last value, `[…, tokens, width]`. Each leading position is
/// independent.
#[derive(Deserialize)]
pub(super) struct HeadAttention {
    /// The layer's name.
    pub at: String,
    pub heads: usize,
    /// The name after it of the parameters that make queries, keys and values, before `weight` or
    /// `bias`.
    pub stored: String,
    /// The name after it of the layer that makes queries, keys and values.
    pub all: String,
    /// The name after it of the layer after the heads.
    pub out: String,
}

/// A constant that is added to the scores of attention.
pub(super) struct ScoreMask {
    pub name: &'static str,
    pub dims: Dims,
    pub origin: ParameterOrigin,
}

impl HeadAttention {
    /// Adds the layers. `masks` are added to scores `[…, heads, tokens, tokens]`.
    pub(super) fn add(&self, b: &mut GraphBuilder, masks: &[ScoreMask]) -> Result<(), GraphError> {
        let part = |suffix: &str| format!("{}.{suffix}", self.at);
        let before = b.shape(b.last()).stored();
        let depth = before.last_size() / self.heads.max(1);
        let all = self.projected(b)?;
        let [query, key, value] = split(b, &part("attention"), all, self.heads, &before)?;
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
        b.add(part(&self.out), linear(before.last_size()), &[x])?;
        Ok(())
    }

    /// Adds one layer that makes queries, keys and values together.
    fn projected(&self, b: &mut GraphBuilder) -> Result<NodeId, GraphError> {
        let width = b.shape(b.last()).channels();
        let stored = |suffix: &'static str, shape: Vec<usize>| {
            let name = format!("{}.{}{suffix}", self.at, self.stored);
            (suffix, ParameterOrigin::Tensor { name, shape })
        };
        let origins = vec![
            stored("weight", vec![3 * width, width]),
            stored("bias", vec![3 * width]),
        ];
        let name = format!("{}.{}", self.at, self.all);
        b.add_from(name, linear(3 * width), &[b.last()], origins)
    }
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
