//! `Attention` of opset 23, as its separate operations.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Activation as ActivationFunction, Binary, Border, Op};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::fold::kept;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// Returns a value as `[batch, heads, tokens, features]`.
pub(super) fn heads<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    name: &'static str,
) -> Result<Activation, Refusal> {
    let &[batch, tokens, width] = x.dims() else {
        return match x.dims().len() {
            4 => Ok(x.clone()),
            _ => unsupported(format!("its heads are {:?}", x.dims())),
        };
    };
    let count = node.integer(name).and_then(|n| usize::try_from(n).ok());
    let count = count.filter(|n| *n > 0 && width.is_multiple_of(*n));
    let count = count.ok_or(NodeFault::Attribute {
        name,
        expected: format!("a divisor of {width}"),
    })?;
    let x = network.reshaped(node, x, &[batch, tokens, count, width / count])?;
    Ok(x.transposed(&[0, 2, 1, 3]))
}

/// Returns the heads of keys or values, each as often as queries share it.
fn shared<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    count: usize,
) -> Result<Activation, Refusal> {
    let &[batch, own, tokens, width] = x.dims() else {
        return unsupported("its heads have another rank");
    };
    if own == count || own == 0 || !count.is_multiple_of(own) {
        return Ok(x.clone());
    }
    let x = network.reshaped(node, x, &[batch, own, 1, tokens, width])?;
    let x = network.expand(node, &x, &[batch, own, count / own, tokens, width])?;
    network.reshaped(node, &x, &[batch, count, tokens, width])
}

/// Returns scores in which masked ones are far below all others.
fn masked<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    scores: Activation,
    mask: &Value,
) -> Result<Activation, Refusal> {
    let mut mask = network.operand(node, mask)?;
    // A mask of fewer keys leaves the others out.
    let (Some(&seen), Some(&all)) = (mask.dims().last(), scores.dims().last()) else {
        return unsupported("its mask has no axis");
    };
    if seen > 1 && seen < all {
        let mut pads = vec![(0, 0); mask.dims().len()];
        pads[mask.dims().len() - 1].1 = all - seen;
        let out = match mask.numbers {
            NumberType::Booleans => 0.0,
            _ => f32::NEG_INFINITY,
        };
        mask = network.pad(node, &mask, &pads, Border::Constant(out))?;
    }
    if mask.numbers != NumberType::Booleans {
        return network.pair(node, Binary::Add, &scores, &mask);
    }
    network.where_else(node, &mask, &scores, f32::NEG_INFINITY)
}

/// How far a query sees keys before and after its own position; `None` is unlimited.
struct Sight {
    left: Option<i64>,
    right: Option<i64>,
}

impl Sight {
    fn new(node: Node<'_>) -> Self {
        let written = |name| node.integer(name).filter(|far| *far >= 0);
        let right = written("right_window_size");
        let is_causal = node.integer("is_causal") == Some(1);
        Sight {
            left: written("left_window_size"),
            right: if is_causal { Some(0) } else { right },
        }
    }

    /// Adds −∞ to the scores of keys that a query does not see. The position of a query counts
    /// `before` earlier keys.
    fn after_first<'a>(
        &self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        mut scores: Activation,
        dims: [usize; 2],
        before: usize,
    ) -> Added {
        let before = before as i64;
        let right = self
            .right
            .map(|far| kept(&dims, before.saturating_add(far), false));
        let left = self
            .left
            .map(|far| kept(&dims, before.saturating_sub(far), true));
        for seen in [right, left].into_iter().flatten() {
            let below = |seen: bool| if seen { 0.0 } else { f32::NEG_INFINITY };
            let mask = Constant {
                dims: dims.to_vec(),
                values: Values::Floats(seen.into_iter().map(below).collect()),
            };
            scores = network.with(node, Binary::Add, &scores, &mask, false)?;
        }
        Ok(scores)
    }

    /// Masks the scores of keys that a query does not see. The queries are the last ones of each
    /// sample's own number of keys.
    fn before_last<'a>(
        &self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        mut scores: Activation,
        inputs: &Inputs<'_>,
        [tokens, all]: [usize; 2],
    ) -> Added {
        let right = self.right.map(|far| (Binary::GreaterOrEqual, -far));
        let left = self.left.map(|far| (Binary::LessOrEqual, far));
        for (kind, far) in [right, left].into_iter().flatten() {
            let lengths = lengths(network, node, inputs)?;
            let least = |at: usize| (at % all + tokens) as i64 - (at / all) as i64;
            let mut least: Vec<i64> = (0..tokens * all).map(least).collect();
            least.iter_mut().for_each(|n| *n = n.saturating_add(far));
            let mut places = Constant::integers(least);
            places.dims = vec![1, 1, tokens, all];
            let seen = network.with(node, kind, &lengths, &places, false)?;
            scores = masked(network, node, scores, &seen.into())?;
        }
        Ok(scores)
    }
}

/// Returns each sample's own number of keys as `[batch, 1, 1, 1]`.
fn lengths<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let lengths = network.input(node, inputs, 6)?;
    let &[batch] = lengths.dims() else {
        return unsupported(format!("its lengths are {:?}", lengths.dims()));
    };
    network.reshaped(node, &lengths, &[batch, 1, 1, 1])
}

/// Returns scores in which keys after each sample's own number of keys are far below all others.
fn unpadded<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    scores: &Activation,
    inputs: &Inputs<'_>,
) -> Result<Activation, Refusal> {
    let lengths = lengths(network, node, inputs)?;
    let keys = scores.dims().last().copied().unwrap_or(1);
    let mut places = Constant::integers((0..keys as i64).collect());
    places.dims = vec![1, 1, 1, keys];
    let seen = network.with(node, Binary::Greater, &lengths, &places, false)?;
    masked(network, node, scores.clone(), &seen.into())
}

/// Past keys and values are joined before the new ones. They are answered too, as are the scores:
/// unchanged, capped, masked, or as shares.
pub(super) fn attention<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let [q, k, v] = [0, 1, 2].map(|n| network.input(node, inputs, n));
    let (q, k, v) = (q?, k?, v?);
    let rank = q.dims().len();
    let q = heads(network, node, &q, "q_num_heads")?;
    let mut k = heads(network, node, &k, "kv_num_heads")?;
    let mut v = heads(network, node, &v, "kv_num_heads")?;
    let mut before = 0;
    if inputs.has(4) && inputs.has(5) {
        let past = network.input(node, inputs, 4)?;
        before = past.dims().get(2).copied().unwrap_or(0);
        k = network.join(node, &[past, k], 2)?;
        let past = network.input(node, inputs, 5)?;
        v = network.join(node, &[past, v], 2)?;
    }
    let present = [k.clone(), v.clone()];
    let (&[_, count, tokens, width], &[_, _, all, _]) = (q.dims(), k.dims()) else {
        return unsupported("its heads have another rank");
    };
    let (k, v) = (
        shared(network, node, &k, count)?,
        shared(network, node, &v, count)?,
    );
    let scale = node.float("scale").unwrap_or((width as f32).sqrt().recip());
    let scores = network.product(node, &q, &k.turned())?;
    let mut scores = network.with_number(node, Binary::Mul, &scores, scale, false)?;
    let mut stages = vec![scores.clone()];
    let cap = node.float("softcap").unwrap_or(0.0);
    if cap > 0.0 {
        let small = network.with_number(node, Binary::Div, &scores, cap, false)?;
        let tanh = Op::from(ActivationFunction::Tanh);
        let small = network.each(node, tanh, &small)?;
        scores = network.with_number(node, Binary::Mul, &small, cap, false)?;
    }
    stages.push(scores.clone());
    let sight = Sight::new(node);
    scores = match inputs.has(6) && !inputs.has(4) {
        true => sight.before_last(network, node, scores, inputs, [tokens, all])?,
        false => sight.after_first(network, node, scores, [tokens, all], before)?,
    };
    if inputs.has(3) {
        scores = masked(network, node, scores, inputs.value(3)?)?;
    }
    if inputs.has(6) {
        scores = unpadded(network, node, &scores, inputs)?;
    }
    stages.push(scores.clone());
    let rows: Vec<usize> = scores.layout.ending_in(&[3]);
    let shares = network.in_order(node, &scores, &rows)?;
    let from = network.stored(node, &shares, &rows)?;
    // A query whose keys are all masked has the answer 0.
    let id = network.layer(node, Op::MaskedSoftmax, &[from], Vec::new())?;
    let shares = Activation { id, ..shares };
    stages.push(shares.clone());
    let mut made = network.product(node, &shares, &v)?;
    if rank == 3 {
        let &[batch, count, tokens, width] = made.dims() else {
            return unsupported("its heads have another rank");
        };
        made = made.transposed(&[0, 2, 1, 3]);
        made = network.reshaped(node, &made, &[batch, tokens, count * width])?;
    }
    let [keys, values] = present;
    let mode = node.integer("qk_matmul_output_mode").unwrap_or(0);
    let stage = usize::try_from(mode).ok().and_then(|mode| stages.get(mode));
    match stage {
        Some(stage) => Ok(vec![made, keys, values, stage.clone()]),
        None => unsupported("unknown qk_matmul_output_mode"),
    }
}
