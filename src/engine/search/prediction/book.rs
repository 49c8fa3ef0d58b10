//! The ledger of this machine: shared by the searches and predictions of a process, and kept in the
//! folder of the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use divisi_runtime::device::Devices;
use divisi_runtime::device::host::HostCounters;
use divisi_runtime::lock::Leaf;

use crate::search::checked::{hex, processor, read_checked, write_checked};
use crate::search::occasion::host_cores;

use super::ledger::{Correction, PastError, PredictionLedger, Question};

/// The most bytes of a file of errors; a larger one is not read.
const MOST_BYTES: u64 = 1 << 20;
/// The time after which the file is read again, because other processes write it too.
const READ_EVERY: Duration = Duration::from_secs(2);
/// The shortest period over which the host's load is counted.
const LOAD_WINDOW: Duration = Duration::from_secs(2);

/// The ledger of errors with its file. Clones share the ledger.
#[derive(Clone, Debug, Default)]
pub struct PredictionBook {
    pages: Arc<Leaf<Pages>>,
    /// The file, or `None` to keep the ledger in memory only.
    path: Option<Arc<Path>>,
}

#[derive(Debug, Default)]
struct Pages {
    ledger: PredictionLedger,
    /// Errors that the file does not have yet.
    unsaved: Vec<PastError>,
    read: Option<Instant>,
    host: HostWindow,
}

/// The load of the host since the last look.
#[derive(Debug, Default)]
struct HostWindow {
    counters: Option<(Instant, HostCounters)>,
    disturbed: bool,
}

impl PredictionBook {
    /// Returns the book in `folder` for this build, processor and kernels: errors of other kernels
    /// do not apply.
    pub fn at(folder: &Path) -> Self {
        PredictionBook {
            pages: Arc::default(),
            path: Some(file(folder).into()),
        }
    }

    /// Returns the correction of predictions for `question`.
    pub fn correction(&self, question: &Question) -> Correction {
        self.refresh();
        self.pages.lock().ledger.correction(question)
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
        let unsaved = std::mem::take(&mut self.pages.lock().unsaved);
        if unsaved.is_empty() {
            return;
        }
        let ledger = PredictionLedger::from_errors(read(path).into_iter().chain(unsaved));
        let all: Vec<&PastError> = ledger.errors().collect();
        // See above.
        let _ = write_checked(path, &all);
        let mut pages = self.pages.lock();
        pages.read = Some(Instant::now());
        pages.ledger = ledger;
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
        let kept = read(path);
        let mut pages = self.pages.lock();
        let unsaved = pages.unsaved.clone();
        pages.ledger = PredictionLedger::from_errors(kept.into_iter().chain(unsaved));
        pages.read = Some(Instant::now());
    }

    /// Returns whether other programs use the cores of `devices` now. Simulated devices and GPUs
    /// are never disturbed.
    pub fn is_disturbed(&self, devices: &Devices) -> bool {
        let Some(cores) = host_cores(devices) else {
            return false;
        };
        let mut pages = self.pages.lock();
        let host = &mut pages.host;
        let is_due = |(at, _): &(Instant, HostCounters)| at.elapsed() >= LOAD_WINDOW;
        if host.counters.as_ref().is_none_or(is_due) {
            let now = HostCounters::read();
            if let (Some((_, before)), Some(now)) = (&host.counters, &now) {
                host.disturbed = now.load_since(before).is_disturbed(Some(&cores));
            }
            host.counters = now.map(|now| (Instant::now(), now));
        }
        host.disturbed
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
