//! Activations and norms that a file writes as several nodes.
//!
//! | operation | nodes |
//! |---|---|
//! | SiLU | `x · Sigmoid(x)` |
//! | hard swish | `x · HardSigmoid(x)` with 1/6 and 1/2 |
//! | Mish | `x · Tanh(Softplus(x))` |
//! | GELU | `x · (1 + Erf(x / √2)) · 1/2`, in any order of the products |
//! | GELU by tanh | the same with `Tanh(√(2/π) · (x + 0.044715 · x³))` |
//! | 0 for NaN | `Where(IsNaN(x), 0, x)` |
//! | layer norm | `(x − mean) / √(variance + eps) · scale + shift`, means by `ReduceMean` |
//!
//! Activations end with a product, norms with a sum. The nodes before the end are dropped unless
//! other nodes read them.

mod norm;

use std::collections::{HashMap, HashSet};
use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::node::Node;
use super::partial::PartialNetwork;
use super::tensor::Constant;
use crate::network::Activation as ActivationFunction;

/// An operation that replaces several nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SpelledOut<'a> {
    /// The name of the value that it is applied to.
    pub(super) input: &'a str,
    pub(super) whole: Whole<'a>,
}

/// An operation made of several nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Whole<'a> {
    Function(ActivationFunction),
    /// 0 for NaN.
    NanToZero,
    /// A layer norm over the last axis.
    Norm {
        eps: f32,
        /// The name of the constant that is multiplied by.
        scale: &'a str,
        /// The name of the constant that is added.
        shift: &'a str,
    },
}

impl From<ActivationFunction> for Whole<'_> {
    fn from(function: ActivationFunction) -> Self {
        Whole::Function(function)
    }
}

/// The operations that a file writes as several nodes.
#[derive(Debug, Default)]
pub(super) struct Patterns<'a> {
    /// Each by the position of its last node.
    pub(super) ends: HashMap<usize, SpelledOut<'a>>,
    /// The positions of the nodes before the last ones.
    pub(super) inner: HashSet<usize>,
}

impl<'a> Patterns<'a> {
    /// Finds all such operations among the nodes of `network`'s file.
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
                Some("Add") => search.norm(*node, at, &mut inner),
                Some("Where") => search.nan_to_zero(*node, &mut inner),
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
type InnerNodes = Vec<usize>;

impl<'a> PatternSearch<'_, 'a> {
    /// Matches the guard that PyTorch's exporter adds after the softmax of attention.
    fn nan_to_zero(&self, end: Node<'a>, inner: &mut InnerNodes) -> Option<SpelledOut<'a>> {
        let [condition, zero, x] = end.inputs() else {
            return None;
        };
        let (at, test) = self.inner(condition)?;
        inner.push(at);
        let tests = test.operator() == Some("IsNaN") && test.inputs().first() == Some(x);
        (tests && self.scalar(zero) == Some(0.0)).then_some(SpelledOut {
            input: x,
            whole: Whole::NanToZero,
        })
    }

    fn product(&self, end: Node<'a>, inner: &mut InnerNodes) -> Option<SpelledOut<'a>> {
        self.orders(end).into_iter().find_map(|(x, other)| {
            inner.clear();
            let whole = |function: ActivationFunction| SpelledOut {
                input: x,
                whole: function.into(),
            };
            self.gate_of(x, other, inner)
                .map(whole)
                .or_else(|| self.halved(x, other, inner))
        })
    }

    /// Returns the function for which `other` is `function(x) / x`.
    fn gate_of(
        &self,
        x: &str,
        other: &'a str,
        inner: &mut InnerNodes,
    ) -> Option<ActivationFunction> {
        let (at, node) = self.inner(other)?;
        inner.push(at);
        let reads_x = node.inputs().first().is_some_and(|name| name == x);
        match node.operator()? {
            "Sigmoid" if reads_x => Some(ActivationFunction::Silu),
            "HardSigmoid" if reads_x => {
                let alpha = near(node.float("alpha")?, 1.0 / 6.0);
                let beta = near(node.float("beta").unwrap_or(0.5), 0.5);
                (alpha && beta).then_some(ActivationFunction::HardSwish)
            }
            "Tanh" => {
                let (at, softplus) = self.inner(node.inputs().first()?)?;
                inner.push(at);
                let fits = softplus.operator() == Some("Softplus");
                let fits = fits && softplus.inputs().first().is_some_and(|name| name == x);
                fits.then_some(ActivationFunction::Mish)
            }
            "Mul" => self.bell(x, self.times(node, 0.5)?, inner),
            _ => None,
        }
    }

    /// Matches a GELU whose last product is with 1/2, or whose first operand is halved.
    fn halved(&self, x: &'a str, other: &'a str, inner: &mut InnerNodes) -> Option<SpelledOut<'a>> {
        inner.clear();
        let (at, product) = self.inner(x).filter(|(_, n)| n.operator() == Some("Mul"))?;
        inner.push(at);
        let before = inner.len();
        let mut bell = |x: &'a str, gate: &'a str| {
            inner.truncate(before);
            let function = self.bell(x, gate, inner)?;
            Some(SpelledOut {
                input: x,
                whole: function.into(),
            })
        };
        if self.scalar(other).is_some_and(|half| near(half, 0.5)) {
            let mut orders = self.orders(product).into_iter();
            return orders.find_map(|(x, gate)| bell(x, gate));
        }
        bell(self.times(product, 0.5)?, other)
    }

    /// Returns the GELU if `gate` is `1 + Erf(x / √2)` or its equivalent with tanh.
    fn bell(&self, x: &str, gate: &'a str, inner: &mut InnerNodes) -> Option<ActivationFunction> {
        let curve = self.constant_and(gate, "Add", 1.0, inner)?;
        let (at, node) = self.inner(curve)?;
        inner.push(at);
        let argument = node.inputs().first()?;
        match node.operator()? {
            "Erf" => self.over_root(argument, inner).filter(|of| *of == x),
            "Tanh" => self.cubic(argument, inner).filter(|of| *of == x),
            _ => None,
        }?;
        Some(match node.operator()? {
            "Erf" => ActivationFunction::Gelu,
            _ => ActivationFunction::GeluTanh,
        })
    }

    /// Returns `x` if `name` is `x / √2`.
    fn over_root(&self, name: &'a str, inner: &mut InnerNodes) -> Option<&'a str> {
        let (at, node) = self.inner(name)?;
        inner.push(at);
        match (node.operator()?, node.inputs()) {
            ("Div", [x, by]) if near(self.scalar(by)?, SQRT_2) => Some(x),
            ("Mul", _) => self.times(node, FRAC_1_SQRT_2),
            _ => None,
        }
    }

    /// Returns `x` if `name` is `√(2/π) · (x + 0.044715 · x³)`.
    fn cubic(&self, name: &'a str, inner: &mut InnerNodes) -> Option<&'a str> {
        let sum = self.constant_and(name, "Mul", 0.797_884_6, inner)?;
        let (at, node) = self
            .inner(sum)
            .filter(|(_, n)| n.operator() == Some("Add"))?;
        inner.push(at);
        let before = inner.len();
        self.orders(node).into_iter().find_map(|(x, cube)| {
            inner.truncate(before);
            let cube = self.constant_and(cube, "Mul", 0.044_715, inner)?;
            self.is_cube(cube, x, inner).then_some(x)
        })
    }

    fn is_cube(&self, name: &'a str, x: &str, inner: &mut InnerNodes) -> bool {
        let Some((at, node)) = self.inner(name) else {
            return false;
        };
        inner.push(at);
        match (node.operator(), node.inputs()) {
            (Some("Pow"), [of, by]) => of == x && self.scalar(by) == Some(3.0),
            (Some("Mul"), [a, b]) => {
                let square = if a == x { b } else { a };
                let made = self.inner(square).filter(|_| a == x || b == x);
                made.is_some_and(|(at, node)| {
                    inner.push(at);
                    node.operator() == Some("Mul") && node.inputs().iter().all(|of| of == x)
                })
            }
            _ => false,
        }
    }

    /// Returns the other operand of the node of `operator` that makes `name`, if one is `value`.
    fn constant_and(
        &self,
        name: &str,
        operator: &str,
        value: f32,
        inner: &mut InnerNodes,
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

    /// Returns the node that makes `name`, if exactly one node reads it and it is not an answer.
    fn inner(&self, name: &str) -> Option<(usize, Node<'a>)> {
        let readers = self.network.readers.get(name)?;
        let at = *self.makers.get(name)?;
        let alone = readers.len() == 1 && !self.network.outputs.contains(&name);
        Some((at, self.nodes[at])).filter(|(_, node)| alone && node.outputs().len() == 1)
    }

    /// Returns the value of a constant of one number, which adds no dimensions.
    fn scalar(&self, name: &str) -> Option<f32> {
        let initialiser = self.network.initialisers.get(name).copied();
        let written = || {
            let node = self.makers.get(name).map(|&at| self.nodes[at]);
            let node = node.filter(|n| n.operator() == Some("Constant"))?;
            node.float("value_float")
                .map(Err)
                .or_else(|| node.attribute("value")?.t.as_ref().map(Ok))
        };
        match initialiser.map(Ok).or_else(written)? {
            Err(value) => Some(value),
            Ok(tensor) if tensor.dims.len() <= 1 && tensor.dims.iter().all(|d| *d == 1) => {
                let read = Constant::read(tensor, self.network.model.beside.as_ref(), None);
                read.ok()?.as_scalar()
            }
            Ok(_) => None,
        }
    }
}

/// Returns whether a constant is the expected one, perhaps rounded to half precision.
fn near(found: f32, value: f32) -> bool {
    (found - value).abs() <= 1e-3 * value.abs()
}
