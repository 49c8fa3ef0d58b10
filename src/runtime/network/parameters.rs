//! The trained tensors of a network by name and shape, and its floating-point operations, computed
//! from the graph.

use std::collections::HashSet;

use super::graph::{Graph, Node};
use super::op::Op;
use super::origin::ParameterOrigin;
use super::shape::Shape;

/// The role of a parameter in its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRole {
    /// Weights of a convolution or of a fully connected layer.
    Weight {
        /// Weights that contribute to one output.
        fan_in: usize,
    },
    /// A bias for each output.
    Bias,
    /// The learned scale of a norm.
    Scale,
    /// The running mean of a batch norm: a statistic, not counted as a parameter.
    RunningMean,
    /// The running variance of a batch norm: a statistic, not counted as a parameter.
    RunningVariance,
    /// A tensor of an operation on tensors, which may hold infinities.
    Operand,
}

impl ParameterRole {
    /// Returns whether training learns the values, as papers count parameters.
    pub const fn is_learned(self) -> bool {
        !matches!(
            self,
            ParameterRole::RunningMean | ParameterRole::RunningVariance
        )
    }
}

/// One tensor of weights, named as torchvision names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the layer, a dot, and the name of the tensor in it.
    pub name: String,
    /// Dimensions, the slowest first.
    pub shape: Vec<usize>,
    /// The role of the tensor in its layer.
    pub role: ParameterRole,
}

impl Parameter {
    /// Returns the number of values in the tensor.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Graph {
    /// Returns the number of learned values of node number `index`.
    pub fn node_weights(&self, index: usize) -> usize {
        let all = self.node_parameters(index);
        let learned = all.iter().filter(|p| p.role.is_learned());
        learned.map(Parameter::elements).sum()
    }

    /// Returns the tensors of weights that node number `index` needs.
    pub fn node_parameters(&self, index: usize) -> Vec<Parameter> {
        let node = &self.nodes()[index];
        let operands = self.operation_parameters(index).into_iter();
        operands
            .filter_map(|operand| stored(node, operand))
            .collect()
    }

    /// Returns where another layer of the same operation finds the tensors of node number `index`,
    /// by the last parts of their names.
    pub(crate) fn origins_in(&self, index: usize) -> Vec<(&'static str, ParameterOrigin)> {
        let node = &self.nodes()[index];
        let operands = self.operation_parameters(index).into_iter();
        let origin = |operand: OperationParameter| {
            let name = format!("{}.{}", node.name, operand.suffix);
            let shape = operand.shape;
            (operand.suffix, ParameterOrigin::Tensor { name, shape })
        };
        operands.map(origin).collect()
    }

    /// Returns the parameters that the operation of node number `index` takes in addition to its
    /// inputs.
    pub(crate) fn operation_parameters(&self, index: usize) -> Vec<OperationParameter> {
        let node = &self.nodes()[index];
        operands(node.op, self.shape(node.inputs[0]))
    }

    /// Returns the tensors of weights that the network needs, in the order of its layers, each once.
    pub fn parameters(&self) -> Vec<Parameter> {
        let nodes = 0..self.nodes().len();
        let all = nodes.flat_map(|index| self.node_parameters(index));
        let mut known = HashSet::new();
        all.filter(|p| known.insert(p.name.clone())).collect()
    }

    /// Returns the number of learned values, as papers count them: without running
    /// statistics.
    pub fn parameter_count(&self) -> u64 {
        self.parameters()
            .iter()
            .filter(|p| p.role.is_learned())
            .map(|p| p.elements() as u64)
            .sum()
    }

    /// Returns the bytes of all tensors in float32, running statistics included.
    pub fn weight_bytes(&self) -> u64 {
        self.parameters()
            .iter()
            .map(|p| 4 * p.elements() as u64)
            .sum()
    }

    /// Returns the floating-point operations for one sample. A multiplication and its
    /// addition count as two, convolutions as the direct algorithm.
    pub fn flops(&self) -> u64 {
        (0..self.nodes().len()).map(|i| self.node_flops(i)).sum()
    }

    /// Returns the floating-point operations of node number `index` for one sample.
    pub fn node_flops(&self, index: usize) -> u64 {
        let node = &self.nodes()[index];
        node_flops(node, self.shape(node.inputs[0]))
    }
}

/// A parameter that an operation takes in addition to its inputs, in the form the operation uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationParameter {
    /// The last part of its name.
    pub suffix: &'static str,
    /// Dimensions, the slowest first.
    pub shape: Vec<usize>,
    pub role: ParameterRole,
}

impl OperationParameter {
    fn new(suffix: &'static str, shape: Vec<usize>, role: ParameterRole) -> Self {
        OperationParameter {
            suffix,
            shape,
            role,
        }
    }
}

/// Returns the tensor that holds an operand, or `None` if the network makes it up.
fn stored(node: &Node, operand: OperationParameter) -> Option<Parameter> {
    let (name, shape) = match node.origin(operand.suffix) {
        None => (format!("{}.{}", node.name, operand.suffix), operand.shape),
        Some(origin) => {
            let (name, shape) = origin.tensor()?;
            (name.to_owned(), shape)
        }
    };
    let role = operand.role;
    Some(Parameter { name, shape, role })
}

fn operands(op: Op, input: Shape) -> Vec<OperationParameter> {
    match op {
        Op::Conv2d(conv) => {
            let per_group = input.channels() / conv.groups;
            let kernel = conv.kernel;
            let shape = vec![conv.channels, per_group, kernel.height, kernel.width];
            weighted(shape, conv.bias)
        }
        Op::Linear { features, bias } => weighted(vec![features, input.channels()], bias),
        Op::BatchNorm { .. } => normed(
            input.channels(),
            &[
                ("weight", ParameterRole::Scale),
                ("bias", ParameterRole::Bias),
                ("running_mean", ParameterRole::RunningMean),
                ("running_var", ParameterRole::RunningVariance),
            ],
        ),
        Op::LayerNorm { .. } => normed(
            input.channels(),
            &[
                ("weight", ParameterRole::Scale),
                ("bias", ParameterRole::Bias),
            ],
        ),
        Op::Tensor(op) => {
            let all = op.parameters().into_iter();
            all.map(|(suffix, dims, role)| OperationParameter::new(suffix, dims.to_vec(), role))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn weighted(shape: Vec<usize>, bias: bool) -> Vec<OperationParameter> {
    let fan_in = shape[1..].iter().product();
    let outputs = shape[0];
    let mut all = vec![OperationParameter::new(
        "weight",
        shape,
        ParameterRole::Weight { fan_in },
    )];
    if bias {
        all.push(OperationParameter::new(
            "bias",
            vec![outputs],
            ParameterRole::Bias,
        ));
    }
    all
}

fn normed(channels: usize, parts: &[(&'static str, ParameterRole)]) -> Vec<OperationParameter> {
    let parts = parts.iter();
    parts
        .map(|(suffix, role)| OperationParameter::new(suffix, vec![channels], *role))
        .collect()
}

fn node_flops(node: &Node, input: Shape) -> u64 {
    let out = node.shape.elements() as u64;
    match node.op {
        Op::Conv2d(conv) => {
            let Shape::Image { channels, .. } = input else {
                return 0;
            };
            let products = conv.kernel.area() * channels / conv.groups;
            out * (2 * products as u64 + u64::from(conv.bias))
        }
        Op::Linear { bias, .. } => out * (2 * input.channels() as u64 + u64::from(bias)),
        Op::MaxPool(pool) | Op::AvgPool(pool) => out * (pool.kernel * pool.kernel) as u64,
        // Windows may share a row or column at their edges; that is not counted.
        Op::GlobalAvgPool | Op::AdaptiveAvgPool { .. } => input.elements() as u64,
        Op::BatchNorm { .. } => 2 * out,
        Op::Relu | Op::Relu6 | Op::Activation(_) | Op::Scale { .. } | Op::Add | Op::Mul => out,
        Op::Upscale { .. } | Op::LayerNorm { .. } => 8 * out,
        Op::LocalResponseNorm(norm) => out * (2 * norm.size as u64 + 3),
        Op::Softmax | Op::MaskedSoftmax => 3 * out,
        Op::Tensor(op) => op.flops(out, input),
        Op::Flatten | Op::Concat | Op::ChannelShuffle { .. } | Op::Channels { .. } => 0,
    }
}
