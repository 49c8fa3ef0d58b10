//! A server: models on devices, a door for clients and a session for consoles.

use std::path::PathBuf;
use std::sync::Arc;

use divisi_door::ServerOptions;
use divisi_engine::changes::Changes;
use divisi_engine::load::LoadPattern;
use divisi_engine::search::Cache;
use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::PrecisionRemark;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::policies::PolicyChoice;
use divisi_runtime::device::Partitioning;
use divisi_session::record::Recorder;
use divisi_session::{ClientDoor, Command, LiveSession, Session};
use divisi_tasks::jobs::LiveJobs;
use divisi_tasks::profiles::LiveProfiles;
use divisi_tasks::routing::{GoalChooser, LiveRouter};
use divisi_tasks::scaling::LiveScaling;

use crate::profiles::StoredProfiles;
use crate::watch::{StoreWatch, StoredRegistrations};
use crate::{OperatedDoor, SelectedModels, ServeError, StoredJobs, TaskStore};

/// The load that a server starts with.
#[derive(Clone, Debug, Default)]
pub enum StartLoad {
    /// No load.
    #[default]
    None,
    /// The usual load for the models and their devices.
    Usual,
    /// This load.
    Pattern(LoadPattern),
}

/// How a server serves its models.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The matrix file. Without it, worst-fit decreasing finds a matrix.
    pub matrix: Option<PathBuf>,
    /// The initial load.
    pub load: StartLoad,
    /// The shares of the models in the load.
    pub mix: Option<NamedMix>,
    /// A new file for a recording of the session.
    pub record: Option<PathBuf>,
    /// The addresses, keys, bounds and other options of the door. It stays closed without an
    /// address.
    pub door: ServerOptions,
    /// The policy and the store of tasks. Without effect if no tasks are served.
    pub tasks: TaskOptions,
}

/// How a server serves tasks.
#[derive(Clone, Debug)]
pub struct TaskOptions {
    /// The policy by which variants are loaded.
    pub scaling: PolicyChoice,
    /// The goals of the built-in load's queries, used in turn.
    pub goals: Vec<QueryGoals>,
    /// The store of the batch jobs.
    pub store: TaskStore,
}

impl Default for TaskOptions {
    fn default() -> Self {
        TaskOptions {
            scaling: PolicyChoice::Static,
            goals: Vec::new(),
            store: TaskStore::default(),
        }
    }
}

/// A server. Dropping it ends it: requests under way are answered first.
pub struct Server {
    /// The door for clients. The session holds it as well and closes it before the engine ends;
    /// this handle is dropped first.
    pub door: Arc<OperatedDoor>,
    /// The session that consoles show and control.
    pub session: Recorder<LiveSession>,
}

impl ServeOptions {
    /// Checks the options that need no models.
    ///
    /// # Errors
    /// The recording would overwrite a file.
    pub fn check(&self) -> Result<(), ServeError> {
        match self.record.as_ref().filter(|path| path.exists()) {
            Some(path) => Err(ServeError::RecordingExists(path.clone())),
            None => Ok(()),
        }
    }
}

impl Server {
    /// Serves models, accepts connections and starts the load.
    ///
    /// # Errors
    /// The models do not fit on the devices, an address is in use, or an option conflicts with the
    /// models.
    pub fn start(models: SelectedModels, options: ServeOptions) -> Result<Self, ServeError> {
        options.check()?;
        let router = models.router();
        let load = first_load(&models, &options)?;
        let notices = models.notices.clone();
        let shared = models.partitioning.clone().filter(Partitioning::is_shared);
        let changes = models.deploy(options.matrix.as_deref())?;
        let remarks = remarks(&changes);
        let live = |router| Arc::new(LiveRouter::new(Arc::clone(&changes), router));
        let tasks: Option<Arc<LiveRouter>> = router.map(live);
        let door = OperatedDoor::new(&changes, tasks.clone(), options.door)?;
        let door = Arc::new(door);
        let session = LiveSession::of_changes(changes, Cache::of_user()).with_host();
        let session = match tasks {
            Some(router) => with_tasks(session, router, &options.tasks)?,
            None => session,
        };
        let session = session.with_door(Arc::clone(&door) as Arc<dyn ClientDoor>);
        if let Some(shared) = shared {
            session.note(&format!("default devices: {shared}"));
        }
        let warnings = notices.iter().chain(&remarks);
        warnings.for_each(|warning| session.warn(warning));
        let mut session = Recorder::new(session);
        begin(&mut session, options.record, options.mix, load)?;
        Ok(Server { session, door })
    }
}

/// Returns the initial load, or `None` if no load is wanted or there are no samples for it.
fn first_load(
    models: &SelectedModels,
    options: &ServeOptions,
) -> Result<Option<LoadPattern>, ServeError> {
    let mix = options.mix.as_ref();
    let pattern = match &options.load {
        StartLoad::None => None,
        StartLoad::Usual => Some(models.usual_load(mix)?),
        StartLoad::Pattern(pattern) => Some(pattern.clone()),
    };
    Ok(pattern.filter(|_| mix.is_some() || models.has_samples()))
}

fn with_tasks(
    session: LiveSession,
    router: Arc<LiveRouter>,
    options: &TaskOptions,
) -> Result<LiveSession, ServeError> {
    let watch = Arc::new(StoreWatch::new(&options.store));
    let registrations = Arc::new(StoredRegistrations::watching(&watch));
    let scaling =
        LiveScaling::start_following(Arc::clone(&router), options.scaling, Some(registrations))?;
    let board = StoredJobs::watching(&watch);
    let jobs = LiveJobs::start(scaling, Arc::new(board))?;
    let devices = router.deployment().running().engine.devices().clone();
    let keeper = StoredProfiles::in_store(&options.store, devices, Cache::of_user());
    let scaling = LiveProfiles::start(Arc::clone(&router), jobs, Arc::new(keeper))?;
    let chooser = GoalChooser::new(router, &options.goals);
    let session = session.with_chooser(Arc::new(chooser));
    Ok(session.with_scaling(scaling))
}

fn begin(
    session: &mut Recorder<LiveSession>,
    record: Option<PathBuf>,
    mix: Option<NamedMix>,
    load: Option<LoadPattern>,
) -> Result<(), ServeError> {
    if let Some(path) = record {
        session.command(Command::StartRecording(path))?;
    }
    if mix.is_some() {
        let set = session.command(Command::SetMix(mix));
        set.map_err(ServeError::SessionMix)?;
    }
    if let Some(pattern) = load {
        session.command(Command::StartLoad(pattern))?;
    }
    Ok(())
}

/// Returns the remarks on precisions without native instructions, and on members whose answers
/// depend on the way they run.
fn remarks(changes: &Changes) -> Vec<String> {
    let engine = &changes.running().engine;
    let (devices, of_all) = (engine.devices(), engine.ensemble().precision);
    let precisions = PrecisionRemark::for_members(engine.precisions(), devices, of_all);
    let precisions = precisions.iter().map(ToString::to_string);
    let members = engine.ensemble().member_remarks();
    precisions
        .chain(members.iter().map(ToString::to_string))
        .collect()
}
