//! The tensors that a network takes and answers, by name, and how they lie in the rows that it
//! computes with: all inputs of a sample one after another, and all its answers.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::reading::ReadError;

use super::data_type::DataType;
use super::ids::IdRanges;
use super::lengths::Lengths;
use super::row_check::SampleFault;

/// A size of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "i64", into = "i64")]
pub enum Dimension {
    /// A fixed size.
    Fixed(usize),
    /// The length of the sample; written as -1.
    Varies,
}

/// A named tensor without the dimension of the batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorSpec {
    /// Its name.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "datatype")]
    pub data_type: DataType,
    /// Its dimensions, the slowest first.
    #[serde(rename = "shape")]
    pub dims: Vec<Dimension>,
    /// The integers that the tensor may hold, if a network looks them up in tables.
    #[serde(skip)]
    pub ids: Option<IdRanges>,
}

/// The tensors that a network takes and answers for each sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The tensors of a sample, in the order of its row.
    pub inputs: Vec<TensorSpec>,
    /// The tensors of an answer, in the order of its row.
    pub outputs: Vec<TensorSpec>,
    /// The lengths of samples, if dimensions vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Lengths>,
}

/// The reason why tensors do not match a signature.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SignatureError {
    /// Dimensions that do not fit; the first is the batch's.
    #[error(
        "input `{name}`: expected samples of {expected} along a first dimension, found {found:?}"
    )]
    Dims {
        /// The tensor's name.
        name: String,
        /// Type and dimensions of a sample.
        expected: String,
        /// All dimensions that were found.
        found: Vec<usize>,
    },
    /// A sample that no network can answer.
    #[error(transparent)]
    Sample(SampleFault),
    /// Another mismatch.
    #[error(transparent)]
    Other(#[from] ReadError),
}

impl Dimension {
    /// Returns the size, or `None` if it varies.
    pub fn size(self) -> Option<usize> {
        match self {
            Dimension::Fixed(size) => Some(size),
            Dimension::Varies => None,
        }
    }
}

impl TensorSpec {
    /// Creates the specification of a tensor of fixed dimensions.
    pub fn fixed(name: impl Into<String>, data_type: DataType, dims: &[usize]) -> Self {
        TensorSpec {
            name: name.into(),
            data_type,
            dims: dims.iter().map(|&d| Dimension::Fixed(d)).collect(),
            ids: None,
        }
    }

    /// Returns whether both tensors have the same name, type and dimensions.
    pub fn is_like(&self, other: &TensorSpec) -> bool {
        let is_named = self.name == other.name;
        is_named && self.data_type == other.data_type && self.dims == other.dims
    }

    /// Returns the tensor with only the ids that another specification of it also accepts.
    #[must_use]
    pub fn narrowed(self, other: &TensorSpec) -> Self {
        let ids = match (self.ids, &other.ids) {
            (Some(own), Some(other)) => Some(own.meet(other)),
            (own, other) => own.or_else(|| other.clone()),
        };
        TensorSpec { ids, ..self }
    }

    /// Returns the number of values, or `None` if a dimension varies.
    pub fn elements(&self) -> Option<usize> {
        self.dims.iter().try_fold(1usize, |all, d| match d {
            Dimension::Fixed(size) => all.checked_mul(*size),
            Dimension::Varies => None,
        })
    }

    /// Returns the error of a batch whose size differs from the first tensor's.
    pub fn other_batch(&self, found: usize, first: &TensorSpec, expected: usize) -> ReadError {
        let (name, first) = (&self.name, &first.name);
        ReadError::new(format_args!(
            "input `{name}` has {found} samples, `{first}` has {expected}"
        ))
    }

    /// Returns the error of a length that differs from the first tensor's.
    pub fn other_length(&self, found: usize, first: &TensorSpec, expected: usize) -> ReadError {
        let (name, first) = (&self.name, &first.name);
        ReadError::new(format_args!(
            "input `{name}` has the length {found}, `{first}` has {expected}"
        ))
    }

    /// Returns the error of a length that samples cannot have.
    pub fn wrong_length(&self, found: usize, most: usize) -> ReadError {
        let wrong = ReadError::expected(format_args!("a length from 1 to {most}"), found);
        wrong.at(format_args!("input `{}`", self.name))
    }

    /// Returns whether a sample's tensor may have these dimensions.
    pub fn fits(&self, dims: &[usize]) -> bool {
        let alike = |(expected, found): (&Dimension, &usize)| match expected {
            Dimension::Fixed(size) => size == found,
            Dimension::Varies => true,
        };
        dims.len() == self.dims.len() && self.dims.iter().zip(dims).all(alike)
    }
}

impl Signature {
    /// Returns whether a sample is a single tensor of float32.
    pub fn takes_floats(&self) -> bool {
        are_floats(&self.inputs)
    }

    /// Returns whether an answer is a single tensor of float32.
    pub fn answers_floats(&self) -> bool {
        are_floats(&self.outputs)
    }
}

fn are_floats(specs: &[TensorSpec]) -> bool {
    matches!(specs, [single] if single.data_type == DataType::Fp32)
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        i64::from(*self).fmt(f)
    }
}

/// `INT64 [128]`.
impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(ToString::to_string).collect();
        write!(f, "{} [{}]", self.data_type, dims.join(", "))
    }
}

impl From<i64> for Dimension {
    fn from(written: i64) -> Self {
        usize::try_from(written).map_or(Dimension::Varies, Dimension::Fixed)
    }
}

impl From<Dimension> for i64 {
    fn from(dimension: Dimension) -> Self {
        match dimension {
            Dimension::Fixed(size) => i64::try_from(size).unwrap_or(i64::MAX),
            Dimension::Varies => -1,
        }
    }
}
