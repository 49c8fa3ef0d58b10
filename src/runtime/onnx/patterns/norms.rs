//! Norms across the last axis, as files before operator set 17 write them.

use super::{MatchedNodes, PatternSearch, SpelledOperation, SpelledOut};
use crate::onnx::node::Node;

impl<'a> PatternSearch<'_, 'a> {
    /// Returns the norm that ends with the sum `end`.
    pub(super) fn norm(&self, end: Node<'a>, inner: &mut MatchedNodes) -> Option<SpelledOut<'a>> {
        self.orders(end).into_iter().find_map(|(product, bias)| {
            inner.clear();
            let product = self.made(product, "Mul", inner)?;
            let before = inner.len();
            self.orders(product)
                .into_iter()
                .find_map(|(quotient, weight)| {
                    inner.truncate(before);
                    let (input, axis, eps) = self.normed(quotient, inner)?;
                    if !self.is_row(weight) || !self.is_row(bias) {
                        return None;
                    }
                    let operation = SpelledOperation::LayerNorm {
                        weight,
                        bias,
                        eps,
                        axis,
                    };
                    Some(SpelledOut { input, operation })
                })
        })
    }

    /// Whether the name is that of a constant of one dimension.
    fn is_row(&self, name: &str) -> bool {
        let tensor = self.network.initialisers.get(name);
        tensor.is_some_and(|tensor| tensor.dims.len() == 1)
    }

    /// Returns the value, axis and `eps` of which `name` is the norm without weight and bias.
    fn normed(&self, name: &'a str, inner: &mut MatchedNodes) -> Option<(&'a str, i64, f32)> {
        let quotient = self.made(name, "Div", inner)?;
        let [apart, deviation] = quotient.inputs() else {
            return None;
        };
        let root = self.made(deviation, "Sqrt", inner)?;
        let sum = self.made(root.inputs().first()?, "Add", inner)?;
        let mut orders = self.orders(sum).into_iter();
        let (variance, eps) = orders.find_map(|(v, eps)| Some((v, self.scalar(eps)?)))?;
        let variance = self.made(variance, "ReduceMean", inner)?;
        let square = variance.inputs().first()?;
        let axis = self.axis_kept(variance)?;
        let squared = self.squared(square, inner)?;
        let (input, other) = self.apart(apart, inner)?;
        (squared == apart && axis == other).then_some((input, axis, eps))
    }

    /// Returns the name of the value of which `name` is the square.
    fn squared(&self, name: &str, inner: &mut MatchedNodes) -> Option<&'a str> {
        let (at, node) = self.inner(name)?;
        inner.push(at);
        match (node.operator()?, node.inputs()) {
            ("Pow", [of, two]) if self.scalar(two) == Some(2.0) => Some(of),
            ("Mul", [a, b]) if a == b => Some(a),
            _ => None,
        }
    }

    /// Returns the value and axis of which `name` is the difference from the mean, where the
    /// nodes of the norm alone read that: its square and its quotient.
    fn apart(&self, name: &str, inner: &mut MatchedNodes) -> Option<(&'a str, i64)> {
        let (at, node) = self.maker(name, "Sub")?;
        let readers = self.network.readers.get(name)?;
        let alone = readers.iter().all(|reader| inner.contains(reader));
        let [input, mean] = node.inputs() else {
            return None;
        };
        inner.push(at);
        let mean = self.made(mean, "ReduceMean", inner)?;
        let of_input = mean.inputs().first() == Some(input) && name != self.network.output;
        Some((input.as_str(), self.axis_kept(mean)?)).filter(|_| of_input && alone)
    }

    /// Returns the only axis of a mean that keeps it as a dimension of 1.
    fn axis_kept(&self, node: Node<'a>) -> Option<i64> {
        let given = || {
            let constant = self.single(node.inputs().get(1)?)?;
            constant.as_integers()?.first().copied()
        };
        let written = node.integers("axes").filter(|axes| axes.len() == 1);
        let axis = written.map(|axes| axes[0]).or_else(given)?;
        (node.integer("keepdims").unwrap_or(1) == 1).then_some(axis)
    }

    /// Returns the node of `operator` that makes `name`, if nothing else reads that.
    fn made(&self, name: &str, operator: &str, inner: &mut MatchedNodes) -> Option<Node<'a>> {
        let found = self.inner(name);
        let (at, node) = found.filter(|(_, node)| node.operator() == Some(operator))?;
        inner.push(at);
        Some(node)
    }
}
