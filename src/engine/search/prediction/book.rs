//! The ledger of this machine: shared by the searches and predictions of a process, and kept in the
//! folder of the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use divisi_runtime::device::Devices;
use divisi_runtime::device::host::{load_since_start, recent_load};
use divisi_runtime::lock::Leaf;

use crate::search::checked::{hex, processor, read_checked, write_checked};

use super::ledger::{Correction, PastError, PredictionLedger, Question, TypicalError};

/// The most bytes of a file of errors; a larger one is not read.
const MOST_BYTES: u64 = 1 << 20;
/// The time after which the file is read again, because other processes write it too.
const READ_EVERY: Duration = Duration::from_secs(2);
/// The time of the look at the host by a process that has just started: ten ticks of its counters.
const LOOK: Duration = Duration::from_millis(100);

/// The ledger of errors with its file. Clones share the ledger.
#[derive(Clone, Debug, Default)]
pub struct PredictionBook {
    pages: Arc<Leaf<Pages>>,
    /// Whether a thread of this process writes the file.
    is_saving: Arc<AtomicBool>,
    /// The file, or `None` to keep the ledger in memory only.
    path: Option<Arc<Path>>,
}

#[derive(Debug, Default)]
struct Pages {
    ledger: PredictionLedger,
    /// Errors that the file does not have yet.
    unsaved: Vec<PastError>,
    read: Option<Instant>,
}

impl PredictionBook {
    /// Returns the book in `folder` for this build, processor and kernels: errors of other kernels
    /// do not apply.
    pub fn at(folder: &Path) -> Self {
        PredictionBook {
            pages: Arc::default(),
            is_saving: Arc::default(),
            path: Some(file(folder).into()),
        }
    }

    /// Returns the correction of predictions for `question`.
    pub fn correction(&self, question: &Question) -> Correction {
        self.refresh();
        self.pages.lock().ledger.correction(question)
    }

    /// Returns the size of the recent errors of predictions like `question`, or `None` without
    /// errors.
    pub fn typical_error(&self, question: &Question) -> Option<TypicalError> {
        self.refresh();
        self.pages.lock().ledger.typical_error(question)
    }

    /// Adds an error. [`PredictionBook::save`] writes it to the file.
    pub fn record(&self, error: PastError) {
        let mut pages = self.pages.lock();
        pages.ledger.record(error.clone());
        if self.path.is_some() && pages.unsaved.len() < PredictionLedger::MOST {
            pages.unsaved.push(error);
        }
    }

    /// Writes the new errors to the file, next to those of other processes. Errors are lost if the
    /// disk is full or not writable: they are only learnt again.
    pub fn save(&self) {
        let Some(path) = &self.path else {
            return;
        };
        if self.is_saving.swap(true, Ordering::AcqRel) {
            // The other thread's errors would be lost, so these wait for the next save.
            return;
        }
        let unsaved = std::mem::take(&mut self.pages.lock().unsaved);
        if !unsaved.is_empty() {
            self.write(path, unsaved);
        }
        self.is_saving.store(false, Ordering::Release);
    }

    fn write(&self, path: &Path, unsaved: Vec<PastError>) {
        let ledger = PredictionLedger::from_errors(read(path).into_iter().chain(unsaved));
        let all: Vec<&PastError> = ledger.errors().collect();
        // Errors are lost if the file cannot be written: see `save`.
        let _ = write_checked(path, &all);
        self.turn_to(ledger.errors().cloned());
    }

    /// Replaces the ledger by the errors in the file and the unsaved ones.
    fn turn_to(&self, kept: impl Iterator<Item = PastError>) {
        let mut pages = self.pages.lock();
        let unsaved = pages.unsaved.clone();
        pages.ledger = PredictionLedger::from_errors(kept.chain(unsaved));
        pages.read = Some(Instant::now());
    }

    /// Reads the file again if that is due.
    fn refresh(&self) {
        let Some(path) = &self.path else {
            return;
        };
        let is_due = |read: Option<Instant>| read.is_none_or(|at| at.elapsed() >= READ_EVERY);
        if !is_due(self.pages.lock().read) {
            return;
        }
        self.turn_to(read(path).into_iter());
    }

    /// Returns whether other programs used the cores of `devices` in the last seconds. Simulated
    /// devices and GPUs are never disturbed.
    pub fn is_disturbed(devices: &Devices) -> bool {
        let Some(cores) = devices.host_cores() else {
            return false;
        };
        // A process that has just started has no recent load yet.
        let load = recent_load().or_else(|| load_since_start(LOOK));
        load.is_some_and(|load| load.is_disturbed(Some(&cores)))
    }
}

fn file(folder: &Path) -> PathBuf {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    hash.update(format!("predictions {build:?} {}", processor()));
    hash.update(divisi_runtime::compute::kernels_in_use());
    folder.join(format!("predictions-{}.json", &hex(hash)[..32]))
}

/// Returns the errors in a file, or none if the file is missing, damaged or too large.
fn read(path: &Path) -> Vec<PastError> {
    let size = fs::metadata(path).map_or(0, |facts| facts.len());
    match size <= MOST_BYTES {
        true => read_checked(path).unwrap_or_default(),
        false => Vec::new(),
    }
}
