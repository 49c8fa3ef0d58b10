//! Loaded models, and the failures of other models.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use divisi_model::catalogue::WarmupRequest;
use divisi_model::ensemble::{Ensemble, Member};
use divisi_model::pipeline::StepSpec;
use divisi_runtime::tensor::{Lengths, TensorSpec};
use serde::Serialize;

use crate::batch::ModelRows;
use crate::config::ModelConfig;
use crate::error::LoadFault;
use crate::labels::OutputLabels;
use crate::model::NetworkSource;

/// The name of a model's version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ModelVersion {
    /// The model's name.
    pub name: String,
    /// The version.
    pub version: u64,
}

/// `digits:3`.
impl fmt::Display for ModelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.version)
    }
}

/// A version of a model that can be served.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// Its name, which is the name of its folder.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// The model as an ensemble. A model of one network is a pipeline of one step, and its member
    /// is the same `Arc` in every pipeline that uses it. A model whose samples vary in length is a
    /// single member whose own tensors are the answer.
    pub ensemble: Arc<Ensemble>,
    /// The rows of a request.
    pub batch: ModelRows,
    /// The names of the values of outputs.
    pub labels: OutputLabels,
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    /// The names of configuration fields that are set but not applied as written. [`ModelConfig`]
    /// still contains some of them as hints. For an ensemble this includes fields of its steps'
    /// models that apply only to requests for these models; their names begin with the step.
    pub not_honoured: Vec<String>,
    /// The warm-up requests that run before the model serves.
    pub warmup: Arc<[WarmupRequest]>,
    /// The models that its steps use.
    pub uses: Vec<ModelVersion>,
    /// Its part in other pipelines, if they can use it.
    pub(crate) part: Option<PipelinePart>,
    /// The model's origin.
    pub(crate) source: ModelOrigin,
}

/// The origin of a model.
#[derive(Clone, Debug)]
pub(crate) enum ModelOrigin {
    /// A network's file.
    Network(NetworkSource),
    /// Steps over other models.
    Steps,
    /// A Divisi manifest.
    Manifest(PathBuf),
}

/// A model as a part of a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct PipelinePart {
    pub(crate) members: Vec<Arc<Member>>,
    pub(crate) steps: Vec<StepSpec>,
    /// The tensors of a row.
    pub(crate) inputs: Vec<TensorSpec>,
    pub(crate) outputs: Vec<TensorSpec>,
    /// The lengths of samples, if dimensions of the tensors vary.
    pub(crate) lengths: Option<Lengths>,
}

impl LoadedModel {
    /// Returns its name and version.
    pub fn id(&self) -> ModelVersion {
        ModelVersion {
            name: self.name.clone(),
            version: self.version,
        }
    }

    /// Returns whether its answers are the tensors of its single member, without a combination or
    /// pipeline.
    pub fn answers_itself(&self) -> bool {
        let ensemble = &self.ensemble;
        ensemble.pipeline.is_none() && ensemble.lengths.is_some() && ensemble.members.len() == 1
    }

    /// Returns the tensors of a row of a request. The list is empty for a manifest's ensemble
    /// without named tensors.
    pub fn inputs(&self) -> Vec<TensorSpec> {
        self.ensemble.tensors.clone().unwrap_or_default()
    }

    /// Returns the tensors of a row of an answer. The list is empty if the ensemble combines the
    /// answers of its members.
    pub fn outputs(&self) -> Vec<TensorSpec> {
        match &self.ensemble.pipeline {
            Some(pipeline) => pipeline.outputs().iter().map(|o| o.spec.clone()).collect(),
            None if self.answers_itself() => self.ensemble.members[0].graph.signature().outputs,
            None => Vec::new(),
        }
    }
}

/// A model that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// Its name.
    pub name: String,
    /// Its version, if only one version failed.
    pub version: Option<u64>,
    /// The reason.
    pub fault: LoadFault,
}

/// The outcome of loading models.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// The loaded models, each after the models that it uses.
    pub models: Vec<Arc<LoadedModel>>,
    /// The models that failed to load.
    pub failures: Vec<LoadFailure>,
}

/// Returns the named models and the loaded models that use them, directly or indirectly.
pub(crate) fn with_users(named: &[String], loaded: &[Arc<LoadedModel>]) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = named.iter().cloned().collect();
    loop {
        let uses = |model: &&Arc<LoadedModel>| {
            let mut used = model.uses.iter();
            used.any(|used: &ModelVersion| all.contains(&used.name))
        };
        let users = loaded.iter().filter(uses).map(|model| model.name.clone());
        let more: Vec<String> = users.filter(|name| !all.contains(name)).collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}
