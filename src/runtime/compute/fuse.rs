//! Fusion: the nodes of a graph become fewer steps.
//!
//! Batch norm and scaling are folded into the previous convolution. A sum and an activation are
//! applied by the step that makes their last operand. A node is fused into a step only if no other
//! node reads the value between them.

use super::reduced::ByteNumbers;
use super::tensors::{self, TensorForm};
use crate::network::{
    Activation, Binary, Conv2d, Graph, Node, Op, Pool, ResponseNorm, Shape, TensorOp,
};

/// The number of a value: 0 is the input, then come the graph's nodes in order, then values
/// that the plan adds.
pub(super) type ValueId = usize;

/// The computation of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StepKernel {
    /// Turns the sample from channels-first to channels-last.
    Enter,
    Convolution(Conv2d),
    Linear,
    /// Batch norm or scaling that follows no convolution: a scale and a shift for each channel.
    ScaleShift,
    /// Copies (with the step's sum and activation applied).
    Copy,
    MaxPool(Pool),
    AvgPool(Pool),
    GlobalAvgPool,
    AdaptiveAvgPool,
    Concat,
    Flatten,
    Upscale,
    Softmax(MaskedRows),
    /// Two values of equal shape, or an image and a row of its channels in either order.
    Paired(Pairing),
    /// Channels of as many groups, interleaved.
    ChannelShuffle(usize),
    /// The channels from this one on, to the number of output channels.
    Channels(usize),
    LocalResponseNorm(ResponseNorm),
    /// A norm across the channels of each pixel, with this added to the variance.
    LayerNorm(f32),
    /// A function of each byte, which represents one of these numbers.
    Table(ByteNumbers),
    /// An operation on tensors, its node under `weights`.
    Tensor(TensorOp),
    /// Rounds values to bytes by their range in each sample.
    RangedBytes,
    /// A fully connected layer over `inputs` such bytes.
    RangedLinear {
        inputs: usize,
    },
}

/// The answer of a softmax for a row that holds only −∞.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskedRows {
    /// NaN, as its formula.
    Nan,
    /// 0 everywhere.
    Zeros,
}

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pairing {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
}

/// The rounding of a result before it is added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounding {
    pub function: Activation,
    /// The node that adds a constant to each channel after it.
    pub shift: Option<usize>,
}

/// One fused step; `input`, `residual` and `output` are values of the graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FusedStep {
    pub kernel: StepKernel,
    /// The node that provides the weights.
    pub weights: Option<usize>,
    /// The batch norm, or the sum or product with constants, that is folded into them.
    pub norm: Option<usize>,
    pub inputs: Vec<ValueId>,
    /// The factor of the weighted result.
    pub scale: f32,
    /// The rounding of the result before more is added to it; only for products of bytes.
    pub rounding: Option<Rounding>,
    /// The value that is added to the result before the activation.
    pub residual: Option<ValueId>,
    pub activation: Option<Activation>,
    /// The places that an operation on tensors reads and writes.
    pub tensors: Option<Box<TensorForm>>,
    pub output: ValueId,
}

impl FusedStep {
    /// Iterates over the values that the step reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs.iter().copied().chain(self.residual)
    }

    /// Returns the node whose constants are added after the rounding.
    pub(super) fn shift(&self) -> Option<usize> {
        self.rounding.and_then(|rounding| rounding.shift)
    }

    /// Returns whether it reads a value for which `is` returns `true`.
    pub(super) fn reads_any(&self, is: impl Fn(ValueId) -> bool) -> bool {
        self.inputs.iter().any(|&input| is(input)) || self.residual.is_some_and(is)
    }

    /// Returns whether it reads a value.
    pub(super) fn takes(&self, value: ValueId) -> bool {
        self.reads_any(|read| read == value)
    }

    fn takes_epilogue(&self) -> bool {
        matches!(
            self.kernel,
            StepKernel::Convolution(_)
                | StepKernel::Linear
                | StepKernel::ScaleShift
                | StepKernel::Copy
                | StepKernel::Paired(_)
                | StepKernel::Channels(_)
                | StepKernel::LayerNorm(_)
        ) && self.activation.is_none()
    }

    /// Returns whether the step's ReLU has no effect on a following function, because that function
    /// also makes negative values 0.
    fn is_rectified_by(&self, function: Option<Activation>) -> bool {
        let from_zero = matches!(function, Some(Activation::FakeQuantise { least: 0.0, .. }));
        from_zero && self.activation == Some(Activation::Relu)
    }

    /// Returns whether weights can still be folded into the step, because nothing else is applied
    /// yet.
    fn takes_weights(&self) -> bool {
        self.residual.is_none() && self.activation.is_none()
    }
}

/// Returns the steps of `graph` in an order in which they can run.
pub(super) fn fuse(graph: &Graph) -> Vec<FusedStep> {
    tensors::arranged(graph, fused(graph))
}

/// Returns the steps before those on tensors are arranged.
pub(super) fn fused(graph: &Graph) -> Vec<FusedStep> {
    let mut fusion = Fusion::new(graph);
    for (index, node) in graph.nodes().iter().enumerate() {
        let value = index + 1;
        if !fusion.absorb(index, value, node) {
            fusion.push(index, value, node);
        }
    }
    fusion.steps
}

/// The steps so far, with the makers and readers of values.
struct Fusion<'a> {
    graph: &'a Graph,
    steps: Vec<FusedStep>,
    /// The step that makes each value, if there is one.
    maker: Vec<Option<usize>>,
    /// How often the graph's nodes read each value.
    readers: Vec<usize>,
}

impl<'a> Fusion<'a> {
    fn new(graph: &'a Graph) -> Self {
        let values = graph.nodes().len() + 1;
        let mut readers = vec![0; values];
        for input in graph.nodes().iter().flat_map(|n| &n.inputs) {
            readers[input.index()] += 1;
        }
        Fusion {
            graph,
            steps: Vec::new(),
            maker: vec![None; values],
            readers,
        }
    }

    fn push(&mut self, index: usize, value: ValueId, node: &Node) {
        self.maker[value] = Some(self.steps.len());
        self.steps.push(plain(self.graph, index, node));
    }

    /// Fuses a node into an existing step. Returns `false` if that is not possible.
    fn absorb(&mut self, index: usize, value: ValueId, node: &Node) -> bool {
        let from = node.inputs[0].index();
        match node.op {
            Op::BatchNorm { .. } => self.change(from, value, |step| {
                let fits = matches!(step.kernel, StepKernel::Convolution(_)) && step.scale == 1.0;
                let fits = fits && step.norm.is_none() && step.takes_weights();
                fits.then(|| step.norm = Some(index))
            }),
            Op::Scale { by } => self.change(from, value, |step| {
                let scales = matches!(
                    step.kernel,
                    StepKernel::Convolution(_) | StepKernel::Linear | StepKernel::ScaleShift
                );
                (scales && step.takes_weights()).then(|| step.scale *= by)
            }),
            Op::Relu | Op::Relu6 | Op::Activation(_) => {
                let (function, known) = (node.op.activation(), self.rounding_of(from));
                self.change(from, value, |step| {
                    if known == function {
                        return Some(());
                    }
                    let rounds = step.is_rectified_by(function);
                    (step.takes_epilogue() || rounds).then(|| step.activation = function)
                })
            }
            Op::Add if are_alike(self.graph, node) => self.absorb_sum(value, node),
            Op::Tensor(TensorOp::Binary { kind: Binary::Add }) if are_alike(self.graph, node) => {
                self.absorb_sum(value, node)
            }
            _ if tensors::is_affine(node.op, node.shape.channels()) => {
                let same = self.graph.shape(node.inputs[0]) == node.shape;
                self.change(from, value, |step| {
                    let fits = same && step.kernel == StepKernel::Linear && step.scale == 1.0;
                    let fits = fits && step.norm.is_none() && step.takes_weights();
                    fits.then(|| step.norm = Some(index))
                })
            }
            _ => false,
        }
    }

    /// Returns the function that rounds the values of `value`, either directly or before a max
    /// pool.
    fn rounding_of(&self, value: ValueId) -> Option<Activation> {
        let step = &self.steps[self.maker[value]?];
        let maker = match step.kernel {
            StepKernel::MaxPool(_) => &self.steps[self.maker[step.inputs[0]]?],
            _ => step,
        };
        let rounds = |function: &Activation| matches!(function, Activation::FakeQuantise { .. });
        maker.activation.filter(rounds)
    }

    /// Fuses a sum into the step that makes its later operand; the other is the residual.
    fn absorb_sum(&mut self, value: ValueId, node: &Node) -> bool {
        let (mut late, mut early) = (node.inputs[0].index(), node.inputs[1].index());
        if late == early {
            return false;
        }
        if self.maker[late] < self.maker[early] {
            std::mem::swap(&mut late, &mut early);
        }
        self.change(late, value, |step| {
            let fits = step.takes_epilogue() && step.residual.is_none();
            fits.then(|| step.residual = Some(early))
        })
    }

    /// Applies `change` to the step that makes `from`, if exactly one node of the graph reads
    /// `from`. The step then makes `value`. Returns `false` if nothing changed.
    fn change(
        &mut self,
        from: ValueId,
        value: ValueId,
        change: impl FnOnce(&mut FusedStep) -> Option<()>,
    ) -> bool {
        let Some(at) = self.maker[from].filter(|_| self.readers[from] == 1) else {
            return false;
        };
        let step = &mut self.steps[at];
        if change(step).is_none() {
            return false;
        }
        step.output = value;
        self.maker[from] = None;
        self.maker[value] = Some(at);
        true
    }
}

/// Returns whether the inputs of a sum have one shape, so that one may be the residual of the
/// other.
fn are_alike(graph: &Graph, node: &Node) -> bool {
    node.inputs.iter().all(|&i| graph.shape(i) == node.shape)
}

fn plain(graph: &Graph, index: usize, node: &Node) -> FusedStep {
    let is_residual = node.op == Op::Add && are_alike(graph, node);
    let (kernel, weights, norm) = match node.op {
        Op::Conv2d(conv) => (StepKernel::Convolution(conv), Some(index), None),
        Op::Linear { .. } => (StepKernel::Linear, Some(index), None),
        Op::BatchNorm { .. } => (StepKernel::ScaleShift, None, Some(index)),
        Op::Scale { .. } => (StepKernel::ScaleShift, None, None),
        Op::Add if !is_residual => (StepKernel::Paired(Pairing::Sum), None, None),
        Op::Relu | Op::Relu6 | Op::Activation(_) | Op::Add => (StepKernel::Copy, None, None),
        Op::Mul => (StepKernel::Paired(Pairing::Product), None, None),
        Op::ChannelShuffle { groups } => (StepKernel::ChannelShuffle(groups), None, None),
        Op::Channels { first, .. } => (StepKernel::Channels(first), None, None),
        Op::LocalResponseNorm(norm) => (StepKernel::LocalResponseNorm(norm), None, None),
        Op::LayerNorm { eps } => (StepKernel::LayerNorm(eps), Some(index), None),
        Op::MaxPool(pool) => (StepKernel::MaxPool(pool), None, None),
        Op::AvgPool(pool) => (StepKernel::AvgPool(pool), None, None),
        Op::GlobalAvgPool => (StepKernel::GlobalAvgPool, None, None),
        Op::AdaptiveAvgPool { .. } => (StepKernel::AdaptiveAvgPool, None, None),
        Op::Concat => (StepKernel::Concat, None, None),
        Op::Flatten => (StepKernel::Flatten, None, None),
        Op::Upscale { .. } => (StepKernel::Upscale, None, None),
        Op::Softmax => (StepKernel::Softmax(MaskedRows::Nan), None, None),
        Op::MaskedSoftmax => (StepKernel::Softmax(MaskedRows::Zeros), None, None),
        Op::Tensor(TensorOp::Join { axis }) if is_last_axis(node.shape, axis) => {
            (StepKernel::Concat, None, None)
        }
        Op::Tensor(op) => (StepKernel::Tensor(op), Some(index), None),
    };
    let mut inputs: Vec<ValueId> = node.inputs.iter().map(|i| i.index()).collect();
    let residual = if is_residual { inputs.pop() } else { None };
    FusedStep {
        kernel,
        weights,
        norm,
        inputs,
        scale: match node.op {
            Op::Scale { by } => by,
            _ => 1.0,
        },
        rounding: None,
        residual,
        activation: node.op.activation(),
        tensors: None,
        output: index + 1,
    }
}

/// Returns whether `axis` is the last one of a tensor; parts along it can stay in place.
fn is_last_axis(shape: Shape, axis: usize) -> bool {
    matches!(shape, Shape::Tensor(dims) if axis + 1 == dims.rank())
}
