//! The tensors of a model, in its configuration and in its network.

use divisi_runtime::tensor::{Dimension, Signature, TensorSpec};

use crate::batch::ModelRows;
use crate::config::{ModelConfig, TensorConfig};
use crate::error::LoadFault;

use super::network::taken;
use super::place::ConfigPlace;

/// The tensors of a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelTensors {
    /// The tensors of a row with the dimensions that clients see, in the network's order.
    pub(crate) signature: Signature,
    /// The outputs that clients can request.
    pub(crate) outputs: Vec<String>,
    /// The rows of a request.
    pub(crate) batch: ModelRows,
}

/// Checks the tensors of a configuration against the tensors of a network. The network's dimensions
/// do not include the batch.
pub(super) fn tensors(
    config: &ModelConfig,
    network: &Signature,
    has_batch: bool,
    place: &ConfigPlace<'_>,
) -> Result<ModelTensors, LoadFault> {
    let known = |specs: &[TensorSpec]| specs.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let outputs = known(&network.outputs);
    let names: Vec<&str> = outputs.iter().map(String::as_str).collect();
    place.check_names("output", &config.outputs, &names)?;
    let form = ConfigRows {
        batch: batch(config, has_batch, place)?,
        has_batch,
        place,
    };
    let offered = config.outputs.iter().map(|output| output.name.clone());
    let each = |specs: &[TensorSpec], side, written: &[TensorConfig]| {
        let checked = specs.iter().map(|spec| {
            let found = written.iter().find(|tensor| tensor.name == spec.name);
            form.checked(side, spec, found)
        });
        checked.collect::<Result<Vec<_>, _>>()
    };
    Ok(ModelTensors {
        signature: Signature {
            inputs: each(&network.inputs, TensorSide::Input, &config.inputs)?,
            outputs: each(&network.outputs, TensorSide::Output, &config.outputs)?,
            lengths: network.lengths.clone(),
        },
        outputs: match config.outputs.is_empty() {
            true => outputs,
            false => offered.collect(),
        },
        batch: form.batch,
    })
}

/// Returns the rows of a request.
fn batch(
    config: &ModelConfig,
    has_batch: bool,
    place: &ConfigPlace<'_>,
) -> Result<ModelRows, LoadFault> {
    match config.max_batch_size {
        Some(most) if most > 0 && has_batch => return Ok(ModelRows::UpTo(most)),
        Some(most) if most > 0 => {
            let why = format!(
                "max_batch_size: expected 0, since the model's tensors have no batch dimension, \
                 found {most}"
            );
            return Err(place.wrong(config.lines.max_batch_size, &why));
        }
        _ => {}
    }
    let written = match config.inputs.is_empty() {
        true => &config.outputs,
        false => &config.inputs,
    };
    let mut firsts = written.iter().map(|tensor| taken(tensor).first().copied());
    let first = match firsts.next() {
        None => Some(-1),
        Some(first) => first.filter(|_| firsts.all(|other| other == first)),
    };
    Ok(match (has_batch, first) {
        (true, Some(-1)) => ModelRows::Open,
        (true, Some(size)) if size > 1 => {
            ModelRows::Exactly(usize::try_from(size).unwrap_or(usize::MAX))
        }
        _ => ModelRows::Absent,
    })
}

/// A side of a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TensorSide {
    Input,
    Output,
}

impl TensorSide {
    fn name(self) -> &'static str {
        match self {
            TensorSide::Input => "input",
            TensorSide::Output => "output",
        }
    }
}

/// How a configuration's dimensions correspond to the rows of a network.
struct ConfigRows<'p> {
    batch: ModelRows,
    has_batch: bool,
    place: &'p ConfigPlace<'p>,
}

impl ConfigRows<'_> {
    /// Returns the dimensions of a configuration and of the network that must be equal.
    fn sides(&self, written: &[i64], spec: &TensorSpec) -> (Vec<i64>, Vec<i64>) {
        let own = spec.dims.iter().map(|dim| i64::from(*dim));
        let lead = match self.batch {
            ModelRows::UpTo(_) => None,
            ModelRows::Absent => self.has_batch.then_some(1),
            ModelRows::Open => Some(-1),
            ModelRows::Exactly(size) => Some(i64::try_from(size).unwrap_or(i64::MAX)),
        };
        (written.to_vec(), lead.into_iter().chain(own).collect())
    }

    /// Returns a tensor of a row as clients see it.
    fn checked(
        &self,
        side: TensorSide,
        spec: &TensorSpec,
        written: Option<&TensorConfig>,
    ) -> Result<TensorSpec, LoadFault> {
        let Some(written) = written else {
            let (_, own) = self.sides(&[], spec);
            return Ok(self.row(spec, &own));
        };
        let wrong = |why: String| {
            let why = format!("{} `{}`: {why}", side.name(), written.name);
            self.place.wrong(written.line, &why)
        };
        if written.data_type != spec.data_type {
            let (expected, found) = (spec.data_type, written.data_type);
            return Err(wrong(format!(
                "data_type: expected {expected}, found {found}"
            )));
        }
        let (found, own) = self.sides(taken(written), spec);
        // An open dimension takes the file's value.
        let alike = |(found, own): (&i64, &i64)| found == own || *found == -1;
        if found.len() != own.len() || !found.iter().zip(&own).all(alike) {
            let field = match written.reshape {
                Some(_) => "reshape.shape",
                None => "dims",
            };
            return Err(wrong(format!("{field}: expected {own:?}, found {found:?}")));
        }
        match &written.reshape {
            None => Ok(self.row(spec, &own)),
            Some(_) if product(&written.dims) == product(&own) => Ok(self.row(spec, &written.dims)),
            Some(shape) => Err(wrong(format!(
                "reshape.shape: expected the same number of values as {:?}, found {shape:?}",
                written.dims
            ))),
        }
    }

    /// Returns a tensor with other dimensions, without the batch.
    fn row(&self, spec: &TensorSpec, dims: &[i64]) -> TensorSpec {
        let skipped = match self.batch {
            ModelRows::Open | ModelRows::Exactly(_) => 1,
            ModelRows::Absent | ModelRows::UpTo(_) => 0,
        };
        let rest = dims.iter().skip(skipped);
        TensorSpec {
            dims: rest.map(|dim| Dimension::from(*dim)).collect(),
            ..spec.clone()
        }
    }
}

/// Returns the number of values, or `None` if it varies or is too large.
pub(super) fn product(dims: &[i64]) -> Option<usize> {
    dims.iter().try_fold(1usize, |all, dim| {
        all.checked_mul(usize::try_from(*dim).ok()?)
    })
}
