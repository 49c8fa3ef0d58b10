//! Transformers of any size, layer by layer: of text as BERT (Devlin and others, arXiv 1810.04805)
//! has them, and of images as ViT (Dosovitskiy and others, arXiv 2010.11929).

#![allow(dead_code, reason = "each program uses some of it")]

use anyhow::Result;
use divisi_runtime::network::{
    Activation, Binary, Conv2d, Dims, Graph, GraphBuilder, NodeId, Op, Shape, TensorOp,
};

/// The sizes of an encoder.
#[derive(Clone, Copy, Debug)]
pub struct Transformer {
    pub tokens: usize,
    pub width: usize,
    pub heads: usize,
    /// Features between the two layers of a perceptron.
    pub inner: usize,
    pub layers: usize,
}

/// A graph under construction.
struct Layers {
    of: Transformer,
    b: GraphBuilder,
}

impl Transformer {
    /// BERT-base over so many tokens.
    pub const fn bert_base(tokens: usize) -> Self {
        Transformer {
            tokens,
            width: 768,
            heads: 12,
            inner: 3072,
            layers: 12,
        }
    }

    /// ViT-B/16: 14 × 14 patches and a token for the class.
    pub const fn vit_base() -> Self {
        Transformer::bert_base(197)
    }

    /// Returns an encoder of text: a row of token ids and one of what is added to the scores of each
    /// key; the answer is every token's features.
    ///
    /// # Errors
    /// The sizes do not fit each other.
    pub fn text(self, vocabulary: usize) -> Result<Graph> {
        let tokens = self.tokens;
        let mut layers = Layers::new(self, Shape::vector(2 * tokens));
        let part = |first, sizes: &[usize]| -> Result<Op> {
            let shape = tensor(sizes)?;
            Ok(Op::Tensor(TensorOp::Part { first, shape }))
        };
        let ids = layers.add(part(0, &[tokens])?, &[NodeId::INPUT])?;
        let mask = layers.add(part(tokens, &[1, tokens])?, &[NodeId::INPUT])?;
        let table = TensorOp::Embedding {
            rows: vocabulary,
            features: self.width,
        };
        let words = layers.add(Op::Tensor(table), &[ids])?;
        let placed = layers.places(words)?;
        let mut x = layers.norm(placed)?;
        for _ in 0..self.layers {
            let read = layers.attention(x, Some(mask))?;
            let sum = layers.add(Op::Add, &[read, x])?;
            x = layers.norm(sum)?;
            let own = layers.perceptron(x)?;
            let sum = layers.add(Op::Add, &[own, x])?;
            x = layers.norm(sum)?;
        }
        Ok(layers.b.build()?)
    }

    /// Returns an encoder of images of `side` pixels cut into patches, `tokens` with the class's;
    /// the answer has a score for each class.
    ///
    /// # Errors
    /// The sizes do not fit each other.
    pub fn image(self, side: usize, patch: usize, classes: usize) -> Result<Graph> {
        let mut layers = Layers::new(self, Shape::image(3, side, side));
        let conv = Conv2d::new(self.width, patch).strided(patch).biased();
        let patches = layers.add(Op::Conv2d(conv), &[NodeId::INPUT])?;
        let shape = tensor(&[self.tokens - 1, self.width])?;
        let patches = layers.add(Op::Tensor(TensorOp::View { shape }), &[patches])?;
        let dims = Dims::new(&[1, self.width])?;
        let class = layers.add(Op::Tensor(TensorOp::Constant { dims }), &[NodeId::INPUT])?;
        let join = Op::Tensor(TensorOp::Join { axis: 0 });
        let all = layers.add(join, &[class, patches])?;
        let mut x = layers.places(all)?;
        for _ in 0..self.layers {
            let normed = layers.norm(x)?;
            let read = layers.attention(normed, None)?;
            x = layers.add(Op::Add, &[read, x])?;
            let normed = layers.norm(x)?;
            let own = layers.perceptron(normed)?;
            x = layers.add(Op::Add, &[own, x])?;
        }
        let x = layers.norm(x)?;
        let first = TensorOp::Slice {
            axis: 0,
            start: 0,
            count: 1,
            step: 1,
        };
        let first = layers.add(Op::Tensor(first), &[x])?;
        layers.linear(first, classes)?;
        Ok(layers.b.build()?)
    }
}

fn tensor(sizes: &[usize]) -> Result<Shape> {
    Ok(Shape::tensor(Dims::new(sizes)?))
}

impl Layers {
    fn new(of: Transformer, input: Shape) -> Self {
        Layers {
            of,
            b: GraphBuilder::new(input),
        }
    }

    /// Adds a layer that is named after its place.
    fn add(&mut self, op: Op, inputs: &[NodeId]) -> Result<NodeId> {
        let name = format!("layer{}", self.b.last().index());
        Ok(self.b.add(name, op, inputs)?)
    }

    fn linear(&mut self, x: NodeId, features: usize) -> Result<NodeId> {
        let bias = true;
        self.add(Op::Linear { features, bias }, &[x])
    }

    fn norm(&mut self, x: NodeId) -> Result<NodeId> {
        self.add(Op::LayerNorm { eps: 1e-5 }, &[x])
    }

    /// Adds what tells places apart.
    fn places(&mut self, x: NodeId) -> Result<NodeId> {
        let places = TensorOp::With {
            kind: Binary::Add,
            dims: Dims::new(&[self.of.tokens, self.of.width])?,
            first: false,
        };
        self.add(Op::Tensor(places), &[x])
    }

    fn perceptron(&mut self, x: NodeId) -> Result<NodeId> {
        let inner = self.linear(x, self.of.inner)?;
        let inner = self.add(Activation::Gelu.into(), &[inner])?;
        self.linear(inner, self.of.width)
    }

    /// Adds self-attention, with `mask` added to the scores, and the layer behind it.
    fn attention(&mut self, x: NodeId, mask: Option<NodeId>) -> Result<NodeId> {
        let Transformer {
            tokens,
            width,
            heads,
            ..
        } = self.of;
        let depth = width / heads;
        let mut read = Vec::new();
        for axes in [[1, 0, 2], [1, 2, 0], [1, 0, 2]] {
            let one = self.linear(x, width)?;
            let shape = tensor(&[tokens, heads, depth])?;
            let split = self.add(Op::Tensor(TensorOp::View { shape }), &[one])?;
            let order = Dims::new(&axes)?;
            read.push(self.add(Op::Tensor(TensorOp::Transpose { order }), &[split])?);
        }
        let product = Op::Tensor(TensorOp::MatMul);
        let by = (depth as f32).sqrt().recip();
        let scores = self.add(product, &read[..2])?;
        let mut scores = self.add(Op::Scale { by }, &[scores])?;
        if let Some(mask) = mask {
            let add = TensorOp::Binary { kind: Binary::Add };
            scores = self.add(Op::Tensor(add), &[scores, mask])?;
        }
        let shares = self.add(Op::Softmax, &[scores])?;
        let heads = self.add(product, &[shares, read[2]])?;
        let order = Dims::new(&[1, 0, 2])?;
        let back = self.add(Op::Tensor(TensorOp::Transpose { order }), &[heads])?;
        let shape = tensor(&[tokens, width])?;
        let rows = self.add(Op::Tensor(TensorOp::View { shape }), &[back])?;
        self.linear(rows, width)
    }
}
