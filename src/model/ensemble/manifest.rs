//! The manifest as written, and errors in an ensemble's files. `validate` makes an ensemble of a
//! manifest.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use divisi_runtime::tensor::TensorSpec;
use divisi_runtime::words;

use super::answers_table::{AnswersTable, MemberOutputs};
use super::files::Files;
use super::input::PerChannel;
use super::lengths_table::LengthsTable;
use super::queue_table::QueueTable;
use super::rule_kind::RuleKind;
use super::samples::ImageLayout;
use super::steps_table::StepTable;
use super::text_table::TextTable;

/// The manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub name: String,
    /// The number of classes, for an ensemble that classifies.
    pub classes: Option<Spanned<i64>>,
    /// The names of the classes.
    pub labels: Option<Spanned<Vec<String>>>,
    /// The name of the input on the network.
    pub input_name: Option<Spanned<String>>,
    /// The name of the output on the network.
    pub output_name: Option<Spanned<String>>,
    /// The kind of answers, in place of `classes`.
    pub answers: Option<Spanned<AnswersTable>>,
    pub rule: Option<Spanned<RuleKind>>,
    /// The temperature of members without one of their own.
    pub temperature: Option<Spanned<f64>>,
    pub segment_size: Option<Spanned<i64>>,
    pub batch_sizes: Option<Spanned<Vec<i64>>>,
    pub policy: Option<Spanned<PolicyTable>>,
    /// The queue settings.
    pub queue: Option<Spanned<QueueTable>>,
    #[serde(default)]
    pub devices: Vec<String>,
    /// The precision of GPUs: a [`divisi_runtime::compute::gpu::Precision`].
    pub precision: Option<Spanned<String>>,
    pub input: InputTable,
    pub calibration: Option<Spanned<CalibrationTable>>,
    pub members: Spanned<Vec<Spanned<MemberTable>>>,
    /// The steps of a pipeline over the members, in place of the rule.
    pub steps: Option<Spanned<Vec<Spanned<StepTable>>>>,
    /// The output tensors of a pipeline.
    pub outputs: Option<Spanned<Vec<String>>>,
}

/// The table `input`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputTable {
    /// The shape of a sample that is a single tensor of float32.
    pub shape: Option<Spanned<Vec<i64>>>,
    /// The tensors of a sample, in place of its shape.
    pub tensors: Option<Spanned<Vec<TensorSpec>>>,
    /// The conversion of texts to tensors.
    pub text: Option<Spanned<TextTable>>,
    /// The lengths of samples, if dimensions vary.
    pub lengths: Option<Spanned<LengthsTable>>,
    /// The tensor that is 0 at padded positions of a sample.
    pub mask: Option<Spanned<String>>,
    /// The order in which files hold the values of images.
    #[serde(default)]
    pub layout: ImageLayout,
    /// The number of pixels to which the shorter side of an image is resized.
    pub resize: Option<Spanned<i64>>,
    /// The side, or height and width, of the centre cut out of an image. Must equal the shape's.
    pub crop: Option<Spanned<CropTable>>,
    pub scale: Option<Spanned<PerChannel>>,
    pub shift: Option<Spanned<PerChannel>>,
    /// In units of scaled and shifted values, as `std`.
    pub mean: Option<Spanned<PerChannel>>,
    pub std: Option<Spanned<PerChannel>>,
}

/// A side, or a height and a width.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of pixels, or a list [height, width]"
)]
pub(super) enum CropTable {
    Side(i64),
    HeightAndWidth([i64; 2]),
}

/// The table `policy`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyTable {
    pub kind: String,
    pub wait_ms: Option<f64>,
    /// The maximum number of samples alive on a device, for `elastic`.
    pub max_inf: Option<i64>,
}

/// The table `calibration`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibrationTable {
    pub file: Option<String>,
    /// The file of labels or other targets, for samples without targets of their own.
    #[serde(alias = "targets")]
    pub labels: Option<String>,
    /// The number of rows to skip at the start of the file (rows used for training).
    pub skip: Option<usize>,
    /// The number of synthetic samples, in place of a file.
    pub synthetic: Option<Spanned<i64>>,
}

/// A table of `members`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberTable {
    pub name: String,
    /// `{ builder = "…", parameters }`, `{ file = "layers.toml" }` or
    /// `{ file = "model.onnx" }`.
    pub network: Spanned<toml::Table>,
    /// The weights file (safetensors). Without it the weights are synthetic.
    pub weights: Option<Spanned<String>>,
    /// The prefix of the tensors' names in the weights file.
    pub prefix: Option<Spanned<String>>,
    /// The network's names, keyed by names in the file or by their prefixes up to a dot.
    pub rename: Option<Spanned<BTreeMap<String, String>>>,
    /// Tensors of the file to ignore. `*` matches anything.
    pub ignore: Option<Spanned<Vec<String>>>,
    /// The network's input, if it differs from the ensemble's.
    pub input: Option<MemberInput>,
    /// Its precision: a [`super::MemberPrecision`].
    pub precision: Option<Spanned<String>>,
    /// The calibration file with which processors compute it in int8.
    pub calibration: Option<Spanned<String>>,
    /// The kind of its outputs. By default logits, or values or boxes if the ensemble answers
    /// these.
    pub outputs: Option<Spanned<MemberOutputs>>,
    /// The vote weight. A member with weight 0 runs but does not vote.
    pub vote_weight: Option<Spanned<f64>>,
    pub temperature: Option<Spanned<f64>>,
}

/// The table `input` of a member. Missing fields come from the ensemble.
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

/// The maximum number of characters of a name.
const MAX_NAME: usize = 64;

/// The text of a manifest under validation, with which errors are located.
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

    /// Checks that a name is short and printable, for terminals and tables.
    ///
    /// # Errors
    /// The name is not short or not printable.
    pub(crate) fn check_name(
        &self,
        at: usize,
        field: &str,
        name: &str,
    ) -> Result<(), EnsembleError> {
        let shown = !name.trim().is_empty() && !name.chars().any(char::is_control);
        if shown && name.chars().count() <= MAX_NAME {
            return Ok(());
        }
        let found = name.escape_debug();
        let why =
            format!("{field}: expected 1 to {MAX_NAME} printable characters, found `{found}`");
        Err(self.wrong(at, why))
    }

    /// Reads a whole number from 1 to `most`.
    ///
    /// # Errors
    /// The number is out of range.
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

/// An error in an ensemble's files.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnsembleError {
    /// An error of a whole file.
    #[error("{file}: {reason}")]
    File {
        /// The file's name.
        file: String,
        /// The reason as shown.
        reason: String,
    },
    /// An error at a place in a file.
    #[error("{file}:{line}: {message}")]
    Place {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The field and the expected value.
        message: String,
    },
}

/// Returns the line (from 1) of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

impl EnsembleError {
    /// Converts an error of TOML's parser.
    pub(super) fn toml(file: String, text: &str, error: &toml::de::Error) -> Self {
        let line = line_of(text, error.span().map_or(0, |s| s.start));
        let message = words::plain(error.message());
        let message = match field_in(text, line) {
            Some(field) if !message.contains(&format!("`{field}`")) => {
                format!("{field}: {message}")
            }
            _ => message,
        };
        EnsembleError::Place {
            file,
            line,
            message,
        }
    }
}

/// Returns the field that a line of TOML sets, or `None` if it sets no field.
fn field_in(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line.checked_sub(1)?)?.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
