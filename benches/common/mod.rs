//! Engines and clients that the benchmarks begin with.
#![allow(dead_code, reason = "each benchmark uses some of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use divisi_engine::search::{Cache, Method, SearchJob};
use divisi_engine::serving::{
    Engine, EngineOptions, FakeFactory, NetworkFactory, PredictorFactory,
};
use divisi_model::allocation::{Frame, Matrix, MatrixFile};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::{Devices, Host};

pub fn folder(name: &str) -> PathBuf {
    // Benchmarks are built from the folders of their packages.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A program that was built elsewhere is started at the root.
    let places = package.ancestors().chain([Path::new(".")]);
    let root = places
        .into_iter()
        .find(|p| p.join("sample_ensembles").is_dir());
    root.unwrap_or(package).join(name)
}

pub struct Bed {
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
}

impl Bed {
    pub fn open(path: &str, devices: &[&str]) -> Result<Self> {
        let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
        Ok(Bed {
            ensemble: Arc::new(Ensemble::read(&Files::from_path(&folder(path)))?),
            devices: Devices::from_names(&names, &Host::discover())?,
        })
    }

    pub fn frame(&self) -> Arc<Frame> {
        Frame::from_ensemble(&self.ensemble, &self.devices)
    }

    pub fn matrix(&self, rows: &[Vec<i64>]) -> Result<Matrix> {
        Ok(Matrix::from_rows(self.frame(), rows)?)
    }

    /// Every member on every device at one batch size.
    pub fn everywhere(&self, size: i64) -> Result<Matrix> {
        let rows = vec![vec![size; self.ensemble.members.len()]; self.devices.count()];
        self.matrix(&rows)
    }

    pub fn matrix_file(&self, path: &str) -> Result<Matrix> {
        let text = std::fs::read_to_string(folder(path))?;
        Ok(MatrixFile::parse(&text)?.matrix_for(&self.ensemble.name, &self.frame())?)
    }

    /// A search with real networks.
    pub fn job(&self, method: Method, cache: Option<Cache>) -> SearchJob {
        SearchJob {
            known: None,
            demand: Arc::clone(&self.ensemble).into(),
            devices: self.devices.clone(),
            measured_on: self.devices.clone(),
            frame: self.frame(),
            factory: self.networks(),
            method,
            cache,
        }
    }

    pub fn fakes(&self) -> Arc<dyn PredictorFactory> {
        Arc::new(FakeFactory {
            classes: self.ensemble.answer_width(),
        })
    }

    pub fn networks(&self) -> Arc<dyn PredictorFactory> {
        Arc::new(NetworkFactory::new(Arc::clone(&self.ensemble)))
    }

    pub fn start(&self, matrix: &Matrix, factory: Arc<dyn PredictorFactory>) -> Result<Engine> {
        Ok(Engine::start(
            Arc::clone(&self.ensemble),
            self.devices.clone(),
            matrix,
            factory,
            EngineOptions::default(),
        )?)
    }
}
