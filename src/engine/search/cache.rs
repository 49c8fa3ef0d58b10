//! Results kept between runs, under a key of everything that they depend on, with the time and the
//! load of the host at their measurement.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use divisi_model::allocation::{Frame, Matrix, MatrixFile};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Samples;
use divisi_model::user_folders;
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::device::Devices;

use super::checked::{hex, processor, read_checked, write_checked};
use super::evaluator::{Doubt, Score};
use super::method::Method;
use super::occasion::Occasion;
use super::prediction::{Predicted, PredictionBook};
use super::result::{Comparison, EntryLatency, LoadedLatency, SearchResult};

/// Increased when the same search would return a different result.
const RESULTS: u32 = 5;

/// The name of a result, derived from everything that can change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey(String);

impl CacheKey {
    /// Returns the key of a search by `method` on this machine.
    pub fn new(demand: &Demand, devices: &Devices, method: &Method) -> Self {
        let ensemble = demand.models();
        let mut hash = Sha256::new();
        let mut add = |text: String| {
            hash.update(text.as_bytes());
            hash.update([0]);
        };
        add(env!("CARGO_PKG_VERSION").into());
        add(format!("results {RESULTS}"));
        // Figures of an unoptimised build do not apply to an optimised one.
        add(format!("debug {}", cfg!(debug_assertions)));
        add(processor().to_owned());
        add(divisi_runtime::compute::kernels_in_use());
        let method = Method {
            again: false,
            ..*method
        };
        add(format!("{devices:?} {method:?}"));
        add(format!(
            "{} {:?} {:?} {} {:?} {}",
            ensemble.name,
            ensemble.input,
            ensemble.rule,
            ensemble.segment_size,
            ensemble.policy,
            ensemble.batch_sizes
        ));
        if devices.has_gpu() {
            add(format!("precision {}", ensemble.precision));
        }
        for member in &ensemble.members {
            add(format!(
                "{} {:?} {:?} {:?} {:?}",
                member.name, member.graph, member.input, member.outputs, member.precision
            ));
            if let Some(calibration) = member.calibration() {
                add(format!("{calibration:?}"));
            }
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
            add_samples(&mut hash, samples);
        }
        if demand.catalogue().single_ensemble().is_none() || ensemble.pipeline.is_some() {
            add_entries(&mut hash, demand);
        }
        CacheKey(hex(hash))
    }
}

/// Adds the shares of the entries, and the flow of their rows.
fn add_entries(hash: &mut Sha256, demand: &Demand) {
    for (number, entry) in demand.catalogue().entries().iter().enumerate() {
        let (name, ensemble) = (entry.name(), entry.ensemble());
        let (share, flow) = (demand.mix().share(number), ensemble.dataflow());
        let steps = (0..flow.steps().len()).map(|step| demand.step(number, step));
        let steps: Vec<_> = steps.collect();
        let columns = entry.columns();
        hash.update(format!("{name} {share} {columns:?} {flow:?} {steps:?}"));
        if let Some(samples) = &ensemble.calibration {
            add_samples(hash, samples);
        }
    }
}

/// The number of samples hashed at once. Samples of other types are converted to float32 in such
/// pieces.
const PIECE: usize = 64;

fn add_samples(hash: &mut Sha256, samples: &Samples) {
    for first in (0..samples.len()).step_by(PIECE) {
        let count = PIECE.min(samples.len() - first);
        add_values(hash, &samples.rows(first, count));
    }
}

pub(super) fn add_values(hash: &mut Sha256, values: &[f32]) {
    values.iter().for_each(|v| hash.update(v.to_le_bytes()));
}

/// A folder of results and profiles, and the ledger of prediction errors in it.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    book: PredictionBook,
    renewal: ProfileRenewal,
}

/// The kept profiles that are measured again and replaced when they are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileRenewal {
    /// None.
    #[default]
    Never,
    /// Profiles that were not measured on a quiet host, if the host is quiet now.
    Disturbed,
    /// All profiles.
    All,
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    key: String,
    file: MatrixFile,
    score: f64,
    doubt: Doubt,
    start_score: f64,
    start_doubt: Doubt,
    gain: Option<Comparison>,
    evaluations: usize,
    iterations: usize,
    coverage: f64,
    predicted: Option<Predicted>,
    steady: Option<Score>,
    bound: Option<f64>,
    latency: Option<LoadedLatency>,
    #[serde(default)]
    by_entry: Vec<EntryLatency>,
    shortfall: Option<String>,
    occasion: Option<Occasion>,
}

impl Cache {
    /// Returns the user's cache, or `None` if there is no home folder.
    pub fn of_user() -> Option<Self> {
        let folder = user_folders::cache()?;
        Some(Cache::at(&folder).renewing(ProfileRenewal::Disturbed))
    }

    /// Returns a cache in `folder`.
    pub fn at(folder: &Path) -> Self {
        Cache {
            folder: folder.to_owned(),
            book: PredictionBook::at(folder),
            renewal: ProfileRenewal::Never,
        }
    }

    /// Returns the ledger of prediction errors.
    pub fn book(&self) -> &PredictionBook {
        &self.book
    }

    /// Returns the cache with profiles that are measured again.
    #[must_use]
    pub fn renewing(self, renewal: ProfileRenewal) -> Self {
        Cache { renewal, ..self }
    }

    /// Returns the profiles that are measured again.
    pub(super) fn renewal(&self) -> ProfileRenewal {
        self.renewal
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.folder.join(format!("{}.json", &key.0[..32]))
    }

    /// Returns a stored result, or `None` if it is missing, damaged or expired. Results in virtual
    /// time do not expire.
    pub fn load(&self, key: &CacheKey, ensemble: &str, frame: &Arc<Frame>) -> Option<SearchResult> {
        if self.renewal == ProfileRenewal::All {
            return None;
        }
        let stored: Stored = read_checked(&self.path(key))?;
        let sane = stored.key == key.0 && stored.score.is_finite() && stored.score > 0.0;
        let matrix: Matrix = stored.file.matrix_for(ensemble, frame).ok()?;
        let holds = |occasion: Occasion| occasion.holds(unix_seconds());
        let holds = stored.doubt == Doubt::Exact || stored.occasion.is_none_or(holds);
        (sane && holds).then_some(SearchResult {
            matrix,
            score: stored.score,
            doubt: stored.doubt,
            start_score: stored.start_score,
            start_doubt: stored.start_doubt,
            gain: stored.gain,
            evaluations: stored.evaluations,
            iterations: stored.iterations,
            coverage: stored.coverage,
            predicted: stored.predicted,
            steady: stored.steady,
            bound: stored.bound,
            latency: stored.latency,
            by_entry: stored.by_entry,
            shortfall: stored.shortfall,
            occasion: stored.occasion,
        })
    }

    /// Stores a result.
    ///
    /// # Errors
    /// The disk is full or not writable. The search result itself is not affected.
    pub fn store(&self, key: &CacheKey, ensemble: &str, found: &SearchResult) -> io::Result<()> {
        let stored = Stored {
            key: key.0.clone(),
            file: MatrixFile::new(ensemble, &found.matrix),
            score: found.score,
            doubt: found.doubt,
            start_score: found.start_score,
            start_doubt: found.start_doubt,
            gain: found.gain,
            evaluations: found.evaluations,
            iterations: found.iterations,
            coverage: found.coverage,
            predicted: found.predicted,
            steady: found.steady,
            bound: found.bound,
            latency: found.latency,
            by_entry: found.by_entry.clone(),
            shortfall: found.shortfall.clone(),
            occasion: found.occasion,
        };
        write_checked(&self.path(key), &stored)
    }
}
