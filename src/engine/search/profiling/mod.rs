//! Profiles of this machine's devices: the time of each member's batches on each kind of device,
//! measured once and kept.

mod measure;
mod worker;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::serving::PredictorFactory;
use divisi_model::allocation::{Cell, Footprints};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::{Ensemble, Member};
use divisi_model::profile::{BatchTimes, Costs};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::gpu::GpuInfo;
use divisi_runtime::device::{Computation, DeviceIndex, DeviceKind, Devices, MemberIndex};

use super::cache::{Cache, hex, processor, read_checked, write_checked};
use super::control::Control;
use super::error::{AskedError, EvaluationError, SearchError};

use measure::measure;
use worker::profile_worker;

pub use worker::WorkerProfile;

/// The inputs for profiles.
pub struct Profiler<'a> {
    /// The models, with the samples for measuring.
    pub catalogue: &'a Catalogue,
    /// The devices.
    pub devices: &'a Devices,
    /// The memory of each worker. Batches that do not fit in the remaining memory are not measured.
    pub footprints: &'a Footprints,
    /// The factory of workers.
    pub factory: &'a dyn PredictorFactory,
    /// The cache of profiles.
    pub cache: Option<&'a Cache>,
    /// The control of the search.
    pub control: &'a Control,
}

/// Costs of every member on every device.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The costs.
    pub costs: Costs,
    /// Members measured now, counted once per kind of device. The others were known.
    pub measured: usize,
    /// The time taken.
    pub elapsed: Duration,
}

/// Devices of one kind, which share a profile: partitions with the same number of threads, or GPUs
/// of one model.
struct LikeDevices<'a> {
    like: &'a DeviceKind,
    devices: Vec<DeviceIndex>,
}

/// The seconds of a batch on a lost device.
const NEVER: f64 = 1e6;

impl LikeDevices<'_> {
    /// Returns the devices that are busy during a measurement: all devices of the host, because
    /// they contend with each other, or one GPU.
    fn busy(&self) -> &[DeviceIndex] {
        match self.like.is_of_host() {
            true => &self.devices,
            false => &self.devices[..1],
        }
    }

    /// Returns whether devices of the kind may be lost while the host continues.
    fn may_be_lost(&self) -> bool {
        !self.like.is_of_host()
    }
}

impl Profiler<'_> {
    fn models(&self) -> &Ensemble {
        self.catalogue.models()
    }

    /// Returns the ensemble whose samples are used to measure a member.
    fn holder(&self, column: MemberIndex) -> &Ensemble {
        let holder = self.catalogue.entry_with(column);
        holder.map_or(self.models(), |(entry, _)| entry.ensemble())
    }

    /// Returns the laws of simulated devices, and profiles of the others, measured if none is kept.
    ///
    /// # Errors
    /// A network does not run, a member fits on no device of a kind at any batch size, or the
    /// search was cancelled.
    pub fn costs(&self) -> Result<Profiled, SearchError> {
        let started = Instant::now();
        let mut costs = Costs::of_laws(self.models(), self.devices);
        let mut measured = 0;
        let (kinds, members) = (self.kinds(), self.models().members.len());
        let needed = kinds.len() * members;
        self.control.update(|p| p.profiles = (0, needed));
        for kind in kinds {
            for member in MemberIndex::all(members) {
                self.control.checkpoint()?;
                let (profile, new) = self.profile(member, &kind)?;
                measured += usize::from(new);
                self.control.update(|p| p.profiles.0 += 1);
                for &device in &kind.devices {
                    costs.set_measured(member, device, Arc::clone(&profile));
                }
            }
        }
        Ok(Profiled {
            costs,
            measured,
            elapsed: started.elapsed(),
        })
    }

    /// Returns costs from laws and kept profiles only. The others are unknown.
    pub fn kept_costs(&self) -> Costs {
        let mut costs = Costs::of_laws(self.models(), self.devices);
        for kind in self.kinds() {
            for member in MemberIndex::all(self.models().members.len()) {
                let sizes = self.sizes(member, &kind).unwrap_or_default();
                let path = self.path(BATCHES, member, &kind);
                let known = path.and_then(|p| load(&p, &sizes));
                let Some(known) = known.or_else(|| self.never(&kind)) else {
                    continue;
                };
                let known = Arc::new(known);
                for &device in &kind.devices {
                    costs.set_measured(member, device, Arc::clone(&known));
                }
            }
        }
        costs
    }

    /// Returns the costs in `known`, completed by kept profiles. Measures nothing.
    ///
    /// # Errors
    /// The costs of a member on a device are unknown.
    pub fn without_measuring(&self, known: Option<&Costs>) -> Result<Profiled, SearchError> {
        let started = Instant::now();
        // The caller has predicted with these costs, so the same matrix keeps its prediction.
        let whole = known.filter(|known| known.is_complete());
        let mut costs = whole.map_or_else(|| self.kept_costs(), Clone::clone);
        if let Some(known) = known {
            costs.fill_from(known);
        }
        if let Some((member, device)) = costs.unknown() {
            return Err(SearchError::Asked(AskedError::NotProfiled {
                member: self.models().members[member].name.clone(),
                device: self.devices.get(device).name.clone(),
            }));
        }
        Ok(Profiled {
            costs,
            measured: 0,
            elapsed: started.elapsed(),
        })
    }

    /// Returns the loading time of a member's worker and the tail of its batch times on the kind of
    /// a device: the kept profile, or a new measurement.
    ///
    /// # Errors
    /// The device is simulated, a network does not run, or the search was cancelled.
    pub fn worker(
        &self,
        member: MemberIndex,
        device: DeviceIndex,
    ) -> Result<WorkerProfile, SearchError> {
        let kinds = self.kinds();
        let kind = kinds.iter().find(|kind| kind.devices.contains(&device));
        let Some(kind) = kind else {
            let name = self.devices.get(device).name.clone();
            return Err(EvaluationError::FollowsLaw(name).into());
        };
        let smallest = self.models().batch_sizes.smallest().get();
        let path = self.path(&format!("{WORKERS}-{smallest}"), member, kind);
        if let Some(known) = path.as_deref().and_then(read_checked) {
            return Ok(known);
        }
        let found = profile_worker(self, member, kind.busy(), smallest)?;
        if let Some(path) = path {
            // Ignores errors, as for the times of batches.
            let _ = write_checked(&path, &found);
        }
        Ok(found)
    }

    fn path(&self, of: &str, member: MemberIndex, kind: &LikeDevices<'_>) -> Option<PathBuf> {
        let cache = self.cache?;
        let column = member;
        let member = &self.models().members[column];
        let key = match kind.like.computation() {
            Computation::Kernels(cores) => {
                let lengths = lengths(self.holder(column));
                cpu_key(member, &lengths, cores.len(), kind.devices.len())
            }
            Computation::Gpu(info) => gpu_key(
                member,
                info,
                member.precision.on_gpu(info, self.models().precision),
            ),
            // A law is not measured, so there is nothing to keep.
            Computation::Law(_) => return None,
        };
        Some(profile_path(cache.folder(), of, &key))
    }

    fn kinds(&self) -> Vec<LikeDevices<'_>> {
        let mut kinds: Vec<LikeDevices<'_>> = Vec::new();
        let real = self.devices.enumerate();
        for (index, device) in real.filter(|(_, d)| d.kind.is_measured()) {
            let like = &device.kind;
            match kinds.iter_mut().find(|k| k.like.is_like(like)) {
                Some(kind) => kind.devices.push(index),
                None => kinds.push(LikeDevices {
                    like,
                    devices: vec![index],
                }),
            }
        }
        for kind in &mut kinds {
            // Sorts lost devices last.
            kind.devices
                .sort_by_key(|&device| self.devices.memory_bytes(device) == 0);
        }
        kinds
    }

    /// Returns nearly infinite times if all GPUs of the kind are lost. No worker is placed there,
    /// but the costs must be known.
    fn never(&self, kind: &LikeDevices<'_>) -> Option<BatchTimes> {
        let lost = self.devices.memory_bytes(kind.devices[0]) == 0;
        (kind.may_be_lost() && lost).then(|| BatchTimes::new(vec![(1, NEVER)]).ok())?
    }

    /// Returns the kept or a new profile, and whether it is new.
    fn profile(
        &self,
        member: MemberIndex,
        kind: &LikeDevices<'_>,
    ) -> Result<(Arc<BatchTimes>, bool), SearchError> {
        let sizes = self.sizes(member, kind)?;
        let path = self.path(BATCHES, member, kind);
        if let Some(known) = path.as_deref().and_then(|p| load(p, &sizes)) {
            return Ok((Arc::new(known), false));
        }
        if let Some(never) = self.never(kind) {
            return Ok((Arc::new(never), false));
        }
        self.control.update(|p| p.measuring = true);
        let points = measure(self, member, kind.busy(), &sizes)?;
        let profile = BatchTimes::new(points)?;
        if let Some(path) = path {
            // A profile that cannot be kept is only measured again next time.
            let _ = keep(&path, &profile);
        }
        Ok((Arc::new(profile), true))
    }

    /// Returns the batch sizes that fit on all devices measured at once, the largest first.
    fn sizes(
        &self,
        member: MemberIndex,
        kind: &LikeDevices<'_>,
    ) -> Result<Vec<usize>, SearchError> {
        let sizes: Vec<_> = self.models().batch_sizes.iter().collect();
        let device = kind.devices[0];
        let needed = |size| self.footprints.bytes(Cell { device, member }, size);
        let free = self.devices.memory_bytes(device) / kind.busy().len() as u64;
        let fitting = sizes.iter().rev().filter(|&&size| needed(size) <= free);
        let fitting: Vec<usize> = fitting.map(|s| s.get()).collect();
        // If workers on all devices do not fit at once, the smallest may fit alone.
        if fitting.is_empty() {
            return Ok(vec![sizes[0].get()]);
        }
        Ok(fitting)
    }
}

/// Returns the lengths of the calibration samples if they vary.
fn lengths(ensemble: &Ensemble) -> Vec<f32> {
    let samples = ensemble
        .calibration
        .iter()
        .filter(|_| ensemble.lengths.is_some());
    let rows = samples.flat_map(|s| s.values().chunks_exact(s.width()));
    rows.filter_map(|row| row.first().copied()).collect()
}

/// Returns the key of a profile, derived from everything that can change a time. Weights do not.
fn cpu_key(member: &Member, lengths: &[f32], threads: usize, partitions: usize) -> String {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    hash.update(format!("profile {build:?} {}", processor()));
    hash.update(divisi_runtime::compute::kernels_in_use());
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
fn gpu_key(member: &Member, gpu: &GpuInfo, precision: Precision) -> String {
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

/// The prefixes of the files of kept batch times and worker profiles.
const BATCHES: &str = "profile";
const WORKERS: &str = "worker";

/// Returns the path of the profile with key `key`.
fn profile_path(folder: &Path, of: &str, key: &str) -> PathBuf {
    folder.join(format!("{of}-{}.json", &key[..32]))
}

/// Returns a kept profile that contains all of `sizes`.
fn load(path: &Path, sizes: &[usize]) -> Option<BatchTimes> {
    let profile: BatchTimes = read_checked(path)?;
    let points = Vec::from(profile.clone());
    let has = |size: &usize| points.iter().any(|(rows, _)| rows == size);
    sizes.iter().all(has).then_some(profile)
}

/// Keeps a profile.
///
/// # Errors
/// The disk is full or not writable.
fn keep(path: &Path, profile: &BatchTimes) -> io::Result<()> {
    write_checked(path, profile)
}
