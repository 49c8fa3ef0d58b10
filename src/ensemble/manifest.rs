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
    /// The temperature of members without one of their own.
    pub temperature: Option<Spanned<f64>>,
    pub segment_size: Option<Spanned<i64>>,
    pub batch_sizes: Option<Spanned<Vec<i64>>>,
    pub policy: Option<Spanned<PolicyTable>>,
    #[serde(default)]
    pub devices: Vec<String>,
    /// The numbers that GPUs compute in: a [`crate::compute::gpu::Precision`].
    pub precision: Option<Spanned<String>>,
    pub input: InputTable,
    pub calibration: Option<Spanned<CalibrationTable>>,
    pub members: Spanned<Vec<Spanned<MemberTable>>>,
}

/// The table `input`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputTable {
    pub shape: Spanned<Vec<i64>>,
    /// The order in which files hold the values of images.
    #[serde(default)]
    pub layout: ImageLayout,
    pub scale: Option<Spanned<PerChannel>>,
    pub shift: Option<Spanned<PerChannel>>,
    /// In units of scaled and shifted values, as `std`.
    pub mean: Option<Spanned<PerChannel>>,
    pub std: Option<Spanned<PerChannel>>,
}

/// The table `policy`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyTable {
    pub kind: String,
    pub wait_ms: Option<f64>,
    /// The most samples alive on a device, for `elastic`.
    pub max_inf: Option<i64>,
}

/// The table `calibration`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibrationTable {
    pub file: Option<String>,
    /// The file of labels, for samples without labels of their own.
    pub labels: Option<String>,
    /// The number of rows to leave out at the start of the file (those trained on).
    pub skip: Option<usize>,
    /// The number of synthetic samples, in place of a file.
    pub synthetic: Option<Spanned<i64>>,
}

/// A table of `members`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberTable {
    pub name: String,
    /// `{ builder = "…", parameters }` or `{ file = "layers.toml" }`.
    pub network: Spanned<toml::Table>,
    /// The file of weights (safetensors); without it they are synthetic.
    pub weights: Option<String>,
    /// The prefix of the tensors' names in the file of weights.
    pub prefix: Option<Spanned<String>>,
    /// The network's names by names in the file, or by their beginnings up to a dot.
    pub rename: Option<Spanned<BTreeMap<String, String>>>,
    /// Tensors of the file to ignore; `*` stands for anything.
    pub ignore: Option<Spanned<Vec<String>>>,
    /// The network's input, if it is not the ensemble's.
    pub input: Option<MemberInput>,
    #[serde(default)]
    pub outputs: OutputKind,
    /// The vote weight; with 0 the member runs and does not vote.
    pub vote_weight: Option<Spanned<f64>>,
    pub temperature: Option<Spanned<f64>>,
}

/// The table `input` of a member; fields that it lacks are the ensemble's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberInput {
    pub shape: Option<Spanned<Vec<i64>>>,
    pub scale: Option<Spanned<PerChannel>>,
    pub shift: Option<Spanned<PerChannel>>,
    pub mean: Option<Spanned<PerChannel>>,
    pub std: Option<Spanned<PerChannel>>,
    /// As in torchvision's Inception v3: [`super::NormalisationSteps::transform_input`].
    pub transform_input: Option<Spanned<bool>>,
}

/// The text of a manifest under validation, from which errors get their place.
pub(super) struct ManifestSource<'a> {
    pub files: &'a Files,
    pub file: &'a str,
    pub text: &'a str,
}

impl ManifestSource<'_> {
    /// Returns the error `message` at a byte offset of the text.
    pub(crate) fn wrong(&self, offset: usize, message: impl Into<String>) -> EnsembleError {
        EnsembleError::Place {
            file: self.files.display(self.file),
            line: line_of(self.text, offset),
            message: message.into(),
        }
    }

    /// Reads a whole number from 1 to `most`.
    ///
    /// # Errors
    /// The number is outside.
    pub(crate) fn count(
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
