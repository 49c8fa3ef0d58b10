//! Numbers for the subjects of predictions, so that errors are kept without names.

use sha2::{Digest, Sha256};

use crate::search::model::Batching;
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::{Ensemble, MemberPrecision};
use divisi_runtime::device::Devices;

/// Returns a number for the models and devices that predictions are about.
pub fn subject_number(models: &Ensemble, devices: &Devices) -> u64 {
    let names = models.members.iter().map(|member| member.name.as_str());
    let devices = devices.iter().map(|device| device.name.as_str());
    let parts = std::iter::once(models.name.as_str()).chain(names);
    number(parts.chain(devices).map(str::as_bytes))
}

/// Returns the number of `matrix` with the settings of the manifest.
pub(in crate::search) fn setup_of(matrix: &Matrix, models: &Ensemble) -> u64 {
    let precisions = models.members.iter().map(|member| member.precision);
    setup_number(matrix, Batching::from_ensemble(models), precisions)
}

/// Returns a number for a matrix with the settings that change its throughput.
pub fn setup_number(
    matrix: &Matrix,
    batching: Batching,
    precisions: impl Iterator<Item = MemberPrecision>,
) -> u64 {
    let precisions: Vec<String> = precisions.map(|p| p.to_string()).collect();
    let text = format!("{:?} {batching:?} {precisions:?}", matrix.rows());
    number(std::iter::once(text.as_bytes()))
}

/// Returns the first bytes of the hash of `parts`.
fn number<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    let bytes = hash.finalize();
    let first = bytes.first_chunk().copied();
    first.map_or(0, u64::from_le_bytes)
}
