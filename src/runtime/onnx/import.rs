//! Turns the nodes of a file into operations of a network, one after the other.
//!
//! A value is a constant, or an activation: a value of the network, seen under dimensions that
//! begin with a batch of one. A view (a reshape, a flatten of a vector) is no operation: it is
//! the same activation under other dimensions.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::error::{ModelFault, NodeFault, OnnxError, Unsupported};
use super::fold::fold;
use super::model::{OnnxModel, OnnxNetwork};
use super::node::Node;
use super::operators;
use super::proto::TensorProto;
use super::tensor::{Constant, Values};
use crate::network::{GraphBuilder, GraphError, NodeId, Op, Shape, Weights};

/// A value of the network under the dimensions that the file sees, the first of them the
/// batch's.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    pub(super) id: NodeId,
    pub(super) dims: Vec<usize>,
}

/// A value of the file.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Constant(Constant),
    Activation(Activation),
    /// The answer of a node that cannot be computed.
    Unknown,
}

/// The reason why a node makes no operation.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is sound, and nothing here computes it.
    Unsupported(String),
    /// It contradicts itself or its inputs.
    Fault(NodeFault),
}

impl From<NodeFault> for Refusal {
    fn from(fault: NodeFault) -> Self {
        Refusal::Fault(fault)
    }
}

impl From<GraphError> for Refusal {
    fn from(error: GraphError) -> Self {
        Refusal::Fault(NodeFault::Graph(error))
    }
}

/// A network while it is built.
pub(super) struct Import<'a> {
    model: &'a OnnxModel,
    output: &'a str,
    initialisers: HashMap<&'a str, &'a TensorProto>,
    values: HashMap<&'a str, Value>,
    /// The nodes that read each value, by position.
    readers: HashMap<&'a str, Vec<usize>>,
    /// Nodes that became part of another one's operation.
    absorbed: HashSet<usize>,
    builder: GraphBuilder,
    weights: BTreeMap<String, Vec<f32>>,
    unsupported: Vec<Unsupported>,
}

impl<'a> Import<'a> {
    pub(super) fn new(model: &'a OnnxModel, sample: Shape) -> Result<Self, OnnxError> {
        let output = model.output().map_err(OnnxError::Model)?;
        let input = model.input().map_err(OnnxError::Model)?;
        let dims: Vec<usize> = sample.into();
        let activation = Activation {
            id: NodeId::INPUT,
            dims: [vec![1], dims].concat(),
        };
        let name = input.name.as_deref().unwrap_or_default();
        let initialisers = model.graph.initializer.iter();
        let initialisers = initialisers.map(|t| (t.name.as_deref().unwrap_or_default(), t));
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, node) in model.nodes().enumerate() {
            for name in node.inputs() {
                readers.entry(name).or_default().push(at);
            }
        }
        Ok(Import {
            model,
            output,
            initialisers: initialisers.collect(),
            values: HashMap::from([(name, Value::Activation(activation))]),
            readers,
            absorbed: HashSet::new(),
            builder: GraphBuilder::new(sample),
            weights: BTreeMap::new(),
            unsupported: Vec::new(),
        })
    }

    /// Adds all nodes that the output needs.
    pub(super) fn run(mut self) -> Result<OnnxNetwork, OnnxError> {
        let needed = self.needed();
        for (at, node) in self.model.nodes().enumerate() {
            if needed.contains(&at) && !self.absorbed.contains(&at) {
                self.node(node)?;
            }
        }
        if !self.unsupported.is_empty() {
            return Err(OnnxError::Unsupported(self.unsupported));
        }
        match self.values.get(self.output) {
            Some(Value::Activation(last)) if last.id == self.builder.last() => {}
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
                wanted.extend(node.inputs().iter().map(String::as_str));
            }
        }
        needed
    }

    fn node(&mut self, node: Node<'a>) -> Result<(), OnnxError> {
        let fail = |fault| OnnxError::Node {
            node: node.label(),
            fault,
        };
        let inputs = self.inputs(node)?;
        if let Some(folded) = folded(node, &inputs) {
            let constant = folded.map_err(fail)?;
            self.set(node, Value::Constant(constant));
            return Ok(());
        }
        let refused = match operators::add(self, node, inputs) {
            Ok(activation) => {
                self.set(node, Value::Activation(activation));
                return Ok(());
            }
            Err(Refusal::Fault(fault)) => return Err(fail(fault)),
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

    /// Returns the values that a node reads; `None` for one that is left out.
    fn inputs(&self, node: Node<'a>) -> Result<Vec<Option<Value>>, OnnxError> {
        let names = node.inputs().iter();
        let values = names.map(|name| match self.values.get(name.as_str()) {
            _ if name.is_empty() => Ok(None),
            Some(value) => Ok(Some(value.clone())),
            None => self.initialiser(name).map(Some),
        });
        values.collect()
    }

    /// Reads an initialiser. It is not kept: nearly all are read once.
    fn initialiser(&self, name: &str) -> Result<Value, OnnxError> {
        let Some(tensor) = self.initialisers.get(name) else {
            return Ok(Value::Unknown);
        };
        let read = Constant::read(tensor, self.model.folder.as_deref());
        read.map(Value::Constant)
            .map_err(|fault| OnnxError::Tensor {
                name: name.to_owned(),
                fault,
            })
    }

    /// Makes `value` the node's first answer; others are not computed.
    fn set(&mut self, node: Node<'a>, value: Value) {
        let mut outputs = node.outputs().iter();
        if let Some(first) = outputs.next() {
            self.values.insert(first, value);
        }
        self.values
            .extend(outputs.map(|name| (name.as_str(), Value::Unknown)));
    }

    /// Adds an operation named after the node, with its tensors of weights by their last names.
    pub(super) fn layer(
        &mut self,
        node: Node<'_>,
        op: Op,
        inputs: &[NodeId],
        weights: Vec<(&str, Vec<f32>)>,
    ) -> Result<NodeId, Refusal> {
        let written = node.name();
        let mut name = written.to_owned();
        let mut number = 1;
        while self.builder.find(&name).is_some() || name.is_empty() {
            number += 1;
            name = format!("{written}.{number}");
        }
        let id = self.builder.add(name.as_str(), op, inputs)?;
        for (last, values) in weights {
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                let why = format!("value {at} of its {last} is not a finite number");
                return Err(Refusal::Fault(NodeFault::Shapes(why)));
            }
            self.weights.insert(format!("{name}.{last}"), values);
        }
        Ok(id)
    }

    /// Returns the shape of an activation in the network.
    pub(super) fn shape(&self, id: NodeId) -> Shape {
        self.builder.shape(id)
    }

    /// Returns the constant that the only reader of a node's answer adds to it, and makes that
    /// addition part of the node's operation; `None` if that is not what follows.
    pub(super) fn absorb_bias(&mut self, node: Node<'a>, features: usize) -> Option<Vec<f32>> {
        let name = node.outputs().first()?;
        let &[at] = self.readers.get(name.as_str())?.as_slice() else {
            return None;
        };
        let next = self.model.nodes().nth(at)?;
        let is_last = self.output == name;
        if next.operator() != Some("Add") || is_last {
            return None;
        }
        let other = next.inputs().iter().find(|input| *input != name)?;
        let constant = match self.values.get(other.as_str()) {
            Some(Value::Constant(constant)) => constant.clone(),
            Some(_) => return None,
            None => match self.initialiser(other).ok()? {
                Value::Constant(constant) => constant,
                _ => return None,
            },
        };
        let is_row = constant.dims.last() == Some(&features) && constant.values.len() == features;
        let bias = constant.as_floats().filter(|_| is_row)?.to_vec();
        self.absorbed.insert(at);
        Some(bias)
    }

    /// Gives the answers of nodes that became part of `node`'s operation its own value.
    pub(super) fn answer_also(&mut self, node: Node<'a>, activation: &Activation) {
        let Some(name) = node.outputs().first() else {
            return;
        };
        let next = self
            .readers
            .get(name.as_str())
            .and_then(|r| r.first().copied());
        if let Some(next) = next.and_then(|at| self.model.nodes().nth(at)) {
            self.set(next, Value::Activation(activation.clone()));
        }
    }
}

/// Returns the constant that a node makes, or `None` if it depends on the sample's values.
fn folded(node: Node<'_>, inputs: &[Option<Value>]) -> Option<Result<Constant, NodeFault>> {
    match (node.operator()?, inputs) {
        ("Constant", []) => return Some(written(node)),
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
fn written(node: Node<'_>) -> Result<Constant, NodeFault> {
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
