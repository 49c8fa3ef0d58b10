//! Layer norms that a file writes as nine nodes, as exporters did before opset 17.

use super::{InnerNodes, PatternSearch, SpelledOut, Whole};
use crate::onnx::node::Node;

impl<'a> PatternSearch<'_, 'a> {
    /// Returns the norm that ends with a sum, the node number `at`.
    pub(super) fn norm(
        &self,
        end: Node<'a>,
        at: usize,
        inner: &mut InnerNodes,
    ) -> Option<SpelledOut<'a>> {
        self.orders(end).into_iter().find_map(|(scaled, shift)| {
            let (product, node) = self.made_by(scaled, "Mul")?;
            self.orders(node).into_iter().find_map(|(normed, scale)| {
                inner.clear();
                inner.push(product);
                let (input, eps) = self.normed(normed, inner)?;
                let constants = [scale, shift];
                let are = constants.iter().all(|name| self.is_initialiser(name));
                let whole = Whole::Norm { eps, scale, shift };
                (are && self.read_only_by(inner, at)).then_some(SpelledOut { input, whole })
            })
        })
    }

    /// Returns `x` and `eps` if `name` is `(x − mean) / √(variance + eps)`.
    fn normed(&self, name: &str, inner: &mut InnerNodes) -> Option<(&'a str, f32)> {
        let mut made = |name: &str, operator: &str| {
            let (at, node) = self.made_by(name, operator)?;
            inner.push(at);
            Some(node)
        };
        let [less, deviation] = made(name, "Div")?.inputs() else {
            return None;
        };
        let root = made(deviation, "Sqrt")?;
        let sum = made(root.inputs().first()?, "Add")?;
        let orders = self.orders(sum).into_iter();
        let with_eps = |(variance, eps)| Some((variance, self.scalar(eps)?));
        let (variance, eps) = orders.into_iter().find_map(with_eps)?;
        let mean = made(variance, "ReduceMean").filter(|n| self.is_over_last(*n))?;
        let square = mean.inputs().first()?;
        let of = match made(square, "Pow") {
            Some(power) => match power.inputs() {
                [of, by] if self.scalar(by) == Some(2.0) => of,
                _ => return None,
            },
            None => match made(square, "Mul")?.inputs() {
                [a, b] if a == b => a,
                _ => return None,
            },
        };
        let [x, mean] = made(less, "Sub")?.inputs() else {
            return None;
        };
        if of != less && made(of, "Sub")?.inputs() != [x.as_str(), mean.as_str()] {
            return None;
        }
        let mean = made(mean, "ReduceMean").filter(|n| self.is_over_last(*n))?;
        (mean.inputs().first() == Some(x)).then_some((x.as_str(), eps))
    }

    /// Returns the node of `operator` that makes `name`, and its position.
    fn made_by(&self, name: &str, operator: &str) -> Option<(usize, Node<'a>)> {
        let at = *self.makers.get(name)?;
        let node = self.nodes[at];
        (node.operator() == Some(operator)).then_some((at, node))
    }

    /// Returns whether a node reduces only the last axis, and keeps it.
    fn is_over_last(&self, node: Node<'a>) -> bool {
        let keeps = node.integer("keepdims").unwrap_or(1) != 0;
        let over = match (node.integers("axes"), node.inputs().get(1)) {
            (Some(written), _) => *written == [-1],
            (None, Some(name)) => self.scalar(name) == Some(-1.0),
            (None, None) => false,
        };
        keeps && over
    }

    fn is_initialiser(&self, name: &str) -> bool {
        self.network.initialisers.contains_key(name)
    }

    /// Returns whether only these nodes and the one at `end` read the values that these nodes make.
    fn read_only_by(&self, inner: &InnerNodes, end: usize) -> bool {
        let made = inner.iter().flat_map(|&at| self.nodes[at].outputs());
        made.into_iter().all(|name| {
            let readers = self.network.readers.get(name.as_str());
            let known = |at: &usize| *at == end || inner.contains(at);
            let answers = self.network.outputs.contains(&name.as_str());
            !answers && readers.is_none_or(|all| all.iter().all(known))
        })
    }
}
