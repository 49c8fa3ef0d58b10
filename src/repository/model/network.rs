//! Reads the network of a model version.

use std::path::Path;

use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::network::{Graph, Weights};
use divisi_runtime::onnx::{ModelFault, OnnxError, OnnxModel, OnnxNetwork};
use divisi_runtime::tensor::Signature;

use crate::config::{MOST_LENGTH_PARAMETER, ModelConfig, TensorConfig};
use crate::error::LoadFault;
use crate::folder::CONFIG;

use super::place::ConfigPlace;

/// A network with its weights and tensors.
pub(super) struct ReadNetwork {
    pub(super) graph: Graph,
    pub(super) weights: Weights,
    /// Its tensors, without the batch dimension.
    pub(super) signature: Signature,
    /// Whether its tensors have a batch dimension.
    pub(super) has_batch: bool,
}

/// The contents of a file.
pub(super) enum ReadFile {
    /// A network for samples of one size.
    Network(Box<ReadNetwork>),
    /// A network for samples of any length, as an ensemble of its own.
    Varying(Box<Ensemble>),
}

/// Opens an ONNX file for the inputs that the configuration names.
pub(super) fn open(
    path: &Path,
    config: &ModelConfig,
    place: &ConfigPlace<'_>,
) -> Result<ReadFile, LoadFault> {
    let wrong = |error: OnnxError| place.of_file(&error);
    let model = OnnxModel::open(path).map_err(wrong)?;
    if config.inputs.is_empty() {
        return match model.open_lengths() {
            Some(_) => varying(path, config, place),
            None => {
                let network = model.network(None);
                Ok(fixed(network.map_err(|error| of_open(&error, place))?))
            }
        };
    }
    let known: Vec<&str> = model.input_names().collect();
    place.check_names("input", &config.inputs, &known)?;
    if let Some(name) = known.iter().find(|name| !has(&config.inputs, name)) {
        let why = format!("input: the model also takes `{name}`, which is missing");
        return Err(place.wrong(config.inputs[0].line, &why));
    }
    let batched = is_batched(config);
    let samples = config.inputs.iter().map(|input| {
        let (name, dims) = sample(input, config, batched);
        (name, filled(&model, name, dims))
    });
    let samples: Vec<(&str, Vec<i64>)> = samples.collect();
    if samples.iter().any(|(_, dims)| dims.contains(&-1)) {
        if model.open_lengths().is_some() {
            return varying(path, config, place);
        }
        let why = "input.dims: only one length may be -1, all inputs must begin with the batch, \
                   and the model must leave the length open; expected numbers elsewhere";
        return Err(place.wrong(config.inputs[0].line, why));
    }
    let given: Vec<(&str, Vec<usize>)> = samples
        .into_iter()
        .map(|(name, dims)| (name, whole(batched, &dims)))
        .collect();
    let network = model.network_of(&given);
    Ok(fixed(
        network.map_err(|error| of_config(error, config, place))?,
    ))
}

/// Returns the error of a file with open dimensions whose configuration has no inputs. The inputs
/// could define them.
fn of_open(error: &OnnxError, place: &ConfigPlace<'_>) -> LoadFault {
    let OnnxError::Model(fault) = error else {
        return place.of_file(error);
    };
    let (name, takes, open, example) = match fault {
        ModelFault::OpenDims {
            name,
            expected,
            open,
            example,
        } => {
            let example = format!(", such as `max_batch_size: 8` and `dims: [ {example} ]`");
            (name, ("takes samples of", expected), open, example)
        }
        ModelFault::OpenTensor {
            name,
            expected,
            open,
        } => (name, ("is", expected), open, String::new()),
        _ => return place.of_file(error),
    };
    let ((is, expected), open) = (takes, open.join(" and "));
    let (expected, config) = (expected.join(", "), place.folder.display(CONFIG));
    place.of_file(&format!(
        "input `{name}`: {is} [{expected}] and leaves {open} open; set the sizes with `dims` of \
         all inputs in {config}{example}"
    ))
}

/// Returns the error of a file, at the line of the configuration that conflicts with it.
fn of_config(error: OnnxError, config: &ModelConfig, place: &ConfigPlace<'_>) -> LoadFault {
    let OnnxError::Model(ModelFault::Dims { name, expected, .. }) = &error else {
        return place.of_file(&error);
    };
    let Some(input) = config.inputs.iter().find(|input| input.name == *name) else {
        return place.of_file(&error);
    };
    let (expected, found) = (expected.join(", "), taken(input));
    let rows = match config.max_batch_size.unwrap_or(0) {
        0 => "",
        _ => " (the first is the batch)",
    };
    let why = format!("input `{name}`: dims: the model takes [{expected}]{rows}, found {found:?}");
    place.wrong(input.line, &why)
}

fn has(tensors: &[TensorConfig], name: &str) -> bool {
    tensors.iter().any(|tensor| tensor.name == name)
}

/// Returns whether the first dimension is the batch: not listed, or -1 in all inputs.
pub(super) fn is_batched(config: &ModelConfig) -> bool {
    let is_open = |input: &TensorConfig| taken(input).first() == Some(&-1);
    config.max_batch_size.unwrap_or(0) > 0 || config.inputs.iter().all(is_open)
}

/// Returns the dimensions that the model itself takes.
pub(super) fn taken(tensor: &TensorConfig) -> &[i64] {
    tensor.reshape.as_deref().unwrap_or(&tensor.dims)
}

/// Returns an input's name and dimensions, without the batch.
fn sample<'c>(input: &'c TensorConfig, config: &ModelConfig, batched: bool) -> (&'c str, Vec<i64>) {
    let written = batched && config.max_batch_size.unwrap_or(0) == 0;
    let dims = taken(input);
    (&input.name, dims[usize::from(written)..].to_vec())
}

/// Returns the dimensions of a sample. The file's numbers replace dimensions that the configuration
/// leaves open.
fn filled(model: &OnnxModel, name: &str, mut dims: Vec<i64>) -> Vec<i64> {
    let own = model.input_dims(name).unwrap_or_default();
    // Extra leading dimensions of the file belong to the batch.
    for (dim, own) in dims.iter_mut().rev().zip(own.into_iter().rev()) {
        if let (-1, Some(size)) = (*dim, own.and_then(|size| i64::try_from(size).ok())) {
            *dim = size;
        }
    }
    dims
}

/// Returns the dimensions of a batch of 1, or all dimensions without a batch.
fn whole(batched: bool, dims: &[i64]) -> Vec<usize> {
    let sizes = dims.iter().map(|dim| usize::try_from(*dim).unwrap_or(0));
    batched.then_some(1).into_iter().chain(sizes).collect()
}

fn fixed(network: OnnxNetwork) -> ReadFile {
    let mut inputs = network.inputs.iter();
    let has_batch = inputs.all(|input| input.dims.first() == Some(&1));
    ReadFile::Network(Box::new(ReadNetwork {
        signature: network.graph.signature(),
        graph: network.graph,
        weights: network.weights,
        has_batch,
    }))
}

/// Reads a file that leaves a length open.
fn varying(
    path: &Path,
    config: &ModelConfig,
    place: &ConfigPlace<'_>,
) -> Result<ReadFile, LoadFault> {
    let most_length = config.parameter(MOST_LENGTH_PARAMETER).map(|text| {
        let why = || format!("expected a length of at least 2, found `{text}`");
        let number = text.parse().ok().filter(|length| *length >= 2);
        number.ok_or_else(|| place.of_parameter(config, MOST_LENGTH_PARAMETER, &why()))
    });
    check_reshape(config, place)?;
    let name = path.file_name().unwrap_or_default();
    let read = Ensemble::read(&Files::Network {
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        file: name.to_string_lossy().into_owned(),
        shape: None,
        most_length: most_length.transpose()?,
    });
    let ensemble = read.map_err(|error| place.of_file(&error))?;
    Ok(ReadFile::Varying(Box::new(ensemble)))
}

/// Refuses `reshape`: samples of varying length keep the model's dimensions.
fn check_reshape(config: &ModelConfig, place: &ConfigPlace<'_>) -> Result<(), LoadFault> {
    let sides = [("input", &config.inputs), ("output", &config.outputs)];
    let all = sides
        .into_iter()
        .flat_map(|(side, tensors)| tensors.iter().map(move |t| (side, t)));
    let mut reshaped = all.filter(|(_, tensor)| tensor.reshape.is_some());
    match reshaped.next() {
        None => Ok(()),
        Some((side, tensor)) => {
            let why = format!(
                "{side} `{}`: reshape: expected none if a length varies",
                tensor.name
            );
            Err(place.wrong(tensor.line, &why))
        }
    }
}
