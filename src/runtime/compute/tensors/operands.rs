//! The values that products read. Products read transposed, sliced or scaled values in their
//! original place.

use super::strided::Strided;
use crate::compute::fuse::{FusedStep, ValueId};
use crate::network::{Binary, Dims, Graph, Node, Op, Shape, TensorOp};

/// The values of a graph, and which of them steps make.
pub(super) struct MadeValues<'a> {
    pub graph: &'a Graph,
    /// Whether a step makes the value, for the input and each node.
    made: Vec<bool>,
    /// Whether a step before the value's own makes it.
    otherwise: Vec<bool>,
    readers: Vec<usize>,
}

impl<'a> MadeValues<'a> {
    pub(super) fn new(graph: &'a Graph, steps: &[FusedStep]) -> Self {
        let count = graph.nodes().len() + 1;
        let mut values = MadeValues {
            graph,
            made: vec![false; count],
            otherwise: vec![false; count],
            readers: vec![0; count],
        };
        values.made[0] = true;
        for step in steps {
            values.made[step.output] = true;
        }
        for input in graph.nodes().iter().flat_map(|n| &n.inputs) {
            values.readers[input.index()] += 1;
        }
        values
    }

    /// Returns the node that makes a value, or `None` for the input.
    pub(super) fn node(&self, value: ValueId) -> Option<&'a Node> {
        value.checked_sub(1).map(|i| &self.graph.nodes()[i])
    }

    pub(super) fn shape(&self, value: ValueId) -> Shape {
        self.node(value).map_or(self.graph.input(), |n| n.shape)
    }

    /// Returns the dimensions of a value as it is held.
    pub(super) fn dims(&self, value: ValueId) -> Dims {
        self.shape(value).stored()
    }

    pub(super) fn is_read_once(&self, value: ValueId) -> bool {
        self.readers[value] == 1
    }

    /// Returns whether a step makes the value, so that others can read it.
    pub(super) fn is_made(&self, value: ValueId) -> bool {
        self.made[value]
    }

    /// Whether a step before the value's own makes it.
    pub(super) fn is_made_otherwise(&self, value: ValueId) -> bool {
        self.otherwise[value]
    }

    /// Returns where a product writes its answer of `dims`. If a transpose is the only reader, the
    /// step makes the transpose's answer.
    pub(super) fn written(&mut self, step: &mut FusedStep, dims: Dims) -> Strided {
        let here = Strided::whole(dims);
        let Some((value, order)) = self.transpose_after(step.output) else {
            return here;
        };
        let there = Strided::whole(self.dims(value)).untransposed(&order);
        if !there.is_run(dims.rank() - 1) {
            return here;
        }
        self.made[step.output] = false;
        self.otherwise[value] = true;
        step.output = value;
        there
    }

    /// Returns the transpose that alone reads `value`, and its order.
    fn transpose_after(&self, value: ValueId) -> Option<(ValueId, Dims)> {
        let reads = |n: &Node| n.inputs.iter().any(|i| i.index() == value);
        let index = self.graph.nodes().iter().position(reads)?;
        match self.graph.nodes()[index].op {
            Op::Tensor(TensorOp::Transpose { order }) if self.is_read_once(value) => {
                Some((index + 1, order))
            }
            _ => None,
        }
    }
}

/// A value that a step reads, and the place of the operand in it.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub value: ValueId,
    pub at: Strided,
    /// Nodes that multiply or divide the operand by a constant.
    pub factors: Vec<usize>,
}

/// Returns `value` as an operand, read before all operations that only move values, and with
/// `scaled` also before factors.
pub(super) fn resolved(values: &MadeValues<'_>, value: ValueId, scaled: bool) -> Operand {
    let mut path = vec![value];
    let mut at = value;
    while let Some(node) = values.node(at).filter(|n| passes(n, scaled)) {
        at = node.inputs[0].index();
        path.push(at);
    }
    // Starts at the first value that a step makes, and again at values that strides cannot reach.
    let mut found: Option<Operand> = None;
    for &value in path.iter().rev() {
        let step = |from: Operand| Some(from).and_then(|f| through(values, f, value));
        let whole = || values.made[value].then(|| Operand::whole(values, value));
        found = found.and_then(step).or_else(whole);
    }
    found.unwrap_or_else(|| Operand::whole(values, value))
}

impl Operand {
    fn whole(values: &MadeValues<'_>, value: ValueId) -> Self {
        Operand {
            value,
            at: Strided::whole(values.dims(value)),
            factors: Vec::new(),
        }
    }
}

/// Returns whether a node moves values without changing them, or scales them.
fn passes(node: &Node, scaled: bool) -> bool {
    match node.op {
        Op::Tensor(TensorOp::View { .. } | TensorOp::Transpose { .. }) => true,
        Op::Tensor(TensorOp::Slice { step, .. }) => step > 0,
        _ => scaled && is_factor(node),
    }
}

/// Returns whether a node multiplies or divides every value by one constant.
pub(super) fn is_factor(node: &Node) -> bool {
    match node.op {
        Op::Scale { .. } => true,
        Op::Tensor(TensorOp::With { kind, dims, first }) => {
            let scales = kind == Binary::Mul || kind == Binary::Div && !first;
            scales && dims.elements() == 1
        }
        _ => false,
    }
}

/// Returns the operand after the node that makes `value` of it, or `None` if no strides lead
/// there.
fn through(values: &MadeValues<'_>, from: Operand, value: ValueId) -> Option<Operand> {
    let node = values.node(value)?;
    let at = match node.op {
        Op::Tensor(TensorOp::Transpose { order }) => from.at.transposed(&order),
        Op::Tensor(TensorOp::Slice {
            axis,
            start,
            count,
            step,
        }) => from.at.sliced(axis, start, count, step)?,
        _ => from.at.viewed(&values.dims(value))?,
    };
    let mut factors = from.factors;
    if is_factor(node) {
        factors.push(value - 1);
    }
    Some(Operand {
        at,
        factors,
        ..from
    })
}
