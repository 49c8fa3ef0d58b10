//! Converts the members of a manifest to versions of models.

use std::path::{Path, PathBuf};

use divisi_model::ensemble::{Ensemble, Files, Normalisation};
use divisi_runtime::onnx::{OnnxModel, OnnxNetwork};
use divisi_runtime::tensor::Signature;

use crate::batch::ModelRows;

use super::ConvertError;

/// A member of a manifest.
pub(super) struct ReadMember {
    /// The name of its model.
    pub(super) model: String,
    /// The version of its model, from the member's name or from its file's folder.
    pub(super) version: u64,
    /// Whether the member's name contains the version.
    pub(super) names_version: bool,
    /// Its files, or the reason why they cannot be a model's files.
    pub(super) files: Result<MemberFiles, &'static str>,
    /// The tensors of its network.
    pub(super) signature: Signature,
    /// The fields that a configuration cannot express.
    pub(super) unsaid: Vec<String>,
}

/// The files of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MemberFiles {
    /// An ONNX file.
    Onnx(PathBuf),
    /// A weights file.
    Weights {
        path: PathBuf,
        network: WeightsNetwork,
    },
}

/// The network of a weights file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WeightsNetwork {
    /// A file of layers.
    Layers(PathBuf),
    /// The manifest's table.
    Table(String),
}

/// Reads the members from the manifest.
pub(super) fn members(files: &Files, ensemble: &Ensemble) -> Result<Vec<ReadMember>, ConvertError> {
    let text = files.read_text(files.manifest())?;
    let table: toml::Table = text.parse().unwrap_or_default();
    let tables = table.get("members").and_then(toml::Value::as_array);
    let tables = || {
        let all = tables.into_iter().flatten();
        all.filter_map(toml::Value::as_table)
    };
    let members = ensemble.members.iter().map(|member| {
        let is_own = |table: &&toml::Table| {
            let name = table.get("name").and_then(toml::Value::as_str);
            name == Some(&member.name)
        };
        let empty = toml::Table::new();
        let written = tables().find(is_own).unwrap_or(&empty);
        let own = files_of(written, files);
        let (model, named) = match versioned(&member.name) {
            Some((model, version)) => (model, Some(version)),
            None => (member.name.as_str(), None),
        };
        let in_folder = own.as_ref().ok().and_then(|own| own.version_of(model));
        let is_plain = Path::new(model).file_name().is_some_and(|own| own == model);
        ReadMember {
            model: model.to_owned(),
            version: named.or(in_folder).unwrap_or(1),
            names_version: named.is_some(),
            files: if is_plain {
                own
            } else {
                Err("its name is not a valid folder name")
            },
            signature: member.graph.signature(),
            unsaid: unsaid(
                written,
                member.input.normalisation != Normalisation::IDENTITY,
            ),
        }
    });
    Ok(members.collect())
}

/// Splits `lin:2` into the name of a model and its version.
fn versioned(name: &str) -> Option<(&str, u64)> {
    let (model, version) = name.rsplit_once(':')?;
    let version = version.parse().ok().filter(|version| *version > 0)?;
    (!model.is_empty()).then_some((model, version))
}

/// Returns the fields of a member that Triton does not support.
fn unsaid(written: &toml::Table, is_normalised: bool) -> Vec<String> {
    let known = ["name", "network", "weights", "input", "outputs"];
    let others = written.keys().filter(|f| !known.contains(&f.as_str()));
    let normalised = is_normalised.then(|| "the normalisation of its input".to_owned());
    others.cloned().chain(normalised).collect()
}

fn files_of(written: &toml::Table, files: &Files) -> Result<MemberFiles, &'static str> {
    let network = written.get("network").and_then(toml::Value::as_table);
    let text = |table: Option<&toml::Table>, field: &str| {
        let value = table.and_then(|table| table.get(field)?.as_str());
        value.map(str::to_owned)
    };
    let path = |file: &str| -> Result<PathBuf, &'static str> {
        let path = files.path(file).ok_or("its files are built in")?;
        Ok(path.canonicalize().unwrap_or(path))
    };
    let file = text(network, "file");
    if text(network, "output").is_some() {
        return Err("it selects one of its network's outputs");
    }
    if let Some(onnx) = file.as_ref().filter(|file| file.ends_with(".onnx")) {
        return Ok(MemberFiles::Onnx(path(onnx)?));
    }
    // A single network file has no manifest that names it.
    if let Files::Network { file, .. } = files
        && file.ends_with(".onnx")
    {
        return Ok(MemberFiles::Onnx(path(file)?));
    }
    let weights = text(Some(written), "weights").ok_or("its weights are synthetic")?;
    Ok(MemberFiles::Weights {
        path: path(&weights)?,
        network: match file {
            Some(file) => WeightsNetwork::Layers(path(&file)?),
            None => {
                let table = network.cloned().unwrap_or_default();
                WeightsNetwork::Table(toml::Value::Table(table).to_string())
            }
        },
    })
}

impl MemberFiles {
    /// Returns the version of the folder in which the file lies, such as 2 for `lin/2/model.onnx`.
    fn version_of(&self, model: &str) -> Option<u64> {
        let (MemberFiles::Onnx(path) | MemberFiles::Weights { path, .. }) = self;
        let folder = path.parent()?;
        let is_own = folder.parent()?.file_name()? == model;
        let version = folder.file_name()?.to_str()?.parse().ok();
        version.filter(|version| is_own && *version > 0)
    }

    /// Returns the rows of a request: at most `most` if the file leaves them open.
    pub(super) fn rows(&self, most: usize) -> ModelRows {
        let MemberFiles::Onnx(path) = self else {
            return ModelRows::UpTo(most);
        };
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
            // Samples of any length, one at a time.
            false if model.open_lengths().is_some() => ModelRows::Exactly(1),
            false => ModelRows::Absent,
        }
    }
}
