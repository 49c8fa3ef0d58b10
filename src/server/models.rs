//! The models of a starting server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{
    Deployment, DeploymentStart, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::load::{LoadPattern, usual_load};
use divisi_engine::serving::EngineOptions;
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::catalogue::{Catalogue, Demand, Mix, NamedMix, NewEntry};
use divisi_model::ensemble::{Files, MemberPrecision};
use divisi_repository::{Repository, RepositorySource};
use divisi_runtime::device::{Devices, Partitioning};
use divisi_runtime::network::Shape;
use divisi_runtime::words::one_line;
use divisi_tasks::routing::TaskRouter;
use divisi_tasks::served::ServedTasks;

use crate::files::has_manifest;
use crate::{
    DeviceChoice, FileSource, FoundDevices, ModelControl, ServeError, TaskStore, ensemble_files,
    matrix_in,
};

/// Ensembles, ONNX files or a repository, and the devices to serve them on.
#[derive(Clone, Debug)]
pub struct ModelSelection {
    /// An ensemble's folder or manifest, an ONNX file, a Triton repository, or the name of a
    /// built-in ensemble.
    pub first: PathBuf,
    /// The shape of a sample of an ONNX file alone, if the file leaves dimensions open.
    pub shape: Option<Shape>,
    /// More ensembles and ONNX files. A repository is served alone.
    pub more: Vec<PathBuf>,
    /// The served models of a repository. `None` serves all, and clients load and unload models
    /// later.
    pub control: Option<ModelControl>,
    /// The precision of all members, instead of the manifests' precisions.
    pub precision: Option<MemberPrecision>,
    /// The devices.
    pub devices: DeviceChoice,
}

impl ModelSelection {
    /// Selects one ensemble or repository, on its manifest's devices, else on the machine's
    /// devices.
    pub fn from_path(first: &Path) -> Self {
        ModelSelection {
            first: first.to_owned(),
            shape: None,
            more: Vec::new(),
            control: None,
            precision: None,
            devices: DeviceChoice::default(),
        }
    }

    /// Returns the files of the first ensemble.
    ///
    /// # Errors
    /// The path is something else, or defines its own shape.
    pub fn files(&self) -> Result<Files, ServeError> {
        let files = ensemble_files(&self.first)?;
        match self.shape {
            Some(shape) => files.with_shape(shape).ok_or(ServeError::Shape),
            None => Ok(files),
        }
    }

    /// Returns whether the first path is a repository. A folder without models also counts if it is
    /// empty or if models of it are chosen.
    pub fn is_repository(&self) -> bool {
        let folder = &self.first;
        let is_chosen = self.control.is_some() && folder.is_dir() && !has_manifest(folder);
        Repository::is_at(folder) || is_empty_folder(folder) || is_chosen
    }

    /// Checks that models are chosen only from a repository.
    ///
    /// # Errors
    /// The first path is not a repository.
    pub fn check_control(&self) -> Result<(), ServeError> {
        match self.control.is_none() || self.is_repository() {
            true => Ok(()),
            false => Err(ServeError::NoRepository(self.first.display().to_string())),
        }
    }
}

/// Registered tasks, and the devices to serve them on.
#[derive(Clone, Debug)]
pub struct TaskSelection {
    /// The names of the tasks.
    pub names: Vec<String>,
    /// The store of their registrations.
    pub store: TaskStore,
    /// The devices.
    pub devices: DeviceChoice,
}

impl TaskSelection {
    /// Opens the tasks for these devices.
    ///
    /// # Errors
    /// The store or an ensemble cannot be read, or no variant fits on the devices.
    pub fn open(&self, devices: &Devices) -> Result<Arc<ServedTasks>, ServeError> {
        let contents = self.store.read()?;
        let tasks = ServedTasks::open(&contents, &self.names, devices, TaskStore::read_again);
        Ok(Arc::new(tasks?))
    }
}

/// Returns the models of a catalogue as a demand: with the shares of a mix, or equal shares without
/// a mix.
///
/// # Errors
/// The mix names other models.
pub fn demand(catalogue: Arc<Catalogue>, mix: Option<&NamedMix>) -> Result<Demand, ServeError> {
    let mix = match mix {
        Some(mix) => mix.resolve(&catalogue)?,
        None => Mix::equal_shares(catalogue.entries().len()),
    };
    Ok(Demand::new(catalogue, mix))
}

/// Models that are read but not served yet.
pub struct SelectedModels {
    /// The source of later loads, or `None` if the models do not change.
    source: Option<Arc<dyn ModelSource>>,
    read: ModelsRead,
    /// The name of all models together.
    name: String,
    devices: Devices,
    /// The router of tasks, and the matrix to start with.
    tasks: Option<(Arc<TaskRouter>, Matrix)>,
    control: Option<ModelControl>,
    precision: Option<MemberPrecision>,
    /// Remarks for the operator.
    pub notices: Vec<String>,
    /// The division of the cores into partitions, or `None` if the devices were named.
    pub partitioning: Option<Partitioning>,
}

impl SelectedModels {
    /// Reads the selected models and finds their devices.
    ///
    /// # Errors
    /// A model cannot be read, or a device is not there. A repository is refused only if none of its
    /// models can be served.
    pub fn read(selection: &ModelSelection) -> Result<Self, ServeError> {
        selection.check_control()?;
        if selection.is_repository() {
            return Self::read_repository(selection);
        }
        let mut all = vec![selection.files()?];
        for path in &selection.more {
            all.push(ensemble_files(path)?);
        }
        let (source, entries) = FileSource::open(all, selection.precision)?;
        let found = selection.devices.find(&entries[0].ensemble.devices)?;
        let name = entries[0].name.clone();
        let read = of_entries(entries);
        Ok(Self::from_read(
            name,
            Some(Arc::new(source)),
            read,
            found,
            selection,
        ))
    }

    fn from_read(
        name: String,
        source: Option<Arc<dyn ModelSource>>,
        read: ModelsRead,
        found: FoundDevices,
        selection: &ModelSelection,
    ) -> Self {
        SelectedModels {
            source,
            read,
            name,
            devices: found.devices,
            tasks: None,
            control: selection.control.clone(),
            precision: selection.precision,
            notices: found.notices,
            partitioning: found.partitioning,
        }
    }

    fn read_repository(selection: &ModelSelection) -> Result<Self, ServeError> {
        let path = &selection.first;
        if let Some(other) = selection.more.first() {
            return Err(ServeError::NotAlone {
                repository: path.display().to_string(),
                other: other.display().to_string(),
            });
        }
        let control = selection.control.clone();
        let control = control.unwrap_or(ModelControl::Explicit(crate::FirstModels::All));
        control.check()?;
        let repository = Repository::open(path)?.computed_in(selection.precision);
        let source = RepositorySource::new(repository).polled(control.is_polled());
        let names = control.first_models(source.names())?;
        let mut read = ModelsRead {
            asked: Some(names.clone()),
            ..source.read(ModelsToRead::first(&names))
        };
        let waits = control.can_change() && read.failures.is_empty();
        if read.entries.is_empty() && !waits {
            return Err(ServeError::NoneServed {
                path: path.display().to_string(),
                reasons: reasons(&read),
            });
        }
        let first = read.entries.first();
        let of_first = first.map(|entry| &entry.ensemble.devices[..]);
        let mut found = selection.devices.find(of_first.unwrap_or_default())?;
        found.notices.append(&mut remarks(&mut read));
        let source = control.can_change().then(|| Arc::new(source) as Arc<_>);
        Ok(Self::from_read(
            folder_name(path),
            source,
            read,
            found,
            selection,
        ))
    }

    /// Reads the ensembles of tasks: each sub-ensemble in each precision is a model.
    ///
    /// # Errors
    /// The store or an ensemble cannot be read, a device is not there, or no variant fits.
    pub fn of_tasks(selection: &TaskSelection) -> Result<Self, ServeError> {
        let found = selection.devices.find_for_variants(&[])?;
        let (devices, mut notices) = (found.devices, found.notices);
        let tasks = selection.open(&devices)?;
        let matrix = tasks.first_matrix(&devices, EngineOptions::default())?;
        notices.extend(tasks.remarks());
        Ok(SelectedModels {
            source: None,
            read: of_entries(tasks.entries().to_vec()),
            name: selection.names.join("+"),
            devices,
            tasks: Some((Arc::new(TaskRouter::new(tasks)), matrix)),
            control: None,
            precision: None,
            notices,
            partitioning: found.partitioning,
        })
    }

    /// Returns the router of the tasks, or `None` if models are served by their names.
    pub fn router(&self) -> Option<Arc<TaskRouter>> {
        self.tasks.as_ref().map(|(router, _)| Arc::clone(router))
    }

    /// Returns whether there is no model yet.
    pub fn is_empty(&self) -> bool {
        self.read.entries.is_empty()
    }

    /// Returns the devices.
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Returns whether the first model has samples for the built-in load.
    pub fn has_samples(&self) -> bool {
        let first = self.read.entries.first();
        first.is_some_and(|entry| entry.ensemble.calibration.is_some())
    }

    /// Returns the usual load for the devices and the first model, or for all models if a mix names
    /// their shares.
    ///
    /// # Errors
    /// The models do not form a catalogue.
    pub fn usual_load(&self, mix: Option<&NamedMix>) -> Result<LoadPattern, ServeError> {
        let catalogue = self.catalogue()?;
        Ok(match (mix, &self.read.entries[..]) {
            (None, [first, ..]) => usual_load(&first.ensemble, &self.devices),
            _ => usual_load(catalogue.models(), &self.devices),
        })
    }

    fn catalogue(&self) -> Result<Catalogue, ServeError> {
        Ok(Catalogue::new(&self.name, self.read.entries.clone())?)
    }

    /// Returns the models as a demand: with the shares of a mix, or equal shares without a mix.
    ///
    /// # Errors
    /// The models do not form a catalogue, or the mix names other models.
    pub fn demand(&self, mix: Option<&NamedMix>) -> Result<Demand, ServeError> {
        demand(Arc::new(self.catalogue()?), mix)
    }

    /// Returns the matrix in a file, and applies the precisions that it names to the models.
    fn matrix_in(&mut self, path: &Path) -> Result<Matrix, ServeError> {
        let catalogue = self.catalogue()?;
        let models = catalogue.models();
        let frame = Frame::from_ensemble(models, &self.devices);
        let (matrix, precisions) = matrix_in(path, &models.name, &frame, self.precision)?;
        if let Some(precisions) = precisions {
            let computed = catalogue.in_precisions(&precisions);
            let entries = self.read.entries.iter_mut().zip(computed.entries());
            entries.for_each(|(entry, new)| entry.ensemble = Arc::clone(new.ensemble()));
        }
        Ok(matrix)
    }

    /// Serves the models with the matrix in a file, or with worst-fit decreasing without a file.
    ///
    /// # Errors
    /// The file cannot be read, or the models do not fit on the devices.
    pub fn deploy(mut self, matrix: Option<&Path>) -> Result<Arc<Changes>, ServeError> {
        let name = self.name.clone();
        let matrix = matrix.map(|path| self.matrix_in(path)).transpose()?;
        let matrix = matrix.or(self.tasks.map(|(_, matrix)| matrix));
        let start = DeploymentStart {
            name,
            devices: self.devices,
            options: EngineOptions::default(),
            matrix,
        };
        let changes = Changes::new(Deployment::start(self.source, self.read, start)?);
        if let Some(control) = self.control {
            control.follow(&changes)?;
        }
        Ok(changes)
    }
}

fn of_entries(entries: Vec<NewEntry>) -> ModelsRead {
    ModelsRead {
        entries,
        ..ModelsRead::default()
    }
}

/// Takes the remarks on the read models.
fn remarks(read: &mut ModelsRead) -> Vec<String> {
    let mut all = Vec::new();
    if read.entries.is_empty() {
        all.push("no model is served yet; load one".into());
    }
    let failures = read.failures.iter();
    all.extend(failures.map(|(name, why)| format!("model `{name}` is not served: {why}")));
    all.append(&mut read.notices);
    all
}

/// Returns whether a folder exists and is empty.
pub fn is_empty_folder(path: &Path) -> bool {
    let mut files = std::fs::read_dir(path).into_iter().flatten();
    path.is_dir() && files.next().is_none()
}

/// Returns the name of a folder, to name its contents.
fn folder_name(path: &Path) -> String {
    let path = path.canonicalize();
    let name = path
        .ok()
        .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()));
    name.map_or_else(|| "models".into(), |name| one_line(&name).into_owned())
}

/// Returns a line for each model that cannot be served.
fn reasons(read: &ModelsRead) -> String {
    let failures = read.failures.iter();
    let lines = failures.map(|(name, why)| format!("\n  model `{}`: {why}", one_line(name)));
    lines.collect()
}
