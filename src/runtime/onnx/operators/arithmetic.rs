//! Functions of two numbers, repeated as in NumPy, of activations and constants.

use super::elementwise::choice;
use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Dims, NodeId, Op, Shape, TensorOp, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::fold::{by_zero, permuted};
use crate::onnx::kinds::{answers_booleans, binary, narrow};
use crate::onnx::layout::{Layout, common, inserted};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::shapes::broadcast_dims;
use crate::onnx::tensor::Constant;
use crate::tensor::MOST_EXACT;

/// Returns whether a function depends on the exact values of integers, however large they are.
fn tells_apart(kind: Binary) -> bool {
    matches!(
        kind,
        Binary::Div | Binary::Mod | Binary::BitAnd | Binary::BitOr | Binary::BitXor
    )
}

fn is_of_integers(value: &Value) -> bool {
    match value {
        Value::Activation(x) => x.numbers == NumberType::Integers,
        Value::Constant(c) => c.as_integers().is_some(),
        Value::Unknown => false,
    }
}

/// Returns a function as it is for numbers of a type.
fn exact(kind: Binary, numbers: NumberType) -> Binary {
    match (kind, numbers) {
        (Binary::Div, NumberType::Integers) => Binary::IntegerDiv,
        _ => kind,
    }
}

fn answered(kind: Binary, numbers: NumberType) -> NumberType {
    match answers_booleans(kind) {
        true => NumberType::Booleans,
        false => numbers,
    }
}

impl<'a> PartialNetwork<'a> {
    /// Adds a function of one number.
    pub(super) fn unary(&mut self, node: Node<'a>, kind: Unary, x: &Activation) -> Added {
        self.each(node, Op::Tensor(TensorOp::Unary { kind }), x)
    }

    /// Adds a function of two values, one of which may be constant.
    pub(super) fn binary(&mut self, node: Node<'a>, kind: Binary, a: &Value, b: &Value) -> Added {
        match (a, b) {
            (Value::Activation(_), Value::Constant(c))
                if matches!(kind, Binary::Div | Binary::Mod)
                    && c.as_integers().is_some_and(|c| c.contains(&0)) =>
            {
                Err(by_zero().into())
            }
            (a, b) if tells_apart(kind) && [a, b].into_iter().all(is_of_integers) => {
                let (a, b) = (self.exact(node, a)?, self.exact(node, b)?);
                self.binary_of(node, kind, &a, &b)
            }
            (a, b) => self.binary_of(node, kind, a, b),
        }
    }

    /// Adds a function of two values as they are.
    fn binary_of(&mut self, node: Node<'a>, kind: Binary, a: &Value, b: &Value) -> Added {
        match (a, b) {
            (Value::Activation(x), Value::Constant(c)) => self.with(node, kind, x, c, false),
            (Value::Constant(c), Value::Activation(x)) => self.with(node, kind, x, c, true),
            (a, b) => {
                let (a, b) = (self.operand(node, a)?, self.operand(node, b)?);
                self.pair(node, kind, &a, &b)
            }
        }
    }

    /// Returns integers that float32 holds exactly, or NaN for those that it does not.
    pub(super) fn exact(&mut self, node: Node<'a>, value: &Value) -> Result<Value, Refusal> {
        match value {
            Value::Activation(x) if x.numbers == NumberType::Integers => {
                self.exact_integers(node, x).map(Value::from)
            }
            Value::Constant(c) => {
                let mut integers = c.as_integers().into_iter().flatten();
                match integers.find(|n| n.unsigned_abs() >= MOST_EXACT.into()) {
                    None => Ok(value.clone()),
                    Some(n) => unsupported(format!("integer {n} has more than 24 bits")),
                }
            }
            other => Ok(other.clone()),
        }
    }

    /// Replaces integers that float32 may not hold exactly by NaN. Otherwise a remainder of them
    /// could be another number and look up another row of a table.
    fn exact_integers(&mut self, node: Node<'a>, x: &Activation) -> Added {
        let size = self.unary(node, Unary::Abs, x)?;
        let size = size.typed(NumberType::Floats);
        // Larger ones are rounded to it or above.
        let bound = MOST_EXACT as f32;
        let is_large = self.with_number(node, Binary::GreaterOrEqual, &size, bound, false)?;
        let nan = self.operand(node, &Constant::float(f32::NAN).into())?;
        let made = choice(self, node, [&is_large, &nan, x])?;
        Ok(made.typed(x.numbers))
    }

    /// Adds a function of two activations.
    pub(super) fn pair(
        &mut self,
        node: Node<'a>,
        kind: Binary,
        a: &Activation,
        b: &Activation,
    ) -> Added {
        let numbers = answered(kind, a.numbers);
        let kind = exact(kind, a.numbers);
        let dims = broadcast_dims(a.dims(), b.dims())?;
        if let Some(made) = self.of_images(node, kind, a, b)? {
            return Ok(made);
        }
        let raised = [a, b].map(|x| x.with_layout(x.layout.with_rank(dims.len())));
        let axes = common(&[&raised[0].layout, &raised[1].layout]);
        let left = self.stored(node, &raised[0], &axes)?;
        let right = self.stored(node, &raised[1], &axes)?;
        let op = match self.shape(left) == self.shape(right) && kind == Binary::Add {
            true => Op::Add,
            false => Op::Tensor(TensorOp::Binary { kind }),
        };
        let id = self.layer(node, op, &[left, right], Vec::new())?;
        let layout = Layout::new(dims, &axes);
        Ok(Activation {
            id,
            layout,
            numbers,
        })
    }

    /// Adds a sum or product of images in their own layout, or of an image and a value for each of
    /// its channels. Returns `None` for other operands.
    fn of_images(
        &mut self,
        node: Node<'a>,
        kind: Binary,
        a: &Activation,
        b: &Activation,
    ) -> Result<Option<Activation>, Refusal> {
        let op = match kind {
            Binary::Add => Op::Add,
            Binary::Mul => Op::Mul,
            _ => return Ok(None),
        };
        let is_image = |x: &Activation| {
            let four = x.dims().len() == 4 && x.layout.lies_as(&[2, 3, 1]);
            matches!(self.shape(x.id), Shape::Image { .. }) && four
        };
        let is_row = |x: &Activation, of: &Activation| matches!(*x.dims(), [1, c, 1, 1] if c == of.dims()[1]);
        if a.layout == b.layout && self.shape(a.id) == self.shape(b.id) {
            let id = self.layer(node, op, &[a.id, b.id], Vec::new())?;
            return Ok(Some(Activation { id, ..a.clone() }));
        }
        let (image, row) = match (is_image(a), is_image(b)) {
            (true, _) if is_row(b, a) => (a, b),
            (_, true) if is_row(a, b) => (b, a),
            _ => return Ok(None),
        };
        let row = self.stored(node, row, &[1])?;
        let id = self.layer(node, op, &[image.id, row], Vec::new())?;
        Ok(Some(Activation {
            id,
            ..image.clone()
        }))
    }

    /// Adds a function of an activation and a constant, which is the first operand if `first`.
    pub(super) fn with(
        &mut self,
        node: Node<'a>,
        kind: Binary,
        x: &Activation,
        constant: &Constant,
        first: bool,
    ) -> Added {
        if constant.values.len() == 0 {
            return unsupported(format!("an empty constant of {:?}", constant.dims));
        }
        let dims = broadcast_dims(x.dims(), &constant.dims)?;
        let values = constant.to_floats();
        if let (&[by], true) = (values.as_slice(), dims.len() == x.dims().len()) {
            return self.with_number(node, kind, x, by, first);
        }
        let raised = Layout::row_major(constant.dims.clone()).with_rank(dims.len());
        if let (true, &[axis]) = (dims == x.dims(), raised.order())
            && let Some(made) = self.of_channels(node, kind, x, axis, &values, first)?
        {
            return Ok(made);
        }
        let layout = x.layout.with_rank(dims.len());
        let axes = inserted(layout.order(), raised.order());
        let value = Constant {
            dims: raised.dims().to_vec(),
            values: constant.values.clone(),
        };
        let all = inserted_last(&axes, dims.len());
        let value = permuted(&value, &all).to_floats();
        let from = self.stored(node, &x.with_layout(layout), &axes)?;
        let exact = exact(kind, x.numbers);
        let id = self.with_value(node, exact, from, first, &raised.sizes(&axes), value)?;
        Ok(Activation {
            id,
            layout: Layout::new(dims, &axes),
            numbers: answered(kind, x.numbers),
        })
    }

    fn with_value(
        &mut self,
        node: Node<'a>,
        kind: Binary,
        from: NodeId,
        first: bool,
        sizes: &[usize],
        value: Vec<f32>,
    ) -> Result<NodeId, Refusal> {
        // Leading sizes of 1 have no effect.
        let ones = sizes.iter().take_while(|d| **d == 1).count();
        let sizes = match sizes.get(ones..) {
            None | Some([]) => &[1],
            Some(sizes) => sizes,
        };
        let dims = Dims::new(sizes)?;
        let op = Op::Tensor(TensorOp::With { kind, dims, first });
        self.layer(node, op, &[from], vec![("value", value)])
    }

    /// Adds a function of each value and one number, which is the first operand if `first`.
    pub(super) fn with_number(
        &mut self,
        node: Node<'a>,
        kind: Binary,
        x: &Activation,
        by: f32,
        first: bool,
    ) -> Added {
        let is_float = x.numbers == NumberType::Floats;
        let scale = match (kind, first) {
            (Binary::Add, _) | (Binary::Sub, false) if by == 0.0 => return Ok(x.clone()),
            (Binary::Div | Binary::Pow, false) if by == 1.0 => return Ok(x.clone()),
            (Binary::Mul, _) if by == 1.0 => return Ok(x.clone()),
            (Binary::Mul, _) => by,
            (Binary::Div, false) if is_float && !self.is_rounded(node) => by.recip(),
            (Binary::Pow, false) if by == 2.0 => return self.pair(node, Binary::Mul, x, x),
            (Binary::Pow, false) if by == 0.5 => return self.unary(node, Unary::Sqrt, x),
            _ => f32::NAN,
        };
        if scale.is_finite() {
            let id = self.layer(node, Op::Scale { by: scale }, &[x.id], Vec::new())?;
            return Ok(Activation { id, ..x.clone() });
        }
        let shape = self.shape(x.id);
        if let (Shape::Image { channels, .. }, Some(axis)) = (shape, x.layout.order().last()) {
            let values = vec![by; channels];
            if let Some(made) = self.of_channels(node, kind, x, *axis, &values, first)? {
                return Ok(made);
            }
        }
        let from = self.viewed(node, x.id, Shape::tensor(shape.stored()))?;
        let id = self.with_value(node, exact(kind, x.numbers), from, first, &[1], vec![by])?;
        Ok(Activation {
            id,
            numbers: answered(kind, x.numbers),
            ..x.clone()
        })
    }

    /// Returns whether quotients of a node become integers. Multiplying with the reciprocal, which
    /// may be off in the last digit, would change some of them.
    fn is_rounded(&self, node: Node<'_>) -> bool {
        let rounds = |operator: &str| {
            matches!(operator, "Floor" | "Ceil" | "Round" | "Cast" | "Mod")
                || operator == "DynamicQuantizeLinear"
                // Operators of quantised values, `QuantizeLinear` to `QGemm`.
                || operator.starts_with('Q')
        };
        let mut readers = node.outputs().iter().flat_map(|name| self.readers_of(name));
        node.operator().is_some_and(rounds)
            || readers.any(|reader| reader.operator().is_some_and(rounds))
    }

    /// Adds a sum or a product with a constant for each channel of an image or feature of a vector,
    /// as a norm that other operations can absorb. Returns `None` for other operands.
    fn of_channels(
        &mut self,
        node: Node<'a>,
        kind: Binary,
        x: &Activation,
        axis: usize,
        values: &[f32],
        first: bool,
    ) -> Result<Option<Activation>, Refusal> {
        let shape = self.shape(x.id);
        let is_last = x.layout.order().last() == Some(&axis) && shape.channels() == values.len();
        let is_row = !matches!(shape, Shape::Tensor(_)) && x.numbers == NumberType::Floats;
        if !is_last || !is_row || !values.iter().all(|v| v.is_finite()) {
            return Ok(None);
        }
        let (zeros, ones) = (|| vec![0.0; values.len()], || vec![1.0; values.len()]);
        let each = |f: fn(f32) -> f32| values.iter().map(|v| f(*v)).collect::<Vec<f32>>();
        let (scale, shift) = match (kind, first) {
            (Binary::Add, _) => (ones(), each(|v| v)),
            (Binary::Sub, false) => (ones(), each(|v| -v)),
            (Binary::Mul, _) => (each(|v| v), zeros()),
            (Binary::Div, false) if !self.is_rounded(node) => (each(f32::recip), zeros()),
            _ => return Ok(None),
        };
        if !scale.iter().all(|v| v.is_finite()) {
            return Ok(None);
        }
        let names = ["weight", "bias", "running_mean", "running_var"];
        let weights = names.into_iter().zip([scale, shift, zeros(), ones()]);
        let norm = Op::BatchNorm { eps: NO_EPS };
        let id = self.layer(node, norm, &[x.id], weights.collect())?;
        Ok(Some(Activation { id, ..x.clone() }))
    }
}

/// So small that a variance of 1 stays 1.
const NO_EPS: f32 = 1e-30;

/// Returns `axes`, then all others among `rank`.
fn inserted_last(axes: &[usize], rank: usize) -> Vec<usize> {
    let others = (0..rank).filter(|axis| !axes.contains(axis));
    axes.iter().copied().chain(others).collect()
}

/// Two inputs, or many taken one after the other.
pub(super) fn many<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let operator = node.operator().unwrap_or_default();
    let Some(kind) = binary(operator) else {
        return unsupported("unknown operator");
    };
    if operator == "Mod" && node.integer("fmod") == Some(1) {
        return remainder(network, node, inputs);
    }
    let mut all = match inputs.0 {
        [_] => network.input(node, inputs, 0)?,
        _ => network.binary(node, kind, inputs.value(0)?, inputs.value(1)?)?,
    };
    for n in 2..inputs.0.len() {
        all = network.binary(node, kind, &all.into(), inputs.value(n)?)?;
    }
    match operator {
        "Mean" => network.with_number(node, Binary::Div, &all, inputs.0.len() as f32, false),
        "Add" | "Sub" | "Mul" | "Pow" | "Div" if all.numbers == NumberType::Integers => {
            let first = node
                .inputs()
                .first()
                .and_then(|name| network.element_type(name));
            network.wrapped(node, &all, first.and_then(narrow))
        }
        _ => Ok(all),
    }
}

/// The remainder of C, with the sign of the dividend.
fn remainder<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let (a, b) = (inputs.value(0)?, inputs.value(1)?);
    let (a, b) = (network.exact(node, a)?, network.exact(node, b)?);
    network.binary_of(node, Binary::Remainder, &a, &b)
}
