//! The tensors that a network takes and answers, by name, and how they lie in the rows that it
//! computes with: all inputs of a sample one after another, and all its answers.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::data_type::DataType;
use super::value::{TensorError, TensorValue};

/// A size of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "i64", into = "i64")]
pub enum Dimension {
    /// Always so many.
    Fixed(usize),
    /// Another size for each request; written as -1.
    Varies,
}

/// A named tensor without the dimension of the batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorSpec {
    /// Its name.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "datatype")]
    pub data_type: DataType,
    /// Its dimensions, the slowest first.
    #[serde(rename = "shape")]
    pub dims: Vec<Dimension>,
}

/// The tensors that a network takes and answers for each sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The tensors of a sample, in the order in which they lie in its row.
    pub inputs: Vec<TensorSpec>,
    /// The tensors of an answer, in the order in which they lie in its row.
    pub outputs: Vec<TensorSpec>,
}

/// Tensors are not those of a signature.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SignatureError {
    /// A tensor that the signature names is not there.
    #[error("input `{name}` is missing, expected {expected}")]
    Missing {
        /// Its name.
        name: String,
        /// Its type and dimensions.
        expected: String,
    },
    /// A tensor that the signature does not name.
    #[error("no input is named `{name}`, expected {}", known.join(", "))]
    Unknown {
        /// Its name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A tensor that is there twice.
    #[error("input `{name}` is there twice")]
    Twice {
        /// Its name.
        name: String,
    },
    /// Values of another type.
    #[error("input `{name}`: expected {expected}, found {found}")]
    Type {
        /// The tensor's name.
        name: String,
        /// The type that the signature names.
        expected: DataType,
        /// The type that was found.
        found: DataType,
    },
    /// Dimensions that do not fit; the first is the batch's.
    #[error("input `{name}`: expected a batch of {expected}, found {found:?}")]
    Dims {
        /// The tensor's name.
        name: String,
        /// Type and dimensions of a sample.
        expected: String,
        /// All dimensions that were found.
        found: Vec<usize>,
    },
    /// Batches of different sizes.
    #[error("input `{name}` has {found} samples where `{first}` has {expected}")]
    Batch {
        /// The tensor's name.
        name: String,
        /// Its samples.
        found: usize,
        /// The first tensor.
        first: String,
        /// That one's samples.
        expected: usize,
    },
    /// Values that cannot be taken.
    #[error("input `{name}`: {error}")]
    Values {
        /// The tensor's name.
        name: String,
        /// The reason.
        error: TensorError,
    },
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
        }
    }

    /// Returns the number of values, or `None` if a dimension varies.
    pub fn elements(&self) -> Option<usize> {
        self.dims.iter().try_fold(1usize, |all, d| match d {
            Dimension::Fixed(size) => all.checked_mul(*size),
            Dimension::Varies => None,
        })
    }

    fn fits(&self, dims: &[usize]) -> bool {
        let alike = |(expected, found): (&Dimension, &usize)| match expected {
            Dimension::Fixed(size) => size == found,
            Dimension::Varies => true,
        };
        dims.len() == self.dims.len() && self.dims.iter().zip(dims).all(alike)
    }
}

impl Signature {
    /// Whether a sample is a single tensor of float32.
    pub fn takes_floats(&self) -> bool {
        are_floats(&self.inputs)
    }

    /// Whether an answer is a single tensor of float32.
    pub fn answers_floats(&self) -> bool {
        are_floats(&self.outputs)
    }

    /// Returns rows of all inputs of each sample one after another, and the number of samples.
    ///
    /// # Errors
    /// The tensors are not those of the signature.
    pub fn rows(
        &self,
        tensors: &[(String, TensorValue)],
    ) -> Result<(Vec<f32>, usize), SignatureError> {
        self.check_names(tensors)?;
        let mut parts = Vec::with_capacity(self.inputs.len());
        for spec in &self.inputs {
            parts.push(values(spec, tensors)?);
        }
        let batch = parts.first().map_or(0, |(batch, _)| *batch);
        let others = self.inputs.iter().zip(&parts);
        if let Some((spec, (found, _))) = others.into_iter().find(|(_, (n, _))| *n != batch) {
            return Err(SignatureError::Batch {
                name: spec.name.clone(),
                found: *found,
                first: self.inputs[0].name.clone(),
                expected: batch,
            });
        }
        let width: usize = parts.iter().map(|(_, v)| v.len()).sum();
        let mut rows = Vec::with_capacity(width);
        for row in 0..batch {
            for (_, values) in &parts {
                let each = values.len() / batch;
                rows.extend_from_slice(&values[row * each..][..each]);
            }
        }
        Ok((rows, batch))
    }

    fn check_names(&self, tensors: &[(String, TensorValue)]) -> Result<(), SignatureError> {
        for (at, (name, _)) in tensors.iter().enumerate() {
            if !self.inputs.iter().any(|spec| spec.name == *name) {
                return Err(SignatureError::Unknown {
                    name: name.clone(),
                    known: self.inputs.iter().map(|s| s.name.clone()).collect(),
                });
            }
            if tensors[..at].iter().any(|(other, _)| other == name) {
                return Err(SignatureError::Twice { name: name.clone() });
            }
        }
        Ok(())
    }

    /// Returns the answers in `rows` by name, for `batch` samples.
    ///
    /// # Errors
    /// The rows have another length, or an output's values vary in size.
    pub fn answers(
        &self,
        rows: &[f32],
        batch: usize,
    ) -> Result<Vec<(String, TensorValue)>, TensorError> {
        let sizes = self.outputs.iter().map(|spec| spec.elements().unwrap_or(0));
        let sizes: Vec<usize> = sizes.collect();
        let width: usize = sizes.iter().sum();
        let mut first = 0;
        let mut answers = Vec::new();
        for (spec, &size) in self.outputs.iter().zip(&sizes) {
            let each = rows.chunks_exact(width.max(1)).take(batch);
            let values: Vec<f32> = each
                .flat_map(|row| &row[first..][..size])
                .copied()
                .collect();
            let dims = spec.dims.iter().map(|d| match d {
                Dimension::Fixed(size) => *size,
                Dimension::Varies => 0,
            });
            let dims = std::iter::once(batch).chain(dims).collect();
            let value = TensorValue::of_floats(spec.data_type, dims, &values)?;
            answers.push((spec.name.clone(), value));
            first += size;
        }
        Ok(answers)
    }
}

fn are_floats(specs: &[TensorSpec]) -> bool {
    matches!(specs, [single] if single.data_type == DataType::Fp32)
}

/// Returns the samples and the values of one input.
fn values(
    spec: &TensorSpec,
    tensors: &[(String, TensorValue)],
) -> Result<(usize, Vec<f32>), SignatureError> {
    let name = || spec.name.clone();
    let Some((_, tensor)) = tensors.iter().find(|(n, _)| *n == spec.name) else {
        return Err(SignatureError::Missing {
            name: name(),
            expected: spec.to_string(),
        });
    };
    if tensor.data_type() != spec.data_type {
        return Err(SignatureError::Type {
            name: name(),
            expected: spec.data_type,
            found: tensor.data_type(),
        });
    }
    match tensor.dims() {
        [batch, sample @ ..] if *batch > 0 && spec.fits(sample) => {
            let floats = tensor.floats();
            let floats = floats.map_err(|error| SignatureError::Values {
                name: name(),
                error,
            })?;
            Ok((*batch, floats))
        }
        found => Err(SignatureError::Dims {
            name: name(),
            expected: spec.to_string(),
            found: found.to_vec(),
        }),
    }
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
