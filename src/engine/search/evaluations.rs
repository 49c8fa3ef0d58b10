//! Accuracies by precision, as `divisi accuracy --precisions` measured them, kept in the cache for
//! the questions of a console.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use divisi_model::ensemble::{Ensemble, Measure, MemberPrecision};

use super::cache::{Cache, add_values};
use super::checked::{hex, processor, read_checked, write_checked};

/// The accuracy of an ensemble with all members in one precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredAccuracy {
    /// The precision of all members.
    pub precision: MemberPrecision,
    /// The measure.
    pub measure: Measure,
    /// Its value.
    pub value: f64,
    /// The number of samples.
    pub samples: usize,
    /// The time of the measurement, in seconds since 1970.
    pub at: u64,
}

/// The most bytes of a file; a larger one is not read.
const MOST_BYTES: u64 = 1 << 20;
/// The most accuracies that are read.
const MOST: usize = 64;

impl Cache {
    /// Stores accuracies that were measured on the same samples, instead of earlier ones.
    ///
    /// # Errors
    /// The disk is full or not writable.
    pub fn store_accuracies(
        &self,
        ensemble: &Ensemble,
        measured: &[MeasuredAccuracy],
    ) -> io::Result<()> {
        write_checked(&self.accuracies_of(ensemble), &measured)
    }

    /// Returns the stored accuracies of an ensemble with these networks and weights, or none if
    /// they are missing or damaged. Takes a while for large networks, because it reads the weights.
    pub fn accuracies(&self, ensemble: &Ensemble) -> Vec<MeasuredAccuracy> {
        let path = self.accuracies_of(ensemble);
        let size = fs::metadata(&path).map_or(0, |facts| facts.len());
        let stored = (size <= MOST_BYTES).then(|| read_checked(&path)).flatten();
        let mut stored: Vec<MeasuredAccuracy> = stored.unwrap_or_default();
        stored.retain(|one| one.value.is_finite() && one.samples > 0);
        stored.truncate(MOST);
        stored
    }

    fn accuracies_of(&self, ensemble: &Ensemble) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(format!(
            "accuracies {} {}",
            env!("CARGO_PKG_VERSION"),
            processor()
        ));
        hash.update(divisi_runtime::compute::kernels_in_use());
        hash.update(format!("{:?}", ensemble.combination()));
        for member in &ensemble.members {
            let (name, graph) = (&member.name, &member.graph);
            hash.update(format!("{name} {graph:?} {:?}", member.outputs));
            for (_, values) in member.weights.iter() {
                add_values(&mut hash, values);
            }
        }
        self.folder()
            .join(format!("accuracies-{}.json", &hex(hash)[..32]))
    }
}
