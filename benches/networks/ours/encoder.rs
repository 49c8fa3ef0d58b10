//! A synthetic encoder of transformers, as large as BERT-base: 12 layers of 768 features and 12
//! heads, over embeddings of tokens.

use anyhow::Result;
use divisi_runtime::network::{
    Activation, Dims, Graph, GraphBuilder, GraphError, NodeId, Op, Shape, TensorOp,
};

const LAYERS: usize = 12;
const FEATURES: usize = 768;
const HEADS: usize = 12;
const INNER: usize = 3072;
const EPS: f32 = 1e-12;

/// Returns the encoder for `[tokens, 768]`, with a row for each token as its answer.
pub fn graph(tokens: usize) -> Result<Graph> {
    let sample = Shape::tensor(Dims::new(&[tokens, FEATURES])?);
    let mut encoder = Encoder {
        builder: GraphBuilder::new(sample),
        tokens,
    };
    let mut x = NodeId::INPUT;
    for layer in 0..LAYERS {
        x = encoder.layer(layer, x)?;
    }
    Ok(encoder.builder.build()?)
}

struct Encoder {
    builder: GraphBuilder,
    tokens: usize,
}

type Added = Result<NodeId, GraphError>;

impl Encoder {
    fn layer(&mut self, layer: usize, x: NodeId) -> Added {
        let read = self.attention(layer, x)?;
        let sum = self.add(layer, "attended", Op::Add, &[read, x])?;
        let x = self.add(layer, "attention-norm", Op::LayerNorm { eps: EPS }, &[sum])?;
        let wide = self.linear(layer, "inner", INNER, x)?;
        let wide = self.add(layer, "gelu", Activation::Gelu.into(), &[wide])?;
        let narrow = self.linear(layer, "outer", FEATURES, wide)?;
        let sum = self.add(layer, "fed", Op::Add, &[narrow, x])?;
        self.add(layer, "norm", Op::LayerNorm { eps: EPS }, &[sum])
    }

    fn attention(&mut self, layer: usize, x: NodeId) -> Added {
        let depth = FEATURES / HEADS;
        let q = self.heads(layer, "query", &[1, 0, 2], x)?;
        let k = self.heads(layer, "key", &[1, 2, 0], x)?;
        let v = self.heads(layer, "value", &[1, 0, 2], x)?;
        let scores = self.add(layer, "scores", Op::Tensor(TensorOp::MatMul), &[q, k])?;
        let by = 1.0 / (depth as f32).sqrt();
        let scores = self.add(layer, "scaled", Op::Scale { by }, &[scores])?;
        let shares = self.add(layer, "shares", Op::Softmax, &[scores])?;
        let read = self.add(layer, "read", Op::Tensor(TensorOp::MatMul), &[shares, v])?;
        let read = self.transposed(layer, "read-rows", &[1, 0, 2], read)?;
        let read = self.viewed(layer, "joined", &[self.tokens, FEATURES], read)?;
        self.linear(layer, "output", FEATURES, read)
    }

    /// The heads of a projection, their axes in `order`.
    fn heads(&mut self, layer: usize, name: &str, order: &[usize], x: NodeId) -> Added {
        let all = self.linear(layer, name, FEATURES, x)?;
        let sizes = [self.tokens, HEADS, FEATURES / HEADS];
        let heads = self.viewed(layer, &format!("{name}-heads"), &sizes, all)?;
        self.transposed(layer, &format!("{name}-rows"), order, heads)
    }

    fn linear(&mut self, layer: usize, name: &str, features: usize, x: NodeId) -> Added {
        let bias = true;
        self.add(layer, name, Op::Linear { features, bias }, &[x])
    }

    fn viewed(&mut self, layer: usize, name: &str, sizes: &[usize], x: NodeId) -> Added {
        let shape = Shape::tensor(Dims::new(sizes).unwrap_or_else(|_| unreachable!("few")));
        self.add(layer, name, Op::Tensor(TensorOp::View { shape }), &[x])
    }

    fn transposed(&mut self, layer: usize, name: &str, order: &[usize], x: NodeId) -> Added {
        let order = Dims::new(order).unwrap_or_else(|_| unreachable!("few"));
        self.add(layer, name, Op::Tensor(TensorOp::Transpose { order }), &[x])
    }

    fn add(&mut self, layer: usize, name: &str, op: Op, inputs: &[NodeId]) -> Added {
        self.builder
            .add(format!("layer.{layer}.{name}"), op, inputs)
    }
}
