//! Models that are a weights file with a separately named network.

use std::path::{Path, PathBuf};

use divisi_runtime::network::builders::Builder;
use divisi_runtime::network::file::LayersFile;
use divisi_runtime::network::{Graph, Shape, Weights};
use divisi_runtime::tensor::{DataType, Dimension, Signature, TensorSpec};

use crate::config::{ModelConfig, NETWORK_PARAMETER, TensorConfig};
use crate::error::LoadFault;

use super::network::{ReadNetwork, is_batched, taken};
use super::place::ConfigPlace;
use super::tensors::product;
use crate::folder::CONFIG;

/// A layer file next to the weights.
const LAYERS: &str = "network.toml";

/// Reads the network that the configuration names, and its weights.
pub(super) fn open(
    path: &Path,
    config: &ModelConfig,
    place: &ConfigPlace<'_>,
) -> Result<ReadNetwork, LoadFault> {
    let ([input], [output]) = (&config.inputs[..], &config.outputs[..]) else {
        let why = "expected one input and one output, since a weights file does not declare them";
        return Err(place.folder.failed(CONFIG, &why));
    };
    let has_batch = has_batch(config, input);
    let (sample, answer) = (
        row(config, input, has_batch),
        row(config, output, has_batch),
    );
    for (side, tensor) in [("input", input), ("output", output)] {
        if tensor.data_type != DataType::Fp32 {
            let why = format!(
                "{side}: data_type: expected FP32, found {}",
                tensor.data_type
            );
            return Err(place.wrong(tensor.line, &why));
        }
    }
    let dims: Vec<usize> = sample
        .iter()
        .filter_map(|dim| usize::try_from(*dim).ok())
        .collect();
    let shape = match dims.len() == sample.len() {
        true => Shape::try_from(dims).map_err(|error| error.to_string()),
        false => Err("expected numbers above 0, since the network has one size".into()),
    };
    let shape = shape.map_err(|why| place.wrong(input.line, &format!("input.dims: {why}")))?;
    let width = product(&answer).filter(|width| *width > 0);
    let width = width.ok_or_else(|| {
        let why = "output.dims: expected numbers above 0, since the network has one size";
        place.wrong(output.line, why)
    })?;
    let graph = graph(config, shape, width, place)?;
    let weights = Weights::open(path, &graph).map_err(|error| place.of_file(&error))?;
    let spec = |tensor: &TensorConfig, dims: &[i64]| TensorSpec {
        name: tensor.name.clone(),
        data_type: DataType::Fp32,
        dims: dims.iter().map(|dim| Dimension::from(*dim)).collect(),
        ids: None,
    };
    Ok(ReadNetwork {
        graph,
        weights,
        signature: Signature {
            inputs: vec![spec(input, &sample)],
            outputs: vec![spec(output, &answer)],
            lengths: None,
        },
        has_batch,
    })
}

/// Returns whether the tensors have a batch dimension. Samples are vectors or images, so two or
/// four dimensions include it.
fn has_batch(config: &ModelConfig, input: &TensorConfig) -> bool {
    is_batched(config) || matches!(taken(input).len(), 2 | 4)
}

/// Returns the dimensions of a row.
fn row(config: &ModelConfig, tensor: &TensorConfig, has_batch: bool) -> Vec<i64> {
    let is_written = has_batch && config.max_batch_size.unwrap_or(0) == 0;
    let dims = taken(tensor).iter().skip(usize::from(is_written));
    dims.copied().collect()
}

/// The network of a weights file, as configured.
#[derive(Clone, Debug)]
pub(crate) enum WrittenNetwork {
    /// The table of a builder.
    Table(toml::Table),
    /// A file of layers.
    Layers(PathBuf),
}

/// Returns the network that the configuration names.
pub(super) fn written(
    config: &ModelConfig,
    place: &ConfigPlace<'_>,
) -> Result<WrittenNetwork, LoadFault> {
    let named = config.parameter(NETWORK_PARAMETER);
    let wrong = |why: &str| place.of_parameter(config, NETWORK_PARAMETER, why);
    match named {
        None => match place.folder.find(LAYERS)? {
            Some(path) => Ok(WrittenNetwork::Layers(path)),
            None => Err(wrong(&format!(
                "expected the name of a network, or a file {LAYERS}, found neither"
            ))),
        },
        Some(name) if name.ends_with(".toml") => {
            let path = place.folder.inside(name).map_err(|fault| {
                wrong(&format!("expected a file in the model's folder; {fault}"))
            })?;
            Ok(WrittenNetwork::Layers(path))
        }
        Some(name) => Ok(WrittenNetwork::Table(
            table(name).map_err(|why| wrong(&why))?,
        )),
    }
}

/// Builds the network.
fn graph(
    config: &ModelConfig,
    shape: Shape,
    width: usize,
    place: &ConfigPlace<'_>,
) -> Result<Graph, LoadFault> {
    let graph = match written(config, place)? {
        WrittenNetwork::Layers(path) => layers(&path, shape, place)?,
        WrittenNetwork::Table(table) => {
            let builder = Builder::from_table(&table).map_err(|e| e.to_string());
            let built = builder.and_then(|b| b.build(shape, width).map_err(|e| e.to_string()));
            built.map_err(|why| place.of_parameter(config, NETWORK_PARAMETER, &why))?
        }
    };
    let flat = graph.flattened().and_then(|graph| graph.answers(width));
    flat.map_err(|error| {
        place
            .folder
            .failed(CONFIG, &format!("output.dims: {error}"))
    })
}

/// Returns the table of a builder, from a table or from a name alone.
fn table(written: &str) -> Result<toml::Table, String> {
    if !written.starts_with('{') {
        let name = toml::Value::String(written.to_owned());
        return Ok(toml::Table::from_iter([("builder".to_owned(), name)]));
    }
    let parsed = toml::from_str::<toml::Table>(&format!("network = {written}"));
    let parsed = parsed.map_err(|error| divisi_runtime::words::plain(error.message()))?;
    match parsed.get("network") {
        Some(toml::Value::Table(table)) if parsed.len() == 1 => Ok(table.clone()),
        _ => Err("expected a table as in a manifest".into()),
    }
}

/// Reads a file of layers of the model's folder.
fn layers(path: &Path, shape: Shape, place: &ConfigPlace<'_>) -> Result<Graph, LoadFault> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let text = place.folder.text(&file)?;
    let failed = |why: String| place.folder.failed(&file, &why);
    let parsed = toml::from_str::<LayersFile>(&text);
    let parsed = parsed.map_err(|error| failed(divisi_runtime::words::plain(error.message())))?;
    parsed.build(shape).map_err(|fault| {
        let line = 1 + text[..fault.offset.min(text.len())].matches('\n').count();
        LoadFault::of_line(&place.folder.display(&file), line, fault.error)
    })
}
