//! Graphs of operations, and the builder that makes valid ones alone.

use std::collections::HashMap;

use serde::Serialize;

use super::activation::Activation;
use super::error::{GraphError, MAX_LAYERS};
use super::op::Op;
use super::origin::ParameterOrigin;
use super::shape::Shape;
use super::window::Conv2d;
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
    /// Where those parameters come from that are no tensors called after the node, by the last
    /// parts of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<(&'static str, ParameterOrigin)>,
}

impl Node {
    /// Returns where parameter `suffix` comes from; `None` for the tensor called after the node
    /// and it.
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
    /// The tensors in a sample and in an answer; `None` where each is a single one.
    signature: Option<Signature>,
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

    /// Returns the tensors that a sample and an answer consist of: `input` and `output` in float32
    /// where nothing else was said.
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

    /// Returns the network whose samples and answers consist of named tensors. Where their lengths
    /// vary, it is that for the largest, and the length is the first value of a sample.
    ///
    /// # Errors
    /// The tensors are not as many values as a sample or an answer.
    pub fn with_signature(self, signature: Signature) -> Result<Graph, GraphError> {
        let most = signature.most();
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

    /// Returns the network with other specifications of its inputs, which differ in the ids that
    /// they take alone.
    pub(super) fn with_inputs(self, inputs: Vec<TensorSpec>) -> Graph {
        let signature = self.signature.map(|known| Signature { inputs, ..known });
        Graph { signature, ..self }
    }

    /// Returns the lengths of samples, where they vary; the network is that for the largest.
    pub fn lengths(&self) -> Option<&Lengths> {
        self.signature.as_ref()?.lengths.as_ref()
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
        let names = self.values().map(|(id, n)| (n.name.clone(), id)).collect();
        let graph = self.clone();
        let mut builder = GraphBuilder { graph, names };
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
        let names = self.values().map(|(id, n)| (n.name.clone(), id)).collect();
        let mut builder = GraphBuilder { graph: self, names };
        let last = builder.last();
        builder.add("row.of.answer", Op::Flatten, &[last])?;
        builder.build()
    }

    /// Returns the network itself if its answer is `classes` values, and no image.
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

/// Builds a graph layer by layer, and checks each layer as it is added.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: Graph,
    names: HashMap<String, NodeId>,
}

/// The batch norm after a convolution, and the activation after the norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// Added to the variance before its square root is taken.
    pub eps: f32,
    /// Applied to the normalised values.
    pub activation: Option<Activation>,
}

impl Norm {
    /// PyTorch's `eps` without an activation.
    pub const PLAIN: Norm = Norm {
        eps: 1e-5,
        activation: None,
    };

    /// PyTorch's `eps`, then a ReLU.
    pub const RELU: Norm = Norm {
        eps: 1e-5,
        activation: Some(Activation::Relu),
    };

    /// PyTorch's `eps`, then a ReLU6.
    pub const RELU6: Norm = Norm {
        eps: 1e-5,
        activation: Some(Activation::Relu6),
    };

    /// Returns the norm with another activation after it.
    #[must_use]
    pub const fn activated(self, activation: Activation) -> Self {
        Norm {
            activation: Some(activation),
            ..self
        }
    }

    /// Returns the norm with another `eps`.
    #[must_use]
    pub const fn eps(self, eps: f32) -> Self {
        Norm { eps, ..self }
    }
}

impl GraphBuilder {
    /// Starts a network for samples of shape `input`.
    pub fn new(input: Shape) -> Self {
        GraphBuilder {
            graph: Graph {
                input,
                nodes: Vec::new(),
                signature: None,
            },
            names: HashMap::new(),
        }
    }

    /// Returns the value of the layer called `name`, or of the sample for `input`; `None` if
    /// there is no such layer.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        if name == "input" {
            return Some(NodeId::INPUT);
        }
        self.names.get(name).copied()
    }

    /// Returns the value that was added last, or the input if there is none yet.
    pub fn last(&self) -> NodeId {
        NodeId(self.graph.nodes.len())
    }

    /// Returns the shape of a value.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.graph.shape(id)
    }

    /// Adds a layer and returns its value.
    ///
    /// # Errors
    /// The name is taken, there are too many layers, or `op` does not take the inputs.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        op: Op,
        inputs: &[NodeId],
    ) -> Result<NodeId, GraphError> {
        let name = name.into();
        if self.graph.nodes.len() >= MAX_LAYERS {
            return Err(GraphError::TooManyLayers);
        }
        if self.find(&name).is_some() {
            return Err(GraphError::DuplicateName(name));
        }
        check_arity(&name, &op, inputs.len())?;
        let shapes: Vec<Shape> = inputs.iter().map(|&id| self.graph.shape(id)).collect();
        let shape = op.output(&shapes).map_err(|fault| GraphError::Layer {
            layer: name.clone(),
            fault: fault.into(),
        })?;
        let id = NodeId(self.graph.nodes.len() + 1);
        self.names.insert(name.clone(), id);
        self.graph.nodes.push(Node {
            name,
            op,
            inputs: inputs.to_vec(),
            shape,
            origins: Vec::new(),
        });
        Ok(id)
    }

    /// Adds a layer, some of whose parameters come from elsewhere than from tensors called after
    /// it. Returns its value.
    ///
    /// # Errors
    /// As for [`GraphBuilder::add`].
    pub fn add_from(
        &mut self,
        name: impl Into<String>,
        op: Op,
        inputs: &[NodeId],
        origins: Vec<(&'static str, ParameterOrigin)>,
    ) -> Result<NodeId, GraphError> {
        let id = self.add(name, op, inputs)?;
        if let Some(node) = self.graph.nodes.last_mut() {
            node.origins = origins;
        }
        Ok(id)
    }

    /// Returns where a layer of operation `op` finds the tensors of the layer called `name`, by the
    /// last parts of their names; nowhere if that one is of another operation.
    pub(crate) fn origins_in(&self, name: &str, op: Op) -> Vec<(&'static str, ParameterOrigin)> {
        let number = self.find(name).and_then(|id| id.0.checked_sub(1));
        let alike = number.filter(|&index| self.graph.nodes[index].op == op);
        alike.map_or_else(Vec::new, |index| self.graph.origins_in(index))
    }

    /// Adds a convolution named `conv`, its batch norm named `bn`, and the norm's activation,
    /// if it has one, named `bn.relu`. Returns the last value.
    ///
    /// # Errors
    /// As for [`GraphBuilder::add`].
    pub fn conv_bn(
        &mut self,
        conv: &str,
        bn: &str,
        conv_op: Conv2d,
        from: NodeId,
        norm: Norm,
    ) -> Result<NodeId, GraphError> {
        let x = self.add(conv, Op::Conv2d(conv_op), &[from])?;
        let x = self.add(bn, Op::BatchNorm { eps: norm.eps }, &[x])?;
        match norm.activation {
            Some(activation) => self.add(format!("{bn}.relu"), activation.into(), &[x]),
            None => Ok(x),
        }
    }

    /// Returns the finished graph, whose samples and answers consist of named tensors.
    ///
    /// # Errors
    /// There is no layer, or the tensors are not as many values as a sample or an answer.
    pub fn build_with(self, signature: Signature) -> Result<Graph, GraphError> {
        self.build()?.with_signature(signature)
    }

    /// Returns the finished graph.
    ///
    /// # Errors
    /// [`GraphError::Empty`] if there is no layer.
    pub fn build(self) -> Result<Graph, GraphError> {
        if self.graph.nodes.is_empty() {
            return Err(GraphError::Empty);
        }
        Ok(self.graph)
    }
}

fn check_arity(layer: &str, op: &Op, found: usize) -> Result<(), GraphError> {
    let (least, most) = op.arity();
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(GraphError::Arity {
        layer: layer.to_owned(),
        least,
        most,
        found,
    })
}
