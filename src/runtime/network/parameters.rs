//! What a network takes, from its graph alone: its trained parameters by name and shape, and
//! the floating-point operations of one sample.

use super::graph::{Graph, Node};
use super::op::Op;
use super::shape::Shape;

/// What a parameter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRole {
    /// Convolution or linear weights; the second number of values feeds one output.
    Weight {
        fan_in: usize,
    },
    Bias,
    /// Batch norm's learned scale.
    Scale,
    /// Batch norm's running mean (a statistic, not counted as a parameter).
    RunningMean,
    /// Batch norm's running variance (a statistic, not counted as a parameter).
    RunningVariance,
}

impl ParameterRole {
    /// Whether training learns it, as papers count parameters.
    pub const fn is_learned(self) -> bool {
        !matches!(
            self,
            ParameterRole::RunningMean | ParameterRole::RunningVariance
        )
    }
}

/// One named tensor of weights, named as torchvision names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub shape: Vec<usize>,
    pub role: ParameterRole,
}

impl Parameter {
    /// Values in the tensor.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Graph {
    /// Learned values of node number `index`.
    pub fn node_weights(&self, index: usize) -> usize {
        let node = &self.nodes()[index];
        let all = node_parameters(node, self.shape(node.inputs[0]));
        let learned = all.iter().filter(|p| p.role.is_learned());
        learned.map(Parameter::elements).sum()
    }

    /// Every tensor of weights the network needs, in the order of its layers.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.nodes()
            .iter()
            .flat_map(|node| node_parameters(node, self.shape(node.inputs[0])))
            .collect()
    }
}

fn node_parameters(node: &Node, input: Shape) -> Vec<Parameter> {
    let named = |suffix: &str, shape: Vec<usize>, role| Parameter {
        name: format!("{}.{suffix}", node.name),
        shape,
        role,
    };
    let weighted = |shape: Vec<usize>, bias: bool| {
        let fan_in = shape[1..].iter().product();
        let outputs = shape[0];
        let mut all = vec![named("weight", shape, ParameterRole::Weight { fan_in })];
        if bias {
            all.push(named("bias", vec![outputs], ParameterRole::Bias));
        }
        all
    };
    match node.op {
        Op::Conv2d(conv) => {
            let per_group = input.channels() / conv.groups;
            let kernel = conv.kernel;
            let shape = vec![conv.channels, per_group, kernel.height, kernel.width];
            weighted(shape, conv.bias)
        }
        Op::Linear { features, bias } => weighted(vec![features, input.elements()], bias),
        Op::BatchNorm { .. } => {
            let c = vec![input.channels()];
            vec![
                named("weight", c.clone(), ParameterRole::Scale),
                named("bias", c.clone(), ParameterRole::Bias),
                named("running_mean", c.clone(), ParameterRole::RunningMean),
                named("running_var", c, ParameterRole::RunningVariance),
            ]
        }
        _ => Vec::new(),
    }
}

impl Graph {
    /// Learned parameters, as papers count them (running statistics left out).
    pub fn parameter_count(&self) -> u64 {
        self.parameters()
            .iter()
            .filter(|p| p.role.is_learned())
            .map(|p| p.elements() as u64)
            .sum()
    }

    /// Bytes of all weights in float32, running statistics included.
    pub fn weight_bytes(&self) -> u64 {
        self.parameters()
            .iter()
            .map(|p| 4 * p.elements() as u64)
            .sum()
    }

    /// Floating-point operations for one sample; a multiplication and its
    /// addition count as two, convolutions as the direct algorithm.
    pub fn flops(&self) -> u64 {
        (0..self.nodes().len()).map(|i| self.node_flops(i)).sum()
    }

    /// The same of node number `index` alone.
    pub fn node_flops(&self, index: usize) -> u64 {
        let node = &self.nodes()[index];
        node_flops(node, self.shape(node.inputs[0]))
    }
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
        Op::Linear { bias, .. } => out * (2 * input.elements() as u64 + u64::from(bias)),
        Op::MaxPool(pool) | Op::AvgPool(pool) => out * (pool.kernel * pool.kernel) as u64,
        // Windows may share a row or column at their edges; that is not counted.
        Op::GlobalAvgPool | Op::AdaptiveAvgPool { .. } => input.elements() as u64,
        Op::BatchNorm { .. } => 2 * out,
        Op::Relu | Op::Relu6 | Op::Scale { .. } | Op::Add => out,
        Op::Upscale { .. } => 8 * out,
        Op::Softmax => 3 * out,
        Op::Flatten | Op::Concat => 0,
    }
}
