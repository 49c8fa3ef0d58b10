//! Opens the objects of a command line: an ensemble, its devices, a matrix, an engine.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use divisi_engine::load::LoadSamples;
use divisi_engine::search::{Cache, Method, SearchJob, worst_fit};
use divisi_engine::serving::{Engine, EngineOptions, NetworkFactory, PredictorFactory};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::{Ensemble, MemberPrecision, PolicyKind, SampleForm, Samples};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{DeviceError, DeviceIndex, Devices, Partitioning};
use divisi_runtime::words::one_line;

use divisi_server::{DeviceChoice, FoundDevices, SelectedModels, matrix_in};

use super::args::{MoreModels, SampleFiles, ServingTarget};
use super::input::InputFile;
use super::output::note;

/// One or several ensembles, and their devices.
pub(crate) struct OpenedEnsemble {
    /// The ensemble, or the members of several ensembles side by side.
    pub ensemble: Arc<Ensemble>,
    /// The traffic share of each model.
    pub demand: Demand,
    pub devices: Devices,
    pub frame: Arc<Frame>,
    /// The division of the cores into partitions, if no device was named.
    pub partitioning: Option<Partitioning>,
}

/// Reads the ensemble and finds its devices.
pub(crate) fn open(target: &ServingTarget) -> Result<OpenedEnsemble> {
    open_with(target, DeviceChoice::find)
}

/// Reads an ensemble whose variants are registered, and finds the devices of their profiles.
pub(crate) fn open_for_variants(target: &ServingTarget) -> Result<OpenedEnsemble> {
    open_with(target, DeviceChoice::find_for_variants)
}

fn open_with(target: &ServingTarget, find: FindDevices) -> Result<OpenedEnsemble> {
    let opened = read_with(target, find)?;
    say(&opened.remarks());
    say(&opened.member_remarks());
    Ok(opened)
}

/// A way to find the devices of an ensemble whose manifest may name devices.
type FindDevices = fn(&DeviceChoice, &[String]) -> Result<FoundDevices, DeviceError>;

/// Like [`open`], without printing remarks on precisions.
pub(crate) fn open_unremarked(target: &ServingTarget) -> Result<OpenedEnsemble> {
    read_with(target, DeviceChoice::find)
}

/// Reads the ensemble and finds its devices. Prints notices on GPUs that exist and cannot be used.
fn read_with(target: &ServingTarget, find: FindDevices) -> Result<OpenedEnsemble> {
    let mut ensemble = Ensemble::read(&target.selection(&[], None).files()?)?;
    let found = find(&target.device_choice(), &ensemble.devices)?;
    if let Some(precision) = target.precision {
        ensemble.compute_in(precision);
    }
    say(&found.notices);
    Ok(OpenedEnsemble {
        partitioning: found.partitioning,
        ..OpenedEnsemble::new(ensemble, found.devices)
    })
}

/// Reads the ensembles, or the repository, of a command line and finds their devices. `policy` and
/// `segment` replace the manifest's values.
pub(super) fn open_all(
    target: &ServingTarget,
    more: &MoreModels,
    policy: Option<PolicyKind>,
    segment: Option<usize>,
) -> Result<OpenedEnsemble> {
    let models = SelectedModels::read(&target.selection(&more.more, None))?;
    if models.is_empty() {
        let path = target.ensemble.display();
        bail!("{path}: expected an ensemble, a network or a repository, found no model");
    }
    let demand = with_policy(models.demand(more.mix.as_ref())?, policy, segment)?;
    say(&models.notices);
    let opened = OpenedEnsemble {
        partitioning: models.partitioning.clone(),
        ..OpenedEnsemble::from_demand(demand, models.devices().clone())
    };
    say(&opened.remarks());
    Ok(opened)
}

/// Replaces the manifest's policy and segment size, if others are given.
///
/// # Errors
/// The policy does not suit the batch sizes.
pub(super) fn with_policy(
    demand: Demand,
    policy: Option<PolicyKind>,
    segment: Option<usize>,
) -> Result<Demand> {
    let models = Arc::clone(demand.models());
    if let Some(policy) = policy {
        let fits = policy.check(&models.batch_sizes);
        fits.map_err(|why| anyhow!("--policy: {why}"))?;
    }
    let policy = policy.unwrap_or(models.policy);
    Ok(demand.with_policy(policy, segment.unwrap_or(models.segment_size)))
}

/// Prints notices on standard error.
pub(super) fn say(notices: &[impl AsRef<str>]) {
    for notice in notices {
        note(&format!("divisi: {}", one_line(notice.as_ref())));
    }
}

impl OpenedEnsemble {
    /// Places an ensemble on devices, without notices.
    pub(crate) fn new(ensemble: Ensemble, devices: Devices) -> Self {
        OpenedEnsemble::from_demand(Demand::from_ensemble(Arc::new(ensemble)), devices)
    }

    /// Places the models of a demand on devices, without notices.
    pub(super) fn from_demand(demand: Demand, devices: Devices) -> Self {
        let ensemble = Arc::clone(demand.models());
        OpenedEnsemble {
            frame: Frame::from_ensemble(&ensemble, &devices),
            ensemble,
            demand,
            devices,
            partitioning: None,
        }
    }

    /// Returns a copy with another precision for each member.
    pub(super) fn in_precisions(&self, precisions: &[MemberPrecision]) -> Self {
        let catalogue = self.demand.catalogue().in_precisions(precisions);
        let demand = Demand::new(Arc::new(catalogue), self.demand.mix().clone());
        OpenedEnsemble::from_demand(demand, self.devices.clone())
    }

    /// Returns the remarks on precisions that these devices do not multiply.
    pub(super) fn remarks(&self) -> Vec<String> {
        let remarks = self.ensemble.precision_remarks(&self.devices);
        remarks.iter().map(ToString::to_string).collect()
    }

    /// Returns the remarks on members whose answers depend on their execution.
    pub(super) fn member_remarks(&self) -> Vec<String> {
        let remarks = self.ensemble.member_remarks();
        remarks.iter().map(ToString::to_string).collect()
    }

    /// Returns a copy with the matrix and the precisions in `file`, or with the matrix of worst-fit
    /// decreasing if there is no file. `asked` is the precision of the command line.
    pub(super) fn with_matrix(
        self,
        file: Option<&Path>,
        asked: Option<MemberPrecision>,
    ) -> Result<(Self, Matrix)> {
        let Some(path) = file else {
            let matrix = self.worst_fit()?;
            return Ok((self, matrix));
        };
        let input = InputFile::open(path, "toml")?;
        let read = matrix_in(input.path(), &self.ensemble.name, &self.frame, asked);
        let (matrix, precisions) = read?;
        let Some(precisions) = precisions else {
            return Ok((self, matrix));
        };
        let opened = self.in_precisions(&precisions);
        say(&opened.remarks());
        Ok((opened, matrix))
    }

    /// Returns the matrix of worst-fit decreasing.
    pub(crate) fn worst_fit(&self) -> Result<Matrix> {
        let footprints = Footprints::plan_catalogue(self.demand.catalogue(), &self.devices);
        Ok(worst_fit(&self.frame, &self.devices, &footprints)?)
    }

    /// Returns the index of the device called `name`.
    pub(crate) fn device(&self, name: &str) -> Result<DeviceIndex> {
        let names = self.devices.names();
        let found = names.iter().position(|n| n == name);
        let found = found.map(DeviceIndex::new);
        found.with_context(|| format!("no device `{name}`: expected one of {}", names.join(", ")))
    }

    /// Returns the traffic shares in words, or `None` for a single model.
    pub(crate) fn mix(&self) -> Option<String> {
        let several = self.demand.catalogue().single_ensemble().is_none();
        several.then(|| self.demand.in_words())
    }

    /// Returns the precision of the GPUs, or `None` without GPUs.
    pub(crate) fn precision(&self) -> Option<Precision> {
        self.devices.has_gpu().then_some(self.ensemble.precision)
    }

    /// Returns a search for this ensemble on its devices.
    pub(super) fn search_job(&self, method: Method, cache: Option<Cache>) -> SearchJob {
        SearchJob {
            known: None,
            demand: self.demand.clone(),
            devices: self.devices.clone(),
            measured_on: self.devices.clone(),
            frame: Arc::clone(&self.frame),
            factory: self.networks(),
            method,
            cache,
        }
    }

    /// Returns the factory of the ensemble's networks.
    pub(crate) fn networks(&self) -> Arc<dyn PredictorFactory> {
        Arc::new(NetworkFactory::new(Arc::clone(&self.ensemble)))
    }

    /// Starts an engine with `matrix` for clients that wait for their answers, so no queue refuses
    /// requests.
    pub(crate) fn start(
        &self,
        matrix: &Matrix,
        factory: Arc<dyn PredictorFactory>,
    ) -> Result<Engine> {
        Ok(Engine::start_catalogue(
            Arc::new(self.demand.catalogue().without_queues()),
            self.devices.clone(),
            matrix,
            factory,
            EngineOptions::default(),
        )?)
    }

    /// Returns the calibration samples of the manifest.
    pub(crate) fn calibration(&self) -> Result<Arc<Samples>> {
        self.ensemble.calibration.clone().with_context(|| {
            format!(
                "ensemble `{}` has no calibration samples; add `[calibration]` to its manifest, with `file`, or with `synthetic = 256` for generated samples",
                self.ensemble.name
            )
        })
    }

    /// Returns the samples of loads: the calibration samples, or those of each model of a mix.
    pub(crate) fn load_samples(&self) -> Result<LoadSamples> {
        let catalogue = self.demand.catalogue();
        match catalogue.single_ensemble() {
            Some(_) => Ok(self.calibration()?.into()),
            None => Ok(LoadSamples::for_mix(catalogue, self.demand.mix())?),
        }
    }

    /// Reads the samples of a file, or returns the calibration samples without a file.
    pub(crate) fn samples(&self, path: Option<&Path>, files: &SampleFiles) -> Result<Arc<Samples>> {
        match path {
            Some(path) => Ok(Arc::new(self.read_samples(path, files)?)),
            None => self.calibration(),
        }
    }

    /// Reads samples of the ensemble's shape, and their targets if `files` names them.
    pub(crate) fn read_samples(&self, path: &Path, files: &SampleFiles) -> Result<Samples> {
        read_samples(path, files, self.ensemble.sample_form())
    }
}

/// Reads samples of a form, and their targets if `files` names them.
pub(super) fn read_samples(
    path: &Path,
    files: &SampleFiles,
    form: SampleForm<'_>,
) -> Result<Samples> {
    let form = SampleForm {
        layout: files.layout.unwrap_or(form.layout),
        ..form
    };
    let plain = if form.text.is_some() { "txt" } else { "csv" };
    let input = InputFile::open(path, plain)?;
    let samples = Samples::read(input.path(), &form);
    let samples = samples.with_context(|| path.display().to_string())?;
    let Some(path) = &files.labels else {
        return Ok(samples);
    };
    let targeted = samples.targeted_by_file(path, &form);
    targeted.with_context(|| path.display().to_string())
}
