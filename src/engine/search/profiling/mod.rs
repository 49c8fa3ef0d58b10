//! Profiles of this machine's devices: what a batch of each member takes on each kind
//! of device, measured once and kept.

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

/// Everything that profiles are made from.
pub struct Profiler<'a> {
    /// The models, with the samples of those that are asked for them.
    pub catalogue: &'a Catalogue,
    /// The devices.
    pub devices: &'a Devices,
    /// The memory of each worker: batches that do not fit in the memory that is left are not
    /// measured.
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
    /// Members measured now, counted once a kind of device; the others were known.
    pub measured: usize,
    /// The time that it took.
    pub elapsed: Duration,
}

/// Partitions of as many threads are one kind, GPUs of one model another: what is measured
/// on one holds for all.
struct LikeDevices<'a> {
    like: &'a DeviceKind,
    devices: Vec<DeviceIndex>,
}

/// Seconds of a batch on a device that is lost.
const NEVER: f64 = 1e6;

impl LikeDevices<'_> {
    /// Those that are busy while it is measured: what is of the host takes from each other,
    /// GPUs do not.
    fn busy(&self) -> &[DeviceIndex] {
        match self.like.is_of_host() {
            true => &self.devices,
            false => &self.devices[..1],
        }
    }

    /// Whether devices of the kind may be gone while the host goes on.
    fn may_be_lost(&self) -> bool {
        !self.like.is_of_host()
    }
}

impl Profiler<'_> {
    fn models(&self) -> &Ensemble {
        self.catalogue.models()
    }

    /// Returns the ensemble whose samples a member is measured with.
    fn holder(&self, column: MemberIndex) -> &Ensemble {
        let holder = self.catalogue.holder(column);
        holder.map_or(self.models(), |(entry, _)| entry.ensemble())
    }

    /// Laws of simulated devices; profiles of the others, measured where none is kept.
    ///
    /// # Errors
    /// A network does not run, a member fits on no device of a kind at any batch size,
    /// or the search was cancelled.
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

    /// The same from profiles that are kept alone; what there is none of is unknown.
    pub fn kept(&self) -> Costs {
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

    /// From what is `known`, and from profiles that are kept where that is not all.
    ///
    /// # Errors
    /// Neither knows a member on a device.
    pub fn without_measuring(&self, known: Option<&Costs>) -> Result<Profiled, SearchError> {
        let started = Instant::now();
        // Whoever asks has predicted by it: the same matrix is not predicted twice.
        let whole = known.filter(|known| known.is_complete());
        let mut costs = whole.map_or_else(|| self.kept(), Clone::clone);
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

    /// Returns how long a worker of a member takes to load and how its slowest batches differ from
    /// the usual one, on the kind of a device: as it is kept, else measured.
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
            // As for the times of batches.
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
            // A lost one is asked last.
            kind.devices
                .sort_by_key(|&device| self.devices.memory_bytes(device) == 0);
        }
        kinds
    }

    /// Returns nearly endless times for GPUs that are all lost. No worker is placed there,
    /// but their costs must be known.
    fn never(&self, kind: &LikeDevices<'_>) -> Option<BatchTimes> {
        let lost = self.devices.memory_bytes(kind.devices[0]) == 0;
        (kind.may_be_lost() && lost).then(|| BatchTimes::new(vec![(1, NEVER)]).ok())?
    }

    /// The profile kept, or a new one; whether it is new.
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
            // What cannot be kept is measured again next time; nothing else is lost.
            let _ = keep(&path, &profile);
        }
        Ok((Arc::new(profile), true))
    }

    /// Batch sizes that fit on every device that is measured at once, largest first.
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
        // Where not all of them fit at once, the smallest may fit alone.
        if fitting.is_empty() {
            return Ok(vec![sizes[0].get()]);
        }
        Ok(fitting)
    }
}

/// Returns the lengths of the calibration samples, where these vary.
fn lengths(ensemble: &Ensemble) -> Vec<f32> {
    let samples = ensemble
        .calibration
        .iter()
        .filter(|_| ensemble.lengths.is_some());
    let rows = samples.flat_map(|s| s.values().chunks_exact(s.width()));
    rows.filter_map(|row| row.first().copied()).collect()
}

/// Names a profile: everything that could change a time goes in. Weights do not.
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

/// The same for a model of GPU that computes in `precision`.
fn gpu_key(member: &Member, gpu: &GpuInfo, precision: Precision) -> String {
    let mut hash = Sha256::new();
    let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
    // Samples come from this machine's memory.
    hash.update(format!("profile {build:?} {}", processor()));
    let model = (&gpu.name, gpu.capability, gpu.multiprocessors, gpu.driver);
    let cudnn = cfg!(feature = "cudnn");
    hash.update(format!("gpu {model:?} {precision} {cudnn}"));
    hash.update(format!("{:?} {:?}", member.graph, member.outputs));
    hex(hash)
}

/// The beginnings of the names of files of kept times of batches, and of kept profiles of workers,
/// before the size of their batches.
const BATCHES: &str = "profile";
const WORKERS: &str = "worker";

/// Where the profile called `key` is kept.
fn profile_path(folder: &Path, of: &str, key: &str) -> PathBuf {
    folder.join(format!("{of}-{}.json", &key[..32]))
}

/// A profile that was kept and has all of `sizes`.
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
