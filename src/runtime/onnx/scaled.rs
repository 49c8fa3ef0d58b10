//! Products of integers with the nodes that scale them back to numbers.

use super::node::Node;
use super::tensor::Constant;

/// A product of integers and the nodes after it, as a layer of the numbers they represent.
pub(super) struct ScaledProduct<'a> {
    /// The numbers that the constant integers represent, `[inputs, features]`.
    pub(super) matrix: Constant,
    pub(super) cast: Node<'a>,
    /// The product with the scales.
    pub(super) last: Node<'a>,
    /// The positions of these two nodes, and of the product of the scales.
    pub(super) absorbed: [usize; 3],
}
