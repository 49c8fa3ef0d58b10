//! Which models of a repository are served, and when others are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use divisi::allocation::{Frame, Matrix};
use divisi::catalogue::{Catalogue, Demand, Mix, NamedMix};
use divisi::deployment::{Deployment, DeploymentStart, ModelSource, ModelsRead, ModelsToRead};
use divisi::device::Devices;
use divisi::ensemble::{MemberPrecision, PolicyKind};
use divisi::load::{LoadPattern, usual_load};
use divisi::serving::EngineOptions;
use divisi::words::one_line;
use divisi_repository::{Repository, RepositorySource};
use divisi_tasks::routing::TaskRouter;

use super::args::{MoreModels, ServingTarget};
use super::matrix_file::matrix_in;
use super::open::{OpenedEnsemble, devices_for, files, files_of, say};
use super::sources::FileSource;
use super::tasks::NamedModels;
use crate::config::time;

/// When models of a repository are loaded and unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControlMode {
    /// All at the start, and nothing after it
    None,
    /// Those named by --load-model at the start, others when somebody asks for it
    Explicit,
    /// All, and what is there is looked at again every few seconds
    Poll,
}

/// The options that say which models of a repository are served.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModelControl {
    /// When models of a repository are loaded: all at the start (none), when asked for (explicit),
    /// or as its files change (poll) (default: all at the start, others when asked for)
    #[arg(long, value_name = "MODE")]
    model_control: Option<ControlMode>,
    /// Load this model at the start, * for all; may be given several times (with --model-control
    /// explicit)
    #[arg(long, value_name = "MODEL")]
    load_model: Vec<String>,
    /// Between two looks at the files, with --model-control poll (default: 15s)
    #[arg(long, value_name = "TIME", value_parser = time)]
    poll_every: Option<Duration>,
}

/// The name of `--load-model` that means all models.
const ALL_MODELS: &str = "*";
/// Between two looks at the files of a repository.
const POLL_EVERY: Duration = Duration::from_secs(15);
/// Looking at the files costs more than it tells if it is done more often.
const LEAST_POLL: Duration = Duration::from_millis(100);

impl ModelControl {
    /// Whether anything is said of them.
    pub(super) fn is_set(&self) -> bool {
        self.model_control.is_some() || !self.load_model.is_empty() || self.poll_every.is_some()
    }

    /// Whether models can be loaded and unloaded later.
    pub(super) fn can_change(&self) -> bool {
        self.model_control != Some(ControlMode::None)
    }

    /// Whether the files are looked at again and again.
    fn is_polled(&self) -> bool {
        self.model_control == Some(ControlMode::Poll)
    }

    /// Returns the models to begin with, of those that are there.
    pub(super) fn names(&self, there: Vec<String>) -> Result<BTreeSet<String>> {
        let explicit = self.model_control == Some(ControlMode::Explicit);
        if !explicit && !self.load_model.is_empty() {
            bail!("--load-model: expected with --model-control explicit");
        }
        let all = self.load_model.iter().any(|name| name == ALL_MODELS);
        if all && self.load_model.len() > 1 {
            bail!("--load-model {ALL_MODELS}: expected alone, found other models beside it");
        }
        if !explicit || all {
            return Ok(there.into_iter().collect());
        }
        let unknown = self.load_model.iter().find(|name| !there.contains(name));
        match unknown {
            Some(name) => bail!("--load-model {name}: expected one of {}", there.join(", ")),
            None => Ok(self.load_model.iter().cloned().collect()),
        }
    }

    /// Looks at the files every few seconds, where that is asked for, as long as the models are served.
    pub(crate) fn follow(&self, deployment: &Arc<Deployment>) -> Result<()> {
        if !self.is_polled() {
            if self.poll_every.is_some() {
                bail!("--poll-every: expected with --model-control poll");
            }
            return Ok(());
        }
        let every = self.poll_every.unwrap_or(POLL_EVERY);
        if every < LEAST_POLL {
            bail!("--poll-every: expected {LEAST_POLL:?} or more, found {every:?}");
        }
        let served = Arc::downgrade(deployment);
        let poll = thread::Builder::new().name("poll".into());
        poll.spawn(move || poll_files(&served, every))?;
        Ok(())
    }
}

fn poll_files(served: &Weak<Deployment>, every: Duration) {
    let mut told = String::new();
    loop {
        thread::sleep(every);
        let Some(deployment) = served.upgrade() else {
            return;
        };
        let refused = deployment.refresh().err();
        let refused = refused.map_or_else(String::new, |error| error.to_string());
        // It is told once, however often the files are looked at.
        if !refused.is_empty() && refused != told {
            deployment.note(format!("the repository was read again: {refused}"));
        }
        told = refused;
    }
}

/// The models that a command line names, read and not served yet.
pub(crate) struct ModelsToServe {
    /// Where they are loaded from later; nowhere where what is served is fixed.
    source: Option<Arc<dyn ModelSource>>,
    read: ModelsRead,
    /// The name of all together.
    name: String,
    devices: Devices,
    /// The router of tasks, and the matrix that they begin with.
    tasks: Option<(Arc<TaskRouter>, Matrix)>,
    /// Remarks for the operator.
    pub notices: Vec<String>,
}

impl ModelsToServe {
    /// Reads whatever a command line names.
    pub(crate) fn named(named: &NamedModels) -> Result<Self> {
        match named.tasks.is_set() {
            true => Self::of_tasks(named),
            // What is given beside an ensemble waives what clap requires.
            false if named.tasks.has_scaling() => {
                bail!("--scaling: expected with --task, whose variants are loaded by it")
            }
            false if !named.goals.of_load().is_empty() => {
                bail!("--goals: expected with --task, whose variants are asked by them")
            }
            false => Self::read(&named.target, &named.more.more, &named.control),
        }
    }

    /// Reads the ensembles of tasks: each sub-ensemble in each precision is a model.
    fn of_tasks(named: &NamedModels) -> Result<Self> {
        if !named.more.more.is_empty() || named.control.is_set() {
            bail!("--task: tasks are served alone; expected no other models beside them");
        }
        let (devices, notices) = devices_for(&[], &named.target)?;
        let tasks = named.tasks.open(&devices)?;
        let matrix = tasks.first_matrix(&devices, EngineOptions::default())?;
        Ok(ModelsToServe {
            source: None,
            read: ModelsRead {
                entries: tasks.entries().to_vec(),
                ..ModelsRead::default()
            },
            name: named.tasks.name(),
            devices,
            tasks: Some((Arc::new(TaskRouter::new(tasks)), matrix)),
            notices,
        })
    }

    /// Returns the router of the tasks, if tasks are served.
    pub(crate) fn router(&self) -> Option<Arc<TaskRouter>> {
        self.tasks.as_ref().map(|(router, _)| Arc::clone(router))
    }

    /// Reads the ensemble of a command line, and `more` beside it, and finds their devices.
    pub(crate) fn read(
        target: &ServingTarget,
        more: &[PathBuf],
        control: &ModelControl,
    ) -> Result<Self> {
        if Repository::is_at(&target.ensemble) || is_meant(&target.ensemble, control) {
            return Self::read_repository(target, more, control);
        }
        if control.is_set() {
            bail!(
                "--model-control, --load-model: expected a repository of models, found `{}`",
                target.ensemble.display()
            );
        }
        let mut all = vec![files_of(target)?];
        for path in more {
            all.push(files(path)?);
        }
        let (source, entries) = FileSource::open(all, target.precision)?;
        let (devices, notices) = devices_for(&entries[0].ensemble.devices, target)?;
        let name = entries[0].name.clone();
        Ok(ModelsToServe {
            source: Some(Arc::new(source)),
            read: ModelsRead {
                entries,
                ..ModelsRead::default()
            },
            name,
            devices,
            tasks: None,
            notices,
        })
    }

    fn read_repository(
        target: &ServingTarget,
        more: &[PathBuf],
        control: &ModelControl,
    ) -> Result<Self> {
        let path = &target.ensemble;
        if let Some(other) = more.first() {
            let (path, other) = (path.display(), other.display());
            bail!("{path} is a repository, which is served alone; found `{other}` beside it");
        }
        let repository = Repository::open(path)?.computed_in(target.precision);
        let source = RepositorySource::new(repository).polled(control.is_polled());
        let names = control.names(source.names())?;
        let mut read = ModelsRead {
            asked: Some(names.clone()),
            ..source.read(ModelsToRead::first(&names))
        };
        let waits = control.can_change() && read.failures.is_empty();
        if read.entries.is_empty() && !waits {
            bail!("{}: {}", path.display(), none_served(&read));
        }
        let of_first = read
            .entries
            .first()
            .map(|entry| &entry.ensemble.devices[..]);
        let (devices, mut notices) = devices_for(of_first.unwrap_or_default(), target)?;
        if read.entries.is_empty() {
            notices.push("no model is served yet: load one".into());
        }
        let failures = read.failures.iter();
        notices.extend(failures.map(|(name, why)| format!("model `{name}` is not served: {why}")));
        notices.append(&mut read.notices);
        Ok(ModelsToServe {
            source: control
                .can_change()
                .then(|| Arc::new(source) as Arc<dyn ModelSource>),
            read,
            name: folder_name(path),
            devices,
            tasks: None,
            notices,
        })
    }

    /// Whether the first has samples to send.
    pub(crate) fn has_samples(&self) -> bool {
        let first = self.read.entries.first();
        first.is_some_and(|entry| entry.ensemble.calibration.is_some())
    }

    /// Returns the load that suits the first and the devices, or all where several are asked.
    pub(crate) fn usual_load(&self, mix: Option<&NamedMix>) -> Result<LoadPattern> {
        let catalogue = self.catalogue()?;
        Ok(match (mix, &self.read.entries[..]) {
            (None, [first, ..]) => usual_load(&first.ensemble, &self.devices),
            _ => usual_load(catalogue.models(), &self.devices),
        })
    }

    fn catalogue(&self) -> Result<Catalogue> {
        Ok(Catalogue::new(&self.name, self.read.entries.clone())?)
    }

    /// Returns them as what is asked in the shares of `mix`, of all alike without one.
    fn demand(&self, mix: Option<&NamedMix>) -> Result<Demand> {
        demand(Arc::new(self.catalogue()?), mix)
    }

    /// Returns the matrix in a file, and has the models computed in the precisions that it names.
    fn matrix_in(&mut self, path: &Path, asked: Option<MemberPrecision>) -> Result<Matrix> {
        let catalogue = self.catalogue()?;
        let models = catalogue.models();
        let frame = Frame::of(models, &self.devices);
        let (matrix, precisions) = matrix_in(path, &models.name, &frame, asked)?;
        if let Some(precisions) = precisions {
            let computed = catalogue.in_precisions(&precisions);
            let entries = self.read.entries.iter_mut().zip(computed.entries());
            entries.for_each(|(entry, new)| entry.ensemble = Arc::clone(new.ensemble()));
        }
        Ok(matrix)
    }

    /// Serves them, by the matrix in `file` or the one of worst-fit decreasing; `asked` is the
    /// precision of the command line.
    pub(crate) fn deploy(
        mut self,
        file: Option<&Path>,
        asked: Option<MemberPrecision>,
    ) -> Result<Deployment> {
        let name = self.name.clone();
        let matrix = file.map(|path| self.matrix_in(path, asked)).transpose()?;
        let matrix = matrix.or(self.tasks.map(|(_, matrix)| matrix));
        let start = DeploymentStart {
            name,
            devices: self.devices,
            options: EngineOptions::default(),
            matrix,
        };
        Ok(Deployment::start(self.source, self.read, start)?)
    }
}

/// Returns the models of a catalogue as what is asked in the shares of `mix`, of all alike without one.
pub(super) fn demand(catalogue: Arc<Catalogue>, mix: Option<&NamedMix>) -> Result<Demand> {
    let mix = match mix {
        Some(mix) => mix.of(&catalogue).context("--mix")?,
        None => Mix::even(catalogue.entries().len()),
    };
    Ok(Demand::new(catalogue, mix))
}

/// Reads the ensembles, or the repository, of a command line and finds their devices; `policy` and
/// `segment` replace theirs.
pub(super) fn open_all(
    target: &ServingTarget,
    more: &MoreModels,
    policy: Option<PolicyKind>,
    segment: Option<usize>,
) -> Result<OpenedEnsemble> {
    let models = ModelsToServe::read(target, &more.more, &ModelControl::default())?;
    if models.read.entries.is_empty() {
        let path = target.ensemble.display();
        bail!("{path}: expected an ensemble, a network or a repository, found no model");
    }
    let demand = models.demand(more.mix.as_ref())?;
    let all = demand.models();
    if let Some(policy) = policy {
        let fits = policy.check(&all.batch_sizes);
        fits.map_err(|why| anyhow!("--policy: {why}"))?;
    }
    let (policy, segment) = (
        policy.unwrap_or(all.policy),
        segment.unwrap_or(all.segment_size),
    );
    say(&models.notices);
    let opened = OpenedEnsemble::of(demand.under(policy, segment), models.devices);
    say(&opened.remarks());
    Ok(opened)
}

/// Whether a folder is to be a repository in which there is no model yet: it is empty, or the command
/// line says when its models are loaded.
fn is_meant(path: &Path, control: &ModelControl) -> bool {
    let is_empty = is_empty_folder(path);
    let has_manifest = ["ensemble.toml", "pipeline.toml"].map(|m| path.join(m).exists());
    is_empty || (path.is_dir() && control.is_set() && !has_manifest.contains(&true))
}

/// Whether there is a folder with nothing in it.
pub(super) fn is_empty_folder(path: &Path) -> bool {
    let mut files = std::fs::read_dir(path).into_iter().flatten();
    path.is_dir() && files.next().is_none()
}

/// Returns the name of a folder, as that of what is in it.
fn folder_name(path: &Path) -> String {
    let path = path.canonicalize();
    let name = path
        .ok()
        .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()));
    name.map_or_else(|| "models".into(), |name| one_line(&name).into_owned())
}

/// Returns why no model is served.
fn none_served(read: &ModelsRead) -> String {
    let failures = read.failures.iter();
    let lines = failures.map(|(name, why)| format!("\n  model `{}`: {why}", one_line(name)));
    format!("no model can be served{}", lines.collect::<String>())
}
