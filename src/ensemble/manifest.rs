//! The manifest as it is written; `validate` makes an ensemble of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::combination::RuleKind;
use super::files::{EnsembleError, Files, line_of};
use super::member::OutputKind;
use super::normalisation::PerChannel;
use super::samples::ImageLayout;

/// The manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub name: String,
    pub classes: Spanned<i64>,
    pub labels: Option<Spanned<Vec<String>>>,
    pub rule: Option<Spanned<RuleKind>>,
    /// Of members that say none of their own.
    pub temperature: Option<Spanned<f64>>,
    pub segment_size: Option<Spanned<i64>>,
    pub batch_sizes: Option<Spanned<Vec<i64>>>,
    pub policy: Option<Spanned<PolicyTable>>,
    #[serde(default)]
    pub devices: Vec<String>,
    /// On GPUs: a [`crate::compute::gpu::Precision`].
    pub precision: Option<Spanned<String>>,
    pub input: InputTable,
    pub calibration: Option<Spanned<CalibrationTable>>,
    pub members: Spanned<Vec<Spanned<MemberTable>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputTable {
    pub shape: Spanned<Vec<i64>>,
    /// In which order files hold images.
    #[serde(default)]
    pub layout: ImageLayout,
    pub scale: Option<Spanned<PerChannel>>,
    pub shift: Option<Spanned<PerChannel>>,
    /// In units of what scale and shift give, as `std`.
    pub mean: Option<Spanned<PerChannel>>,
    pub std: Option<Spanned<PerChannel>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyTable {
    pub kind: String,
    pub wait_ms: Option<f64>,
    /// Samples alive on a device at most, for `elastic`.
    pub max_inf: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibrationTable {
    pub file: Option<String>,
    /// A file of their labels, where the samples have none beside them.
    pub labels: Option<String>,
    /// Rows at the start of the file that are left out (those trained on).
    pub skip: Option<usize>,
    /// How many samples are made up, in place of a file.
    pub synthetic: Option<Spanned<i64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberTable {
    pub name: String,
    /// `{ builder = "…", parameters }` or `{ file = "layers.toml" }`.
    pub network: Spanned<toml::Table>,
    /// Safetensors; without them the weights are made up.
    pub weights: Option<String>,
    /// What the tensors' names begin with in the file of weights.
    pub prefix: Option<Spanned<String>>,
    /// From names in the file (or their beginnings, up to a dot) to the network's.
    pub rename: Option<Spanned<BTreeMap<String, String>>>,
    /// Tensors of the file that are left alone; `*` stands for anything.
    pub ignore: Option<Spanned<Vec<String>>>,
    /// What the network takes where that is not the ensemble's input.
    pub input: Option<MemberInput>,
    #[serde(default)]
    pub outputs: OutputKind,
    /// 0: it runs and does not vote.
    pub vote_weight: Option<Spanned<f64>>,
    pub temperature: Option<Spanned<f64>>,
}

/// Fields that are not written are the ensemble's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberInput {
    pub shape: Option<Spanned<Vec<i64>>>,
    pub scale: Option<Spanned<PerChannel>>,
    pub shift: Option<Spanned<PerChannel>>,
    pub mean: Option<Spanned<PerChannel>>,
    pub std: Option<Spanned<PerChannel>>,
    /// As torchvision's Inception v3 has it: [`super::NormalisationSteps::transform_input`].
    pub transform_input: Option<Spanned<bool>>,
}

/// A file being checked, to say where in it something is wrong.
pub(super) struct ManifestSource<'a> {
    pub files: &'a Files,
    pub file: &'a str,
    pub text: &'a str,
}

impl ManifestSource<'_> {
    /// What is wrong at a byte offset of the text.
    pub fn wrong(&self, offset: usize, message: impl Into<String>) -> EnsembleError {
        EnsembleError::Place {
            file: self.files.display(self.file),
            line: line_of(self.text, offset),
            message: message.into(),
        }
    }

    /// A whole number of at least 1 and at most `most`.
    pub fn count(
        &self,
        field: &str,
        value: &toml::Spanned<i64>,
        most: i64,
    ) -> Result<usize, EnsembleError> {
        let n = *value.get_ref();
        if (1..=most).contains(&n) {
            return Ok(n as usize);
        }
        Err(self.wrong(
            value.span().start,
            format!("{field}: expected a whole number from 1 to {most}, found {n}"),
        ))
    }
}
