//! The kinds of host steps, and their tensors.

use std::fmt::Display;

use serde::Serialize;

use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{DataType, MOST_EXACT, TensorSpec};

/// A cheap step without weights that the host runs.
#[derive(Clone, Debug, PartialEq)]
pub enum HostStep {
    /// The mean of its inputs.
    Mean,
    /// The weighted mean of its inputs.
    WeightedMean {
        /// A weight for each.
        weights: Vec<f32>,
    },
    /// The shares of votes: each input votes for its largest value.
    Vote,
    /// The first of its inputs that exists.
    First,
    /// Its inputs, concatenated as a vector.
    Concat,
    /// The softmax over the last dimension.
    Softmax,
    /// The sigmoid of each value.
    Sigmoid,
    /// The position of the largest value.
    ArgMax,
    /// The largest values in descending order, and their positions.
    TopK {
        /// The number of values.
        k: usize,
    },
    /// 1 for values of at least a bound, 0 for other values.
    Threshold {
        /// The bound.
        at: f32,
    },
    /// `(value × scale − mean) ÷ std` for each channel, the first dimension.
    Normalise {
        /// The factor.
        scale: f32,
        /// One number, or one for each channel.
        mean: Vec<f32>,
        /// One number, or one for each channel.
        std: Vec<f32>,
    },
    /// An image of channels, height and width in another size (bilinear, half-pixel centres).
    Resize {
        /// The new height.
        height: usize,
        /// The new width.
        width: usize,
    },
}

/// A kind of host step, with its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HostStepKind {
    /// Its name in files.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [&'static str],
    /// The tensors that it reads and makes.
    pub signature: &'static str,
    /// The description of its work.
    pub does: &'static str,
}

impl HostStep {
    /// All kinds, in listing order.
    pub const KINDS: &[HostStepKind] = &[
        HostStepKind {
            name: "mean",
            fields: &["quorum", "wait_ms"],
            signature: "tensors alike → one",
            does: "the mean of its inputs",
        },
        HostStepKind {
            name: "weighted-mean",
            fields: &["weights", "quorum", "wait_ms"],
            signature: "tensors alike → one",
            does: "the weighted mean of its inputs",
        },
        HostStepKind {
            name: "vote",
            fields: &["quorum", "wait_ms"],
            signature: "tensors alike → one",
            does: "the shares of votes: each input votes for its largest value",
        },
        HostStepKind {
            name: "first",
            fields: &[],
            signature: "tensors alike → one",
            does: "for each sample the first of its inputs that exists",
        },
        HostStepKind {
            name: "concat",
            fields: &[],
            signature: "tensors of one type → vector",
            does: "its inputs one after another",
        },
        HostStepKind {
            name: "softmax",
            fields: &[],
            signature: "tensor → tensor",
            does: "the softmax over the last dimension",
        },
        HostStepKind {
            name: "sigmoid",
            fields: &[],
            signature: "tensor → tensor",
            does: "the sigmoid of each value",
        },
        HostStepKind {
            name: "arg-max",
            fields: &[],
            signature: "tensor → INT64 [1]",
            does: "the position of the largest value, the first of equals",
        },
        HostStepKind {
            name: "top-k",
            fields: &["k"],
            signature: "tensor → values [k], INT64 [k]",
            does: "the largest values in falling order, and their positions",
        },
        HostStepKind {
            name: "threshold",
            fields: &["at"],
            signature: "tensor → BOOL tensor",
            does: "whether each value is at least a bound",
        },
        HostStepKind {
            name: "normalise",
            fields: &["scale", "mean", "std"],
            signature: "tensor → FP32 tensor",
            does: "(value × scale − mean) ÷ std for each channel, the first dimension",
        },
        HostStepKind {
            name: "resize",
            fields: &["size"],
            signature: "image [C, H, W] → FP32 image",
            does: "an image in another size, bilinear",
        },
    ];

    /// Returns its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            HostStep::Mean => "mean",
            HostStep::WeightedMean { .. } => "weighted-mean",
            HostStep::Vote => "vote",
            HostStep::First => "first",
            HostStep::Concat => "concat",
            HostStep::Softmax => "softmax",
            HostStep::Sigmoid => "sigmoid",
            HostStep::ArgMax => "arg-max",
            HostStep::TopK { .. } => "top-k",
            HostStep::Threshold { .. } => "threshold",
            HostStep::Normalise { .. } => "normalise",
            HostStep::Resize { .. } => "resize",
        }
    }

    /// Returns whether it can work without some of its inputs.
    pub fn is_combination(&self) -> bool {
        matches!(
            self,
            HostStep::Mean | HostStep::WeightedMean { .. } | HostStep::Vote
        )
    }

    /// Returns the tensors that it makes, with the names `names`.
    ///
    /// # Errors
    /// It cannot take these inputs, or makes another number of tensors.
    pub fn outputs(
        &self,
        inputs: &[&TensorSpec],
        names: &[String],
    ) -> Result<Vec<TensorSpec>, ReadError> {
        self.check_inputs(inputs)?;
        let first = inputs[0];
        let of = |data_type, dims: &[usize]| vec![(data_type, dims.to_vec())];
        let dims = fixed(first);
        let made = match self {
            HostStep::Mean | HostStep::WeightedMean { .. } | HostStep::Vote => {
                of(DataType::Fp32, &dims)
            }
            HostStep::First => of(first.data_type, &dims),
            HostStep::Concat => {
                let values = inputs.iter().map(|i| i.elements().unwrap_or(0)).sum();
                of(first.data_type, &[values])
            }
            HostStep::Softmax | HostStep::Sigmoid | HostStep::Normalise { .. } => {
                of(DataType::Fp32, &dims)
            }
            HostStep::ArgMax => of(DataType::Int64, &[1]),
            HostStep::TopK { k } => vec![(first.data_type, vec![*k]), (DataType::Int64, vec![*k])],
            HostStep::Threshold { .. } => of(DataType::Bool, &dims),
            HostStep::Resize { height, width } => of(DataType::Fp32, &[dims[0], *height, *width]),
        };
        if made.len() != names.len() {
            return Err(self.count("outputs", &made.len().to_string(), names.len()));
        }
        let named = names.iter().zip(made);
        let specs =
            named.map(|(name, (data_type, dims))| TensorSpec::fixed(name, data_type, &dims));
        Ok(specs.collect())
    }

    fn check_inputs(&self, inputs: &[&TensorSpec]) -> Result<(), ReadError> {
        let several = self.is_combination() || matches!(self, HostStep::First | HostStep::Concat);
        match inputs.len() {
            0 => return Err(self.count("inputs", "at least 1", 0)),
            2.. if !several => return Err(self.count("inputs", "1", inputs.len())),
            _ => {}
        }
        let first = inputs[0];
        let same = |other: &&&TensorSpec| match self {
            HostStep::Concat => other.data_type == first.data_type,
            _ => other.data_type == first.data_type && other.dims == first.dims,
        };
        if let Some(other) = inputs.iter().find(|other| !same(other)) {
            let found = format_args!("{first} and {other}");
            return Err(self.wrong("inputs of one type and shape", found));
        }
        self.check_shape(first, inputs.len())
    }

    fn check_shape(&self, first: &TensorSpec, inputs: usize) -> Result<(), ReadError> {
        let dims = fixed(first);
        let wrong = |expected: String| Err(self.wrong(expected, first));
        match self {
            HostStep::WeightedMean { weights } if weights.len() != inputs => wrong(format!(
                "a weight for each of {inputs} inputs, not {}",
                weights.len()
            )),
            HostStep::ArgMax | HostStep::TopK { .. }
                if first.elements().is_none_or(|all| all > MOST_EXACT as usize) =>
            {
                wrong(format!("a tensor of at most {MOST_EXACT} values"))
            }
            HostStep::TopK { k } if *k > first.elements().unwrap_or(0) => {
                wrong(format!("a tensor of at least {k} values"))
            }
            HostStep::Resize { .. } if dims.len() != 3 => {
                wrong("an image of channels, height and width".into())
            }
            HostStep::Normalise { mean, std, .. } => {
                let channels = dims.first().copied().unwrap_or(1);
                let fits = |each: &[f32]| each.len() == 1 || each.len() == channels;
                match fits(mean) && fits(std) {
                    true => Ok(()),
                    false => wrong(format!(
                        "the same number of channels as means ({}) and deviations ({})",
                        mean.len(),
                        std.len()
                    )),
                }
            }
            _ => Ok(()),
        }
    }

    fn count(&self, side: &str, expected: &str, found: usize) -> ReadError {
        self.wrong(format_args!("{expected} {side}"), found)
    }

    fn wrong(&self, expected: impl Display, found: impl Display) -> ReadError {
        let kind = self.name();
        ReadError::new(format_args!("`{kind}` expects {expected}, found {found}"))
    }
}

fn fixed(spec: &TensorSpec) -> Vec<usize> {
    spec.dims.iter().filter_map(|d| d.size()).collect()
}
