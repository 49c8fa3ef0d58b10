//! Repositories that tests write.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use divisi_engine::serving::{NetworkFactory, PredictorFactory};
use divisi_model::ensemble::{BatchSize, Ensemble};
use divisi_repository::{LoadReport, LoadedModel, Repository, WantedModels};
use divisi_runtime::compute::{host_rows, read_rows, write_rows};
use divisi_runtime::device::MemberIndex;
use tempfile::TempDir;

/// A repository in a folder of its own, removed when dropped.
pub struct Written(TempDir);

/// The folder of the small networks.
pub fn networks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runtime/onnx_files")
}

impl Written {
    /// An empty one.
    pub fn new() -> Self {
        Written(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the folders that lead to it.
    pub fn file(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("writes");
        self
    }

    /// Copies one of the small networks to version 1 of a model.
    pub fn network(&self, model: &str, file: &str) -> &Self {
        self.network_at(&format!("{model}/1/model.onnx"), file)
    }

    pub fn network_at(&self, path: &str, file: &str) -> &Self {
        self.file(path, fs::read(networks().join(file)).expect("a network"))
    }

    pub fn config(&self, model: &str, text: &str) -> &Self {
        self.file(&format!("{model}/config.pbtxt"), text)
    }

    pub fn open(&self) -> Repository {
        Repository::open(self.path()).expect("a repository")
    }

    pub fn load(&self) -> LoadReport {
        self.open().load(WantedModels::All, &[]).expect("read")
    }

    /// The only model that was loaded.
    #[track_caller]
    pub fn single(&self) -> Arc<LoadedModel> {
        let report = self.load();
        assert!(report.failures.is_empty(), "{:#?}", report.failures);
        Arc::clone(&report.models[0])
    }

    /// Why a model was not loaded.
    #[track_caller]
    pub fn failure(&self, name: &str) -> String {
        let report = self.load();
        let mut failures = report.failures.iter();
        let found = failures.find(|failure| failure.name == name);
        found
            .unwrap_or_else(|| panic!("{name} was loaded"))
            .fault
            .to_string()
    }
}

/// The model called `name`, in its highest version.
#[track_caller]
pub fn model(report: &LoadReport, name: &str) -> Arc<LoadedModel> {
    let of_name = report.models.iter().filter(|model| model.name == name);
    let found = of_name.max_by_key(|model| model.version);
    let failures = &report.failures;
    Arc::clone(found.unwrap_or_else(|| panic!("{name} was not loaded: {failures:#?}")))
}

/// `x FP32 [3]`, and so on.
pub fn shown(specs: &[divisi_runtime::tensor::TensorSpec]) -> Vec<String> {
    specs
        .iter()
        .map(|spec| format!("{} {spec}", spec.name))
        .collect()
}

/// The row that an ensemble answers to a sample, step by step without an engine.
pub fn answer(ensemble: &Arc<Ensemble>, sample: &[f32]) -> Vec<f32> {
    let factory = NetworkFactory::new(Arc::clone(ensemble));
    let pipeline = ensemble.pipeline.as_ref().expect("steps");
    pipeline.answer(sample, |member, row| {
        predicted(&factory, ensemble, member, row)
    })
}

fn predicted(
    factory: &NetworkFactory,
    ensemble: &Ensemble,
    member: MemberIndex,
    row: &[f32],
) -> Vec<f32> {
    let size = BatchSize::new(1).expect("a size");
    let mut predictor = factory
        .build(ensemble.network(member), size, None)
        .expect("builds");
    let width = ensemble.members[member].row_width();
    let (from, to) = (host_rows(1, row.len()), host_rows(1, width));
    let (from, to) = (from.expect("memory"), to.expect("memory"));
    write_rows(&from, |rows| rows.copy_from_slice(row)).expect("written");
    predictor.predict(1, &from, &to).expect("predicted");
    let mut answer = Vec::new();
    read_rows(&to, |rows| answer = rows.to_vec()).expect("read");
    answer
}
