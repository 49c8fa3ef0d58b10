//! `config.pbtxt` of a model: the fields that mean something here, and the names of those that
//! do not.

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

/// The parameter that names the network of a file of weights.
pub(crate) const NETWORK_PARAMETER: &str = "network";

/// The parameter that says how long the longest sample is, where a length varies.
pub(crate) const MOST_LENGTH_PARAMETER: &str = "most_length";

/// The configuration of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelConfig {
    /// The name that it says, if it says one: that of its folder.
    pub name: Option<String>,
    /// The platform, if it names one.
    pub platform: Option<String>,
    /// The backend, if it names one.
    pub backend: Option<String>,
    /// The versions that are served.
    pub versions: VersionPolicy,
    /// The most rows of a batch; 0 where tensors have no dimension of a batch, `None` where the
    /// model's file decides.
    pub max_batch_size: Option<usize>,
    /// The inputs; none where the model's file decides.
    pub inputs: Vec<TensorConfig>,
    /// The outputs; none where the model's file decides.
    pub outputs: Vec<TensorConfig>,
    /// The name of the model's file in the folder of a version, if it is another than usual.
    pub model_file: Option<String>,
    /// How requests are batched, if it says so.
    pub batching: Option<DynamicBatching>,
    /// The steps of an ensemble; `None` where it is none.
    pub steps: Option<Vec<StepConfig>>,
    /// Where instances of the model are wished for.
    pub instances: Vec<InstanceGroup>,
    /// Whether answers are to be cached.
    pub cached: bool,
    /// Requests that are to be run before others are let in.
    pub warmup: Vec<Warmup>,
    /// Parameters by name.
    pub parameters: Vec<(String, String)>,
    /// The names of fields that are set and mean nothing here.
    pub unused: Vec<String>,
    /// The lines of some fields, for errors.
    pub(crate) lines: FieldLines,
}

impl ModelConfig {
    /// Whether it says that tensors have no dimension of a batch, by their dimensions.
    pub(crate) fn has_no_batch(&self) -> bool {
        self.max_batch_size.unwrap_or(0) == 0 && !self.inputs.is_empty()
    }

    /// Returns who runs the model, as the platform and the backend say it.
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

    /// Returns the value of a parameter, or `None` if it has none of that name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        let (_, value) = parameters.find(|(known, _)| known == name)?;
        Some(value.trim())
    }
}

/// A platform or backend that a configuration names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedRunner<'c> {
    pub(crate) field: &'static str,
    pub(crate) line: usize,
    pub(crate) name: &'c str,
}

/// The lines of fields of a configuration; that of one that is not there is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldLines {
    pub(crate) name: usize,
    pub(crate) max_batch_size: usize,
    pub(crate) version_policy: usize,
    pub(crate) model_file: usize,
    pub(crate) platform: usize,
    pub(crate) backend: usize,
    /// Those of the requests that are asked first.
    pub(crate) warmup: Vec<usize>,
    /// Those of the parameters that there are, by name.
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

/// How requests are batched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicBatching {
    /// The sizes that are preferred.
    pub preferred: Vec<usize>,
    /// How long a request may wait for others.
    pub delay: Duration,
    /// Whether answers are to keep the order of their requests.
    pub preserve_ordering: bool,
    /// How requests wait for their turn, if it says so.
    pub queueing: Option<Arc<Queueing>>,
}

/// A step of an ensemble.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepConfig {
    /// The model that runs it.
    pub model: String,
    /// Its version; `None` for the highest that is served.
    pub version: Option<u64>,
    /// The model's inputs, each with the ensemble's tensor that it reads.
    pub inputs: Vec<(String, String)>,
    /// The model's outputs, each with the ensemble's tensor that it makes.
    pub outputs: Vec<(String, String)>,
    /// The line that it begins on.
    pub line: usize,
}
