//! The keys of kept profiles: everything that can change a time.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::search::checked::{hex, processor};
use divisi_model::ensemble::{Ensemble, Member};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::kernels_in_use;
use divisi_runtime::device::gpu::GpuInfo;

/// Returns the lengths of the calibration samples if they vary.
pub(super) fn lengths(ensemble: &Ensemble) -> Vec<f32> {
    let samples = ensemble
        .calibration
        .iter()
        .filter(|_| ensemble.lengths.is_some());
    let rows = samples.flat_map(|s| s.values().chunks_exact(s.width()));
    rows.filter_map(|row| row.first().copied()).collect()
}

/// Returns the key of a profile, derived from everything that can change a time. Weights do not.
pub(super) fn cpu_key(
    member: &Member,
    lengths: &[f32],
    threads: usize,
    partitions: usize,
) -> String {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    hash.update(format!("profile {build:?} {}", processor()));
    hash.update(kernels_in_use());
    hash.update(format!(
        "{threads} threads, {partitions} partitions, {}",
        member.precision.cores
    ));
    if let Some(calibration) = member.calibration() {
        hash.update(format!("{calibration:?}"));
    }
    lengths.iter().for_each(|l| hash.update(l.to_le_bytes()));
    hash.update(format!("{:?} {:?}", member.graph, member.outputs));
    hex(hash)
}

/// Returns the key for a model of GPU that computes in `precision`.
pub(super) fn gpu_key(member: &Member, gpu: &GpuInfo, precision: Precision) -> String {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    // The samples come from this machine's memory.
    hash.update(format!("profile {build:?} {}", processor()));
    let model = (&gpu.name, gpu.capability, gpu.multiprocessors, gpu.driver);
    let cudnn = cfg!(feature = "cudnn");
    hash.update(format!("gpu {model:?} {precision} {cudnn}"));
    hash.update(format!("{:?} {:?}", member.graph, member.outputs));
    hex(hash)
}

/// Returns the path of the profile with key `key`.
pub(super) fn profile_path(folder: &Path, of: &str, key: &str) -> PathBuf {
    folder.join(format!("{of}-{}.json", &key[..32]))
}
