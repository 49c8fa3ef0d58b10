//! Products of activations and attention, with operands that are read where they lie.

use divisi_runtime::compute::Family;
use divisi_runtime::network::{
    Activation, Binary, Dims, Graph, GraphBuilder, NodeId, Op, Shape, TensorOp, Weights,
};
use proptest::prelude::*;

use super::tensors::{check_with, dims, order, parts, with_constants};
use super::{answer, cases, input, lowered, plain};

fn view(sizes: &[usize]) -> Op {
    Op::Tensor(TensorOp::View {
        shape: Shape::tensor(dims(sizes)),
    })
}

fn transpose(order: &[usize]) -> Op {
    Op::Tensor(TensorOp::Transpose { order: dims(order) })
}

fn constant(kind: Binary, sizes: &[usize]) -> Op {
    Op::Tensor(TensorOp::With {
        kind,
        dims: dims(sizes),
        first: false,
    })
}

/// Adds a layer that is named after its place.
fn then(b: &mut GraphBuilder, op: Op, inputs: &[NodeId]) -> NodeId {
    let name = format!("layer{}", b.last().index());
    b.add(name, op, inputs).expect("a layer that fits")
}

/// Where scores are scaled.
#[derive(Clone, Copy, Debug)]
enum ScalePlace {
    Nowhere,
    Query,
    Key,
    Both,
    Scores,
    Divided,
}

#[derive(Clone, Copy, Debug)]
enum MaskKind {
    None,
    /// A value for each key.
    Keys,
    /// An activation, and a constant for each head.
    Heads,
    /// A constant for each query.
    Queries,
}

/// Self-attention as encoders have it, over `[tokens, heads · depth]`.
#[derive(Clone, Copy, Debug)]
struct Encoder {
    tokens: usize,
    heads: usize,
    depth: usize,
    scale: ScalePlace,
    mask: MaskKind,
    /// Whether queries, keys and values are slices of one product.
    together: bool,
    /// Whether a batch of 1 is an axis of its own.
    batched: bool,
    /// Whether the softmax is one of rows without heads, as before opset 13.
    flat: bool,
    /// Whether others read the shares too, so that they are made.
    spied: bool,
    /// Whether the shares of a query that may look at nothing are 0, in place of NaN.
    masked: bool,
}

impl Encoder {
    fn graph(&self) -> Graph {
        let (tokens, features) = (self.tokens, self.heads * self.depth);
        let (mut b, inputs) = parts(&[vec![tokens, 5], vec![1, tokens]]);
        let [q, k, v] = self.projected(&mut b, inputs[0]);
        let [q, k] = [(q, ScalePlace::Query as u8), (k, ScalePlace::Key as u8)].map(|(x, own)| {
            let scaled = self.scale as u8 == own || matches!(self.scale, ScalePlace::Both);
            match scaled {
                true => then(&mut b, constant(Binary::Mul, &[]), &[x]),
                false => x,
            }
        });
        let k = match self.batched {
            true => then(&mut b, transpose(&[0, 1, 3, 2]), &[k]),
            false => then(&mut b, transpose(&[0, 2, 1]), &[k]),
        };
        let mut scores = then(&mut b, Op::Tensor(TensorOp::MatMul), &[q, k]);
        match self.scale {
            ScalePlace::Scores => scores = then(&mut b, Op::Scale { by: 0.3 }, &[scores]),
            ScalePlace::Divided => {
                scores = then(&mut b, constant(Binary::Div, &[1]), &[scores]);
            }
            _ => {}
        }
        scores = self.masked(&mut b, scores, inputs[1]);
        let shares = self.shares(&mut b, scores);
        let read = then(&mut b, Op::Tensor(TensorOp::MatMul), &[shares, v]);
        let back: &[usize] = if self.batched {
            &[0, 2, 1, 3]
        } else {
            &[1, 0, 2]
        };
        let back = then(&mut b, transpose(back), &[read]);
        let rows = then(&mut b, view(&[tokens, features]), &[back]);
        let last = then(
            &mut b,
            Op::Linear {
                features: 3,
                bias: true,
            },
            &[rows],
        );
        if self.spied {
            then(&mut b, Op::Tensor(TensorOp::Row), &[last, shares]);
        }
        b.build().expect("graph")
    }

    fn shares(&self, b: &mut GraphBuilder, scores: NodeId) -> NodeId {
        let softmax = match self.masked {
            true => Op::MaskedSoftmax,
            false => Op::Softmax,
        };
        if !self.flat {
            return then(b, softmax, &[scores]);
        }
        let seen = b.shape(scores).stored();
        let rows = then(b, view(&[self.heads * self.tokens, self.tokens]), &[scores]);
        let shares = then(b, softmax, &[rows]);
        then(b, view(&seen), &[shares])
    }

    /// Queries, keys and values as `[heads, tokens, depth]`.
    fn projected(&self, b: &mut GraphBuilder, x: NodeId) -> [NodeId; 3] {
        let (tokens, heads, depth) = (self.tokens, self.heads, self.depth);
        if self.together {
            let features = 3 * heads * depth;
            let all = then(
                b,
                Op::Linear {
                    features,
                    bias: true,
                },
                &[x],
            );
            let all = then(b, view(&[tokens, 3, heads, depth]), &[all]);
            let all = then(b, transpose(&[1, 2, 0, 3]), &[all]);
            return [0, 1, 2].map(|at| {
                let slice = TensorOp::Slice {
                    axis: 0,
                    start: at,
                    count: 1,
                    step: 1,
                };
                let one = then(b, Op::Tensor(slice), &[all]);
                match self.batched {
                    true => one,
                    false => then(b, view(&[heads, tokens, depth]), &[one]),
                }
            });
        }
        [0, 1, 2].map(|_| {
            let bias = self.heads > 1;
            let one = then(
                b,
                Op::Linear {
                    features: heads * depth,
                    bias,
                },
                &[x],
            );
            if self.batched {
                let one = then(b, view(&[1, tokens, heads, depth]), &[one]);
                return then(b, transpose(&[0, 2, 1, 3]), &[one]);
            }
            let one = then(b, view(&[tokens, heads, depth]), &[one]);
            then(b, transpose(&[1, 0, 2]), &[one])
        })
    }

    fn masked(&self, b: &mut GraphBuilder, scores: NodeId, mask: NodeId) -> NodeId {
        let add = Op::Tensor(TensorOp::Binary { kind: Binary::Add });
        match self.mask {
            MaskKind::None => scores,
            MaskKind::Keys => then(b, add, &[scores, mask]),
            MaskKind::Heads => {
                let scores = then(b, add, &[mask, scores]);
                let (heads, tokens) = (self.heads, self.tokens);
                then(
                    b,
                    constant(Binary::Add, &[heads, tokens, tokens]),
                    &[scores],
                )
            }
            MaskKind::Queries => then(b, constant(Binary::Add, &[self.tokens, 1]), &[scores]),
        }
    }
}

/// Attention of one form and another.
pub(super) fn attentions() -> Vec<(&'static str, Graph)> {
    let encoder = Encoder {
        tokens: 20,
        heads: 2,
        depth: 5,
        scale: ScalePlace::Scores,
        mask: MaskKind::None,
        together: false,
        batched: false,
        flat: false,
        spied: false,
        masked: false,
    };
    let guarded = Encoder {
        masked: true,
        ..encoder
    };
    let long = Encoder {
        tokens: 270,
        together: true,
        mask: MaskKind::Keys,
        ..encoder
    };
    vec![
        ("attention", encoder.graph()),
        ("attention to many", long.graph()),
        ("attention that may look at nothing", guarded.graph()),
    ]
}

fn scale_places() -> impl Strategy<Value = ScalePlace> {
    use ScalePlace::{Both, Divided, Key, Nowhere, Query, Scores};
    prop::sample::select(vec![Nowhere, Query, Key, Both, Scores, Divided])
}

fn masks() -> impl Strategy<Value = MaskKind> {
    use MaskKind::{Heads, Keys, None, Queries};
    prop::sample::select(vec![None, Keys, Heads, Queries])
}

fn tokens() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1usize..60, 1 => 60usize..130, 1 => 250usize..300, 1 => 520usize..530]
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn attention_of_any_form(
        tokens in tokens(), heads in 1usize..5, depth in 1usize..40, scale in scale_places(),
        mask in masks(), together: bool, batched: bool, (flat, spied, masked) in any::<(bool, bool, bool)>(),
        batch in 1usize..4, threads in 0usize..4,
    ) {
        let encoder =
            Encoder { tokens, heads, depth, scale, mask, together, batched, flat, spied, masked };
        let graph = encoder.graph();
        let weights = with_constants(&graph, |i| (i % 7) as f32 / 5.0 + 0.4);
        check_with(&graph, &weights, batch, threads)?;
    }

    #[test]
    fn products_of_transposed_and_repeated_operands(
        before in prop::collection::vec(1usize..4, 0..3), (m, k, n) in (1usize..40, 1usize..40, 1usize..140),
        keys: [[u8; 4]; 3], ones: [u8; 2], batch in 1usize..4, threads in 0usize..4,
    ) {
        let rank = before.len() + 2;
        let operand = |at: usize, lines: usize, columns: usize| -> (Vec<usize>, Dims) {
            let some = before.iter().enumerate();
            let some = some.map(|(axis, &size)| if ones[at] >> axis & 1 == 1 { 1 } else { size });
            let seen: Vec<usize> = some.chain([lines, columns]).collect();
            let order = order(&keys[at], rank);
            let mut held = seen.clone();
            for (i, &axis) in order.iter().enumerate() { held[axis] = seen[i]; }
            (held, order)
        };
        let ((left, left_order), (right, right_order)) = (operand(0, m, k), operand(1, k, n));
        let (mut b, inputs) = parts(&[left, right]);
        let left = then(&mut b, transpose(&left_order), &[inputs[0]]);
        let right = then(&mut b, transpose(&right_order), &[inputs[1]]);
        let product = then(&mut b, Op::Tensor(TensorOp::MatMul), &[left, right]);
        then(&mut b, transpose(&order(&keys[2], rank)), &[product]);
        let graph = b.build().expect("graph");
        check_with(&graph, &with_constants(&graph, |_| 1.0), batch, threads)?;
    }

    /// Constants around a fully connected layer of tokens, some of which become part of it.
    #[test]
    fn layers_of_tokens_with_constants_behind(
        tokens in 1usize..50, features in 1usize..200, kinds in prop::collection::vec(0usize..4, 0..4),
        bias: bool, wide: bool, batch in 1usize..4, threads in 0usize..4,
    ) {
        let (mut b, inputs) = parts(&[vec![tokens, 7]]);
        let first = then(&mut b, Op::Linear { features, bias }, &[inputs[0]]);
        let mut x = first;
        for kind in kinds {
            let sizes: &[usize] = if wide { &[1, features] } else { &[1] };
            let add = Op::Tensor(TensorOp::Binary { kind: Binary::Add });
            x = match kind {
                0 => then(&mut b, constant(Binary::Add, sizes), &[x]),
                1 => then(&mut b, constant(Binary::Mul, sizes), &[x]),
                2 => then(&mut b, add, &[x, first]),
                _ => then(&mut b, Op::Linear { features, bias }, &[x]),
            };
        }
        let other = then(&mut b, Op::Linear { features: 3, bias }, &[x]);
        then(&mut b, Op::Tensor(TensorOp::Join { axis: 1 }), &[other, x]);
        let graph = b.build().expect("graph");
        check_with(&graph, &with_constants(&graph, |i| (i % 5) as f32 / 4.0 + 0.5), batch, threads)?;
    }
}

/// Rows longer than a part of them that is multiplied at once.
#[test]
fn long_rows_are_multiplied_in_parts() {
    for (tokens, from, features, threads) in
        [(1, 1025, 33, 2), (30, 3072, 70, 0), (100, 2100, 7, 3)]
    {
        let (mut b, inputs) = parts(&[vec![tokens, from], vec![tokens, features]]);
        let bias = true;
        let x = then(&mut b, Op::Linear { features, bias }, &[inputs[0]]);
        let x = then(&mut b, Op::Add, &[x, inputs[1]]);
        let x = then(&mut b, Activation::Silu.into(), &[x]);
        let y = then(&mut b, Op::Linear { features, bias }, &[inputs[0]]);
        let y = then(&mut b, Op::Relu, &[y]);
        then(&mut b, Op::Add, &[x, y]);
        let graph = b.build().expect("graph");
        let weights = with_constants(&graph, |_| 1.0);
        check_with(&graph, &weights, 2, threads).expect("as plain");
    }
}

/// Scores with a constant mask whose values below 0 are -∞.
fn masked(weights: &Weights, graph: &Graph, is_masked: impl Fn(usize, usize) -> bool) -> Weights {
    let tokens = 300;
    let all = weights.iter().map(|(name, values)| {
        let mut values = values.to_vec();
        if values.len() == tokens * tokens {
            for (at, value) in values.iter_mut().enumerate() {
                let masked = is_masked(at / tokens, at % tokens);
                *value = if masked { f32::NEG_INFINITY } else { 0.0 };
            }
        }
        (name.to_owned(), values)
    });
    Weights::from_values(all.collect(), graph).expect("same shapes")
}

/// Masks of whole blocks of keys are no reason for NaN; a query that may read nothing answers NaN,
/// as a softmax of nothing but -∞ does, or zeros where it is masked.
#[test]
fn masked_scores_answer_as_plain_candle() {
    for masked_answers in [false, true] {
        check_masked(masked_answers);
    }
}

fn check_masked(masked_answers: bool) {
    let encoder = Encoder {
        tokens: 300,
        heads: 1,
        depth: 8,
        scale: ScalePlace::Scores,
        mask: MaskKind::Heads,
        together: false,
        batched: false,
        flat: false,
        spied: false,
        masked: masked_answers,
    };
    let graph = encoder.graph();
    let weights = with_constants(&graph, |_| 0.0);
    type Masked = fn(usize, usize) -> bool;
    let cases: [(&str, Masked); 4] = [
        ("causal", |query, key| key > query),
        ("late keys alone", |_, key| key < 280),
        ("early keys alone", |_, key| key > 3),
        ("nothing for every third", |query, _| query % 3 == 0),
    ];
    for (name, is_masked) in cases {
        let weights = masked(&weights, &graph, is_masked);
        let x = input(&graph, 2);
        let expected = plain(&graph, &weights, &x);
        let has_nan = expected.iter().any(|v| v.is_nan());
        assert_eq!(
            has_nan,
            !masked_answers && name.starts_with("nothing"),
            "{name}"
        );
        for family in Family::available() {
            let found = answer(&lowered(&graph, &weights, family), &x, 2);
            let alike = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4 || a.is_nan() && b.is_nan();
            let same = expected.iter().zip(&found).all(alike);
            assert!(same && expected.len() == found.len(), "{name}, {family}");
        }
    }
}
