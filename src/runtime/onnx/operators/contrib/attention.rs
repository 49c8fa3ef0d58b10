//! `Attention` and `MultiHeadAttention` of `com.microsoft`.

use crate::network::{Binary, Dims, Op, Shape};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::fold::kept;
use crate::onnx::node::Node;
use crate::onnx::operators::attention::heads;
use crate::onnx::operators::dense;
use crate::onnx::operators::inputs::{Added, Inputs, unsupported};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// Self-attention with one product for queries, keys and values.
pub(super) fn attention<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    if inputs.has(4) || node.integer("do_rotary") == Some(1) {
        return unsupported("past keys or rotary embeddings");
    }
    let operands = [
        inputs.0.first().cloned().flatten(),
        inputs.0.get(1).cloned().flatten(),
    ];
    let mut all = dense::scaled_matmul(network, node, &Inputs(&operands), 1.0)?;
    if inputs.has(2) {
        all = network.binary(node, Binary::Add, &all.into(), inputs.value(2)?)?;
    }
    let Some(&width) = all.dims().get(2) else {
        return unsupported(format!("its tokens are {:?}", all.dims()));
    };
    let sizes: Vec<usize> = match node.integers("qkv_hidden_sizes") {
        Some(written) => written
            .iter()
            .filter_map(|s| usize::try_from(*s).ok())
            .collect(),
        None => vec![width / 3; 3],
    };
    if sizes.len() != 3 || sizes.iter().sum::<usize>() != width {
        return Err(NodeFault::Shapes(format!("parts of {sizes:?} for {width} features")).into());
    }
    let mut first = 0;
    let mut parts = Vec::new();
    for size in sizes {
        let own = network.slice(node, &all, 2, first, size, 1)?;
        parts.push(heads(network, node, &own, "num_heads")?);
        first += size;
    }
    let bias = [
        causal(&parts[0], &parts[1], node)?,
        masked(network, node, inputs, 3, parts[1].dims()[2])?,
        inputs.0.get(5).cloned().flatten(),
    ];
    attended(network, node, &parts, &bias)
}

/// Attention over heads; also answers the keys and the values.
pub(super) fn multi_head<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    if !inputs.has(1) || !inputs.has(2) {
        return unsupported("queries, keys and values packed in one input");
    }
    let mut parts = Vec::new();
    let mut first = 0;
    for n in 0..3 {
        let mut own = network.input(node, inputs, n)?;
        if let (true, &[_, _, width]) = (inputs.has(3), own.dims()) {
            let bias = inputs
                .constant(3)?
                .and_then(Constant::as_floats)
                .unwrap_or_default();
            let bias = bias.get(first..first + width);
            let values =
                bias.ok_or_else(|| NodeFault::Shapes("its bias has too few values".into()))?;
            let bias = Constant {
                dims: vec![width],
                values: Values::Floats(values.to_vec().into()),
            };
            own = network.with(node, Binary::Add, &own, &bias, false)?;
            first += width;
        }
        parts.push(heads(network, node, &own, "num_heads")?);
    }
    for (at, part) in [(6, 1), (7, 2)] {
        if inputs.has(at) {
            let past = network.input(node, inputs, at)?;
            parts[part] = network.join(node, &[past, parts[part].clone()], 2)?;
        }
    }
    let bias = [
        causal(&parts[0], &parts[1], node)?,
        masked(network, node, inputs, 4, parts[1].dims()[2])?,
        inputs.0.get(5).cloned().flatten(),
    ];
    let made = attended(network, node, &parts, &bias)?;
    let values = parts.pop();
    let keys = parts.pop();
    Ok([Some(made), keys, values].into_iter().flatten().collect())
}

/// Returns the mask that hides later keys from queries, if the node requests it.
fn causal(q: &Activation, k: &Activation, node: Node<'_>) -> Result<Option<Value>, Refusal> {
    if node.integer("unidirectional") != Some(1) {
        return Ok(None);
    }
    let (&[_, _, tokens, _], &[_, _, all, _]) = (q.dims(), k.dims()) else {
        return unsupported("its heads have another rank");
    };
    // The mask has the size of the scores, which may be too many.
    let scores = Shape::tensor(Dims::new(&[tokens, all])?);
    if !scores.is_reasonable() {
        return unsupported(format!(
            "its mask does not fit {tokens} queries and {all} keys"
        ));
    }
    let seen = kept(&[tokens, all], all as i64 - tokens as i64, false);
    let below = |seen: bool| if seen { 0.0 } else { f32::NEG_INFINITY };
    let mask = Constant {
        dims: vec![tokens, all],
        values: Values::Floats(seen.into_iter().map(below).collect()),
    };
    Ok(Some(mask.into()))
}

/// Returns the addend of the scores for a mask of keys. The mask holds 1 or 0 for each key, or the
/// number of keys of each sample.
fn masked<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    n: usize,
    keys: usize,
) -> Result<Option<Value>, Refusal> {
    if !inputs.has(n) {
        return Ok(None);
    }
    let mask = network.input(node, inputs, n)?;
    let seen = match *mask.dims() {
        [batch] => {
            let lengths = network.reshaped(node, &mask, &[batch, 1, 1, 1])?;
            let mut places = Constant::integers((0..keys as i64).collect());
            places.dims = vec![1, 1, 1, keys];
            network.with(node, Binary::Greater, &lengths, &places, false)?
        }
        [batch, all] if all == keys => network.reshaped(node, &mask, &[batch, 1, 1, keys])?,
        [batch, rows, all] if all == keys => {
            network.reshaped(node, &mask, &[batch, 1, rows, keys])?
        }
        ref dims => return unsupported(format!("its mask is {dims:?}")),
    };
    let far = node.float("mask_filter_value").unwrap_or(-10_000.0);
    if !far.is_finite() {
        let nothing = network.operand(node, &Constant::float(0.0).into())?;
        return Ok(Some(network.where_else(node, &seen, &nothing, far)?.into()));
    }
    let seen = network.with_number(
        node,
        Binary::Sub,
        &seen.typed(NumberType::Floats),
        1.0,
        false,
    )?;
    Ok(Some(
        network
            .with_number(node, Binary::Mul, &seen, -far, false)?
            .into(),
    ))
}

/// Adds the attention of queries to keys, and returns it as `[batch, tokens, features]`.
fn attended<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    parts: &[Activation],
    bias: &[Option<Value>],
) -> Added {
    let [q, k, v] = parts else {
        return unsupported("expected queries, keys and values");
    };
    let width = q.dims()[3];
    let scale = node.float("scale").filter(|scale| *scale != 0.0);
    let scale = scale.unwrap_or((width as f32).sqrt().recip());
    let scores = network.product(node, q, &k.turned())?;
    let mut scores = network.with_number(node, Binary::Mul, &scores, scale, false)?;
    for bias in bias.iter().flatten() {
        scores = network.binary(node, Binary::Add, &scores.into(), bias)?;
    }
    let rows: Vec<usize> = scores.layout.ending_in(&[3]);
    let shares = network.in_order(node, &scores, &rows)?;
    let from = network.stored(node, &shares, &rows)?;
    let id = network.layer(node, Op::Softmax, &[from], Vec::new())?;
    let made = network.product(node, &Activation { id, ..shares }, v)?;
    let &[batch, count, tokens, width] = made.dims() else {
        return unsupported("its heads have another rank");
    };
    let made = made.transposed(&[0, 2, 1, 3]);
    network.reshaped(node, &made, &[batch, tokens, count * width])
}
