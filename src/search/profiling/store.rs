//! Profiles on disk, one a network and kind of device, whatever ensemble it is in.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::compute::gpu::Precision;
use crate::device::gpu::GpuInfo;
use crate::ensemble::Member;
use crate::profile::Measured;
use crate::search::checksummed;

/// Names a profile: everything that could change a time goes in. Weights do not.
pub(super) fn key(member: &Member, threads: usize, partitions: usize) -> String {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    hash.update(format!("profile {build:?} {}", checksummed::processor()));
    hash.update(crate::compute::kernels_in_use());
    hash.update(format!("{threads} threads, {partitions} partitions"));
    hash.update(format!("{:?} {:?}", member.graph, member.outputs));
    checksummed::hex(hash)
}

/// The same for a model of GPU that computes in `precision`.
pub(super) fn gpu_key(member: &Member, gpu: &GpuInfo, precision: Precision) -> String {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    // Samples come from this machine's memory.
    hash.update(format!("profile {build:?} {}", checksummed::processor()));
    let model = (&gpu.name, gpu.capability, gpu.multiprocessors, gpu.driver);
    let cudnn = cfg!(feature = "cudnn");
    hash.update(format!("gpu {model:?} {precision} {cudnn}"));
    hash.update(format!("{:?} {:?}", member.graph, member.outputs));
    checksummed::hex(hash)
}

/// Where the profile called `key` is kept.
pub(super) fn path(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("profile-{}.json", &key[..32]))
}

/// A profile that was kept and has all of `sizes`.
pub(super) fn load(path: &Path, sizes: &[usize]) -> Option<Measured> {
    let profile: Measured = checksummed::read(path)?;
    let points = Vec::from(profile.clone());
    let has = |size: &usize| points.iter().any(|(rows, _)| rows == size);
    sizes.iter().all(has).then_some(profile)
}

/// Keeps a profile.
///
/// # Errors
/// The disk is full or not writable.
pub(super) fn keep(path: &Path, profile: &Measured) -> io::Result<()> {
    checksummed::write(path, profile)
}
