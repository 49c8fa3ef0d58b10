//! Graphs of operations, and the builder, which makes only valid graphs.

mod builder;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use self::builder::GraphBuilder;
use super::error::GraphError;
use super::op::Op;
use super::origin::ParameterOrigin;
use super::shape::Shape;
use crate::tensor::{DataType, Lengths, Signature, TensorSpec};

/// A value of a graph: its input, or the answer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct NodeId(usize);

impl NodeId {
    /// The network's input.
    pub const INPUT: NodeId = NodeId(0);

    /// Returns the position among the values: 0 is the input, then come the nodes in order.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// One operation of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// The node's name, unique in its graph; its parameters are named after it.
    pub name: String,
    /// The operation.
    pub op: Op,
    /// The values that it reads, all made before.
    pub inputs: Vec<NodeId>,
    /// Shape of the answer.
    pub shape: Shape,
    /// The origins of parameters that are not stored in tensors named after the node, by the last
    /// parts of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<(&'static str, ParameterOrigin)>,
}

impl Node {
    /// Returns the origin of parameter `suffix`, or `None` if it is the tensor named after the node
    /// and the suffix.
    pub fn origin(&self, suffix: &str) -> Option<&ParameterOrigin> {
        let mut origins = self.origins.iter();
        origins.find(|(of, _)| *of == suffix).map(|(_, o)| o)
    }
}

/// A network: nodes in an order in which they can run. The last one makes the answer.
///
/// Only a [`GraphBuilder`] makes graphs, so every input refers backwards, every shape is
/// known and fits, and no two nodes share a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    input: Shape,
    nodes: Vec<Node>,
    /// The tensors in a sample and in an answer; `None` if each is a single one.
    signature: Option<Signature>,
    /// The nodes whose weights are whole multiples of a step in each output channel, at most 127,
    /// as a quantiser left them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    stepped: BTreeSet<usize>,
    /// The values that are roundings of other values: each number to the nearest of 256 by the
    /// range of the sample.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    roundings: BTreeMap<usize, usize>,
}

impl Graph {
    /// Returns the shape of one sample.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// Returns the shape of one answer.
    pub fn output(&self) -> Shape {
        self.nodes.last().map_or(self.input, |node| node.shape)
    }

    /// Returns the tensors of a sample and an answer. The default is `input` and `output` in
    /// float32.
    pub fn signature(&self) -> Signature {
        let single = |name: &str, shape: Shape| {
            let dims: Vec<usize> = shape.into();
            vec![TensorSpec::fixed(name, DataType::Fp32, &dims)]
        };
        self.signature.clone().unwrap_or_else(|| Signature {
            inputs: single("input", self.input()),
            outputs: single("output", self.output()),
            lengths: None,
        })
    }

    /// Returns the tensors that the network's own file names, or `None` if it names none.
    pub fn file_signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    /// Returns the network with samples and answers of named tensors. If lengths vary, the network
    /// is the one for the largest length, and the first value of a sample is its length.
    ///
    /// # Errors
    /// The tensors do not have the number of values of a sample or an answer.
    pub fn with_signature(self, signature: Signature) -> Result<Graph, GraphError> {
        let most = signature.largest_length();
        let ends = [
            (&signature.inputs, signature.input_width(most), self.input()),
            (
                &signature.outputs,
                signature.output_width(most),
                self.output(),
            ),
        ];
        for (specs, width, shape) in ends {
            let varies = signature.lengths.is_none() && specs.iter().any(TensorSpec::varies);
            if varies || width != shape.elements() {
                return Err(GraphError::Signature {
                    found: shape,
                    tensors: specs.iter().map(ToString::to_string).collect(),
                });
            }
        }
        Ok(Graph {
            signature: Some(signature),
            ..self
        })
    }

    /// Returns whether the weights of a node are whole multiples of a step in each output channel,
    /// at most 127, as a quantiser left them.
    pub fn has_stepped_weights(&self, node: usize) -> bool {
        self.stepped.contains(&node)
    }

    /// Iterates over the values that are roundings of other values, together with these: each
    /// number is rounded to the nearest of 256 by the range of the sample. Layers that read them
    /// have weights that are bytes times a scale of each output channel.
    pub(crate) fn roundings(&self) -> impl Iterator<Item = (usize, usize)> {
        self.roundings.iter().map(|(value, of)| (*value, *of))
    }

    /// Returns the network with these nodes marked as having stepped weights.
    pub(crate) fn with_stepped_weights(self, stepped: BTreeSet<usize>) -> Graph {
        Graph { stepped, ..self }
    }

    /// Returns the network with other specifications of its inputs, which differ only in their ids.
    pub(super) fn with_inputs(self, inputs: Vec<TensorSpec>) -> Graph {
        let signature = self.signature.map(|known| Signature { inputs, ..known });
        Graph { signature, ..self }
    }

    /// Returns the lengths of samples, or `None` if they do not vary. The network is the one for
    /// the largest length.
    pub fn lengths(&self) -> Option<&Lengths> {
        self.signature.as_ref()?.lengths.as_ref()
    }

    /// Returns the network whose samples are not padded to other lengths.
    #[must_use]
    pub fn unpadded(&self) -> Graph {
        let mut graph = self.clone();
        if let Some(signature) = &mut graph.signature {
            signature.lengths = signature.lengths.as_ref().map(Lengths::unpadded);
        }
        graph
    }

    /// Returns the nodes in the order in which they can run.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the node that makes `id`, or `None` for the input.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        id.0.checked_sub(1).map(|i| &self.nodes[i])
    }

    /// Returns the shape of a value.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.node(id).map_or(self.input, |node| node.shape)
    }

    /// Iterates over the nodes with the values that they make.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        self.nodes
            .iter()
            .enumerate()
            .map(|(i, node)| (NodeId(i + 1), node))
    }

    /// Returns the network with a softmax after its last layer.
    ///
    /// # Errors
    /// The answer is not a vector.
    pub fn with_softmax(&self) -> Result<Self, GraphError> {
        let mut builder = GraphBuilder::after(self.clone());
        let last = builder.last();
        builder.add("softmax.of.answer", Op::Softmax, &[last])?;
        builder.build()
    }

    /// Returns the network, whose answer is a row of its values if it is an image: channel by
    /// channel.
    ///
    /// # Errors
    /// There are too many layers.
    pub fn flattened(self) -> Result<Self, GraphError> {
        if !matches!(self.output(), Shape::Image { .. }) {
            return Ok(self);
        }
        let mut builder = GraphBuilder::after(self);
        let last = builder.last();
        builder.add("row.of.answer", Op::Flatten, &[last])?;
        builder.build()
    }

    /// Returns the network unchanged if its answer is `classes` values and not an image.
    ///
    /// # Errors
    /// [`GraphError::Classes`].
    pub fn answers(self, classes: usize) -> Result<Self, GraphError> {
        match self.output() {
            Shape::Vector { features } if features == classes => Ok(self),
            Shape::Tensor(dims) if dims.elements() == classes => Ok(self),
            found => Err(GraphError::Classes {
                expected: classes,
                found,
            }),
        }
    }
}
