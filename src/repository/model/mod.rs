//! Reads a model version from a network's file, and checks it against its configuration.

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

use network::ReadFile;
use place::ConfigPlace;

pub(crate) use backend::{ModelFormat, file_of};
pub(crate) use tensors::ModelTensors;
pub(crate) use weights::WrittenNetwork;

/// A version of a model.
pub(crate) enum ReadModel {
    /// A network for rows of one size. Pipeline steps can run it.
    Network(Arc<Member>, ModelTensors),
    /// A network for samples of any length, as an ensemble that returns all outputs.
    Varying(Box<Ensemble>, ModelRows),
}

/// The files of a model version.
#[derive(Clone, Debug)]
pub(crate) struct NetworkSource {
    /// The file.
    pub(crate) path: PathBuf,
    /// The network of a weights file, or `None` for an ONNX file, which contains its network.
    pub(crate) network: Option<WrittenNetwork>,
}

/// Reads a model version. Its member gets the name `name`.
pub(crate) fn read(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    version: u64,
    name: String,
) -> Result<(ReadModel, NetworkSource), LoadFault> {
    let (format, file) = file_of(folder, config, version)?;
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
            let member = Member::from_model(name, read.graph, None, read.weights);
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
        // Its samples lack the first dimension of 1 that clients send.
        ModelRows::Absent => ModelRows::Exactly(1),
        batch => batch,
    };
    Arc::make_mut(only).name.clone_from(&name);
    ensemble.name = name;
    Ok(ReadModel::Varying(ensemble, batch))
}
