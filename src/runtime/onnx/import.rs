//! Turns the nodes of a file into operations of a network, one after the other.

use std::collections::HashSet;

use super::error::{ModelFault, NodeFault, OnnxError, Unsupported};
use super::fold::fold;
use super::model::{OnnxModel, size, written};
use super::node::Node;
use super::operators;
use super::partial::{Activation, DimOrder, PartialNetwork, Refusal, Value};
use super::patterns::{Patterns, SpelledOperation, SpelledOut};
use super::tensor::{Constant, Values};
use crate::network::{Graph, Shape, Weights};

/// A network and its weights.
#[derive(Debug)]
pub struct OnnxNetwork {
    /// The operations.
    pub graph: Graph,
    /// The values of all parameters.
    pub weights: Weights,
}

impl OnnxModel {
    /// Turns the model into a network for samples of `shape`, or of the shape in the file.
    ///
    /// # Errors
    /// The model does not take such samples, or holds nodes that cannot be computed: all of
    /// them are named at once.
    pub fn network(&self, shape: Option<Shape>) -> Result<OnnxNetwork, OnnxError> {
        let dims = self.sample_dims().map_err(OnnxError::Model)?;
        let fits = |shape: &Shape| {
            let asked: Vec<usize> = (*shape).into();
            let sizes = dims.iter().map(size);
            asked.len() == dims.len() && sizes.zip(asked).all(|(d, a)| d.is_none_or(|d| d == a))
        };
        let sample = match shape {
            Some(shape) => Some(shape).filter(fits),
            None => self.sample()?,
        };
        let Some(sample) = sample else {
            let name = self.input().map_err(OnnxError::Model)?.name.clone();
            return Err(OnnxError::Model(ModelFault::SampleShape {
                name: name.unwrap_or_default(),
                expected: dims.iter().map(written).collect(),
                found: shape.map_or_else(|| "none given".into(), |s| s.to_string()),
            }));
        };
        PartialNetwork::new(self, sample)?.complete()
    }
}

impl<'a> PartialNetwork<'a> {
    /// Adds all nodes that the output needs.
    fn complete(mut self) -> Result<OnnxNetwork, OnnxError> {
        let needed = self.needed();
        let patterns = Patterns::find(&self);
        self.absorbed.extend(&patterns.inner);
        for (at, node) in self.model.nodes().enumerate() {
            match patterns.ends.get(&at) {
                _ if !needed.contains(&at) || self.absorbed.contains(&at) => {}
                Some(whole) => self.spelled_out(node, *whole)?,
                None => self.node(node)?,
            }
        }
        if !self.unsupported.is_empty() {
            return Err(OnnxError::Unsupported(self.unsupported));
        }
        match self.values.get(self.output) {
            Some(Value::Activation(last))
                if last.id == self.builder.last() && last.order == DimOrder::ChannelsFirst => {}
            _ => return Err(OnnxError::Model(ModelFault::Output(self.output.to_owned()))),
        }
        let graph = self.builder.build()?;
        let weights = Weights::from_values(self.weights, &graph)?;
        Ok(OnnxNetwork { graph, weights })
    }

    /// Returns the nodes that the output depends on, by position.
    fn needed(&self) -> HashSet<usize> {
        let nodes: Vec<Node<'_>> = self.model.nodes().collect();
        let mut wanted = HashSet::from([self.output]);
        let mut needed = HashSet::new();
        for (at, node) in nodes.iter().enumerate().rev() {
            if node
                .outputs()
                .iter()
                .any(|name| wanted.contains(name.as_str()))
            {
                needed.insert(at);
                let read = node.inputs().iter().filter(|name| !name.is_empty());
                wanted.extend(read.map(String::as_str));
            }
        }
        needed
    }

    /// Adds an operation in place of the nodes that spell it out, of which `end` is the last.
    fn spelled_out(&mut self, end: Node<'a>, whole: SpelledOut<'a>) -> Result<(), OnnxError> {
        let mut inputs = vec![Some(self.value(whole.input)?)];
        if let SpelledOperation::LayerNorm { weight, bias, .. } = whole.operation {
            inputs.extend([Some(self.value(weight)?), Some(self.value(bias)?)]);
        }
        let added = operators::add_spelled(self, end, whole.operation, inputs);
        self.keep(end, added)
    }

    fn node(&mut self, node: Node<'a>) -> Result<(), OnnxError> {
        let inputs = self.inputs(node)?;
        if let Some(folded) = folded(node, &inputs) {
            let constant = folded.map_err(|fault| failed(node, fault))?;
            self.set(node, Value::Constant(constant));
            return Ok(());
        }
        let added = operators::add(self, node, inputs);
        self.keep(node, added)
    }

    /// Keeps the answer of a node, or the reason why there is none.
    fn keep(
        &mut self,
        node: Node<'a>,
        added: Result<Activation, Refusal>,
    ) -> Result<(), OnnxError> {
        let refused = match added {
            Ok(activation) => {
                self.set(node, Value::Activation(activation));
                return Ok(());
            }
            Err(Refusal::Fault(fault)) => return Err(failed(node, fault)),
            Err(Refusal::Unsupported(why)) => why,
        };
        // What follows a node that cannot be computed is not judged by it.
        if !refused.is_empty() {
            let node = node.label();
            let why = refused;
            self.unsupported.push(Unsupported { node, why });
        }
        self.set(node, Value::Unknown);
        Ok(())
    }
}

fn failed(node: Node<'_>, fault: NodeFault) -> OnnxError {
    OnnxError::Node {
        node: node.label(),
        fault: Box::new(fault),
    }
}

/// Returns the constant that a node makes, or `None` if it depends on the sample's values.
fn folded(node: Node<'_>, inputs: &[Option<Value>]) -> Option<Result<Constant, NodeFault>> {
    match (node.operator()?, inputs) {
        ("Constant", []) => return Some(value(node)),
        ("Shape", [Some(Value::Activation(of))]) => return Some(shape(node, &of.dims)),
        ("Shape", [Some(Value::Constant(of))]) => return Some(shape(node, &of.dims)),
        _ => {}
    }
    let constants = inputs.iter().map(|value| match value {
        Some(Value::Constant(constant)) => Some(Some(constant)),
        None => Some(None),
        _ => None,
    });
    let constants: Vec<Option<&Constant>> = constants.collect::<Option<_>>()?;
    fold(node, &constants)
}

/// Returns dimensions as a vector, from `start` to `end` where the node says so.
fn shape(node: Node<'_>, dims: &[usize]) -> Result<Constant, NodeFault> {
    let rank = dims.len() as i64;
    let bound = |name: &str, default: i64| {
        let written = node.integer(name).unwrap_or(default);
        let from_start = if written < 0 {
            written.saturating_add(rank)
        } else {
            written
        };
        from_start.clamp(0, rank) as usize
    };
    let (start, end) = (bound("start", 0), bound("end", rank));
    let part = dims.get(start..end).unwrap_or_default();
    Ok(Constant::integers(part.iter().map(|&d| d as i64).collect()))
}

/// Returns the value of a node `Constant`.
fn value(node: Node<'_>) -> Result<Constant, NodeFault> {
    let attribute = |name| node.attribute(name);
    if let Some(tensor) = attribute("value").and_then(|a| a.t.as_ref()) {
        let read = Constant::read(tensor, None);
        return read.map_err(|why| NodeFault::Shapes(why.to_string()));
    }
    let scalar = |values| Constant {
        dims: Vec::new(),
        values,
    };
    if let Some(value) = node.float("value_float") {
        return Ok(scalar(Values::Floats(vec![value])));
    }
    if let Some(value) = node.integer("value_int") {
        return Ok(scalar(Values::Integers(vec![value])));
    }
    if let Some(values) = node.integers("value_ints") {
        return Ok(Constant::integers(values.to_vec()));
    }
    if let Some(values) = attribute("value_floats") {
        return Ok(Constant {
            dims: vec![values.floats.len()],
            values: Values::Floats(values.floats.clone()),
        });
    }
    Err(NodeFault::Attribute {
        name: "value",
        expected: "a tensor or numbers".into(),
    })
}
