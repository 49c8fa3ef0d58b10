//! Values and nodes as they are followed for a batch.

use std::collections::HashMap;

use super::place::SamplePlace;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::tensor::Constant;

/// The batch size that represents all others.
const ANY_BATCH: usize = 3;

/// A value that differs between a batch and one sample.
#[derive(Clone, Debug)]
pub(in crate::onnx) enum Batched {
    /// The constant for the batch.
    Constant(Constant),
    /// An activation, which holds the samples at a place.
    Samples(SamplePlace),
    /// Positions, the first of which is the sample's own number in the batch.
    Numbered(SamplePlace),
}

/// The reason why a node is not followed.
#[derive(Debug)]
pub(in crate::onnx) enum BatchFault {
    /// It mixes samples, or depends on the batch size.
    Mixes(String),
    /// It is invalid for a larger batch.
    Single,
}

impl From<NodeFault> for BatchFault {
    fn from(_: NodeFault) -> Self {
        BatchFault::Single
    }
}

pub(in crate::onnx) fn mixes<T>(axis: usize) -> Result<T, BatchFault> {
    Err(BatchFault::Mixes(format!(
        "along axis {axis} it would mix the samples of a batch"
    )))
}

/// The values that depend on the batch, by name.
#[derive(Debug)]
pub(in crate::onnx) struct BatchTrace<'a> {
    pub(in crate::onnx) size: usize,
    /// Whether the file takes exactly this number of samples.
    pub(in crate::onnx) is_fixed: bool,
    pub(in crate::onnx) values: HashMap<&'a str, Batched>,
}

impl<'a> BatchTrace<'a> {
    /// Starts with inputs whose first axis is a batch, of a `fixed` size or of any.
    pub(in crate::onnx) fn new(
        fixed: Option<usize>,
        inputs: impl Iterator<Item = &'a str>,
    ) -> Self {
        let values = inputs.map(|name| (name, Batched::Samples(SamplePlace::FIRST)));
        BatchTrace {
            size: fixed.unwrap_or(ANY_BATCH),
            is_fixed: fixed.is_some(),
            values: values.collect(),
        }
    }

    /// Returns the axis along which a value holds samples.
    pub(in crate::onnx) fn axis(&self, name: &str) -> Option<usize> {
        match self.values.get(name)? {
            Batched::Constant(_) => None,
            Batched::Samples(place) | Batched::Numbered(place) => Some(place.axis),
        }
    }

    /// Returns whether a value is one row after another of all samples.
    pub(in crate::onnx) fn is_by_row(&self, name: &str) -> bool {
        let place = match self.values.get(name) {
            Some(Batched::Samples(place) | Batched::Numbered(place)) => place,
            _ => return false,
        };
        (place.axis, place.outer) == (0, 1)
    }

    pub(in crate::onnx) fn reads(&self, node: Node<'_>) -> bool {
        let mut names = node.inputs().iter();
        names.any(|name| self.values.contains_key(name.as_str()))
    }
}

/// An input of a node that is followed.
pub(in crate::onnx) struct FollowedOperand<'v> {
    /// Its dimensions for one sample.
    pub(in crate::onnx) dims: &'v [usize],
    pub(in crate::onnx) constant: Option<&'v Constant>,
    pub(in crate::onnx) batched: Option<&'v Batched>,
}

impl FollowedOperand<'_> {
    pub(super) fn place(&self) -> Option<SamplePlace> {
        match self.batched? {
            Batched::Constant(_) => None,
            Batched::Samples(place) | Batched::Numbered(place) => Some(*place),
        }
    }

    /// Returns the constant for the batch.
    pub(super) fn of_all(&self) -> Option<&Constant> {
        match self.batched {
            Some(Batched::Constant(of_all)) => Some(of_all),
            _ => self.constant,
        }
    }

    /// Returns whether the value is a constant that differs for the batch.
    pub(super) fn differs(&self) -> bool {
        matches!(self.batched, Some(Batched::Constant(_)))
    }

    /// Returns the dimensions for the batch.
    pub(super) fn all_dims(&self, batch: usize) -> Vec<usize> {
        match (self.batched, self.place()) {
            (Some(Batched::Constant(of_all)), _) => of_all.dims.clone(),
            (_, Some(place)) => place.dims(self.dims, batch),
            _ => self.dims.to_vec(),
        }
    }
}

/// A node that is followed, with the dimensions of its answers for one sample.
pub(in crate::onnx) struct Followed<'v, 'a> {
    pub(in crate::onnx) node: Node<'a>,
    pub(in crate::onnx) batch: usize,
    pub(in crate::onnx) is_fixed: bool,
    pub(in crate::onnx) operands: Vec<Option<FollowedOperand<'v>>>,
    pub(in crate::onnx) answers: Vec<Vec<usize>>,
}

/// How each answer of a node depends on the batch; `None` if it does not.
pub(in crate::onnx) type FollowedAnswers = Result<Vec<Option<Batched>>, BatchFault>;

impl<'v> Followed<'v, '_> {
    pub(super) fn operand(&self, n: usize) -> Result<&FollowedOperand<'v>, BatchFault> {
        let operand = self.operands.get(n).and_then(Option::as_ref);
        operand.ok_or(BatchFault::Single)
    }

    pub(super) fn rank(&self, n: usize) -> Result<usize, BatchFault> {
        Ok(self.operand(n)?.dims.len())
    }

    /// Returns where an operand holds samples. The operand may be a constant.
    pub(super) fn sample_place(&self, n: usize) -> Result<SamplePlace, BatchFault> {
        let operand = self.operand(n)?;
        if let Some(place) = operand.place() {
            return Ok(place);
        }
        let place = match (operand.constant, operand.batched) {
            (Some(of_one), Some(Batched::Constant(of_all))) => {
                SamplePlace::of_constant(of_one, of_all, self.batch)
            }
            // Another operand depends on the batch, but this one does not.
            _ => return Err(BatchFault::Single),
        };
        place.ok_or_else(depends_on_batch)
    }

    /// Checks that the axis which holds samples is short enough to be followed position by
    /// position.
    pub(super) fn is_short(&self, place: SamplePlace) -> Result<(), BatchFault> {
        const LONGEST: usize = 1 << 22;
        let longest = (place.outer * place.inner).saturating_mul(self.batch);
        match longest <= LONGEST {
            true => Ok(()),
            false => Err(BatchFault::Mixes("too many rows to analyse".into())),
        }
    }

    pub(super) fn constants(&self) -> Vec<Option<&Constant>> {
        let operands = self.operands.iter();
        operands.map(|o| o.as_ref()?.constant).collect()
    }

    /// Returns the constants for the batch.
    pub(super) fn all_constants(&self) -> Vec<Option<&Constant>> {
        let operands = self.operands.iter();
        operands.map(|o| o.as_ref()?.of_all()).collect()
    }

    /// Returns that all answers hold samples at one place.
    pub(super) fn all_at(&self, place: SamplePlace) -> FollowedAnswers {
        Ok(vec![Some(Batched::Samples(place)); self.answers.len()])
    }
}

pub(super) fn depends_on_batch() -> BatchFault {
    BatchFault::Mixes("its values depend on the batch size".into())
}
