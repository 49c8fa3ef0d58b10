//! A model's `config.pbtxt`: the supported fields, and the names of the other fields.

mod fields;
mod queueing;
mod read;
mod steps;
mod tensors;
mod warmup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use divisi_model::ensemble::Queueing;

pub use divisi_model::catalogue::{
    InstanceGroup, InstancePlace, TensorFormat, VersionPolicy, Warmup, WarmupData, WarmupInput,
};
pub use tensors::TensorConfig;

/// The parameter that names the network of a weights file.
pub(crate) const NETWORK_PARAMETER: &str = "network";

/// The parameter with the length of the longest sample, for models with a varying length.
pub(crate) const MOST_LENGTH_PARAMETER: &str = "most_length";

/// The configuration of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelConfig {
    /// The model's name, which must be the name of its folder.
    pub name: Option<String>,
    /// The platform, if set.
    pub platform: Option<String>,
    /// The backend, if set.
    pub backend: Option<String>,
    /// The served versions.
    pub versions: VersionPolicy,
    /// The maximum number of rows of a batch: 0 if tensors have no batch dimension, `None` if the
    /// model's file decides.
    pub max_batch_size: Option<usize>,
    /// The inputs; empty if the model's file decides.
    pub inputs: Vec<TensorConfig>,
    /// The outputs; empty if the model's file decides.
    pub outputs: Vec<TensorConfig>,
    /// The name of the model's file in a version's folder, if it is not the usual name.
    pub model_file: Option<String>,
    /// The settings of dynamic batching, if set.
    pub batching: Option<DynamicBatching>,
    /// The steps of an ensemble, or `None` if the model is not an ensemble.
    pub steps: Option<Vec<StepConfig>>,
    /// The requested placement of the model's instances.
    pub instances: Vec<InstanceGroup>,
    /// Whether answers should be cached.
    pub cached: bool,
    /// Requests to run before the model accepts clients.
    pub warmup: Vec<Warmup>,
    /// Parameters by name.
    pub parameters: Vec<(String, String)>,
    /// The names of fields that are set but not supported.
    pub unused: Vec<String>,
    /// The lines of some fields, for errors.
    pub(crate) lines: FieldLines,
}

impl ModelConfig {
    /// Returns whether the configured inputs have no batch dimension: `max_batch_size` is absent or
    /// 0.
    pub(crate) fn has_no_batch(&self) -> bool {
        self.max_batch_size.unwrap_or(0) == 0 && !self.inputs.is_empty()
    }

    /// Returns the platform and the backend, if set.
    pub(crate) fn runners(&self) -> impl Iterator<Item = NamedRunner<'_>> {
        let (platform, backend) = (self.lines.platform, self.lines.backend);
        let fields = [
            ("platform", platform, &self.platform),
            ("backend", backend, &self.backend),
        ];
        fields.into_iter().filter_map(|(field, line, name)| {
            let name = name.as_deref()?;
            Some(NamedRunner { field, line, name })
        })
    }

    /// Returns the value of a parameter, or `None` if there is no such parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        let (_, value) = parameters.find(|(known, _)| known == name)?;
        Some(value.trim())
    }
}

/// A platform or backend named by a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedRunner<'c> {
    pub(crate) field: &'static str,
    pub(crate) line: usize,
    pub(crate) name: &'c str,
}

/// The lines of some fields of a configuration, 1 for an absent field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldLines {
    pub(crate) name: usize,
    pub(crate) max_batch_size: usize,
    pub(crate) version_policy: usize,
    pub(crate) model_file: usize,
    pub(crate) platform: usize,
    pub(crate) backend: usize,
    /// The lines of the warm-up requests.
    pub(crate) warmup: Vec<usize>,
    /// The lines of the parameters, by name.
    pub(crate) parameters: BTreeMap<String, usize>,
}

impl Default for FieldLines {
    fn default() -> Self {
        FieldLines {
            name: 1,
            max_batch_size: 1,
            version_policy: 1,
            model_file: 1,
            platform: 1,
            backend: 1,
            warmup: Vec::new(),
            parameters: BTreeMap::new(),
        }
    }
}

/// The settings of dynamic batching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicBatching {
    /// The preferred batch sizes.
    pub preferred: Vec<usize>,
    /// The longest time that a request waits for other requests.
    pub delay: Duration,
    /// Whether answers should keep the order of their requests.
    pub preserve_ordering: bool,
    /// Priorities and queue policies, if set.
    pub queueing: Option<Arc<Queueing>>,
}

/// A step of an ensemble.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepConfig {
    /// The model that runs it.
    pub model: String,
    /// Its version, or `None` for the highest served version.
    pub version: Option<u64>,
    /// The model's inputs, each with the ensemble's tensor from which it is read.
    pub inputs: Vec<(String, String)>,
    /// The model's outputs, each with the ensemble's tensor to which it is written.
    pub outputs: Vec<(String, String)>,
    /// The line of its first character.
    pub line: usize,
}
