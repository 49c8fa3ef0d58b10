//! The manifest as it is written; `validate` makes an ensemble of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::combination::RuleKind;
use super::member::Outputs;
use super::normalisation::PerChannel;
use super::samples::Layout;

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
    pub policy: Option<Spanned<Policy>>,
    #[serde(default)]
    pub devices: Vec<String>,
    /// On GPUs: a [`crate::compute::gpu::Precision`].
    pub precision: Option<Spanned<String>>,
    pub input: InputTable,
    pub calibration: Option<Spanned<Calibration>>,
    pub members: Spanned<Vec<Spanned<MemberTable>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputTable {
    pub shape: Spanned<Vec<i64>>,
    /// In which order files hold images.
    #[serde(default)]
    pub layout: Layout,
    pub scale: Option<Spanned<PerChannel>>,
    pub shift: Option<Spanned<PerChannel>>,
    /// In units of what scale and shift give, as `std`.
    pub mean: Option<Spanned<PerChannel>>,
    pub std: Option<Spanned<PerChannel>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub kind: String,
    pub wait_ms: Option<f64>,
    /// Samples alive on a device at most, for `elastic`.
    pub max_inf: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calibration {
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
    pub outputs: Outputs,
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
    /// As torchvision's Inception v3 has it: [`super::Steps::transform_input`].
    pub transform_input: Option<Spanned<bool>>,
}
