//! Converts a repository to Divisi manifests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use divisi_model::ensemble::{Ensemble, EnsembleError, Files, Member};
use divisi_model::pipeline::WorkSpec;
use divisi_runtime::onnx::OnnxModel;
use divisi_runtime::tensor::{Dimension, TensorSpec};

use crate::folder::CONFIG;
use crate::loaded::{LoadReport, LoadedModel, ModelOrigin, PipelinePart};
use crate::model::{NetworkSource, WrittenNetwork};
use crate::repository::{Repository, WantedModels};

use super::manifest::{ManifestMember, batching, text};
use super::own::{OwnManifest, data_files};
use super::unsaid::unsaid;
use super::written::OutFolder;
use super::{ConvertError, Converted, NetworkFiles};

/// Writes the models of a repository as manifests to the folder `out`, which must be new or empty.
/// Each model gets a folder, with its highest version.
///
/// # Errors
/// The repository cannot be read, or a file cannot be written. Models that cannot be loaded or
/// converted are left out, each with a reason.
pub fn to_manifests(
    repository: &Repository,
    out: &Path,
    files: NetworkFiles,
) -> Result<Converted, ConvertError> {
    let report = repository.load(WantedModels::All, &[])?;
    let mut out = OutFolder::new(out)?;
    for failure in &report.failures {
        out.left_out(&failure.name, failure.fault.to_string());
    }
    let mut highest: BTreeMap<&str, &Arc<LoadedModel>> = BTreeMap::new();
    for model in &report.models {
        // Versions ascend.
        if let Some(older) = highest.insert(&model.name, model) {
            let (name, version) = (&older.name, older.version);
            out.unsaid(
                name,
                format!("version {version}: a manifest holds one version only"),
            );
        }
    }
    let mut left: Vec<&str> = Vec::new();
    for model in highest.into_values() {
        let done = match &model.source {
            ModelOrigin::Manifest(path) => {
                let own = OwnManifest::new(repository.path(), &model.name, path);
                copied(&own, model, files, &mut out)?
            }
            _ => convert(model, &report, files, &mut out)?,
        };
        if !done {
            left.push(&model.name);
        }
    }
    left.retain(|name| out.has(name));
    for name in left {
        match out.names_in(name) {
            true => out.unsaid(
                name,
                "its folder is kept: other models use its network file",
            ),
            false => out.remove_folder(name)?,
        }
    }
    if files == NetworkFiles::Named && !out.converted.written.is_empty() {
        out.converted.notes.push(NAMED_ELSEWHERE.to_owned());
    }
    Ok(out.converted)
}

/// The reason why an ensemble over samples of varying length is not converted.
const VARYING: &str = "manifests do not support steps over samples of varying length; serve the \
                       repository itself, or write numbers as dims in the config.pbtxt of its \
                       models";

/// How to serve manifests that name files outside their folders.
const NAMED_ELSEWHERE: &str = "the manifests name files outside their folders: serve each \
                               ensemble by itself, or convert with `--copy` to serve all as a \
                               repository";

/// Copies a Divisi manifest, and returns whether the copy can be read.
fn copied(
    own: &OwnManifest<'_>,
    model: &LoadedModel,
    files: NetworkFiles,
    out: &mut OutFolder,
) -> Result<bool, ConvertError> {
    let written = own.write(files, out)?;
    if let Err(why) = &written {
        out.left_out(&model.name, why);
    }
    Ok(written.is_ok())
}

/// Writes a model's manifest, and returns whether the model was converted.
fn convert(
    model: &LoadedModel,
    report: &LoadReport,
    files: NetworkFiles,
    out: &mut OutFolder,
) -> Result<bool, ConvertError> {
    let manifest = match (&model.source, &model.part) {
        (ModelOrigin::Network(source), _) if model.answers_itself() => {
            let file = placed(&model.name, model.version, source, files, out)?;
            varying(model, &source.path, &file)
        }
        (_, Some(part)) if part.lengths.is_some() => Err(VARYING.to_owned()),
        (_, Some(part)) => match reshaped(part) {
            Some(why) => Err(why),
            None => {
                let members = part.members.iter();
                let members = members.map(|m| member(m, report, files, out));
                let members = members.collect::<Result<Vec<_>, _>>()?;
                Ok(text(&model.ensemble, part, &members))
            }
        },
        (_, None) => Err("it has no steps".to_owned()),
    };
    let manifest = match manifest {
        Ok(manifest) => manifest,
        Err(why) => {
            out.left_out(&model.name, why);
            return Ok(false);
        }
    };
    let usual = match model.answers_itself() {
        true => "ensemble.toml",
        false => "pipeline.toml",
    };
    let name = format!("{}/{usual}", model.name);
    out.write(&name, &manifest)?;
    // The written manifest must be readable. Otherwise it is removed.
    if let Err(error) = Ensemble::read(&Files::from_path(&out.join(&name))) {
        out.remove_folder(&model.name)?;
        out.left_out(&model.name, unread(model, error));
        return Ok(false);
    }
    unsaid(model, out);
    Ok(true)
}

/// Returns the reason why a model's manifest is not kept, with the line of its configuration.
fn unread(model: &LoadedModel, error: EnsembleError) -> String {
    let why = match error {
        EnsembleError::File { reason, .. } => reason,
        EnsembleError::Place { message, .. } => message,
    };
    let at = match model.config.inputs.first() {
        Some(input) => format!("{}/{CONFIG}:{}: ", model.name, input.line),
        None => String::new(),
    };
    format!("{at}the converted manifest cannot be read: {why}")
}

/// Returns the reason why a step cannot be converted because its tensors are reshaped, or `None` if
/// no step has such tensors. Manifests do not support reshaped tensors.
fn reshaped(part: &PipelinePart) -> Option<String> {
    let other = |own: &TensorSpec, written: &TensorSpec| {
        let is_row = written.dims.split_first() == Some((&Dimension::Fixed(1), &own.dims[..]));
        own.name == written.name && own.dims != written.dims && !is_row
    };
    part.steps.iter().find_map(|step| {
        let WorkSpec::Model {
            member, signature, ..
        } = &step.work
        else {
            return None;
        };
        let own = part.members.get(member.get())?.graph.signature();
        let sides = [
            (&own.inputs, &signature.inputs),
            (&own.outputs, &signature.outputs),
        ];
        let mut written = sides.into_iter().flat_map(|(own, written)| {
            let is_other = move |w: &&TensorSpec| own.iter().any(|own| other(own, w));
            written.iter().filter(is_other)
        });
        let (step, tensor) = (&step.name, &written.next()?.name);
        Some(format!(
            "step `{step}`: `{tensor}`: reshape: not supported in manifests"
        ))
    })
}

/// Returns the manifest of a network for samples of any length.
fn varying(model: &LoadedModel, path: &Path, file: &str) -> Result<String, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let files = Files::Network {
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        file: name.into_owned(),
        shape: None,
        most_length: model
            .ensemble
            .lengths
            .as_ref()
            .map(|lengths| lengths.largest()),
    };
    let made = files.read_text(files.manifest());
    let made = made.map_err(|error| error.to_string())?;
    let mut table: toml::Table = made.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let named = toml::Value::String(model.name.clone());
    table.insert("name".into(), named.clone());
    let members = table.get_mut("members").and_then(toml::Value::as_array_mut);
    let only = members.and_then(|all| all.first_mut()?.as_table_mut());
    let Some(only) = only else {
        return Err("it has no network".into());
    };
    only.insert("name".into(), named);
    only.insert("network".into(), toml::Value::Table(of_file(file)));
    for (field, value) in batching(&model.ensemble) {
        table.insert(field.into(), value);
    }
    toml::to_string(&table).map_err(|error| error.to_string())
}

/// Returns a member of a pipeline for a manifest.
fn member(
    member: &Arc<Member>,
    report: &LoadReport,
    files: NetworkFiles,
    out: &mut OutFolder,
) -> Result<ManifestMember, ConvertError> {
    let of_member = |model: &&Arc<LoadedModel>| {
        let mut own = model.ensemble.members.iter();
        matches!(model.source, ModelOrigin::Network(_)) && own.any(|m| Arc::ptr_eq(m, member))
    };
    let found = report.models.iter().find(of_member);
    let Some((model, ModelOrigin::Network(source))) = found.map(|model| (model, &model.source))
    else {
        // Not reached: every member belongs to a model.
        return Ok(ManifestMember {
            name: member.name.clone(),
            network: toml::Table::new(),
            weights: None,
            shape: None,
            signature: member.graph.signature(),
        });
    };
    let file = placed(&model.name, model.version, source, files, out)?;
    let own_shape: Vec<usize> = member.graph.input().into();
    let (network, weights, shape) = match &source.network {
        None => {
            let opened = OnnxModel::open(&source.path);
            let is_open = opened.is_ok_and(|model| model.network(None).is_err());
            (of_file(&file), None, is_open.then_some(own_shape))
        }
        Some(WrittenNetwork::Table(table)) => (table.clone(), Some(file), Some(own_shape)),
        Some(WrittenNetwork::Layers(path)) => {
            let at = format!("{}/network.toml", model.name);
            let layers = file_at(path, &at, files, out)?;
            (of_file(&layers), Some(file), Some(own_shape))
        }
    };
    Ok(ManifestMember {
        name: member.name.clone(),
        network,
        weights,
        shape,
        signature: member.graph.signature(),
    })
}

fn of_file(file: &str) -> toml::Table {
    let file = toml::Value::String(file.to_owned());
    toml::Table::from_iter([("file".to_owned(), file)])
}

/// Returns the path by which manifests name the file of a model. The file and its data files are
/// copied if requested.
fn placed(
    name: &str,
    version: u64,
    source: &NetworkSource,
    files: NetworkFiles,
    out: &mut OutFolder,
) -> Result<String, ConvertError> {
    let end = if source.network.is_some() {
        "safetensors"
    } else {
        "onnx"
    };
    let at = format!("{name}/{version}/model.{end}");
    if files == NetworkFiles::Copied && !out.has(&at) && source.network.is_none() {
        for (beside, path) in data_files(&source.path) {
            out.copy(&path, &format!("{name}/{version}/{beside}"))?;
        }
    }
    file_at(&source.path, &at, files, out)
}

fn file_at(
    path: &Path,
    at: &str,
    files: NetworkFiles,
    out: &mut OutFolder,
) -> Result<String, ConvertError> {
    match files {
        NetworkFiles::Named => Ok(path.display().to_string()),
        NetworkFiles::Copied => {
            if !out.has(at) {
                out.copy(path, at)?;
            }
            Ok(format!("../{at}"))
        }
    }
}
