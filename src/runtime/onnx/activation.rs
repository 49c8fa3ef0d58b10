//! Values of a file: constants, and values of the network as the file sees them.

use super::layout::Layout;
use super::tensor::{Constant, Values};
use crate::network::NodeId;
use crate::tensor::DataType;

/// The type of numbers as operators tell them apart. The network computes all in float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberType {
    Floats,
    Integers,
    Booleans,
}

impl NumberType {
    /// Returns the type of numbers of an element type, by its number in `TensorProto.DataType`.
    pub(super) const fn from_element_type(element_type: i32) -> Self {
        match element_type {
            2..=7 | 12 | 13 => NumberType::Integers,
            9 => NumberType::Booleans,
            _ => NumberType::Floats,
        }
    }
}

impl From<DataType> for NumberType {
    fn from(data_type: DataType) -> Self {
        match data_type {
            DataType::Bool => NumberType::Booleans,
            integer if integer.is_integer() => NumberType::Integers,
            _ => NumberType::Floats,
        }
    }
}

impl From<NumberType> for DataType {
    fn from(numbers: NumberType) -> Self {
        match numbers {
            NumberType::Floats => DataType::Fp32,
            NumberType::Integers => DataType::Int64,
            NumberType::Booleans => DataType::Bool,
        }
    }
}

impl From<&Values> for NumberType {
    fn from(values: &Values) -> Self {
        match values {
            Values::Floats(_) => NumberType::Floats,
            Values::Integers(_) => NumberType::Integers,
            Values::Booleans(_) => NumberType::Booleans,
        }
    }
}

/// A value of the network as the file sees it. A batch of one is among its dimensions wherever
/// the file has it.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    pub(super) id: NodeId,
    pub(super) layout: Layout,
    pub(super) numbers: NumberType,
}

impl Activation {
    /// Creates a value of floats.
    pub(super) fn floats(id: NodeId, layout: Layout) -> Self {
        let numbers = NumberType::Floats;
        Activation {
            id,
            layout,
            numbers,
        }
    }

    /// Returns the dimensions as the file sees them.
    pub(super) fn dims(&self) -> &[usize] {
        self.layout.dims()
    }

    /// Returns the value under another layout.
    pub(super) fn with_layout(&self, layout: Layout) -> Self {
        Activation {
            layout,
            ..self.clone()
        }
    }

    /// Returns the value seen with its axes in the order `axes`.
    pub(super) fn transposed(&self, axes: &[usize]) -> Self {
        self.with_layout(self.layout.transposed(axes))
    }

    /// Returns the value seen with its axes in the order that [`transposed`](Self::transposed) by
    /// `axes` had before.
    pub(super) fn transposed_back(&self, axes: &[usize]) -> Self {
        let place = |axis| axes.iter().position(|a| *a == axis).unwrap_or(axis);
        let back: Vec<usize> = (0..axes.len()).map(place).collect();
        self.transposed(&back)
    }

    /// Returns the value with its last two axes exchanged.
    pub(super) fn turned(&self) -> Self {
        let rank = self.dims().len();
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.swap(rank - 2, rank - 1);
        self.transposed(&axes)
    }

    /// Returns the value as numbers of another type, which it holds already.
    pub(super) fn typed(self, numbers: NumberType) -> Self {
        Activation { numbers, ..self }
    }
}

/// A value of the file.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Constant(Constant),
    Activation(Activation),
    /// The answer of a node that cannot be computed.
    Unknown,
}

impl Value {
    /// Returns the dimensions, or `None` if they are not known.
    pub(super) fn dims(&self) -> Option<&[usize]> {
        match self {
            Value::Constant(constant) => Some(&constant.dims),
            Value::Activation(activation) => Some(activation.dims()),
            Value::Unknown => None,
        }
    }
}

impl From<Activation> for Value {
    fn from(activation: Activation) -> Self {
        Value::Activation(activation)
    }
}

impl From<Constant> for Value {
    fn from(constant: Constant) -> Self {
        Value::Constant(constant)
    }
}
