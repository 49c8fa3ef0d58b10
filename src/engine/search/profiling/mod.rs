//! Profiles of this machine's devices: the time of each member's batches on each kind of device,
//! measured once and kept.

mod condition;
mod kept;
mod keys;
mod like;
mod measure;
mod worker;

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::serving::PredictorFactory;
use divisi_model::allocation::{Cell, Footprints};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::Ensemble;
use divisi_model::profile::{BatchTimes, Costs};
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::compute::kernels_in_use;
use divisi_runtime::device::{Computation, DeviceIndex, Devices, MemberIndex};

use super::cache::{Cache, ProfileRenewal};
use super::control::Control;
use super::error::{AskedError, EvaluationError, SearchError};

use condition::ConditionWatch;
use kept::{BATCHES, KeptMeasurement, WORKERS};
use keys::{cpu_key, gpu_key, lengths, profile_path};
use like::LikeDevices;
use measure::measure;
use worker::profile_worker;

pub use condition::ProfileCondition;
pub use kept::{KeptProfile, ProfileAbout};
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
    /// The worst condition of a measurement in use.
    pub condition: ProfileCondition,
    /// The time taken.
    pub elapsed: Duration,
}

/// A profile, kept or new.
struct FoundProfile<T> {
    profile: T,
    condition: ProfileCondition,
    is_new: bool,
}

/// Whether the host is quiet now. It is only watched if a kept profile was disturbed.
type QuietNow = LazyCell<bool>;

/// The period in which the host must be quiet before a disturbed profile is measured again.
const LOOK: Duration = Duration::from_millis(200);

/// The seconds of a batch on a lost device.
const NEVER: f64 = 1e6;

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
        let (mut measured, mut condition) = (0, ProfileCondition::Quiet);
        let quiet = LazyCell::new(quiet_now as fn() -> bool);
        let (kinds, members) = (self.kinds(), self.models().members.len());
        let needed = kinds.len() * members;
        self.control.update(|p| p.profiles = (0, needed));
        for kind in kinds {
            for member in MemberIndex::all(members) {
                self.control.checkpoint()?;
                let found = self.profile(member, &kind, &quiet)?;
                measured += usize::from(found.is_new);
                condition = condition.max(found.condition);
                self.control.update(|p| p.profiles.0 += 1);
                for &device in &kind.devices {
                    costs.set_measured(member, device, Arc::clone(&found.profile));
                }
            }
        }
        Ok(Profiled {
            costs,
            measured,
            condition,
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
                let known = path
                    .and_then(|p| KeptMeasurement::read(&p))
                    .filter(|k| has(k, &sizes));
                let known = known.map(|kept| kept.measured);
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
            condition: ProfileCondition::Quiet,
            elapsed: started.elapsed(),
        })
    }

    /// Returns the loading time of each member's worker and the tails of its batch times on the kind
    /// of a device, with the condition of the measurement: kept profiles, or new measurements.
    ///
    /// # Errors
    /// The device is simulated, a network does not run, or the search was cancelled.
    pub fn workers(
        &self,
        device: DeviceIndex,
    ) -> Result<Vec<(WorkerProfile, ProfileCondition)>, SearchError> {
        let kinds = self.kinds();
        let kind = kinds.iter().find(|kind| kind.devices.contains(&device));
        let Some(kind) = kind else {
            let name = self.devices.get(device).name.clone();
            return Err(EvaluationError::FollowsLaw(name).into());
        };
        let quiet = LazyCell::new(quiet_now as fn() -> bool);
        let members = MemberIndex::all(self.models().members.len());
        let each = members.map(|member| {
            self.control.checkpoint()?;
            self.worker(member, kind, &quiet)
        });
        each.collect()
    }

    fn worker(
        &self,
        member: MemberIndex,
        kind: &LikeDevices<'_>,
        quiet: &QuietNow,
    ) -> Result<(WorkerProfile, ProfileCondition), SearchError> {
        let sizes = self.sizes(member, kind)?;
        let has = |worker: &WorkerProfile| {
            let mut sizes = sizes.iter();
            sizes.all(|size| worker.tails.iter().any(|(known, _)| known == size))
        };
        let path = self.path(WORKERS, member, kind);
        let kept: Option<KeptMeasurement<WorkerProfile>> =
            path.as_deref().and_then(KeptMeasurement::read);
        let kept = kept.filter(|kept| has(&kept.measured));
        if let Some(known) = self.trusted(kept, quiet) {
            return Ok((known.measured, known.about.condition));
        }
        let watch = ConditionWatch::start(kind.cores(self.devices));
        let measured = profile_worker(self, member, kind.busy(), &sizes)?;
        let condition = watch.end(true);
        self.keep(path.as_deref(), member, kind, &measured, condition);
        Ok((measured, condition))
    }

    /// Returns a kept profile if it needs no new measurement.
    fn trusted<T>(
        &self,
        kept: Option<KeptMeasurement<T>>,
        quiet: &QuietNow,
    ) -> Option<KeptMeasurement<T>> {
        let renewal = self.cache.map(Cache::renewal).unwrap_or_default();
        kept.filter(|kept| match renewal {
            ProfileRenewal::Never => true,
            ProfileRenewal::Disturbed => kept.about.condition.is_quiet() || !**quiet,
            ProfileRenewal::All => false,
        })
    }

    /// Keeps a measurement with its origin.
    fn keep<T: Clone + Serialize + DeserializeOwned>(
        &self,
        path: Option<&Path>,
        column: MemberIndex,
        kind: &LikeDevices<'_>,
        measured: &T,
        condition: ProfileCondition,
    ) {
        let Some(path) = path else {
            return;
        };
        let member = &self.models().members[column];
        let about = ProfileAbout {
            member: member.name.clone(),
            precision: match kind.like.computation() {
                Computation::Gpu(info) => {
                    let precision = member.precision.on_gpu(info, self.models().precision);
                    precision.to_string()
                }
                _ => member.precision.cores.to_string(),
            },
            device: kind.words(),
            kernels: kernels_in_use(),
            measured_at: unix_seconds(),
            condition,
        };
        let measured = measured.clone();
        KeptMeasurement { about, measured }.write(path);
    }

    fn path(&self, of: &str, column: MemberIndex, kind: &LikeDevices<'_>) -> Option<PathBuf> {
        let cache = self.cache?;
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

    /// Returns the kept or a new profile.
    fn profile(
        &self,
        member: MemberIndex,
        kind: &LikeDevices<'_>,
        quiet: &QuietNow,
    ) -> Result<FoundProfile<Arc<BatchTimes>>, SearchError> {
        let known = |profile, condition| FoundProfile {
            profile: Arc::new(profile),
            condition,
            is_new: false,
        };
        let sizes = self.sizes(member, kind)?;
        let path = self.path(BATCHES, member, kind);
        let kept = path.as_deref().and_then(KeptMeasurement::read);
        let kept = kept.filter(|kept| has(kept, &sizes));
        if let Some(kept) = self.trusted(kept, quiet) {
            return Ok(known(kept.measured, kept.about.condition));
        }
        if let Some(never) = self.never(kind) {
            return Ok(known(never, ProfileCondition::Quiet));
        }
        self.control.update(|p| p.measuring = true);
        let watch = ConditionWatch::start(kind.cores(self.devices));
        let measured = measure(self, member, kind.busy(), &sizes)?;
        let condition = watch.end(measured.agreed);
        let profile = BatchTimes::new(measured.points)?;
        self.keep(path.as_deref(), member, kind, &profile, condition);
        Ok(FoundProfile {
            is_new: true,
            ..known(profile, condition)
        })
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

/// Returns whether a kept profile contains all of `sizes`.
fn has(kept: &KeptMeasurement<BatchTimes>, sizes: &[usize]) -> bool {
    let points = Vec::from(kept.measured.clone());
    let has = |size: &usize| points.iter().any(|(rows, _)| rows == size);
    sizes.iter().all(has)
}

/// Watches the host for a moment, and returns whether it is quiet.
fn quiet_now() -> bool {
    let watch = ConditionWatch::start(None);
    thread::sleep(LOOK);
    watch.end(true).is_quiet()
}
