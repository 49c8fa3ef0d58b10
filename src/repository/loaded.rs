//! Models that were loaded, and why others were not.

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

/// A version of a model of a repository, by name.
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
    /// Its name: that of its folder.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// It as an ensemble. A model that is one network is a pipeline of one step; its member is the
    /// same `Arc` in every pipeline that uses it. One whose samples vary in length is a member
    /// alone, whose own tensors are the answer.
    pub ensemble: Arc<Ensemble>,
    /// The rows of a request.
    pub batch: ModelRows,
    /// The names of the values of outputs.
    pub labels: OutputLabels,
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    /// The fields of the configuration that are set and not honoured, by name. Some of them are
    /// read and handed on by [`ModelConfig`] all the same, as hints. With the step, those of models
    /// that the steps of an ensemble use, which are honoured only where these are asked themselves.
    pub not_honoured: Vec<String>,
    /// The requests that it is asked before it serves.
    pub warmup: Arc<[WarmupRequest]>,
    /// The models that its steps use.
    pub uses: Vec<ModelVersion>,
    /// Its part in steps of other pipelines, if they can use it.
    pub(crate) part: Option<PipelinePart>,
    /// Where it is from.
    pub(crate) source: ModelOrigin,
}

/// Where a model is from.
#[derive(Clone, Debug)]
pub(crate) enum ModelOrigin {
    /// A network's file.
    Network(NetworkSource),
    /// Steps over other models.
    Steps,
    /// A manifest of ours.
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
    /// The lengths of samples, where dimensions of those tensors vary.
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

    /// Whether its answers are the tensors of its one member, and no combination or pipeline.
    pub fn answers_itself(&self) -> bool {
        let ensemble = &self.ensemble;
        ensemble.pipeline.is_none() && ensemble.lengths.is_some() && ensemble.members.len() == 1
    }

    /// Returns the tensors of a row of a request, or none where the ensemble is a manifest's
    /// without named tensors.
    pub fn inputs(&self) -> Vec<TensorSpec> {
        self.ensemble.tensors.clone().unwrap_or_default()
    }

    /// Returns the tensors of a row of an answer, or none where the ensemble combines the answers
    /// of its members.
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
    /// Its version, where it is one version that cannot be.
    pub version: Option<u64>,
    /// The reason.
    pub fault: LoadFault,
}

/// The outcome for models that were to be loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Those that were, each after those that it uses.
    pub models: Vec<Arc<LoadedModel>>,
    /// Those that were not.
    pub failures: Vec<LoadFailure>,
}

/// Returns models and the loaded ones that use them, directly or through others.
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
