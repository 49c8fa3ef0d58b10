//! Selects the format of a model's file, by platform, backend or existing files.

use crate::config::{ModelConfig, NamedRunner};
use crate::error::LoadFault;
use crate::folder::{CONFIG, ModelFolder};
use crate::text_format::quoted;

/// The file formats of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelFormat {
    /// An ONNX file.
    Onnx,
    /// A weights file, with a network named by the configuration.
    Safetensors,
}

impl ModelFormat {
    /// Returns the usual name of a file of this format.
    pub(crate) fn usual_file(self) -> &'static str {
        match self {
            ModelFormat::Onnx => "model.onnx",
            ModelFormat::Safetensors => "model.safetensors",
        }
    }

    fn of_file(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "onnx" => Some(ModelFormat::Onnx),
            "safetensors" => Some(ModelFormat::Safetensors),
            _ => None,
        }
    }
}

/// The file formats of a platform or backend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunnerFiles {
    /// Only this format.
    Only(ModelFormat),
    /// Both formats. Clients see `divisi` for every model without a platform and backend, and may
    /// load the model with this value.
    Both,
}

impl RunnerFiles {
    /// Returns the formats of the platform or backend `name`, or `None` if it is not supported.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "onnxruntime_onnx" | "onnxruntime" | "onnx" => {
                Some(RunnerFiles::Only(ModelFormat::Onnx))
            }
            "safetensors" => Some(RunnerFiles::Only(ModelFormat::Safetensors)),
            "divisi" => Some(RunnerFiles::Both),
            _ => None,
        }
    }
}

/// Unsupported platforms and backends, each with an alternative.
const FOREIGN: [(&[&str], &str); 5] = [
    (
        &["pytorch", "pytorch_libtorch"],
        "export the model with torch.onnx.export to model.onnx",
    ),
    (
        &["tensorflow", "tensorflow_graphdef", "tensorflow_savedmodel"],
        "convert the model with tf2onnx to model.onnx",
    ),
    (
        &["tensorrt", "tensorrt_plan"],
        "serve the ONNX file from which the plan was built",
    ),
    (
        &["python", "dali"],
        "export its network to model.onnx, and write its other work as steps of a pipeline.toml",
    ),
    (
        &[
            "openvino",
            "fil",
            "caffe2_netdef",
            "paddle",
            "vllm",
            "tensorrtllm",
        ],
        "export the model to model.onnx",
    ),
];

/// Files of unsupported formats, by the beginning or end of their names, and their backends.
const FOREIGN_FILES: [(&str, &str); 7] = [
    ("model.pt", "pytorch"),
    ("model.plan", "tensorrt"),
    ("model.graphdef", "tensorflow"),
    ("model.savedmodel", "tensorflow"),
    ("model.py", "python"),
    ("model.dali", "dali"),
    ("model.xml", "openvino"),
];

/// Returns the format of a version's file, and the file's path in the model's folder.
///
/// # Errors
/// The file does not exist, or has an unsupported format.
pub(crate) fn file_of(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    version: u64,
) -> Result<(ModelFormat, String), LoadFault> {
    let files = written(folder, config)?;
    let named = config.model_file.as_deref();
    let guessed = named.and_then(ModelFormat::of_file);
    let format = match (files, guessed) {
        (Some(RunnerFiles::Only(format)), _) | (_, Some(format)) => format,
        (Some(RunnerFiles::Both), None) => own_format(folder, version)?,
        (None, None) => guess(folder, version)?,
    };
    let name = named.unwrap_or(format.usual_file());
    let file = format!("{version}/{name}");
    let found = folder.check_plain(name).and(folder.inside(&file));
    found.map_err(|fault| of_name(folder, config, fault))?;
    match folder.is_folder(&file)? {
        // Exporters write a model with external data to a folder.
        true => Ok((format, format!("{file}/{}", format.usual_file()))),
        false => Ok((format, file)),
    }
}

/// Returns the format for `divisi`: weights, unless there is only an ONNX file.
fn own_format(folder: &ModelFolder<'_>, version: u64) -> Result<ModelFormat, LoadFault> {
    let there = folder.entries(&version.to_string())?;
    let has = |format: ModelFormat| there.iter().any(|name| name == format.usual_file());
    Ok(
        match has(ModelFormat::Onnx) && !has(ModelFormat::Safetensors) {
            true => ModelFormat::Onnx,
            false => ModelFormat::Safetensors,
        },
    )
}

/// Returns the formats of platform and backend, or `None` if neither is set.
///
/// # Errors
/// One of them is not supported, or they contradict each other.
fn written(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
) -> Result<Option<RunnerFiles>, LoadFault> {
    let mut known: Option<(RunnerFiles, &str)> = None;
    for runner in config.runners() {
        let files = RunnerFiles::from_name(runner.name);
        let files = files.ok_or_else(|| foreign_backend(folder, runner))?;
        known = match known {
            Some((platform, name)) if files == RunnerFiles::Both => Some((platform, name)),
            None | Some((RunnerFiles::Both, _)) => Some((files, runner.name)),
            Some((platform, _)) if platform == files => known,
            Some((_, platform)) => {
                let (field, found) = (runner.field, quoted(runner.name));
                let why = format!(
                    "{field}: expected a value that matches platform `{platform}`, found \
                             `{found}`"
                );
                return Err(folder.wrong(runner.line, why));
            }
        };
    }
    Ok(known.map(|(files, _)| files))
}

/// Returns the error of a version's file, at the line that names it.
fn of_name(folder: &ModelFolder<'_>, config: &ModelConfig, fault: LoadFault) -> LoadFault {
    if config.model_file.is_none() {
        return fault;
    }
    let field = "default_model_filename";
    let why = format!("{field}: expected a file in the folder of the version; {fault}");
    folder.wrong(config.lines.model_file, why)
}

/// Returns the format of a version's existing file.
fn guess(folder: &ModelFolder<'_>, version: u64) -> Result<ModelFormat, LoadFault> {
    let there = folder.entries(&version.to_string())?;
    for format in [ModelFormat::Onnx, ModelFormat::Safetensors] {
        if there.iter().any(|name| name == format.usual_file()) {
            return Ok(format);
        }
    }
    let known = FOREIGN_FILES.iter();
    let mut foreign_files = known.filter(|(file, _)| there.iter().any(|name| name == file));
    match foreign_files.next() {
        Some((file, backend)) => {
            let place = folder.display(&format!("{version}/{file}"));
            Err(LoadFault::Unsupported {
                what: format!("{place}: expected {FILES}"),
                instead: way_out(backend).to_owned(),
            })
        }
        None => {
            let found = match there.is_empty() {
                true => "nothing".to_owned(),
                false => there.join(", "),
            };
            let why = format!("expected {FILES}, found {found}");
            Err(folder.failed(&version.to_string(), &why))
        }
    }
}

/// The supported files.
const FILES: &str = "model.onnx or model.safetensors";

/// Returns the error of an unsupported platform or backend.
fn foreign_backend(folder: &ModelFolder<'_>, runner: NamedRunner<'_>) -> LoadFault {
    let NamedRunner { field, line, name } = runner;
    let file = folder.display(CONFIG);
    LoadFault::Unsupported {
        what: format!(
            "{file}:{line}: {field}: expected onnxruntime, divisi (safetensors) or ensemble, \
             found `{}`",
            quoted(name)
        ),
        instead: way_out(name).to_owned(),
    }
}

/// Returns the alternative for an unsupported backend.
fn way_out(backend: &str) -> &'static str {
    let known = FOREIGN.iter().find(|(names, _)| names.contains(&backend));
    known.map_or("export the model to model.onnx", |(_, way)| way)
}
