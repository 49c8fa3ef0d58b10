//! Activations, all of which end with a product.

use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::{MatchedNodes, PatternSearch, SpelledOut, near};
use crate::network::Activation as ActivationFunction;
use crate::onnx::node::Node;

impl<'a> PatternSearch<'_, 'a> {
    /// Returns the activation that ends with the product `end`.
    pub(super) fn product(
        &self,
        end: Node<'a>,
        inner: &mut MatchedNodes,
    ) -> Option<SpelledOut<'a>> {
        self.orders(end).into_iter().find_map(|(x, other)| {
            inner.clear();
            let whole = |function| SpelledOut::activation(x, function);
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
        inner: &mut MatchedNodes,
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
    fn halved(
        &self,
        x: &'a str,
        other: &'a str,
        inner: &mut MatchedNodes,
    ) -> Option<SpelledOut<'a>> {
        inner.clear();
        let (at, product) = self.inner(x).filter(|(_, n)| n.operator() == Some("Mul"))?;
        inner.push(at);
        let before = inner.len();
        let mut bell = |x: &'a str, gate: &'a str| {
            inner.truncate(before);
            let function = self.bell(x, gate, inner)?;
            Some(SpelledOut::activation(x, function))
        };
        if self.scalar(other).is_some_and(|half| near(half, 0.5)) {
            let mut orders = self.orders(product).into_iter();
            return orders.find_map(|(x, gate)| bell(x, gate));
        }
        bell(self.times(product, 0.5)?, other)
    }

    /// Returns the GELU for which `gate` is `1 + Erf(x / √2)` or what stands for it with tanh.
    fn bell(&self, x: &str, gate: &'a str, inner: &mut MatchedNodes) -> Option<ActivationFunction> {
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

    /// Returns `x` where `name` is `x / √2`.
    fn over_root(&self, name: &'a str, inner: &mut MatchedNodes) -> Option<&'a str> {
        let (at, node) = self.inner(name)?;
        inner.push(at);
        match (node.operator()?, node.inputs()) {
            ("Div", [x, by]) if near(self.scalar(by)?, SQRT_2) => Some(x),
            ("Mul", _) => self.times(node, FRAC_1_SQRT_2),
            _ => None,
        }
    }

    /// Returns `x` where `name` is `√(2/π) · (x + 0.044715 · x³)`.
    fn cubic(&self, name: &'a str, inner: &mut MatchedNodes) -> Option<&'a str> {
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

    fn is_cube(&self, name: &'a str, x: &str, inner: &mut MatchedNodes) -> bool {
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
}
