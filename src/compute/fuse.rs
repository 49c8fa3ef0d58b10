//! Fusion: a graph's nodes as fewer steps.
//!
//! Batch norm is folded into the convolution before it; a sum and a ReLU are
//! applied by the step that makes their last operand. A node is only drawn into
//! a step when nobody else reads the value in between.

use crate::network::{Conv2d, Graph, Node, Op, Pool};

/// A value: 0 is the input, then the graph's nodes in order, then what the plan adds.
pub(super) type Value = usize;

/// What a step computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kernel {
    /// The sample from channels-first to channels-last.
    Enter,
    Convolution(Conv2d),
    Linear,
    /// Batch norm that follows no convolution: one scale and shift a channel.
    ScaleShift,
    /// Copies (with the step's sum and ReLU applied).
    Copy,
    MaxPool(Pool),
    AvgPool(Pool),
    GlobalAvgPool,
    Concat,
    Flatten,
    Upscale,
    Softmax,
}

/// One fused step; `input`, `residual` and `output` are values of the graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FusedStep {
    pub kernel: Kernel,
    /// The node whose weights are used, and the batch norm folded into them.
    pub weights: Option<usize>,
    pub norm: Option<usize>,
    pub inputs: Vec<Value>,
    /// Added to the result before the activation.
    pub residual: Option<Value>,
    pub relu: bool,
    pub output: Value,
}

impl FusedStep {
    /// Every value the step reads.
    pub fn reads(&self) -> impl Iterator<Item = Value> + '_ {
        self.inputs.iter().copied().chain(self.residual)
    }

    fn takes_epilogue(&self) -> bool {
        matches!(
            self.kernel,
            Kernel::Convolution(_) | Kernel::Linear | Kernel::ScaleShift | Kernel::Copy
        ) && !self.relu
    }
}

/// The steps of `graph` in an order in which they can run.
pub(super) fn fuse(graph: &Graph) -> Vec<FusedStep> {
    let mut steps: Vec<FusedStep> = Vec::new();
    for (index, node) in graph.nodes().iter().enumerate() {
        let value = index + 1;
        if !absorb(graph, &mut steps, index, value, node) {
            steps.push(plain(index, value, node));
        }
    }
    steps
}

/// Lets an existing step do the node's work; false where none can.
fn absorb(graph: &Graph, steps: &mut [FusedStep], index: usize, value: Value, node: &Node) -> bool {
    match node.op {
        Op::BatchNorm { .. } => {
            let Some(step) = sole_producer(graph, steps, node.inputs[0].index()) else {
                return false;
            };
            let fits = matches!(step.kernel, Kernel::Convolution(_));
            if !fits || step.norm.is_some() || step.residual.is_some() || step.relu {
                return false;
            }
            step.norm = Some(index);
            step.output = value;
            true
        }
        Op::Relu => match sole_producer(graph, steps, node.inputs[0].index()) {
            Some(step) if step.takes_epilogue() => {
                step.relu = true;
                step.output = value;
                true
            }
            _ => false,
        },
        Op::Add => absorb_sum(graph, steps, value, node),
        _ => false,
    }
}

/// The operand made last takes the other one as its residual.
fn absorb_sum(graph: &Graph, steps: &mut [FusedStep], value: Value, node: &Node) -> bool {
    let (mut late, mut early) = (node.inputs[0].index(), node.inputs[1].index());
    if late == early {
        return false;
    }
    if made_at(steps, late) < made_at(steps, early) {
        std::mem::swap(&mut late, &mut early);
    }
    match sole_producer(graph, steps, late) {
        Some(step) if step.takes_epilogue() && step.residual.is_none() => {
            step.residual = Some(early);
            step.output = value;
            true
        }
        _ => false,
    }
}

fn made_at(steps: &[FusedStep], value: Value) -> Option<usize> {
    steps.iter().position(|s| s.output == value)
}

/// The step that makes `value`, where exactly one node of the graph reads it.
fn sole_producer<'a>(
    graph: &Graph,
    steps: &'a mut [FusedStep],
    value: Value,
) -> Option<&'a mut FusedStep> {
    let readers: usize = graph
        .nodes()
        .iter()
        .map(|n| n.inputs.iter().filter(|i| i.index() == value).count())
        .sum();
    if readers != 1 {
        return None;
    }
    steps.iter_mut().find(|s| s.output == value)
}

fn plain(index: usize, output: Value, node: &Node) -> FusedStep {
    let (kernel, weights, norm) = match node.op {
        Op::Conv2d(conv) => (Kernel::Convolution(conv), Some(index), None),
        Op::Linear { .. } => (Kernel::Linear, Some(index), None),
        Op::BatchNorm { .. } => (Kernel::ScaleShift, None, Some(index)),
        Op::Relu | Op::Add => (Kernel::Copy, None, None),
        Op::MaxPool(pool) => (Kernel::MaxPool(pool), None, None),
        Op::AvgPool(pool) => (Kernel::AvgPool(pool), None, None),
        Op::GlobalAvgPool => (Kernel::GlobalAvgPool, None, None),
        Op::Concat => (Kernel::Concat, None, None),
        Op::Flatten => (Kernel::Flatten, None, None),
        Op::Upscale { .. } => (Kernel::Upscale, None, None),
        Op::Softmax => (Kernel::Softmax, None, None),
    };
    let mut inputs: Vec<Value> = node.inputs.iter().map(|i| i.index()).collect();
    let residual = if node.op == Op::Add {
        inputs.pop()
    } else {
        None
    };
    FusedStep {
        kernel,
        weights,
        norm,
        inputs,
        residual,
        relu: node.op == Op::Relu,
        output,
    }
}
