//! Vision transformers (Dosovitskiy et al., "An image is worth 16×16 words", table 1 and
//! equations 1 to 4), with torchvision's names; as timm names them, also DeiT's (Touvron et al.,
//! "Training data-efficient image transformers", table 1). An image may have any sides that are
//! multiples of a patch: there is a position for each of its patches.

use super::plain::linear;
use super::row::{PublishedRow, row};
use super::transformer::{AttentionNames, MlpNames, attention, mlp, tensor};
use crate::network::{
    Binary, Conv2d, Dims, Graph, GraphBuilder, GraphError, NodeId, Op, ParameterOrigin, Shape,
    TensorOp,
};

/// The networks of both papers, by side of a patch.
pub(super) const NETWORKS: [PublishedRow; 8] = [
    row("deit-base-patch16-224", 224, |b, c| {
        BASE.build(b, 16, &TIMM, c)
    }),
    row("deit-small-patch16-224", 224, |b, c| {
        SMALL.build(b, 16, &TIMM, c)
    }),
    row("deit-tiny-patch16-224", 224, |b, c| {
        TINY.build(b, 16, &TIMM, c)
    }),
    row("vit-b-16", 224, |b, c| BASE.build(b, 16, &TORCHVISION, c)),
    row("vit-b-32", 224, |b, c| BASE.build(b, 32, &TORCHVISION, c)),
    row("vit-base-patch16-224", 224, |b, c| {
        BASE.build(b, 16, &TIMM, c)
    }),
    row("vit-l-16", 224, |b, c| LARGE.build(b, 16, &TORCHVISION, c)),
    row("vit-l-32", 224, |b, c| LARGE.build(b, 32, &TORCHVISION, c)),
];

/// Layers, features and heads.
struct Vit {
    layers: usize,
    width: usize,
    heads: usize,
}

const TINY: Vit = size(12, 192, 3);
const SMALL: Vit = size(12, 384, 6);
const BASE: Vit = size(12, 768, 12);
const LARGE: Vit = size(24, 1024, 16);

const fn size(layers: usize, width: usize, heads: usize) -> Vit {
    Vit {
        layers,
        width,
        heads,
    }
}

/// The names of a library's parameters.
struct VitNames {
    patches: &'static str,
    class: &'static str,
    positions: &'static str,
    /// The prefix of a layer's names, followed by its number.
    layer: &'static str,
    first_norm: &'static str,
    attention: AttentionNames,
    second_norm: &'static str,
    mlp: MlpNames,
    norm: &'static str,
    head: &'static str,
}

const TORCHVISION: VitNames = VitNames {
    patches: "conv_proj",
    class: "class_token",
    positions: "encoder.pos_embedding",
    layer: "encoder.layers.encoder_layer_",
    first_norm: "ln_1",
    attention: AttentionNames {
        all: "self_attention.in_proj",
        separator: "_",
        out: "self_attention.out_proj",
    },
    second_norm: "ln_2",
    mlp: MlpNames {
        widen: "mlp.0",
        narrow: "mlp.3",
    },
    norm: "encoder.ln",
    head: "heads.head",
};

const TIMM: VitNames = VitNames {
    patches: "patch_embed.proj",
    class: "cls_token",
    positions: "pos_embed",
    layer: "blocks.",
    first_norm: "norm1",
    attention: AttentionNames {
        all: "attn.qkv",
        separator: ".",
        out: "attn.proj",
    },
    second_norm: "norm2",
    mlp: MlpNames {
        widen: "mlp.fc1",
        narrow: "mlp.fc2",
    },
    norm: "norm",
    head: "head",
};

const NORM: Op = Op::LayerNorm { eps: 1e-6 };

impl Vit {
    fn build(
        &self,
        mut b: GraphBuilder,
        patch: usize,
        names: &VitNames,
        classes: usize,
    ) -> Result<Graph, GraphError> {
        let mut x = self.embedded(&mut b, patch, names)?;
        for layer in 0..self.layers {
            x = self.layer(&mut b, &format!("{}{layer}", names.layer), names, x)?;
        }
        // The norm and the head read only the class token.
        let first = TensorOp::Slice {
            axis: 0,
            start: 0,
            count: 1,
            step: 1,
        };
        let x = b.add("class", Op::Tensor(first), &[x])?;
        let shape = Shape::vector(self.width);
        let x = b.add("class.vector", Op::Tensor(TensorOp::View { shape }), &[x])?;
        let x = b.add(names.norm, NORM, &[x])?;
        b.add(names.head, linear(classes), &[x])?;
        b.build()
    }

    /// Equation 1: the class's token, then a token for each patch, plus their positions.
    fn embedded(
        &self,
        b: &mut GraphBuilder,
        patch: usize,
        names: &VitNames,
    ) -> Result<NodeId, GraphError> {
        let width = self.width;
        let conv = Conv2d::new(width, patch).strided(patch).biased();
        let x = b.add(names.patches, Op::Conv2d(conv), &[NodeId::INPUT])?;
        let tokens = b.shape(x).elements() / width;
        let shape = Shape::Tensor(tensor(&[tokens, width])?);
        let x = b.add("tokens", Op::Tensor(TensorOp::View { shape }), &[x])?;
        let dims = tensor(&[1, width])?;
        let class = Op::Tensor(TensorOp::Constant { dims });
        let origin = stored(names.class, &dims);
        let class = b.add_from(names.class, class, &[NodeId::INPUT], origin)?;
        let join = Op::Tensor(TensorOp::Join { axis: 0 });
        let x = b.add("tokens.all", join, &[class, x])?;
        let dims = tensor(&[tokens + 1, width])?;
        let with = TensorOp::With {
            kind: Binary::Add,
            dims,
            first: false,
        };
        let origin = stored(names.positions, &dims);
        b.add_from(names.positions, Op::Tensor(with), &[x], origin)
    }

    /// Equations 2 and 3.
    fn layer(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        names: &VitNames,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let part = |suffix: &str| format!("{name}.{suffix}");
        let x = b.add(part(names.first_norm), NORM, &[input])?;
        let x = attention(b, name, &names.attention, self.heads, &[], x)?;
        let middle = b.add(part("add1"), Op::Add, &[x, input])?;
        let x = b.add(part(names.second_norm), NORM, &[middle])?;
        let x = mlp(b, name, &names.mlp, x)?;
        b.add(part("add2"), Op::Add, &[x, middle])
    }
}

/// Returns the origin of a parameter `value` of `dims` that files hold for a batch of one.
fn stored(name: &str, dims: &Dims) -> Vec<(&'static str, ParameterOrigin)> {
    let tensor = ParameterOrigin::Tensor {
        name: name.to_owned(),
        shape: [&[1], &dims[..]].concat(),
    };
    vec![("value", tensor)]
}
