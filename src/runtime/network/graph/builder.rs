//! The builder of graphs: it checks each layer as it is added.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Graph, Node, NodeId};
use crate::network::error::{GraphError, MAX_LAYERS};
use crate::network::op::Op;
use crate::network::origin::ParameterOrigin;
use crate::network::shape::Shape;
use crate::network::window::Conv2d;
use crate::tensor::Signature;

/// Builds a graph layer by layer, and checks each layer as it is added.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: Graph,
    names: HashMap<String, NodeId>,
}

impl GraphBuilder {
    /// Starts a network for samples of shape `input`.
    pub fn new(input: Shape) -> Self {
        GraphBuilder {
            graph: Graph {
                input,
                nodes: Vec::new(),
                signature: None,
                stepped: BTreeSet::new(),
                roundings: BTreeMap::new(),
            },
            names: HashMap::new(),
        }
    }

    /// Continues after the last layer of `graph`.
    pub(super) fn after(graph: Graph) -> Self {
        let names = graph.values().map(|(id, n)| (n.name.clone(), id)).collect();
        GraphBuilder { graph, names }
    }

    /// Returns the value of the layer called `name`, or of the sample for `input`, or `None` if no
    /// layer has the name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        if name == "input" {
            return Some(NodeId::INPUT);
        }
        self.names.get(name).copied()
    }

    /// Returns the value that was added last, or the input if the network has no layers yet.
    pub fn last(&self) -> NodeId {
        NodeId(self.graph.nodes.len())
    }

    /// Returns the layer that makes a value, or `None` for the input.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.graph.nodes.get(id.0.checked_sub(1)?)
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

    /// Adds a layer with some parameters from other tensors than those named after it. Returns its
    /// value.
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

    /// Notes that `value` holds the numbers of `of`, value for value, each rounded to the nearest of 256
    /// by the range of the sample, as `DynamicQuantizeLinear` of ONNX does, and that its readers are
    /// layers whose weights are bytes times a scale of each output channel, if they are layers.
    pub(crate) fn note_rounding(&mut self, value: NodeId, of: NodeId) {
        self.graph.roundings.insert(value.0, of.0);
    }

    /// Returns where the layer called `name` finds its tensors, by the last parts of their names.
    /// Empty if that layer's operation is not `op`.
    pub(crate) fn origins_in(&self, name: &str, op: Op) -> Vec<(&'static str, ParameterOrigin)> {
        let number = self.find(name).and_then(|id| id.0.checked_sub(1));
        let alike = number.filter(|&index| self.graph.nodes[index].op == op);
        alike.map_or_else(Vec::new, |index| self.graph.origins_in(index))
    }

    /// Adds a convolution named `conv` and its batch norm named `bn`. Returns the norm's value.
    ///
    /// # Errors
    /// As for [`GraphBuilder::add`].
    pub fn conv_bn(
        &mut self,
        conv: &str,
        bn: &str,
        conv_op: Conv2d,
        from: NodeId,
    ) -> Result<NodeId, GraphError> {
        let x = self.add(conv, Op::Conv2d(conv_op), &[from])?;
        self.add(bn, Op::BatchNorm { eps: 1e-5 }, &[x])
    }

    /// Adds a convolution named `conv`, its batch norm named `bn`, and a ReLU named `bn.relu`.
    /// Returns the ReLU's value.
    ///
    /// # Errors
    /// As for [`GraphBuilder::add`].
    pub fn conv_bn_relu(
        &mut self,
        conv: &str,
        bn: &str,
        conv_op: Conv2d,
        from: NodeId,
    ) -> Result<NodeId, GraphError> {
        let x = self.conv_bn(conv, bn, conv_op, from)?;
        self.add(format!("{bn}.relu"), Op::Relu, &[x])
    }

    /// Returns the finished graph, whose samples and answers consist of named tensors.
    ///
    /// # Errors
    /// The network has no layers, or the tensors do not have the number of values of a sample or an
    /// answer.
    pub fn build_with(self, signature: Signature) -> Result<Graph, GraphError> {
        self.build()?.with_signature(signature)
    }

    /// Returns the finished graph.
    ///
    /// # Errors
    /// [`GraphError::Empty`] if the network has no layers.
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
