//! An ensemble or a pipeline of ours as a repository.

use std::path::{Path, PathBuf};

use divisi::ensemble::{Ensemble, Files, Member, Normalisation};
use divisi::onnx::{OnnxModel, OnnxNetwork};
use divisi::pipeline::{Pipeline, StepRole};

use crate::batch::ModelRows;
use crate::config::NETWORK_PARAMETER;

use super::to_manifests::beside;
use super::triton_text::ConfigText;
use super::written::OutFolder;
use super::{ConvertError, Converted};

/// A member as the manifest writes it.
#[derive(Default)]
struct WrittenMember {
    network: toml::Table,
    weights: Option<String>,
    /// The fields that have no counterpart.
    others: Vec<String>,
}

/// Writes an ensemble or pipeline as a repository into the folder `out`, which is new or empty: a
/// model for each member, and an ensemble for a pipeline whose steps are all models.
///
/// # Errors
/// The ensemble cannot be read, or a file not written. What Triton has no word for is listed.
pub fn to_triton(files: &Files, out: &Path) -> Result<Converted, ConvertError> {
    let ensemble = Ensemble::read(files)?;
    let members = members(files)?;
    let mut out = OutFolder::new(out)?;
    let mut batches = Vec::new();
    for member in &ensemble.members {
        let found = members.iter().find(|(name, _)| *name == member.name);
        let empty = WrittenMember::default();
        let written = found.map_or(&empty, |(_, written)| written);
        let single = SingleModel {
            ensemble: &ensemble,
            member,
            written,
            files,
        };
        batches.push(single.write(&mut out)?);
    }
    if ensemble.queueing.is_some() {
        let why = "queue: Triton's queues are those of single models";
        out.unsaid(&ensemble.name, why);
    }
    let batches: Option<Vec<ModelRows>> = batches.into_iter().collect();
    match (&ensemble.pipeline, batches) {
        (Some(_), None) => out.unsaid(&ensemble.name, "its steps: a model of them is left out"),
        (Some(pipeline), Some(batches)) => {
            graph(&ensemble, pipeline, joint(&batches), &mut out)?;
        }
        (None, _) if ensemble.members.len() > 1 => {
            let rule = ensemble.rule.name();
            let why = format!("its rule, {rule}: Triton combines answers in a Python model");
            out.unsaid(&ensemble.name, why);
        }
        (None, _) => {}
    }
    Ok(out.converted)
}

/// Reads the members as the manifest writes them.
fn members(files: &Files) -> Result<Vec<(String, WrittenMember)>, ConvertError> {
    let text = files.read_text(files.manifest())?;
    let table: toml::Table = text.parse().unwrap_or_default();
    let tables = table.get("members").and_then(toml::Value::as_array);
    let tables = tables
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table);
    let members = tables.filter_map(|table| {
        let name = table.get("name")?.as_str()?.to_owned();
        let known = ["name", "network", "weights", "input", "outputs"];
        let others = table
            .keys()
            .filter(|field| !known.contains(&field.as_str()));
        let weights = table.get("weights").and_then(toml::Value::as_str);
        let written = WrittenMember {
            network: table.get("network")?.as_table()?.clone(),
            weights: weights.map(str::to_owned),
            others: others.cloned().collect(),
        };
        Some((name, written))
    });
    Ok(members.collect())
}

/// A member that becomes a model.
struct SingleModel<'e> {
    ensemble: &'e Ensemble,
    member: &'e Member,
    written: &'e WrittenMember,
    files: &'e Files,
}

impl SingleModel<'_> {
    /// Writes the model. Returns the rows of a request, or `None` if it is left out.
    fn write(&self, out: &mut OutFolder) -> Result<Option<ModelRows>, ConvertError> {
        let name = &self.member.name;
        if let Some(why) = self.refused() {
            out.left_out(name, why);
            return Ok(None);
        }
        for field in &self.written.others {
            out.unsaid(name, field);
        }
        if self.member.input.normalisation != Normalisation::IDENTITY {
            out.unsaid(name, "the normalisation of its input");
        }
        let most = self.ensemble.batch_sizes.largest().get();
        let (platform, batch) = match self.onnx_file() {
            Some(path) => {
                for (beside, from) in beside(&path) {
                    out.copy(&from, &format!("{name}/1/{beside}"))?;
                }
                out.copy(&path, &format!("{name}/1/model.onnx"))?;
                (["platform", "onnxruntime_onnx"], rows(&path, most))
            }
            None => {
                self.weights(out)?;
                (["backend", "divisi"], ModelRows::UpTo(most))
            }
        };
        let mut config = ConfigText::new(name, platform, batch);
        let signature = self.member.graph.signature();
        config.tensors("input", &signature.inputs);
        config.tensors("output", &signature.outputs);
        config.batching(self.ensemble.policy.wait());
        if self.onnx_file().is_none() {
            config.parameter(NETWORK_PARAMETER, &self.network());
        }
        out.write(&format!("{name}/config.pbtxt"), &config.finish())?;
        Ok(Some(batch))
    }

    /// Returns why the member can be no model, if it cannot.
    fn refused(&self) -> Option<&'static str> {
        let name = Path::new(&self.member.name);
        let is_folder = name.file_name().is_some_and(|own| own == name.as_os_str());
        match (self.onnx_file(), &self.written.weights) {
            _ if !is_folder => Some("its name is none of a folder"),
            (None, None) => Some("its weights are made up"),
            (None, Some(_)) if self.files.path("").is_none() => Some("its files are built in"),
            _ => None,
        }
    }

    fn onnx_file(&self) -> Option<PathBuf> {
        let file = self
            .written
            .network
            .get("file")
            .and_then(toml::Value::as_str);
        self.files
            .path(file.filter(|file| file.ends_with(".onnx"))?)
    }

    /// Copies a file of weights, and the file of layers of its network.
    fn weights(&self, out: &mut OutFolder) -> Result<(), ConvertError> {
        let name = &self.member.name;
        let path = |file: &str| self.files.path(file).unwrap_or_default();
        if let Some(weights) = &self.written.weights {
            out.copy(&path(weights), &format!("{name}/1/model.safetensors"))?;
        }
        if let Some(file) = self
            .written
            .network
            .get("file")
            .and_then(toml::Value::as_str)
        {
            out.copy(&path(file), &format!("{name}/network.toml"))?;
        }
        out.unsaid(
            name,
            "Triton itself reads no safetensors: only Divisi serves this model",
        );
        Ok(())
    }

    /// Returns the network of a file of weights.
    fn network(&self) -> String {
        match self.written.network.contains_key("file") {
            true => "network.toml".to_owned(),
            false => toml::Value::Table(self.written.network.clone()).to_string(),
        }
    }
}

/// Returns the rows of a request of an ONNX file, which may be at most `most` where it leaves them
/// open.
fn rows(path: &Path, most: usize) -> ModelRows {
    let Ok(model) = OnnxModel::open(path) else {
        return ModelRows::Absent;
    };
    let has_batch = |network: OnnxNetwork| {
        let mut inputs = network.inputs.iter();
        inputs.all(|input| input.dims.first() == Some(&1))
    };
    match model.takes_batches() {
        true => ModelRows::UpTo(most),
        false if model.network(None).is_ok_and(has_batch) => {
            ModelRows::Exactly(model.fixed_batch().unwrap_or(1))
        }
        false => ModelRows::Absent,
    }
}

/// Returns the rows of a request of a pipeline of models, or `None` if these do not fit together.
fn joint(models: &[ModelRows]) -> Option<ModelRows> {
    let is_fixed = |batch: &&ModelRows| !matches!(batch, ModelRows::UpTo(_));
    let Some(first) = models.iter().find(is_fixed).copied() else {
        return models.first().copied();
    };
    let alike = |other: &ModelRows| match (first, other) {
        // A batch of so many is one of those that the others take.
        (ModelRows::Exactly(_), ModelRows::UpTo(_)) => true,
        (first, other) => first == *other,
    };
    models.iter().all(alike).then_some(first)
}

/// Writes the ensemble of a pipeline.
fn graph(
    ensemble: &Ensemble,
    pipeline: &Pipeline,
    batch: Option<ModelRows>,
    out: &mut OutFolder,
) -> Result<(), ConvertError> {
    let name = &ensemble.name;
    let mut is_said = !out.has(name);
    if !is_said {
        out.unsaid(name, "its name, which is that of a model too");
    }
    for step in pipeline.steps() {
        let kind = match &step.role {
            StepRole::Model(_) => continue,
            StepRole::Gate(condition) => format!("when {condition}"),
            StepRole::Host(step) => step.name().to_owned(),
        };
        is_said = false;
        let what = format!(
            "step `{}`: `{kind}`, which is a Python model in Triton",
            step.name
        );
        out.unsaid(name, what);
    }
    let Some(batch) = batch.filter(|_| is_said) else {
        let why = match is_said {
            true => "its steps: their models take different numbers of rows",
            false => "its steps: not all of them can be said",
        };
        out.unsaid(name, why);
        return Ok(());
    };
    let mut config = ConfigText::new(name, ["platform", "ensemble"], batch);
    let outputs: Vec<_> = pipeline.outputs().iter().map(|o| o.spec.clone()).collect();
    config.tensors("input", pipeline.inputs());
    config.tensors("output", &outputs);
    let maps = maps(ensemble, pipeline);
    config.steps(maps.iter().map(|(model, [inputs, outputs])| {
        (model.as_str(), [inputs.as_slice(), outputs.as_slice()])
    }));
    out.write(&format!("{name}/config.pbtxt"), &config.finish())?;
    out.folder(&format!("{name}/1"))
}

/// Names of a model's tensors, each with the pipeline's.
type TensorMap = Vec<(String, String)>;

/// Returns the models of the steps, with the maps of their inputs and outputs.
fn maps(ensemble: &Ensemble, pipeline: &Pipeline) -> Vec<(String, [TensorMap; 2])> {
    let models = pipeline.steps().iter().filter_map(|step| match step.role {
        StepRole::Model(member) => Some((step, &ensemble.members[member])),
        _ => None,
    });
    let steps = models.map(|(step, member)| {
        let signature = member.graph.signature();
        let read = step.sources.iter().map(|source| {
            let tensor = pipeline.tensor(source).map(|spec| spec.name.clone());
            tensor.unwrap_or_default()
        });
        let inputs = signature.inputs.into_iter().map(|spec| spec.name).zip(read);
        let made = step.tensors.iter().map(|spec| spec.name.clone());
        let outputs = signature
            .outputs
            .into_iter()
            .map(|spec| spec.name)
            .zip(made);
        (member.name.clone(), [inputs.collect(), outputs.collect()])
    });
    steps.collect()
}
