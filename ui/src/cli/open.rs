//! Opens what the command line names: an ensemble, its devices, a matrix, an engine.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use divisi::allocation::{Footprints, Frame, Matrix};
use divisi::catalogue::Demand;
use divisi::compute::gpu::Precision;
use divisi::device::gpu::find_gpus;
use divisi::device::{DeviceIndex, Devices, Host};
use divisi::ensemble::{Ensemble, Files, MemberPrecision, SampleForm, Samples};
use divisi::search::worst_fit;
use divisi::serving::{Engine, EngineOptions, NetworkFactory, PredictorFactory};
use divisi::session::record::RecordingReader;
use divisi::words::one_line;
use divisi_repository::Repository;

use super::args::{SampleFiles, ServingTarget};
use super::matrix_file::matrix_in;

/// An ensemble, or several, and the devices that serve them.
pub(crate) struct OpenedEnsemble {
    /// Of several their members side by side.
    pub ensemble: Arc<Ensemble>,
    /// How much of which is asked.
    pub demand: Demand,
    pub devices: Devices,
    pub frame: Arc<Frame>,
    /// Remarks for the operator: GPUs that exist and cannot be used.
    pub notices: Vec<String>,
}

/// Reads the ensemble and finds its devices.
pub(crate) fn open(target: &ServingTarget) -> Result<OpenedEnsemble> {
    let ensemble = Ensemble::read(&files_of(target)?)?;
    with_devices(ensemble, target)
}

/// Finds the devices of an ensemble and prints the notices on standard error.
pub(crate) fn with_devices(ensemble: Ensemble, target: &ServingTarget) -> Result<OpenedEnsemble> {
    let opened = quietly(ensemble, target)?;
    say(&opened.notices);
    say(&opened.remarks());
    say(&opened.member_remarks());
    Ok(opened)
}

/// The same for who tells the remarks on precisions otherwise.
pub(crate) fn open_unremarked(target: &ServingTarget) -> Result<OpenedEnsemble> {
    let ensemble = Ensemble::read(&files_of(target)?)?;
    let opened = quietly(ensemble, target)?;
    say(&opened.notices);
    Ok(opened)
}

fn quietly(mut ensemble: Ensemble, target: &ServingTarget) -> Result<OpenedEnsemble> {
    let (devices, notices) = devices_for(&ensemble.devices, target)?;
    if let Some(precision) = target.precision {
        ensemble.compute_in(precision);
    }
    Ok(OpenedEnsemble {
        notices,
        ..OpenedEnsemble::new(ensemble, devices)
    })
}

/// Returns the devices of a command line, or those of these names, or all of the machine; with remarks
/// for the operator.
pub(super) fn devices_for(
    of_manifest: &[String],
    target: &ServingTarget,
) -> Result<(Devices, Vec<String>)> {
    let mut host = Host::discover();
    if let Some(bytes) = target.memory {
        host = host.with_memory(bytes);
    }
    let names = match target.devices.is_empty() {
        true => of_manifest,
        false => &target.devices,
    };
    Ok(match names.is_empty() {
        true => Devices::of_machine(&host, find_gpus()),
        false => (Devices::named(names, &host)?, Vec::new()),
    })
}

/// Prints notices on standard error.
pub(super) fn say(notices: &[String]) {
    for notice in notices {
        let _ = writeln!(io::stderr(), "divisi: {}", one_line(notice));
    }
}

/// Returns the files of the ensemble that a command names.
pub(crate) fn files_of(target: &ServingTarget) -> Result<Files> {
    let files = files(&target.ensemble)?;
    let Some(shape) = target.shape else {
        return Ok(files);
    };
    let shaped = files.shaped(shape);
    shaped.context("--shape: expected an .onnx file alone; a manifest has `shape` in its [input]")
}

/// Returns the files at `path`, or those of the built-in ensemble of that name.
pub(crate) fn files(path: &Path) -> Result<Files> {
    let name = path.to_str().unwrap_or_default();
    match built_in(name) {
        Some(files) if !path.exists() => Ok(files),
        _ if path.is_file() && Samples::check_name(name).is_ok() => bail!(
            "{name}: expected an ensemble (a folder, its ensemble.toml, or an .onnx file), found a \
             file of samples; `divisi predict ENSEMBLE --input {name}` answers them"
        ),
        _ if path.is_file() && RecordingReader::is_one(path) => bail!(
            "{name}: expected an ensemble (a folder, its ensemble.toml, or an .onnx file), found a \
             recording; `divisi replay {name}` plays it"
        ),
        _ if Repository::is_at(path) => bail!(
            "{name}: expected one ensemble (a folder, its ensemble.toml, or an .onnx file), found a \
             repository of models; name one of them, such as {}",
            one_of(path).display()
        ),
        _ if path.is_dir() && !MANIFESTS.iter().any(|m| path.join(m).exists()) => bail!(
            "{name}: expected an ensemble (a folder, its ensemble.toml, or an .onnx file), found a \
             folder without {}",
            MANIFESTS.join(" or ")
        ),
        _ => Ok(Files::at(path)),
    }
}

/// The manifests of which a folder of an ensemble has one.
const MANIFESTS: [&str; 2] = ["ensemble.toml", "pipeline.toml"];

/// Returns what names one model of a repository by itself.
fn one_of(repository: &Path) -> PathBuf {
    let opened = Repository::open(repository);
    let names = opened.and_then(|repository| repository.names());
    let folders = names.unwrap_or_default().into_iter();
    let files = folders.map(|name| repository.join(name).join("1").join("model.onnx"));
    let mut files = files.filter(|file| file.is_file());
    files.next().unwrap_or_else(|| "MODEL/1/model.onnx".into())
}

impl OpenedEnsemble {
    /// Puts an ensemble on devices, without notices.
    pub(crate) fn new(ensemble: Ensemble, devices: Devices) -> Self {
        OpenedEnsemble::of(Demand::of(Arc::new(ensemble)), devices)
    }

    /// Puts what is asked on devices, without notices.
    pub(super) fn of(demand: Demand, devices: Devices) -> Self {
        let ensemble = Arc::clone(demand.models());
        OpenedEnsemble {
            frame: Frame::of(&ensemble, &devices),
            ensemble,
            demand,
            devices,
            notices: Vec::new(),
        }
    }

    /// Returns the same with members computed in other numbers, one precision a member.
    pub(super) fn in_precisions(&self, precisions: &[MemberPrecision]) -> Self {
        let catalogue = self.demand.catalogue().in_precisions(precisions);
        let demand = Demand::new(Arc::new(catalogue), self.demand.mix().clone());
        OpenedEnsemble::of(demand, self.devices.clone())
    }

    /// Returns the remarks on precisions that these devices do not multiply.
    pub(super) fn remarks(&self) -> Vec<String> {
        let remarks = self.ensemble.precision_remarks(&self.devices);
        remarks.iter().map(ToString::to_string).collect()
    }

    /// Returns the remarks on members whose answers depend on how they are run.
    pub(super) fn member_remarks(&self) -> Vec<String> {
        let remarks = self.ensemble.member_remarks();
        remarks.iter().map(ToString::to_string).collect()
    }

    /// Returns the same with the matrix in `file`, and in the precisions that it names; without a
    /// file the matrix of worst-fit decreasing. `asked` is the precision of the command line.
    pub(super) fn by(
        self,
        file: Option<&Path>,
        asked: Option<MemberPrecision>,
    ) -> Result<(Self, Matrix)> {
        let Some(path) = file else {
            let matrix = self.worst_fit()?;
            return Ok((self, matrix));
        };
        let (matrix, precisions) = matrix_in(path, &self.ensemble.name, &self.frame, asked)?;
        let Some(precisions) = precisions else {
            return Ok((self, matrix));
        };
        let opened = self.in_precisions(&precisions);
        say(&opened.remarks());
        Ok((opened, matrix))
    }

    /// Returns the matrix of worst-fit decreasing.
    pub(crate) fn worst_fit(&self) -> Result<Matrix> {
        let footprints = Footprints::of_catalogue(self.demand.catalogue(), &self.devices);
        Ok(worst_fit(&self.frame, &self.devices, &footprints)?)
    }

    /// Returns the position of the device called `name`.
    pub(crate) fn device(&self, name: &str) -> Result<DeviceIndex> {
        let names = self.devices.names();
        let found = names.iter().position(|n| n == name);
        let found = found.map(DeviceIndex::new);
        found.with_context(|| format!("no device `{name}`: expected one of {}", names.join(", ")))
    }

    /// Returns the shares in which several are asked, in words, or `None` of one alone.
    pub(crate) fn mix(&self) -> Option<String> {
        let several = self.demand.catalogue().single().is_none();
        several.then(|| self.demand.in_words())
    }

    /// Returns the precision of the GPUs, or `None` if there are none.
    pub(crate) fn precision(&self) -> Option<Precision> {
        self.devices.has_gpu().then_some(self.ensemble.precision)
    }

    /// Returns the factory of the ensemble's networks.
    pub(crate) fn networks(&self) -> Arc<dyn PredictorFactory> {
        Arc::new(NetworkFactory::new(Arc::clone(&self.ensemble)))
    }

    /// Starts an engine that runs by `matrix`, for who asks as much as is answered: no queue refuses it.
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

    /// Returns the calibration samples that the manifest names.
    pub(crate) fn calibration(&self) -> Result<Arc<Samples>> {
        self.ensemble.calibration.clone().with_context(|| {
            format!(
                "ensemble `{}` names no calibration samples; add them to its manifest (`[calibration]` with `file`, or with `synthetic = 256` for made-up ones)",
                self.ensemble.name
            )
        })
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
    let samples = Samples::read(path, &form);
    let samples = samples.with_context(|| path.display().to_string())?;
    let Some(path) = &files.labels else {
        return Ok(samples);
    };
    let targeted = samples.targeted_by_file(path, &form);
    targeted.with_context(|| path.display().to_string())
}

macro_rules! embedded {
    ($ensemble:literal: $($file:literal),* $(,)?) => {
        ($ensemble, &[$((
            $file,
            include_bytes!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../sample_ensembles/", $ensemble, "/", $file
            )).as_slice(),
        )),*])
    };
}

/// The name of an ensemble, and its files with their bytes.
type EmbeddedEnsemble = (&'static str, &'static [(&'static str, &'static [u8])]);

static SAMPLES: &[EmbeddedEnsemble] = &[
    embedded![
        "digits":
        "ensemble.toml",
        "digits.csv",
        "mlp.safetensors",
        "cnn-s.safetensors",
        "cnn-m.safetensors",
        "res-s.safetensors",
        "res-m.safetensors",
        "dense.safetensors",
    ],
    embedded![
        "snippets":
        "ensemble.toml",
        "tokenizer.json",
        "test.csv",
        "mean.onnx",
        "conv.onnx",
        "attention.onnx",
    ],
    embedded![
        "digits-onnx":
        "ensemble.toml",
        "../digits/digits.csv",
        "mlp.onnx",
        "cnn-s.onnx",
        "res-s.onnx",
        "dense.onnx",
    ],
    embedded![
        "digits-cascade":
        "pipeline.toml",
        "../digits/digits.csv",
        "../digits/cnn-s.safetensors",
        "../digits/cnn-m.safetensors",
        "../digits/res-m.safetensors",
        "../digits/dense.safetensors",
    ],
    embedded![
        "drawings":
        "ensemble.toml",
        "images/ball.jpg",
        "images/boat.jpg",
        "images/fish.png",
        "images/house.jpg",
        "images/mountains.png",
        "images/tree.png",
    ],
    embedded!["imn1": "ensemble.toml"],
    embedded!["imn4": "ensemble.toml"],
    embedded!["imn12": "ensemble.toml"],
    embedded!["fos14": "ensemble.toml"],
    embedded!["cif36": "ensemble.toml"],
];

/// Returns the built-in ensemble called `name`.
fn built_in(name: &str) -> Option<Files> {
    let sample = SAMPLES.iter().find(|(known, _)| *known == name);
    sample.map(|(name, files)| Files::Embedded { name, files })
}
