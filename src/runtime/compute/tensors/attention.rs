//! Attention in a graph: `softmax(Q · Kᵀ · scale + masks) · V`, with any number of masks and the
//! scale on Q, on K or after their product.

use super::operands::{MadeValues, Operand, is_factor, resolved};
use super::strided::Strided;
use crate::compute::fuse::{FusedStep, ValueId};
use crate::network::{Binary, Dims, Node, Op, TensorOp, Unary};

/// The operands of attention. Axes before the last two are the same for all.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::compute) struct AttentionForm {
    /// `[…, queries, depth]`, values of a row side by side; the step's first input.
    pub query: Strided,
    /// `[…, depth, keys]`; the second input.
    pub key: Strided,
    /// `[…, keys, features]`; the third input.
    pub value: Strided,
    /// `[…, queries, features]`, values of a row side by side.
    pub output: Strided,
    /// Nodes that multiply or divide the scores by a constant.
    pub factors: Vec<usize>,
    /// Values that are added to the scores, `[…, queries, keys]`.
    pub masks: Vec<Mask>,
    /// The treatment of queries whose scores give no shares.
    pub guard: ShareGuard,
}

/// The answer for a query without shares: the formula of a softmax results in NaN for its scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareGuard {
    /// NaN, as in the formula.
    Nowhere,
    /// Shares of 0 if all scores are −∞, as the operator for attention defines.
    Masked,
    /// An answer of 0 for every NaN, as a file writes explicitly.
    AnyNan,
}

/// Values that are added to scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::compute) struct Mask {
    pub source: MaskSource,
    pub at: Strided,
}

/// The source of a mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::compute) enum MaskSource {
    /// An input of the step.
    Input(usize),
    /// The parameter of a node, with this number of values.
    Parameter { node: usize, values: usize },
}

/// Returns the inputs and the form of the attention that ends in the product `step`, or `None` if
/// it is not an attention. If a transpose is the only reader of the product, the step makes the
/// transpose's answer.
pub(super) fn form(
    values: &mut MadeValues<'_>,
    step: &mut FusedStep,
) -> Option<(Vec<ValueId>, AttentionForm)> {
    let (dims, all) = (values.dims(step.inputs[0]), values.dims(step.output));
    let last = dims.rank().checked_sub(1).filter(|&last| last > 0)?;
    if all.with(all.rank() - 1, dims[last]) != dims {
        return None;
    }
    let (softmax, guard) = softmax_before(values, step.inputs[0])?;
    if softmax.shape.channels() != dims[last] {
        return None;
    }
    let scores = Scores::before(values, softmax)?;
    let [query, key] = [0, 1].map(|i| resolved(values, scores.product.inputs[i].index(), true));
    let value = resolved(values, step.inputs[1], false);
    let depth = query.at.dims.last_size();
    let query_at = scores.viewed_as(query.at, last, depth, &dims)?;
    let key_at = scores.viewed_as(key.at, last - 1, depth, &dims)?;
    if !query_at.is_run(last) {
        return None;
    }
    let value_at = value.at.expanded(&all.with(last - 1, dims[last]))?;
    let (masks, mask_values) = scores.masks(values, &dims)?;
    let factors = [scores.factors, query.factors, key.factors].concat();
    let inputs = [vec![query.value, key.value, value.value], mask_values].concat();
    if !inputs.iter().all(|&v| values.is_made(v)) {
        return None;
    }
    let form = AttentionForm {
        query: query_at,
        key: key_at,
        value: value_at,
        output: values.written(step, all),
        factors,
        masks,
        guard,
    };
    Some((inputs, form))
}

/// Returns the softmax with the answer `value`, perhaps viewed under other dimensions, and the
/// treatment of its NaN. Roundings of shares to half precision are skipped, because shares never
/// leave its range.
fn softmax_before<'a>(values: &MadeValues<'a>, value: ValueId) -> Option<(&'a Node, ShareGuard)> {
    let mut at = value;
    let mut found = ShareGuard::Nowhere;
    loop {
        let node = values.node(at).filter(|_| values.is_read_once(at))?;
        match node.op {
            Op::MaskedSoftmax if found == ShareGuard::Nowhere => {
                return Some((node, ShareGuard::Masked));
            }
            Op::Softmax | Op::MaskedSoftmax => return Some((node, found)),
            Op::Tensor(TensorOp::View { .. }) => {}
            Op::Tensor(TensorOp::Unary {
                kind: Unary::NanToZero,
            }) => found = ShareGuard::AnyNan,
            Op::Tensor(TensorOp::Unary {
                kind: Unary::ToF16 | Unary::ToBf16,
            }) => {}
            _ => return None,
        }
        at = node.inputs[0].index();
    }
}

/// The nodes from the product of queries and keys to the softmax, in reverse order.
struct Scores<'a> {
    product: &'a Node,
    /// Dimensions of the product's answer.
    dims: Dims,
    factors: Vec<usize>,
    added: Vec<AddedMask>,
}

/// A sum of scores and something else.
struct AddedMask {
    what: MaskValue,
    /// Dimensions of the sum; later views may change them.
    dims: Dims,
}

enum MaskValue {
    Value(ValueId),
    Parameter(usize, Dims),
}

/// The most nodes between a product and a softmax.
const MOST_NODES: usize = 12;

impl<'a> Scores<'a> {
    /// Goes from a softmax back to the product whose answer it reads.
    fn before(values: &MadeValues<'a>, softmax: &Node) -> Option<Self> {
        let mut at = softmax.inputs[0].index();
        let (mut factors, mut added) = (Vec::new(), Vec::new());
        for _ in 0..MOST_NODES {
            let node = values.node(at).filter(|_| values.is_read_once(at))?;
            let dims = values.dims(at);
            match node.op {
                Op::Tensor(TensorOp::MatMul) => {
                    return Some(Scores {
                        product: node,
                        dims,
                        factors,
                        added,
                    });
                }
                // Scores of a file in half precision that meet a softmax in float32 stay as they are.
                Op::Tensor(
                    TensorOp::View { .. }
                    | TensorOp::Unary {
                        kind: Unary::ToF16 | Unary::ToBf16,
                    },
                ) => at = node.inputs[0].index(),
                _ if is_factor(node) => {
                    factors.push(at - 1);
                    at = node.inputs[0].index();
                }
                // A mask that is added before a factor would be scaled too.
                _ if !factors.is_empty() => return None,
                _ => {
                    let (scores, what) = sum(values, node, at)?;
                    added.push(AddedMask { what, dims });
                    at = scores;
                }
            }
        }
        None
    }

    /// Returns an operand of the product as `[…]` of the softmax's dimensions, with the size of
    /// `axis` replaced by `size`.
    fn viewed_as(&self, of: Strided, axis: usize, size: usize, dims: &Dims) -> Option<Strided> {
        let behind = dims.rank() - axis;
        let own = self.dims.rank().checked_sub(behind)?;
        let first = of.expanded(&self.dims.with(own, size))?;
        first.viewed(&dims.with(axis, size))
    }

    /// Returns the masks, and the values that are read after the first three inputs.
    fn masks(&self, values: &MadeValues<'_>, dims: &Dims) -> Option<(Vec<Mask>, Vec<ValueId>)> {
        let (mut masks, mut inputs) = (Vec::new(), Vec::new());
        // In the order of addition.
        for added in self.added.iter().rev() {
            let (source, at) = match added.what {
                MaskValue::Parameter(node, dims) => {
                    let values = dims.elements();
                    (MaskSource::Parameter { node, values }, Strided::whole(dims))
                }
                MaskValue::Value(value) => {
                    let Operand { value, at, .. } = resolved(values, value, false);
                    inputs.push(value);
                    (MaskSource::Input(2 + inputs.len()), at)
                }
            };
            let at = at.expanded(&added.dims)?.viewed(dims)?;
            masks.push(Mask { source, at });
        }
        Some((masks, inputs))
    }
}

/// Returns the operands of a sum: the scores, and the mask.
fn sum(values: &MadeValues<'_>, node: &Node, at: ValueId) -> Option<(ValueId, MaskValue)> {
    let dims = node.shape.stored();
    match node.op {
        Op::Tensor(TensorOp::With {
            kind: Binary::Add,
            dims: added,
            ..
        }) => {
            let scores = node.inputs[0].index();
            let what = MaskValue::Parameter(at - 1, added);
            (values.dims(scores) == dims).then_some((scores, what))
        }
        Op::Add | Op::Tensor(TensorOp::Binary { kind: Binary::Add }) => {
            let [a, b] = [0, 1].map(|i| node.inputs[i].index());
            let is_scores = |v: ValueId| values.dims(v) == dims && leads_to_product(values, v);
            match (is_scores(a), is_scores(b)) {
                (true, _) => Some((a, MaskValue::Value(b))),
                (_, true) => Some((b, MaskValue::Value(a))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether the first inputs lead to a product of matrices.
fn leads_to_product(values: &MadeValues<'_>, value: ValueId) -> bool {
    let mut at = value;
    for _ in 0..MOST_NODES {
        let Some(node) = values.node(at) else {
            return false;
        };
        match node.op {
            Op::Tensor(TensorOp::MatMul) => return true,
            Op::Add | Op::Scale { .. } => {}
            Op::Tensor(TensorOp::View { .. }) => {}
            Op::Tensor(TensorOp::Unary {
                kind: Unary::ToF16 | Unary::ToBf16,
            }) => {}
            Op::Tensor(TensorOp::With { .. } | TensorOp::Binary { .. }) => {}
            _ => return false,
        }
        at = node.inputs[0].index();
    }
    false
}
