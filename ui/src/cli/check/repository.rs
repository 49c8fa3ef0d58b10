//! The models of a repository, in a report: those that can be served, and the errors of the others.

use std::path::Path;

use anyhow::{Result, bail};
use divisi_engine::deployment::instance_remarks;
use divisi_inference::ensemble::signature;
use divisi_repository::{
    LoadFailure, LoadReport, LoadedModel, ModelRows, Repository, WantedModels,
};
use divisi_runtime::device::Devices;
use divisi_runtime::tensor::TensorSpec;
use divisi_runtime::words::{counted, one_line};
use serde::Serialize;

use crate::cli::args::ServingTarget;
use crate::cli::tables::{columns, tensors_in_words};

use super::pipeline::PipelineSummary;
use crate::cli::reporting::{Report, ReportOptions};

#[derive(Serialize)]
struct RepositoryReport {
    repository: String,
    models: Vec<ModelSummary>,
    failures: Vec<FailureSummary>,
    /// Settings of models that the devices cannot fulfil.
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct ModelSummary {
    name: String,
    version: u64,
    /// The kind of model: a network, a pipeline of steps, or one of Divisi's ensembles.
    kind: String,
    /// The number of rows in a request.
    rows: ModelRows,
    inputs: Vec<TensorSpec>,
    outputs: Vec<TensorSpec>,
    /// Fields of its configuration that are set and have no effect.
    not_honoured: Vec<String>,
}

#[derive(Serialize)]
struct FailureSummary {
    name: String,
    /// The version that cannot be loaded, if it is a single one.
    version: Option<u64>,
    reason: String,
}

/// Checks the repository in a folder.
pub(super) fn run(target: &ServingTarget, options: &ReportOptions) -> Result<()> {
    let path = &target.ensemble;
    let repository = Repository::open(path)?.computed_in(target.precision);
    let loaded = repository.load(WantedModels::All, &[])?;
    let devices = target.device_choice().find(&[])?.devices;
    let report = RepositoryReport::new(path, &loaded, &devices);
    options.write(&report)?;
    match report.failures.len() {
        0 if report.models.is_empty() => bail!(
            "{}: expected an `ensemble.toml`, or a folder for each model, found none",
            path.display()
        ),
        0 => Ok(()),
        failed => bail!("{} cannot be loaded", counted(failed, "model")),
    }
}

impl RepositoryReport {
    fn new(path: &Path, loaded: &LoadReport, devices: &Devices) -> Self {
        let models = loaded.models.iter();
        let failures = loaded.failures.iter().map(FailureSummary::new);
        let unpadded = loaded
            .models
            .iter()
            .filter_map(|m| FailureSummary::of_padding(m));
        RepositoryReport {
            repository: path.display().to_string(),
            failures: failures.chain(unpadded).collect(),
            models: models.map(|model| ModelSummary::new(model)).collect(),
            remarks: remarks(loaded, devices),
        }
    }
}

impl Report for RepositoryReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} · {} · {}\n",
            self.repository,
            counted(self.models.len(), "model"),
            counted(self.failures.len(), "failure"),
        );
        if !self.models.is_empty() {
            let head = ["model", "version", "", "rows", "inputs", "outputs"];
            let rows = self.models.iter().map(ModelSummary::row);
            text += &format!("\n{}", columns(&head, rows));
        }
        let ignored = self.models.iter().filter(|m| !m.not_honoured.is_empty());
        let ignored: Vec<String> = ignored.map(ModelSummary::ignored).collect();
        if !ignored.is_empty() {
            text += &format!("\nsettings without effect\n{}", ignored.concat());
        }
        if !self.remarks.is_empty() {
            text += &format!("\non this machine's devices\n{}\n", self.remarks.join("\n"));
        }
        if !self.failures.is_empty() {
            let failures = self.failures.iter().map(FailureSummary::line);
            text += &format!("\nnot loaded\n{}", failures.collect::<String>());
        }
        text
    }
}

/// Returns a server's remarks on the instance settings of models, once for all versions of a model,
/// and on precisions that the devices do not multiply.
fn remarks(loaded: &LoadReport, devices: &Devices) -> Vec<String> {
    let models = loaded.models.iter();
    let remarks = models
        .flat_map(|model| instance_remarks(&model.name, &model.config.instances, devices))
        .map(|remark| one_line(&remark).to_string());
    let mut all: Vec<String> = remarks.collect();
    all.dedup();
    let ensembles = loaded.models.iter().map(|model| &model.ensemble);
    let precisions = ensembles.flat_map(|ensemble| ensemble.precision_remarks(devices));
    for remark in precisions.map(|remark| remark.to_string()) {
        if !all.contains(&remark) {
            all.push(remark);
        }
    }
    all
}

impl ModelSummary {
    fn new(model: &LoadedModel) -> Self {
        let pipeline = PipelineSummary::from_ensemble(&model.ensemble);
        // The same signature that a server reports to clients.
        let told = signature(&model.ensemble, model.answers_itself());
        ModelSummary {
            name: model.name.clone(),
            version: model.version,
            kind: match pipeline {
                None if !model.answers_itself() => "ensemble".to_owned(),
                None => "network".to_owned(),
                Some(pipeline) if pipeline.is_one_step() => "network".to_owned(),
                Some(pipeline) => pipeline.words(),
            },
            rows: model.batch,
            inputs: told.inputs,
            outputs: told.outputs,
            not_honoured: model.not_honoured.clone(),
        }
    }

    fn row(&self) -> [String; 6] {
        [
            self.name.clone(),
            self.version.to_string(),
            self.kind.clone(),
            self.rows.to_string(),
            tensors_in_words(&self.inputs),
            tensors_in_words(&self.outputs),
        ]
    }

    fn ignored(&self) -> String {
        let (name, version) = (&self.name, self.version);
        format!("{name}:{version}: {}\n", self.not_honoured.join(", "))
    }
}

impl FailureSummary {
    fn new(failure: &LoadFailure) -> Self {
        FailureSummary {
            name: failure.name.clone(),
            version: failure.version,
            reason: failure.fault.to_string(),
        }
    }

    /// Returns the failure of a model with samples of varying length that cannot start, or `None`.
    fn of_padding(model: &LoadedModel) -> Option<Self> {
        let mut members = model.ensemble.members.iter();
        let fault = members.find_map(|member| member.check_padding().err())?;
        Some(FailureSummary {
            name: model.name.clone(),
            version: Some(model.version),
            reason: fault.to_string(),
        })
    }

    fn line(&self) -> String {
        let version = self.version.map(|version| format!(":{version}"));
        let (name, version) = (one_line(&self.name), version.unwrap_or_default());
        format!("{name}{version}: {}\n", self.reason)
    }
}
