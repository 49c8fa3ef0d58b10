//! The labelled rows on which accuracies were counted.

use divisi_model::ensemble::Samples;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The labelled rows on which the accuracies of an ensemble were counted. Accuracies can be compared
/// only if they were counted on the same rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledRows {
    /// The number of rows.
    pub count: u32,
    /// A digest of the samples and their labels, in their order.
    pub digest: String,
}

/// The number of samples that are converted and hashed at once.
const PIECE: usize = 64;

impl LabelledRows {
    /// Returns the record of samples. Reads all of them.
    pub fn from_samples(samples: &Samples) -> Self {
        let mut hash = Sha256::new();
        for first in (0..samples.len()).step_by(PIECE) {
            let count = PIECE.min(samples.len() - first);
            let values = samples.rows(first, count);
            values.iter().for_each(|v| hash.update(v.to_le_bytes()));
        }
        let labels = samples.labels().unwrap_or_default();
        let labels = labels.iter().map(|label| *label as u64);
        labels.for_each(|label| hash.update(label.to_le_bytes()));
        LabelledRows {
            count: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            digest: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}
