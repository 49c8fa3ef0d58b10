//! Entries and heads that builders share.

use crate::network::error::GraphError;
use crate::network::graph::{Graph, GraphBuilder, NodeId};
use crate::network::op::Op;

/// Returns the input, resized to a square of side `upscale` if that is given.
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

/// Adds a global average pool and the classifier called `name`, and finishes the network.
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

/// Returns a fully connected layer with biases.
pub(super) fn linear(features: usize) -> Op {
    Op::Linear {
        features,
        bias: true,
    }
}
