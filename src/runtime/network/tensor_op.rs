//! Operations on tensors of any rank, as ONNX files hold them: the shapes of their answers.
//!
//! Axes and dimensions are those in which values are held: an image is first seen as a tensor
//! `[height, width, channels]` by a view, which costs nothing. The batch is no dimension.
//! Integers and booleans are held as float32, exact up to 2²⁴; false is 0.

use serde::{Deserialize, Serialize};

use super::dims::Dims;
use super::error::OpError;
use super::op::ParameterRole;
use super::shape::Shape;

/// An operation on tensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tensor", rename_all = "kebab-case")]
pub enum TensorOp {
    /// The same values in the same order under another shape.
    View {
        /// The new shape.
        shape: Shape,
    },
    /// A run of a vector as a tensor; as an image if `shape` is one, its channels slowest in
    /// the vector. So one row of values holds several inputs.
    Part {
        /// The first value.
        first: usize,
        /// The shape of the run.
        shape: Shape,
    },
    /// All inputs one after another as a vector, images with their channels slowest. So one
    /// row of values holds several answers.
    Row,
    /// The parameter `value`, whatever the sample.
    Constant {
        /// Its dimensions.
        dims: Dims,
    },
    /// Axes in another order: axis `i` of the answer is axis `order[i]` of the input.
    Transpose {
        /// The axes.
        order: Dims,
    },
    /// Two values for each answer, repeated along sizes of 1 as in NumPy.
    Binary {
        /// What is computed of them.
        kind: Binary,
    },
    /// The same with the parameter `value` as one of the operands.
    With {
        /// What is computed of them.
        kind: Binary,
        /// Dimensions of the parameter.
        dims: Dims,
        /// Whether the parameter is the first operand.
        first: bool,
    },
    /// One value for each answer.
    Unary {
        /// What is computed of it.
        kind: Unary,
    },
    /// The second input where the first is not 0, else the third; repeated as in NumPy.
    Where,
    /// Products of matrices `[…, m, k]` and `[…, k, n]`, repeated along the axes before.
    MatMul,
    /// One value for all along some axes.
    Reduce {
        /// What is computed of them.
        kind: Reduction,
        /// The axes, ascending.
        axes: Dims,
        /// Whether the axes stay, with the size 1.
        keep: bool,
    },
    /// Every `step`-th position along an axis.
    Slice {
        /// The axis.
        axis: usize,
        /// The first position.
        start: usize,
        /// Positions taken.
        count: usize,
        /// Distance of the positions; negative backwards.
        step: isize,
    },
    /// Tensors one after another along an axis.
    Join {
        /// The axis.
        axis: usize,
    },
    /// Positions along an axis of the first input, which the second one lists; a negative one
    /// counts from the end.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// The same with the parameter `indices`.
    Take {
        /// The axis.
        axis: usize,
        /// Dimensions of the parameter.
        indices: Dims,
    },
    /// Rows of the parameter `weight` (`[rows, features]`), which the input lists.
    Embedding {
        /// Rows of the table.
        rows: usize,
        /// Values of a row.
        features: usize,
    },
    /// A border around a tensor.
    Pad {
        /// Positions before each axis.
        before: Dims,
        /// Positions after each axis.
        after: Dims,
        /// The border's values.
        border: Border,
    },
    /// The input repeated along sizes of 1, as in NumPy.
    Expand {
        /// Dimensions of the answer.
        dims: Dims,
    },
    /// Sums of all values up to each one along an axis.
    CumSum {
        /// The axis.
        axis: usize,
        /// Whether a value is no part of its own sum.
        exclusive: bool,
        /// Whether sums begin at the end.
        reverse: bool,
    },
}

/// A function of two numbers. Comparisons and logic answer 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    /// A quotient of integers, rounded towards zero.
    IntegerDiv,
    Pow,
    Min,
    Max,
    /// The remainder, with the sign of the divisor.
    Mod,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Xor,
}

impl Binary {
    const fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::IntegerDiv => "integer-div",
            Binary::Pow => "pow",
            Binary::Min => "min",
            Binary::Max => "max",
            Binary::Mod => "mod",
            Binary::Equal => "equal",
            Binary::Less => "less",
            Binary::LessOrEqual => "less-or-equal",
            Binary::Greater => "greater",
            Binary::GreaterOrEqual => "greater-or-equal",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
        }
    }
}

/// A function of one number that is no [`Activation`](super::Activation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unary {
    Abs,
    Neg,
    Sign,
    Sqrt,
    Reciprocal,
    Exp,
    Log,
    Erf,
    Sin,
    Cos,
    Floor,
    Ceil,
    /// To the nearest integer, halves to the even one.
    Round,
    /// Towards zero, as a cast to integers does.
    Truncate,
    /// 1 for 0, else 0.
    Not,
    /// 1 unless it is 0, as a cast to booleans does.
    NotZero,
    IsNaN,
    /// 0 for NaN, others as they are.
    NanToZero,
}

impl Unary {
    const fn name(self) -> &'static str {
        match self {
            Unary::Abs => "abs",
            Unary::Neg => "neg",
            Unary::Sign => "sign",
            Unary::Sqrt => "sqrt",
            Unary::Reciprocal => "reciprocal",
            Unary::Exp => "exp",
            Unary::Log => "log",
            Unary::Erf => "erf",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Floor => "floor",
            Unary::Ceil => "ceil",
            Unary::Round => "round",
            Unary::Truncate => "truncate",
            Unary::Not => "not",
            Unary::NotZero => "not-zero",
            Unary::IsNaN => "is-nan",
            Unary::NanToZero => "nan-to-zero",
        }
    }
}

/// One number for many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
    Product,
    /// The sum of absolute values.
    L1,
    /// The square root of the sum of squares.
    L2,
    SumOfSquares,
    /// The first position of the largest value; of a single axis.
    ArgMax,
    /// The first position of the least value; of a single axis.
    ArgMin,
}

impl Reduction {
    const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Product => "product",
            Reduction::L1 => "l1",
            Reduction::L2 => "l2",
            Reduction::SumOfSquares => "sum-of-squares",
            Reduction::ArgMax => "arg-max",
            Reduction::ArgMin => "arg-min",
        }
    }
}

/// The values of a border.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Border {
    /// One value everywhere.
    Constant(f32),
    /// The nearest value of the tensor.
    Edge,
    /// The tensor mirrored at its last value, which is not repeated.
    Reflect,
}

impl TensorOp {
    /// Returns the operation's name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            TensorOp::View { .. } => "view",
            TensorOp::Part { .. } => "part",
            TensorOp::Row => "row",
            TensorOp::Constant { .. } => "constant",
            TensorOp::Transpose { .. } => "transpose",
            TensorOp::Binary { kind } | TensorOp::With { kind, .. } => kind.name(),
            TensorOp::Unary { kind } => kind.name(),
            TensorOp::Where => "where",
            TensorOp::MatMul => "matmul",
            TensorOp::Reduce { kind, .. } => kind.name(),
            TensorOp::Slice { .. } => "slice",
            TensorOp::Join { .. } => "join",
            TensorOp::Gather { .. } => "gather",
            TensorOp::Take { .. } => "take",
            TensorOp::Embedding { .. } => "embedding",
            TensorOp::Pad { .. } => "pad",
            TensorOp::Expand { .. } => "expand",
            TensorOp::CumSum { .. } => "cum-sum",
        }
    }

    /// Returns how many inputs the operation takes: `(least, most)`. A constant reads the
    /// sample, of which it takes the size of the batch alone.
    pub const fn arity(&self) -> (usize, usize) {
        match self {
            TensorOp::Binary { .. } | TensorOp::MatMul | TensorOp::Gather { .. } => (2, 2),
            TensorOp::Where => (3, 3),
            TensorOp::Row | TensorOp::Join { .. } => (1, usize::MAX),
            _ => (1, 1),
        }
    }

    /// Returns the shape of the answer.
    ///
    /// # Errors
    /// The operation does not take `inputs`.
    pub(super) fn output(&self, inputs: &[Shape]) -> Result<Shape, OpError> {
        match *self {
            TensorOp::View { shape } if shape.elements() == inputs[0].elements() => {
                return Ok(shape);
            }
            TensorOp::Part { first, shape } => return part(inputs[0], first, shape),
            TensorOp::Row => {
                let all = inputs.iter().map(|s| s.elements()).sum();
                return Ok(Shape::vector(all));
            }
            TensorOp::Constant { dims } => return Ok(Shape::tensor(dims)),
            _ => {}
        }
        let dims: Vec<Dims> = inputs
            .iter()
            .map(|&s| tensor(s))
            .collect::<Result<_, _>>()?;
        self.dims(&dims)
            .map(Shape::tensor)
            .ok_or_else(|| OpError::Tensors {
                found: inputs.to_vec(),
            })
    }

    /// Returns the parameters by their last names, with dimensions and roles.
    pub(super) fn parameters(&self) -> Vec<(&'static str, Dims, ParameterRole)> {
        match *self {
            TensorOp::Constant { dims } | TensorOp::With { dims, .. } => {
                vec![("value", dims, ParameterRole::Operand)]
            }
            TensorOp::Take { indices, .. } => vec![("indices", indices, ParameterRole::Operand)],
            TensorOp::Embedding { rows, features } => {
                let dims = Dims::new(&[rows, features]);
                let role = ParameterRole::Weight { fan_in: features };
                dims.map(|dims| ("weight", dims, role))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the number of values in all parameters.
    pub fn parameter_values(&self) -> usize {
        let all = self.parameters().into_iter();
        all.map(|(_, dims, _)| dims.elements()).sum()
    }

    /// Returns the floating-point operations for an answer of `out` values.
    pub(super) fn flops(&self, out: u64, input: Shape) -> u64 {
        match self {
            TensorOp::MatMul => 2 * out * input.channels() as u64,
            TensorOp::Binary { .. } | TensorOp::With { .. } | TensorOp::Unary { .. } => out,
            TensorOp::Reduce { .. } | TensorOp::CumSum { .. } => input.elements() as u64,
            _ => 0,
        }
    }

    /// Returns the dimensions of the answer, or `None` where the inputs do not fit.
    fn dims(&self, inputs: &[Dims]) -> Option<Dims> {
        let first = inputs[0];
        match *self {
            TensorOp::View { .. }
            | TensorOp::Part { .. }
            | TensorOp::Row
            | TensorOp::Constant { .. } => None,
            TensorOp::Unary { .. } => Some(first),
            TensorOp::Transpose { order } => transposed(&first, &order),
            TensorOp::Binary { .. } => first.broadcast(&inputs[1]),
            TensorOp::With { dims, .. } => first.broadcast(&dims),
            TensorOp::Where => first.broadcast(&inputs[1])?.broadcast(&inputs[2]),
            TensorOp::MatMul => product(&first, &inputs[1]),
            TensorOp::Reduce { kind, axes, keep } => reduced(&first, kind, &axes, keep),
            TensorOp::Slice {
                axis,
                start,
                count,
                step,
            } => {
                let end =
                    start.checked_add_signed(step.checked_mul(count.checked_sub(1)? as isize)?)?;
                let size = *first.get(axis)?;
                (start < size && end < size).then(|| first.with(axis, count))
            }
            TensorOp::Join { axis } => joined(inputs, axis),
            TensorOp::Gather { axis } => gathered(&first, axis, &inputs[1]),
            TensorOp::Take { axis, indices } => gathered(&first, axis, &indices),
            TensorOp::Embedding { features, .. } => {
                Dims::new(&[&first[..], &[features]].concat()).ok()
            }
            TensorOp::Pad {
                before,
                after,
                border,
            } => padded(&first, &before, &after, border),
            TensorOp::Expand { dims } => (first.broadcast(&dims) == Some(dims)).then_some(dims),
            TensorOp::CumSum { axis, .. } => (axis < first.rank()).then_some(first),
        }
    }
}

/// Returns the dimensions of what is no image.
fn tensor(shape: Shape) -> Result<Dims, OpError> {
    match shape {
        Shape::Image { .. } => Err(OpError::NotATensor { found: shape }),
        _ => Ok(shape.stored()),
    }
}

fn part(from: Shape, first: usize, shape: Shape) -> Result<Shape, OpError> {
    let fits = match (from, first.checked_add(shape.elements())) {
        (Shape::Vector { features }, Some(end)) => end <= features,
        _ => false,
    };
    let none = || OpError::Tensors { found: vec![from] };
    fits.then_some(shape).ok_or_else(none)
}

fn transposed(dims: &Dims, order: &Dims) -> Option<Dims> {
    let mut axes = order.to_vec();
    axes.sort_unstable();
    let sizes = order.iter().map(|&axis| dims.get(axis).copied());
    let sizes = sizes.collect::<Option<Vec<_>>>()?;
    axes.into_iter().eq(0..dims.rank()).then_some(())?;
    Dims::new(&sizes).ok()
}

fn product(a: &Dims, b: &Dims) -> Option<Dims> {
    let (&[m, k], before) = (a.last_chunk::<2>()?, &a[..a.rank() - 2]);
    let (&[l, n], other) = (b.last_chunk::<2>()?, &b[..b.rank() - 2]);
    let many = Dims::new(before).ok()?.broadcast(&Dims::new(other).ok()?)?;
    let dims = [&many[..], &[m, n]].concat();
    (k == l).then(|| Dims::new(&dims).ok())?
}

fn reduced(dims: &Dims, kind: Reduction, axes: &Dims, keep: bool) -> Option<Dims> {
    let single = matches!(kind, Reduction::ArgMax | Reduction::ArgMin);
    let ascending = axes.is_sorted_by(|a, b| a < b) && axes.iter().all(|&a| a < dims.rank());
    if !ascending || single && axes.rank() != 1 {
        return None;
    }
    let left = (0..dims.rank()).filter_map(|axis| match (axes.contains(&axis), keep) {
        (false, _) => Some(dims[axis]),
        (true, true) => Some(1),
        (true, false) => None,
    });
    Dims::new(&left.collect::<Vec<_>>()).ok()
}

fn joined(parts: &[Dims], axis: usize) -> Option<Dims> {
    let first = parts[0];
    first.get(axis)?;
    let alike = |p: &Dims| p.rank() == first.rank() && p.with(axis, 1) == first.with(axis, 1);
    let all = parts
        .iter()
        .map(|p| p.get(axis).copied().unwrap_or(0))
        .sum();
    parts.iter().all(alike).then(|| first.with(axis, all))
}

fn gathered(dims: &Dims, axis: usize, indices: &Dims) -> Option<Dims> {
    dims.get(axis)?;
    let sizes = [&dims[..axis], &indices[..], &dims[axis + 1..]].concat();
    Dims::new(&sizes).ok()
}

fn padded(dims: &Dims, before: &Dims, after: &Dims, border: Border) -> Option<Dims> {
    if before.rank() != dims.rank() || after.rank() != dims.rank() {
        return None;
    }
    let sizes = (0..dims.rank()).map(|axis| {
        let mirrored = before[axis].max(after[axis]) < dims[axis];
        let fits = border != Border::Reflect || mirrored;
        let size = before[axis]
            .checked_add(dims[axis])?
            .checked_add(after[axis]);
        size.filter(|_| fits)
    });
    Dims::new(&sizes.collect::<Option<Vec<_>>>()?).ok()
}
