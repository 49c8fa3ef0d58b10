//! The constant inputs of a node, and the results of folding them.

use crate::onnx::error::NodeFault;
use crate::onnx::tensor::Constant;

/// The answer of a node that is folded.
pub(super) type FoldedConstant = Result<Constant, NodeFault>;

/// Returns input `n` of a node.
///
/// # Errors
/// It is left out.
pub(super) fn input<'a>(
    inputs: &[Option<&'a Constant>],
    n: usize,
) -> Result<&'a Constant, NodeFault> {
    let given = inputs.get(n).copied().flatten();
    given.ok_or(NodeFault::NoInput(n))
}
