//! Results kept between runs, under a key made of all they depend on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::allocation::{Frame, Matrix, MatrixFile};
use crate::device::Devices;
use crate::ensemble::Ensemble;

use super::greedy::{Bounds, Found};

/// Names a result: everything that could change it goes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey(String);

impl CacheKey {
    /// The key of a search by `algorithm` with `evaluator` on this machine.
    pub fn new(
        ensemble: &Ensemble,
        devices: &Devices,
        algorithm: &str,
        evaluator: &str,
        bounds: &Bounds,
    ) -> Self {
        let mut hash = Sha256::new();
        let mut add = |text: String| {
            hash.update(text.as_bytes());
            hash.update([0]);
        };
        add(env!("CARGO_PKG_VERSION").into());
        // An unoptimised build's figures say nothing about an optimised one.
        add(format!("debug {}", cfg!(debug_assertions)));
        add(processor());
        add(format!("{devices:?} {algorithm} {evaluator} {bounds:?}"));
        add(format!(
            "{} {:?} {:?} {} {:?} {}",
            ensemble.name,
            ensemble.input,
            ensemble.rule,
            ensemble.segment_size,
            ensemble.policy,
            ensemble.batch_sizes
        ));
        for member in &ensemble.members {
            add(format!(
                "{} {:?} {:?}",
                member.name, member.graph, member.outputs
            ));
        }
        let weights = ensemble.members.iter().map(|m| &m.weights);
        for weights in weights {
            match weights.seed() {
                Some(seed) => hash.update(seed.to_le_bytes()),
                None => weights
                    .iter()
                    .for_each(|(_, values)| add_values(&mut hash, values)),
            }
        }
        if let Some(samples) = &ensemble.calibration {
            add_values(&mut hash, samples.values());
        }
        CacheKey(hex(hash))
    }
}

fn add_values(hash: &mut Sha256, values: &[f32]) {
    values.iter().for_each(|v| hash.update(v.to_le_bytes()));
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The processor's name; a result from another machine is no result here.
fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|l| l.starts_with("model name"));
    format!("{} {}", std::env::consts::ARCH, model.unwrap_or_default())
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// A file of the cache: a result's text and its checksum.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    sum: String,
    body: String,
}

impl Sealed {
    fn new(body: String) -> Self {
        let sum = hex(Sha256::new().chain_update(&body));
        Sealed { sum, body }
    }

    fn open(self) -> Option<String> {
        (Sealed::new(self.body.clone()).sum == self.sum).then_some(self.body)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    key: String,
    file: MatrixFile,
    score: f64,
    error: f64,
    start_score: f64,
    evaluations: usize,
    iterations: usize,
    coverage: f64,
}

impl Cache {
    /// The user's cache folder (XDG); none where there is no home.
    pub fn of_user() -> Option<Self> {
        let dirs = directories::ProjectDirs::from("", "", "divisi")?;
        Some(Cache::at(dirs.cache_dir()))
    }

    /// A cache in `folder`.
    pub fn at(folder: &Path) -> Self {
        Cache {
            folder: folder.to_owned(),
        }
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.folder.join(format!("{}.json", &key.0[..32]))
    }

    /// A stored result; none where there is none, or it is damaged or stale: it is
    /// then found again rather than trusted.
    pub fn load(&self, key: &CacheKey, ensemble: &str, frame: &Arc<Frame>) -> Option<Found> {
        let text = fs::read_to_string(self.path(key)).ok()?;
        let sealed: Sealed = serde_json::from_str(&text).ok()?;
        let stored: Stored = serde_json::from_str(&sealed.open()?).ok()?;
        let sane = stored.key == key.0 && stored.score.is_finite() && stored.score > 0.0;
        let matrix: Matrix = stored.file.matrix_for(ensemble, frame).ok()?;
        sane.then_some(Found {
            matrix,
            score: stored.score,
            error: stored.error,
            start_score: stored.start_score,
            evaluations: stored.evaluations,
            iterations: stored.iterations,
            coverage: stored.coverage,
        })
    }

    /// Stores a result: written beside and renamed, so that a reader never sees half.
    ///
    /// # Errors
    /// The disk is full or not writable; the search's result is not lost by that.
    pub fn store(&self, key: &CacheKey, ensemble: &str, found: &Found) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let stored = Stored {
            key: key.0.clone(),
            file: MatrixFile::new(ensemble, &found.matrix),
            score: found.score,
            error: found.error,
            start_score: found.start_score,
            evaluations: found.evaluations,
            iterations: found.iterations,
            coverage: found.coverage,
        };
        let sealed = Sealed::new(serde_json::to_string(&stored)?);
        let text = serde_json::to_string_pretty(&sealed)?;
        let part = self
            .path(key)
            .with_extension(format!("part{}", std::process::id()));
        let written = fs::write(&part, text).and_then(|()| fs::rename(&part, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }
}
