//! Operations that a file spells out in several nodes.
//!
//! | operation | nodes |
//! |---|---|
//! | SiLU | `x · Sigmoid(x)` |
//! | hard swish | `x · HardSigmoid(x)` with 1/6 and 1/2 |
//! | Mish | `x · Tanh(Softplus(x))` |
//! | GELU | `x · (1 + Erf(x / √2)) · 1/2`, in any order of the products |
//! | GELU by tanh | the same with `Tanh(√(2/π) · (x + 0.044715 · x³))` |
//! | norm of the last axis | `(x − m) / Sqrt(ReduceMean((x − m)²) + eps) · weight + bias` for `m = ReduceMean(x)` |
//!
//! The nodes before the last one are left out where nothing else reads them.

mod gates;
mod norms;

use std::collections::{HashMap, HashSet};

use super::node::Node;
use super::partial::PartialNetwork;
use super::tensor::Constant;
use crate::network::Activation as ActivationFunction;

/// An operation in place of several nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SpelledOut<'a> {
    /// The name of the value that it is applied to.
    pub(super) input: &'a str,
    pub(super) operation: SpelledOperation<'a>,
}

/// The operation that several nodes spell out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SpelledOperation<'a> {
    Activation(ActivationFunction),
    /// A norm along one axis, with the names of its weight and bias.
    LayerNorm {
        weight: &'a str,
        bias: &'a str,
        eps: f32,
        axis: i64,
    },
}

impl<'a> SpelledOut<'a> {
    fn activation(input: &'a str, function: ActivationFunction) -> Self {
        SpelledOut {
            input,
            operation: SpelledOperation::Activation(function),
        }
    }
}

/// The operations of a file that are spelled out.
#[derive(Debug, Default)]
pub(super) struct Patterns<'a> {
    /// Each by the position of its last node.
    pub(super) ends: HashMap<usize, SpelledOut<'a>>,
    /// The positions of the nodes before the last ones.
    pub(super) inner: HashSet<usize>,
}

impl<'a> Patterns<'a> {
    /// Finds all operations among the nodes of `network`'s file.
    pub(super) fn find(network: &PartialNetwork<'a>) -> Self {
        let nodes: Vec<Node<'a>> = network.model.nodes().collect();
        let mut makers = HashMap::new();
        for (at, node) in nodes.iter().enumerate() {
            makers.extend(node.outputs().iter().map(|name| (name.as_str(), at)));
        }
        let search = PatternSearch {
            network,
            nodes,
            makers,
        };
        let mut patterns = Patterns::default();
        for (at, node) in search.nodes.iter().enumerate() {
            let mut inner = Vec::new();
            let found = match node.operator() {
                Some("Mul") => search.product(*node, &mut inner),
                Some("Add") => search.norm(*node, &mut inner),
                _ => None,
            };
            if let Some(found) = found {
                patterns.ends.insert(at, found);
                patterns.inner.extend(inner);
            }
        }
        patterns
    }
}

/// The nodes of a file with the makers of values.
struct PatternSearch<'s, 'a> {
    network: &'s PartialNetwork<'a>,
    nodes: Vec<Node<'a>>,
    makers: HashMap<&'a str, usize>,
}

/// Positions of nodes on the way to a match.
type MatchedNodes = Vec<usize>;

impl<'a> PatternSearch<'_, 'a> {
    /// Returns the other operand of the node of `operator` that makes `name`, if one is `value`.
    fn constant_and(
        &self,
        name: &str,
        operator: &str,
        value: f32,
        inner: &mut MatchedNodes,
    ) -> Option<&'a str> {
        let found = self.inner(name);
        let (at, node) = found.filter(|(_, n)| n.operator() == Some(operator))?;
        inner.push(at);
        self.times(node, value)
    }

    /// Returns the operand of a node whose other one is `value`.
    fn times(&self, node: Node<'a>, value: f32) -> Option<&'a str> {
        let is = |name: &str| self.scalar(name).is_some_and(|found| near(found, value));
        let mut orders = self.orders(node).into_iter();
        orders.find(|(_, other)| is(other)).map(|(x, _)| x)
    }

    /// Returns the operands of a node of two in both orders.
    fn orders(&self, node: Node<'a>) -> Vec<(&'a str, &'a str)> {
        match node.inputs() {
            [a, b] => vec![(a, b), (b, a)],
            _ => Vec::new(),
        }
    }

    /// Returns the node that makes `name`, if exactly one node reads that and it is no answer.
    fn inner(&self, name: &str) -> Option<(usize, Node<'a>)> {
        let readers = self.network.readers.get(name)?;
        let at = *self.makers.get(name)?;
        let alone = readers.len() == 1 && name != self.network.output;
        Some((at, self.nodes[at])).filter(|(_, node)| alone && node.outputs().len() == 1)
    }

    /// Returns the value of a constant of one number, which adds no dimensions.
    fn scalar(&self, name: &str) -> Option<f32> {
        let written = self.maker(name, "Constant");
        let float = written.and_then(|(_, node)| node.float("value_float"));
        float.or_else(|| self.single(name)?.as_scalar())
    }

    /// Returns a constant of one value and at most one dimension.
    fn single(&self, name: &str) -> Option<Constant> {
        let initialiser = self.network.initialisers.get(name).copied();
        let written = || {
            let (_, node) = self.maker(name, "Constant")?;
            node.attribute("value")?.t.as_ref()
        };
        let tensor = initialiser.or_else(written)?;
        let is_single = tensor.dims.len() <= 1 && tensor.dims.iter().all(|d| *d == 1);
        let read = || Constant::read(tensor, self.network.model.folder.as_deref());
        is_single.then(read)?.ok()
    }

    /// Returns the node that makes `name`, if it is of `operator`.
    fn maker(&self, name: &str, operator: &str) -> Option<(usize, Node<'a>)> {
        let at = *self.makers.get(name)?;
        Some((at, self.nodes[at])).filter(|(_, node)| node.operator() == Some(operator))
    }
}

/// Whether a constant is the one meant, perhaps rounded to half precision.
fn near(found: f32, value: f32) -> bool {
    (found - value).abs() <= 1e-3 * value.abs()
}
