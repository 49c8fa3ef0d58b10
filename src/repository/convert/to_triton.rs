//! Converts Divisi ensembles and pipelines to a repository.

use std::path::Path;

use divisi_model::ensemble::{Ensemble, Files, PolicyKind};
use divisi_runtime::reading::ReadError;

use crate::repository::Repository;

use super::graph;
use super::members::{ReadMember, members};
use super::models::{ModelBatching, Models, PlacedModel};
use super::written::OutFolder;
use super::{ConvertError, Converted};

/// A manifest that was read.
struct ReadManifest {
    ensemble: Ensemble,
    members: Vec<ReadMember>,
}

/// Writes an ensemble or pipeline as a repository to the folder `out`, which must be new or empty.
/// Each member becomes a model. A pipeline whose steps are all models becomes an ensemble. A
/// pipeline of one model with its network's tensors becomes that model.
///
/// # Errors
/// The ensemble cannot be read, or a file cannot be written. Settings that Triton does not support
/// are listed in the result.
pub fn to_triton(files: &Files, out: &Path) -> Result<Converted, ConvertError> {
    let manifest = ReadManifest::read(files)?;
    let mut out = OutFolder::new(out)?;
    convert(&[manifest], &mut out)?;
    Ok(out.converted)
}

/// Writes the manifests of a repository as a Triton repository, each as [`to_triton`] does. A
/// network that several manifests name becomes one model.
///
/// # Errors
/// The repository cannot be read, or a file cannot be written. Manifests that cannot be read are
/// left out, each with a reason.
pub fn manifests_to_triton(repository: &Repository, out: &Path) -> Result<Converted, ConvertError> {
    let names = repository.names()?.into_iter();
    let found = names.map(|name| (repository.manifest(&name), name));
    let found: Vec<_> = found.collect();
    if found
        .iter()
        .all(|(manifest, _)| matches!(manifest, Ok(None)))
    {
        let wrong = "nothing to convert: no folder in this repository has a manifest";
        let wrong = ReadError::new(wrong).at(repository.path().display());
        return Err(wrong.into());
    }
    let mut out = OutFolder::new(out)?;
    let mut manifests = Vec::new();
    for (manifest, name) in found {
        match manifest {
            Ok(Some(path)) => match ReadManifest::read(&Files::from_path(&path)) {
                Ok(manifest) => manifests.push(manifest),
                Err(error) => out.left_out(&name, error.to_string()),
            },
            Ok(None) => out.left_out(&name, "it has no manifest; Triton serves it unchanged"),
            Err(fault) => out.left_out(&name, fault.to_string()),
        }
    }
    convert(&manifests, &mut out)?;
    Ok(out.converted)
}

fn convert(manifests: &[ReadManifest], out: &mut OutFolder) -> Result<(), ReadError> {
    let mut models = Models::default();
    // Manifests that become a single model come first: they define its queue settings.
    for manifest in manifests.iter().filter(|m| m.is_model()) {
        manifest.add_model(&mut models, out);
    }
    let mut graphs = Vec::new();
    for manifest in manifests.iter().filter(|m| !m.is_model()) {
        graphs.push((manifest, manifest.add_members(&mut models, out)));
    }
    models.write(out)?;
    for (manifest, placed) in graphs {
        manifest.write_graph(&models, placed, out)?;
    }
    Ok(())
}

impl ReadManifest {
    fn read(files: &Files) -> Result<Self, ConvertError> {
        let ensemble = Ensemble::read(files)?;
        let members = members(files, &ensemble)?;
        Ok(ReadManifest { ensemble, members })
    }

    /// Returns whether it is one model with its network's tensors.
    fn is_model(&self) -> bool {
        let pipeline = self.ensemble.pipeline.as_ref();
        self.members.len() == 1 && pipeline.is_none_or(|p| graph::is_one_model(&self.ensemble, p))
    }

    fn add_model(&self, models: &mut Models, out: &mut OutFolder) {
        let batching = ModelBatching {
            queueing: self.ensemble.queueing.as_deref(),
            ..self.batching()
        };
        let Some(member) = self.members.first() else {
            return;
        };
        let added = models.add(member, &batching, out);
        let labels = self.ensemble.answer_names.as_deref();
        match (added, &self.ensemble.pipeline) {
            (Some(placed), Some(pipeline)) => {
                let outputs = pipeline.outputs().iter().map(|o| o.spec.clone());
                models.answers(&placed, outputs.collect(), labels);
            }
            (Some(placed), None) => models.labelled(&placed, labels),
            (None, _) => {}
        }
    }

    /// Adds the members, and returns the model of each, or `None` for a member that is left out.
    fn add_members(&self, models: &mut Models, out: &mut OutFolder) -> Vec<Option<PlacedModel>> {
        let (name, batching) = (&self.ensemble.name, self.batching());
        if self.ensemble.queueing.is_some() {
            out.unsaid(name, "queue: Triton has queues for single models only");
        }
        if !matches!(
            self.ensemble.policy,
            PolicyKind::NoWait | PolicyKind::OptWait { .. }
        ) {
            let policy = self.ensemble.policy.name();
            out.unsaid(
                name,
                format!("policy {policy}: Triton supports a fixed wait or none"),
            );
        }
        let members = self.members.iter();
        members.map(|m| models.add(m, &batching, out)).collect()
    }

    fn batching(&self) -> ModelBatching<'_> {
        ModelBatching {
            sizes: &self.ensemble.batch_sizes,
            wait: self.ensemble.policy.wait(),
            queueing: None,
        }
    }

    /// Writes the ensemble of a pipeline.
    fn write_graph(
        &self,
        models: &Models,
        placed: Vec<Option<PlacedModel>>,
        out: &mut OutFolder,
    ) -> Result<(), ReadError> {
        let ensemble = &self.ensemble;
        match (&ensemble.pipeline, placed.into_iter().collect()) {
            (Some(_), None) => {
                out.unsaid(&ensemble.name, "steps: one of their models is left out");
                Ok(())
            }
            (Some(pipeline), Some(placed)) => {
                let placed: Vec<PlacedModel> = placed;
                graph::write(ensemble, pipeline, models, &placed, out)
            }
            (None, _) => {
                let rule = ensemble.rule.name();
                let why = format!("rule {rule}: Triton needs a Python model to combine answers");
                out.unsaid(&ensemble.name, why);
                Ok(())
            }
        }
    }
}
