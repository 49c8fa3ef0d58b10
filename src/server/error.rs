//! Errors that prevent a server from starting.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use divisi_door::StartError;
use divisi_engine::deployment::DeploymentError;
use divisi_model::allocation::MatrixFileError;
use divisi_model::catalogue::{CatalogueError, MixError};
use divisi_model::ensemble::EnsembleError;
use divisi_registry::store::StoreError;
use divisi_repository::LoadFault;
use divisi_runtime::device::DeviceError;
use divisi_runtime::reading::ReadError;
use divisi_session::{Refusal, SetupFileError};
use divisi_tasks::served::ServedTasksError;
use thiserror::Error;

/// An error that prevents a server from starting. Messages name the options of `divisi serve`.
#[derive(Debug, Error)]
pub enum ServeError {
    /// An ensemble cannot be read.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
    /// A path is not an ensemble.
    #[error(
        "{path}: expected an ensemble (a folder, its ensemble.toml, or an .onnx file), found {found}"
    )]
    NoEnsemble {
        /// The path.
        path: String,
        /// The kind of the path, and a command that accepts it.
        found: String,
    },
    /// A path is a repository of models; one model is expected.
    #[error(
        "{path}: expected one ensemble (a folder, its ensemble.toml, or an .onnx file), found a \
         repository of models; name one of them, such as {one}"
    )]
    ManyModels {
        /// The path.
        path: String,
        /// The folder of one of its models.
        one: String,
    },
    /// A shape is given for an ensemble that defines its own.
    #[error("--shape: only valid for an .onnx file; in a manifest, set `shape` in [input]")]
    Shape,
    /// A registered .onnx file is not a single network file any longer.
    #[error("it is no longer a single .onnx file")]
    NoLongerAlone,
    /// Two ensembles have the same name.
    #[error("two ensembles are named `{0}`; change `name` in one of their manifests")]
    SameName(String),
    /// A model's name changed since the first reading.
    #[error("its name is now `{0}`")]
    Renamed(String),
    /// A repository cannot be read.
    #[error(transparent)]
    Repository(#[from] ReadError),
    /// A model of a repository cannot be read by itself.
    #[error(transparent)]
    Model(#[from] LoadFault),
    /// Another model is given in addition to a repository.
    #[error("{repository} is a model repository and must be served alone; remove `{other}`")]
    NotAlone {
        /// The repository.
        repository: String,
        /// The other model.
        other: String,
    },
    /// Models of a repository are chosen, but the path is not a repository.
    #[error("--model-control, --load-model: only valid for a model repository, found `{0}`")]
    NoRepository(String),
    /// A model to load at the start is not in the repository.
    #[error("--load-model {name}: expected one of {known}")]
    UnknownModel {
        /// The model.
        name: String,
        /// The existing models.
        known: String,
    },
    /// The polling pause is too short.
    #[error("--poll-every: expected {least:?} or more, found {found:?}")]
    PollsTooOften {
        /// The minimum pause.
        least: Duration,
        /// The pause.
        found: Duration,
    },
    /// No model of a repository can be served.
    #[error("{path}: no model can be served{reasons}")]
    NoneServed {
        /// The repository.
        path: String,
        /// A line for each model.
        reasons: String,
    },
    /// The models cannot form a catalogue.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The devices do not exist.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The file of a matrix cannot be read.
    #[error("reading {path}: {why}")]
    MatrixFile {
        /// The file.
        path: String,
        /// The reason.
        why: io::Error,
    },
    /// The matrix file is for other models or devices, or is not a matrix.
    #[error("{path}: {why}")]
    Matrix {
        /// The file.
        path: String,
        /// The reason.
        why: Box<MatrixFileError>,
    },
    /// The matrix file names precisions that members do not support.
    #[error("{path}: {why}")]
    Setup {
        /// The file.
        path: String,
        /// The reason.
        why: Box<SetupFileError>,
    },
    /// The precision is set twice.
    #[error(
        "--precision {asked} and --matrix {path} both set precisions: the file has `precisions = \
         [{own}]`; remove the option or that line"
    )]
    TwoPrecisions {
        /// The file.
        path: String,
        /// The precision of the option.
        asked: String,
        /// The precisions in the file.
        own: String,
    },
    /// There is no folder for the store of registered tasks.
    #[error("no home folder for the store of tasks; name a file with --store")]
    NoHome,
    /// The store of registered tasks cannot be read or written.
    #[error("{path}: {why}")]
    Store {
        /// The store.
        path: String,
        /// The reason.
        why: Box<StoreError>,
    },
    /// Tasks cannot be served.
    #[error(transparent)]
    Tasks(Box<ServedTasksError>),
    /// The models cannot be placed on the devices.
    #[error(transparent)]
    Deployment(Box<DeploymentError>),
    /// No connections can be accepted.
    #[error(transparent)]
    Listening(#[from] StartError),
    /// The shares of the models are wrong.
    #[error("--mix: {0}")]
    Mix(MixError),
    /// The session refused the shares of the models.
    #[error("--mix: {0}")]
    SessionMix(Refusal),
    /// The recording would overwrite a file.
    #[error("--record {}: the file already exists", .0.display())]
    RecordingExists(PathBuf),
    /// The session refused to record or to start the load.
    #[error(transparent)]
    Session(#[from] Refusal),
    /// A thread cannot be started.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

impl From<MixError> for ServeError {
    fn from(error: MixError) -> Self {
        ServeError::Mix(error)
    }
}

impl From<ServedTasksError> for ServeError {
    fn from(error: ServedTasksError) -> Self {
        ServeError::Tasks(Box::new(error))
    }
}

impl From<DeploymentError> for ServeError {
    fn from(error: DeploymentError) -> Self {
        ServeError::Deployment(Box::new(error))
    }
}
