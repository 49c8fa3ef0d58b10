//! A network while it is built from the nodes of a file.
//!
//! A value is a constant, or an activation: a value of the network, seen under dimensions that
//! begin with a batch of one. A view (a reshape, a flatten of a vector) is no operation: it is
//! the same activation under other dimensions.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::error::{NodeFault, OnnxError, Unsupported};
use super::model::OnnxModel;
use super::node::Node;
use super::proto::TensorProto;
use super::tensor::Constant;
use crate::network::{GraphBuilder, GraphError, NodeId, Op, Shape};

/// A value of the network under the dimensions that the file sees, the first of them the
/// batch's.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    pub(super) id: NodeId,
    pub(super) dims: Vec<usize>,
    pub(super) order: DimOrder,
}

/// The order in which a file sees the dimensions of an image. Here channels are always last in
/// memory, so that none of these asks for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DimOrder {
    /// Batch, channels, height, width; also that of vectors, whatever their dimensions.
    ChannelsFirst,
    /// Batch, height, width, channels.
    ChannelsLast,
    /// Batch, groups, channels of a group, height, width.
    Grouped,
}

impl Activation {
    /// Creates a value that is seen channels-first.
    pub(super) fn new(id: NodeId, dims: Vec<usize>) -> Self {
        Activation {
            id,
            dims,
            order: DimOrder::ChannelsFirst,
        }
    }

    /// Returns the position of the channels among the dimensions, or of a vector's features.
    pub(super) fn channel_axis(&self, shape: Shape) -> Option<usize> {
        match (self.order, shape) {
            (DimOrder::ChannelsFirst, Shape::Image { .. }) => Some(1),
            (DimOrder::ChannelsLast, Shape::Image { .. }) => Some(3),
            (DimOrder::Grouped, _) | (_, Shape::Tensor(_)) => None,
            (_, Shape::Vector { features }) => {
                let longer = self.dims.iter().skip(1).position(|&d| d != 1);
                let at = longer.map_or(1, |at| at + 1);
                (self.dims.get(at) == Some(&features)).then_some(at)
            }
        }
    }
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
pub(super) struct PartialNetwork<'a> {
    pub(super) model: &'a OnnxModel,
    pub(super) output: &'a str,
    pub(super) initialisers: HashMap<&'a str, &'a TensorProto>,
    pub(super) values: HashMap<&'a str, Value>,
    /// The nodes that read each value, by position.
    pub(super) readers: HashMap<&'a str, Vec<usize>>,
    /// Nodes that became part of another one's operation.
    pub(super) absorbed: HashSet<usize>,
    pub(super) builder: GraphBuilder,
    pub(super) weights: BTreeMap<String, Vec<f32>>,
    pub(super) unsupported: Vec<Unsupported>,
}

impl<'a> PartialNetwork<'a> {
    pub(super) fn new(model: &'a OnnxModel, sample: Shape) -> Result<Self, OnnxError> {
        let output = model.output().map_err(OnnxError::Model)?;
        let input = model.input().map_err(OnnxError::Model)?;
        let dims: Vec<usize> = sample.into();
        let activation = Activation::new(NodeId::INPUT, [vec![1], dims].concat());
        let name = input.name.as_deref().unwrap_or_default();
        let initialisers = model.graph.initializer.iter();
        let initialisers = initialisers.map(|t| (t.name.as_deref().unwrap_or_default(), t));
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, node) in model.nodes().enumerate() {
            for name in node.inputs() {
                readers.entry(name).or_default().push(at);
            }
        }
        Ok(PartialNetwork {
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

    /// Returns the values that a node reads; `None` for one that is left out.
    pub(super) fn inputs(&self, node: Node<'a>) -> Result<Vec<Option<Value>>, OnnxError> {
        let names = node.inputs().iter();
        let values = names.map(|name| match name.is_empty() {
            true => Ok(None),
            false => self.value(name).map(Some),
        });
        values.collect()
    }

    /// Returns the value of this name.
    pub(super) fn value(&self, name: &str) -> Result<Value, OnnxError> {
        match self.values.get(name) {
            Some(value) => Ok(value.clone()),
            None => self.initialiser(name),
        }
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

    /// Makes `value` the node's first answer; others that were not set are not computed.
    pub(super) fn set(&mut self, node: Node<'a>, value: Value) {
        let mut outputs = node.outputs().iter();
        if let Some(first) = outputs.next() {
            self.values.insert(first, value);
        }
        for name in outputs {
            self.values.entry(name).or_insert(Value::Unknown);
        }
    }

    /// Whether a node reads the value, or it is the answer.
    pub(super) fn is_read(&self, name: &str) -> bool {
        name == self.output || self.readers.contains_key(name)
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
        // More dimensions than the product has would be the sum's too.
        let fits = constant.dims.len() <= 2 && constant.dims.last() == Some(&features);
        let is_row = fits && constant.values.len() == features;
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
