//! The inputs of a node, and the commonest ways to add an operation.

use crate::network::{NodeId, Op, Shape, TensorOp};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::floats::Floats;
use crate::onnx::layout::Layout;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

pub(super) type Added = Result<Activation, Refusal>;

/// Adds an operator of one answer.
pub(super) type Handler = for<'a> fn(&mut PartialNetwork<'a>, Node<'a>, &Inputs<'_>) -> Added;

/// Adds an operator of several answers.
pub(super) type HandlerOfMany =
    for<'a> fn(&mut PartialNetwork<'a>, Node<'a>, &Inputs<'_>) -> Result<Vec<Activation>, Refusal>;

pub(super) fn unsupported<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Unsupported(why.into()))
}

/// The inputs of a node; omitted ones are `None`.
pub(super) struct Inputs<'v>(pub(super) &'v [Option<Value>]);

impl Inputs<'_> {
    pub(super) fn value(&self, n: usize) -> Result<&Value, Refusal> {
        let given = self.0.get(n).and_then(Option::as_ref);
        given.ok_or_else(|| NodeFault::NoInput(n).into())
    }

    /// Returns whether input `n` exists.
    pub(super) fn has(&self, n: usize) -> bool {
        matches!(self.0.get(n), Some(Some(_)))
    }

    pub(super) fn constant(&self, n: usize) -> Result<Option<&Constant>, Refusal> {
        match self.0.get(n).and_then(Option::as_ref) {
            Some(Value::Constant(constant)) => Ok(Some(constant)),
            Some(_) => unsupported(format!("input {n} is not a constant")),
            None => Ok(None),
        }
    }

    /// Returns constant integers, or `None` if the input is left out.
    pub(super) fn integers(&self, n: usize) -> Result<Option<&[i64]>, Refusal> {
        match self.constant(n)? {
            None => Ok(None),
            Some(constant) => match constant.as_integers() {
                Some(integers) => Ok(Some(integers)),
                None => unsupported(format!("input {n} is not a tensor of integers")),
            },
        }
    }

    /// Returns a constant number, or `None` if the input is left out.
    pub(super) fn number(&self, n: usize) -> Result<Option<f32>, Refusal> {
        Ok(self.constant(n)?.and_then(Constant::as_scalar))
    }

    /// Returns the values of input `n`, which must be floats of `dims`.
    pub(super) fn floats(&self, n: usize, dims: &[usize]) -> Result<Option<Vec<f32>>, Refusal> {
        Ok(self.held_floats(n, dims)?.map(|floats| floats.to_vec()))
    }

    /// Returns the values of input `n` in place. They must be floats of `dims`.
    fn held_floats(&self, n: usize, dims: &[usize]) -> Result<Option<&Floats>, Refusal> {
        let Some(constant) = self.constant(n)? else {
            return Ok(None);
        };
        let wrong = |found: String| {
            let why = format!("input {n}: expected floats of {dims:?}, found {found}");
            Refusal::Fault(NodeFault::Shapes(why))
        };
        if constant.dims != dims {
            return Err(wrong(format!("{:?}", constant.dims)));
        }
        match &constant.values {
            Values::Floats(floats) => Ok(Some(floats)),
            _ => Err(wrong("another type".into())),
        }
    }

    /// Returns the weights in input `n`, which must be floats of `dims`. Weights in the file stay
    /// there.
    pub(super) fn weights(&self, n: usize, dims: &[usize]) -> Result<Floats, Refusal> {
        let held = self.held_floats(n, dims)?;
        held.cloned().ok_or_else(|| NodeFault::NoInput(n).into())
    }

    pub(super) fn required(&self, n: usize, dims: &[usize]) -> Result<Vec<f32>, Refusal> {
        self.floats(n, dims)?
            .ok_or_else(|| NodeFault::NoInput(n).into())
    }

    pub(super) fn constants(&self) -> Vec<Option<&Constant>> {
        let constants = self.0.iter().map(|value| match value {
            Some(Value::Constant(constant)) => Some(constant),
            _ => None,
        });
        constants.collect()
    }
}

impl<'a> PartialNetwork<'a> {
    /// Returns input `n` as a value of the network.
    pub(super) fn input(&mut self, node: Node<'a>, inputs: &Inputs<'_>, n: usize) -> Added {
        self.operand(node, inputs.value(n)?)
    }

    /// Adds an operation on tensors without parameters. Operations that exporters repeat in each
    /// layer, such as masks, are computed once.
    pub(super) fn tensor(
        &mut self,
        node: Node<'a>,
        op: TensorOp,
        inputs: &[NodeId],
    ) -> Result<NodeId, Refusal> {
        let repeats = matches!(
            op,
            TensorOp::Where | TensorOp::Unary { .. } | TensorOp::Binary { .. }
        );
        let key = repeats.then(|| format!("{op:?} {inputs:?}"));
        if let Some(made) = key.as_ref().and_then(|key| self.repeated.get(key)) {
            return Ok(*made);
        }
        let id = self.layer(node, Op::Tensor(op), inputs, Vec::new())?;
        self.repeated.extend(key.map(|key| (key, id)));
        Ok(id)
    }

    /// Adds an operation on each value separately.
    pub(super) fn each(&mut self, node: Node<'a>, op: Op, x: &Activation) -> Added {
        let from = match op {
            Op::Tensor(_) => {
                let shape = Shape::tensor(self.shape(x.id).stored());
                self.viewed(node, x.id, shape)?
            }
            _ => x.id,
        };
        let id = self.layer(node, op, &[from], Vec::new())?;
        Ok(Activation { id, ..x.clone() })
    }
}

/// Adds an operation that makes an image.
pub(super) fn image<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    op: Op,
    weights: Vec<(&str, Floats)>,
) -> Added {
    let id = network.layer_of(node, op, &[x.id], weights)?;
    match network.shape(id) {
        Shape::Image {
            channels,
            height,
            width,
        } => Ok(Activation::floats(
            id,
            Layout::image(channels, height, width),
        )),
        other => unsupported(format!("its answer of {other} is not an image")),
    }
}

/// Returns an image, its channels, height and width. One row of pixels is an image of height 1.
pub(super) fn pixels<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
) -> Result<(Activation, [usize; 3]), Refusal> {
    let x = match *x.dims() {
        [1, c, w] => network.reshaped(node, x, &[1, c, 1, w])?,
        _ => x.clone(),
    };
    match (network.imaged(node, &x)?, x.dims()) {
        (Some(image), &[_, c, h, w]) => Ok((image, [c, h, w])),
        (_, dims) => unsupported(format!("its input of {dims:?} is not a batch of images")),
    }
}

/// Returns an answer with one axis of pixels if the input has one.
pub(super) fn in_rank_of<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    made: Activation,
) -> Added {
    match (x.dims().len(), made.dims()) {
        (3, &[n, c, 1, w]) => network.reshaped(node, &made, &[n, c, w]),
        _ => Ok(made),
    }
}
