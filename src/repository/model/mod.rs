//! A version of a model that is a network's file: read, and checked against its configuration.

mod backend;
mod network;
mod place;
mod tensors;
mod weights;

use std::path::PathBuf;
use std::sync::Arc;

use divisi_model::ensemble::{Ensemble, Member};
use divisi_runtime::tensor::Signature;

use crate::batch::ModelRows;
use crate::config::ModelConfig;
use crate::error::LoadFault;
use crate::folder::ModelFolder;

use backend::ModelFormat;
use network::ReadFile;
use place::ConfigPlace;

pub(crate) use tensors::ModelTensors;
pub(crate) use weights::WrittenNetwork;

/// A version of a model.
pub(crate) enum ReadModel {
    /// A network for rows of one size, which steps of pipelines can run.
    Network(Arc<Member>, ModelTensors),
    /// One for samples of any length, alone: all its outputs are offered.
    Varying(Box<Ensemble>, ModelRows),
}

/// Where a version of a model was read from.
#[derive(Clone, Debug)]
pub(crate) struct NetworkSource {
    /// The file.
    pub(crate) path: PathBuf,
    /// The network of a file of weights; `None` for an ONNX file, which holds its own.
    pub(crate) network: Option<WrittenNetwork>,
}

/// Reads a version of a model, whose member is to be called `name`.
pub(crate) fn read(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    version: u64,
    name: String,
) -> Result<(ReadModel, NetworkSource), LoadFault> {
    let (format, file) = backend::file_of(folder, config, version)?;
    let place = ConfigPlace {
        folder,
        file: &file,
    };
    let path = folder.inside(&file)?;
    let opened = match format {
        ModelFormat::Onnx => network::open(&path, config, &place)?,
        ModelFormat::Safetensors => {
            ReadFile::Network(Box::new(weights::open(&path, config, &place)?))
        }
    };
    let source = NetworkSource {
        network: match format {
            ModelFormat::Onnx => None,
            ModelFormat::Safetensors => Some(weights::written(config, &place)?),
        },
        path,
    };
    let read = match opened {
        ReadFile::Network(read) => {
            let tensors = tensors::tensors(config, &read.signature, read.has_batch, &place)?;
            let member = Member::of_model(name, read.graph, None, read.weights);
            let member = member.map_err(|error| place.of_file(&error))?;
            ReadModel::Network(Arc::new(member), tensors)
        }
        ReadFile::Varying(ensemble) => varying(ensemble, name, config, &place)?,
    };
    Ok((read, source))
}

/// Checks the tensors of a model for samples of any length, and names it.
fn varying(
    mut ensemble: Box<Ensemble>,
    name: String,
    config: &ModelConfig,
    place: &ConfigPlace<'_>,
) -> Result<ReadModel, LoadFault> {
    let Some(only) = ensemble.members.first_mut() else {
        return Err(place.of_file(&"expected a network"));
    };
    let signature: Signature = only.graph.signature();
    let ModelTensors { batch, .. } = tensors::tensors(config, &signature, true, place)?;
    let batch = match batch {
        // Its samples have no first dimension of 1, which clients send.
        ModelRows::Absent => ModelRows::Exactly(1),
        batch => batch,
    };
    Arc::make_mut(only).name.clone_from(&name);
    ensemble.name = name;
    Ok(ReadModel::Varying(ensemble, batch))
}
