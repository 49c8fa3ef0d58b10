//! Builds ensembles from the versions of models.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use divisi_model::ensemble::{Ensemble, Files, MemberPrecision};
use divisi_runtime::tensor::Signature;

use crate::batch::ModelRows;
use crate::config::StepConfig;
use crate::described::{DescribedKind, DescribedModel};
use crate::error::LoadFault;
use crate::folder::CONFIG;
use crate::labels::{OutputLabels, inherit, labels, of_steps};
use crate::loaded::{
    LoadFailure, LoadReport, LoadedModel, ModelOrigin, ModelVersion, PipelinePart,
};
use crate::manifest_files;
use crate::model::{self, ReadModel};
use crate::not_honoured;
use crate::steps::{self, Assembled, EnsembleGraph, batched};
use crate::warmup;

/// The models that steps can use, and the errors of other models.
pub(crate) struct KnownModels {
    versions: BTreeMap<ModelVersion, Arc<LoadedModel>>,
    faults: BTreeMap<String, String>,
    /// The precision of all models, or `None` for the precisions of their files.
    precision: Option<MemberPrecision>,
}

impl KnownModels {
    /// Starts with the loaded models, except the models that are loaded again.
    pub(crate) fn new<'n>(
        loaded: &[Arc<LoadedModel>],
        again: impl Iterator<Item = &'n String>,
        precision: Option<MemberPrecision>,
    ) -> Self {
        let again: BTreeSet<&String> = again.collect();
        let kept = loaded.iter().filter(|model| !again.contains(&model.name));
        KnownModels {
            versions: kept.map(|model| (model.id(), Arc::clone(model))).collect(),
            faults: BTreeMap::new(),
            precision,
        }
    }

    /// Notes that a model is not available.
    pub(crate) fn failed(&mut self, name: &str, fault: &LoadFault) {
        self.faults.insert(name.to_owned(), fault.to_string());
    }

    /// Returns the models that a model uses, directly or indirectly.
    pub(crate) fn used_by(&self, model: &LoadedModel) -> BTreeMap<ModelVersion, Arc<LoadedModel>> {
        let (mut all, mut left) = (BTreeMap::new(), model.uses.clone());
        while let Some(id) = left.pop() {
            if let Some(used) = self.versions.get(&id).filter(|_| !all.contains_key(&id)) {
                left.extend(used.uses.iter().cloned());
                all.insert(id, Arc::clone(used));
            }
        }
        all
    }

    /// Returns the model of a step.
    ///
    /// # Errors
    /// The model is not available. The error is a text.
    fn of_step(&self, step: &StepConfig) -> Result<Arc<LoadedModel>, String> {
        let mut of_name = self.versions.iter().filter(|(id, _)| id.name == step.model);
        let found = match step.version {
            None => of_name.next_back(),
            Some(version) => of_name.find(|(id, _)| id.version == version),
        };
        if let Some((_, model)) = found {
            return Ok(Arc::clone(model));
        }
        let there: Vec<String> = self
            .versions
            .keys()
            .filter(|id| id.name == step.model)
            .map(|id| id.version.to_string())
            .collect();
        Err(match (self.faults.get(&step.model), step.version) {
            (None, Some(version)) if !there.is_empty() => {
                let there = there.join(", ");
                format!(
                    "expected a served version of `{}` ({there}), found {version}",
                    step.model
                )
            }
            (Some(fault), _) => format!("model `{}` was not loaded: {fault}", step.model),
            (None, _) => format!("no model `{}` in the repository", step.model),
        })
    }
}

/// Loads the versions of a model.
pub(crate) fn load_versions(
    model: &DescribedModel<'_>,
    known: &mut KnownModels,
    report: &mut LoadReport,
) {
    for &version in &model.versions {
        match load(model, version, known) {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                known.versions.insert(loaded.id(), Arc::clone(&loaded));
                report.models.push(loaded);
            }
            Err(fault) => {
                known.failed(&model.name, &fault);
                report.failures.push(LoadFailure {
                    name: model.name.clone(),
                    version: Some(version),
                    fault,
                });
            }
        }
    }
}

/// The parts of a loaded model version.
struct LoadedParts {
    ensemble: Ensemble,
    batch: ModelRows,
    part: Option<PipelinePart>,
    uses: Vec<ModelVersion>,
    /// The names of its output values, from its steps.
    labels: OutputLabels,
    source: ModelOrigin,
}

fn load(
    model: &DescribedModel<'_>,
    version: u64,
    known: &KnownModels,
) -> Result<LoadedModel, LoadFault> {
    let mut labels = labels(&model.folder, &model.config.outputs)?;
    let mut parts = match model.kind {
        DescribedKind::Network => network(model, version, known.precision)?,
        DescribedKind::Ensemble => ensemble(model, known)?,
        DescribedKind::Manifest(file) => manifest(model, file)?,
    };
    inherit(&mut labels, std::mem::take(&mut parts.labels));
    if let Some(precision) = known.precision {
        compute_in(&mut parts, precision);
    }
    if !matches!(model.kind, DescribedKind::Manifest(_)) {
        batched(&mut parts.ensemble, &model.config, parts.batch);
        name_values(&mut parts.ensemble, &labels);
    }
    let signature = Signature {
        inputs: parts.ensemble.tensors.clone().unwrap_or_default(),
        outputs: Vec::new(),
        lengths: parts.ensemble.lengths.clone(),
    };
    let warmup = warmup::requests(&model.folder, &model.config, &signature, parts.batch)?;
    let mut loaded = LoadedModel {
        warmup,
        name: model.name.clone(),
        version,
        ensemble: Arc::new(parts.ensemble),
        batch: parts.batch,
        labels,
        not_honoured: Vec::new(),
        config: Arc::new(model.config.clone()),
        uses: parts.uses,
        part: parts.part,
        source: parts.source,
    };
    let used = known.used_by(&loaded);
    loaded.not_honoured = not_honoured::fields(&loaded, used.values().map(AsRef::as_ref));
    Ok(loaded)
}

/// Sets the precision of a model. Members of pipeline steps are shared and already have their
/// precision.
fn compute_in(parts: &mut LoadedParts, precision: MemberPrecision) {
    let ensemble = &mut parts.ensemble;
    match parts.part {
        None => ensemble.compute_in(precision),
        Some(_) => ensemble.precision = precision.on_gpus(ensemble.precision),
    }
}

/// Names the values of answers, if these are one output with one label per value.
fn name_values(ensemble: &mut Ensemble, labels: &OutputLabels) {
    if let [(_, names)] = &labels[..]
        && names.len() == ensemble.answer_width()
    {
        ensemble.answer_names = Some(names.to_vec());
    }
}

fn network(
    model: &DescribedModel<'_>,
    version: u64,
    precision: Option<MemberPrecision>,
) -> Result<LoadedParts, LoadFault> {
    let is_highest = model.versions.last() == Some(&version);
    let name = match is_highest {
        true => model.name.clone(),
        false => format!("{}:{version}", model.name),
    };
    let (read, source) = model::read(&model.folder, &model.config, version, name)?;
    let (ensemble, batch, part) = match read {
        ReadModel::Varying(mut ensemble, batch) => {
            if let Some(precision) = precision {
                ensemble.compute_in(precision);
            }
            let part = ensemble.members.first().map(steps::varying_part);
            (*ensemble, batch, part)
        }
        ReadModel::Network(mut member, tensors) => {
            if let Some(precision) = precision {
                Arc::make_mut(&mut member).precision = precision;
            }
            let made = steps::single(member, &tensors);
            let Assembled { ensemble, part } =
                made.map_err(|why| model.folder.failed(&version.to_string(), &why))?;
            (ensemble, tensors.batch, Some(part))
        }
    };
    Ok(LoadedParts {
        ensemble,
        batch,
        part,
        uses: Vec::new(),
        labels: OutputLabels::new(),
        source: ModelOrigin::Network(source),
    })
}

fn ensemble(model: &DescribedModel<'_>, known: &KnownModels) -> Result<LoadedParts, LoadFault> {
    let steps = model.config.steps.as_deref().unwrap_or_default();
    let models = steps.iter().map(|step| {
        known.of_step(step).map_err(|reason| {
            let why = format!("step `{}`: {reason}", step.model);
            model.folder.wrong(step.line, why)
        })
    });
    let models = models.collect::<Result<Vec<_>, _>>()?;
    let mut uses: Vec<ModelVersion> = models.iter().map(|model| model.id()).collect();
    uses.sort_unstable();
    uses.dedup();
    let each = steps.iter().zip(models.iter().map(|model| &model.labels));
    let labels = of_steps(each, &model.config.outputs);
    let (Assembled { ensemble, part }, batch) = steps::assemble(&EnsembleGraph {
        name: &model.name,
        file: model.folder.display(CONFIG),
        config: &model.config,
        steps,
        models,
    })?;
    Ok(LoadedParts {
        ensemble,
        batch,
        part: Some(part),
        uses,
        labels,
        source: ModelOrigin::Steps,
    })
}

fn manifest(model: &DescribedModel<'_>, file: &'static str) -> Result<LoadedParts, LoadFault> {
    manifest_files::check(&model.folder, file)?;
    let path = model.folder.inside(file)?;
    let read = Ensemble::read(&Files::from_path(&path));
    let mut ensemble = read.map_err(|error| model.folder.failed(file, &error))?;
    ensemble.name.clone_from(&model.name);
    Ok(LoadedParts {
        ensemble,
        batch: ModelRows::Open,
        part: None,
        uses: Vec::new(),
        labels: OutputLabels::new(),
        source: ModelOrigin::Manifest(path),
    })
}
