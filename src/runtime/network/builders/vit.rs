//! The two ends of vision transformers (Dosovitskiy et al., "An image is worth 16×16 words",
//! equations 1 and 4). An image may have any sides that are multiples of a patch: there is a
//! position for each of its patches.

use serde::Deserialize;

use super::transformer::tensor;
use crate::network::{
    Binary, Dims, GraphBuilder, GraphError, NodeId, Op, ParameterOrigin, Shape, TensorOp,
};

/// Equation 1: the class's token, then a token for each pixel of the last value, plus their
/// positions.
#[derive(Deserialize)]
pub(super) struct PositionedTokens {
    /// The name of the class's token.
    class: String,
    /// The name of the positions.
    positions: String,
}

impl PositionedTokens {
    pub(super) fn add(&self, b: &mut GraphBuilder) -> Result<(), GraphError> {
        let x = b.last();
        let width = b.shape(x).channels();
        let tokens = b.shape(x).elements() / width;
        let shape = Shape::Tensor(tensor(&[tokens, width])?);
        let x = b.add("tokens", Op::Tensor(TensorOp::View { shape }), &[x])?;
        let dims = tensor(&[1, width])?;
        let class = Op::Tensor(TensorOp::Constant { dims });
        let origin = stored(&self.class, &dims);
        let class = b.add_from(&self.class, class, &[NodeId::INPUT], origin)?;
        let join = Op::Tensor(TensorOp::Join { axis: 0 });
        let x = b.add("tokens.all", join, &[class, x])?;
        let dims = tensor(&[tokens + 1, width])?;
        let with = TensorOp::With {
            kind: Binary::Add,
            dims,
            first: false,
        };
        let origin = stored(&self.positions, &dims);
        b.add_from(&self.positions, Op::Tensor(with), &[x], origin)?;
        Ok(())
    }
}

/// Adds the class's token alone, which the last layers read.
pub(super) fn add_class(b: &mut GraphBuilder) -> Result<(), GraphError> {
    let first = TensorOp::Slice {
        axis: 0,
        start: 0,
        count: 1,
        step: 1,
    };
    let x = b.add("class", Op::Tensor(first), &[b.last()])?;
    let shape = Shape::vector(b.shape(x).channels());
    b.add("class.vector", Op::Tensor(TensorOp::View { shape }), &[x])?;
    Ok(())
}

/// Returns the origin of a parameter `value` of `dims` that files hold for a batch of one.
fn stored(name: &str, dims: &Dims) -> Vec<(&'static str, ParameterOrigin)> {
    let tensor = ParameterOrigin::Tensor {
        name: name.to_owned(),
        shape: [&[1], &dims[..]].concat(),
    };
    vec![("value", tensor)]
}
