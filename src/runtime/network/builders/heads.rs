//! Entries and heads that builders share.

use crate::network::error::GraphError;
use crate::network::graph::{Graph, GraphBuilder, NodeId};
use crate::network::op::Op;

/// Resizes the input to a square of side `upscale` where one is given.
pub(super) fn enter(
    builder: &mut GraphBuilder,
    upscale: Option<usize>,
) -> Result<NodeId, GraphError> {
    match upscale {
        None => Ok(NodeId::INPUT),
        Some(side) => builder.add(
            "upscale",
            Op::Upscale {
                height: side,
                width: side,
            },
            &[NodeId::INPUT],
        ),
    }
}

/// Global average pool and the classifier named `name`; finishes the network.
pub(super) fn classify(
    mut builder: GraphBuilder,
    name: &str,
    from: NodeId,
    classes: usize,
) -> Result<Graph, GraphError> {
    let x = builder.add("avgpool", Op::GlobalAvgPool, &[from])?;
    builder.add(name, linear(classes), &[x])?;
    builder.build()
}

/// A fully connected layer with biases.
pub(super) fn linear(features: usize) -> Op {
    Op::Linear {
        features,
        bias: true,
    }
}
