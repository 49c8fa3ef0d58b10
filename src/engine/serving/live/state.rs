//! The state shared by all threads of an engine: the core, the waiting samples, the clock, the
//! drivers, the counters, the lost devices, and the promises to clients. Also the settings in
//! force.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::serving::batch::{PipelineIndex, WorkerId};
use crate::serving::core::{Core, CoreConfig, PipelineConfig};
use crate::serving::events::EngineEvent;
use crate::serving::ledger::RequestLedger;
use crate::serving::pool::Storage;
use divisi_model::allocation::PoolSize;
use divisi_model::catalogue::{Catalogue, CatalogueEntry};
use divisi_model::ensemble::{Combination, CombinationRule, Ensemble, PolicyKind};
use divisi_model::profile::Costs;
use divisi_model::trace::SpanRing;
use divisi_runtime::device::{DeviceIndex, Devices};
use divisi_runtime::lock::{Ranked, RankedGuard};

use super::counters::EngineCounters;
use super::drivers::{self, DeviceDriver, DriverError, LossReason, ServedNetworks};
use super::locks::{CoreRank, Leaf};
use super::options::EngineOptions;
use super::promise::PromiseLedger;
use super::request::RequestData;
use super::served::ServedEnsemble;

/// The most spans kept per device until they are read.
pub const SPAN_BOUND: usize = 16_384;

/// The number of engines started in this process.
static ENGINES: AtomicU64 = AtomicU64::new(0);

/// The state of an engine.
pub(crate) struct EngineState {
    pub catalogue: Arc<Catalogue>,
    /// The members of all entries of the catalogue, one per column of the matrix.
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    pub networks: ServedNetworks,
    /// Costs of batches on simulated devices.
    pub costs: Arc<Costs>,
    /// Whether answers are meaningful: computed, with weights that are not synthetic.
    pub answers_are_real: bool,
    /// The entries of the catalogue, by [`PipelineIndex`].
    pub served: Vec<Arc<ServedEnsemble>>,
    /// Whether any entry has steps.
    pub has_steps: bool,
    start: Instant,
    /// The number of the engine in this process.
    pub serial: u64,
    /// The driver of each device.
    pub drivers: Vec<Arc<dyn DeviceDriver>>,
    /// The spans of each device.
    pub spans: Vec<SpanRing>,
    pub timer: OnceLock<Thread>,
    pub stopping: AtomicBool,
    pub counters: EngineCounters,
    pub losses: Losses,
    pub promises: Arc<PromiseLedger>,
    /// The ledger of errors: that of the engine before, if it was set, or a new one.
    pub(super) ledger: OnceLock<Arc<RequestLedger>>,
    /// Whether another engine replaces this one. Requests that it refuses are sent to the other one.
    pub is_followed: AtomicBool,
    core: Ranked<CoreRank, Core<Arc<RequestData>>>,
}

impl EngineState {
    /// Opens a driver for each device, and a pool with this number of extents for each entry of the
    /// catalogue.
    ///
    /// # Errors
    /// A device cannot be used.
    pub(super) fn open(
        catalogue: Arc<Catalogue>,
        networks: ServedNetworks,
        devices: Devices,
        pools: &[PoolSize],
        options: EngineOptions,
    ) -> Result<Self, DriverError> {
        let ensemble = Arc::clone(&networks.ensemble);
        let costs = Arc::new(Costs::of_laws(&ensemble, &devices));
        let drivers = drivers::open(&networks, &devices, &costs, options.priority)?;
        let core = core(&catalogue, pools, &drivers);
        // Answers of simulated devices or of synthetic weights say nothing about the members.
        let computed = drivers.iter().all(|d| d.capabilities().computes);
        // A pipeline has no votes.
        let answers_are_real = computed && ensemble.is_combined() && !ensemble.is_synthetic();
        let entries = catalogue.entries().iter().zip(pools);
        let served = entries.map(|(entry, pool)| {
            let ensemble = entry.ensemble();
            let storage = Storage::new(pool.extents(), pool.slots(), ensemble.transforms());
            let storage = lend_pinned(storage, &drivers);
            Arc::new(ServedEnsemble::new(entry, storage, answers_are_real))
        });
        let mut entries = catalogue.entries().iter();
        Ok(EngineState {
            served: served.collect(),
            has_steps: entries.any(|entry| entry.ensemble().pipeline.is_some()),
            spans: drivers.iter().map(|_| SpanRing::new(SPAN_BOUND)).collect(),
            counters: EngineCounters::new(ensemble.members.len()),
            core: Ranked::new(core),
            answers_are_real,
            catalogue,
            costs,
            ensemble,
            devices,
            networks,
            start: options.epoch.unwrap_or_else(Instant::now),
            serial: ENGINES.fetch_add(1, Ordering::Relaxed),
            drivers,
            timer: OnceLock::new(),
            stopping: AtomicBool::new(false),
            losses: Losses::default(),
            promises: Arc::default(),
            ledger: OnceLock::new(),
            is_followed: AtomicBool::new(false),
        })
    }

    /// Removes a worker. Its memory is freed after its last batch.
    pub(super) fn remove_worker(&self, device: DeviceIndex, id: WorkerId) {
        self.drivers[device].remove(id);
    }

    /// Returns the ledger of errors.
    pub(super) fn ledger(&self) -> &Arc<RequestLedger> {
        self.ledger.get_or_init(Arc::default)
    }

    /// Goes on with the ledger of the engine before. Without effect once there is a ledger.
    pub(super) fn go_on_with(&self, ledger: Arc<RequestLedger>) {
        // A ledger in use stays.
        let _ = self.ledger.set(ledger);
    }

    /// Returns the entry of the catalogue with this number.
    pub(super) fn served(&self, pipeline: PipelineIndex) -> Option<&Arc<ServedEnsemble>> {
        self.served.get(pipeline.0)
    }

    /// Returns the only entry of the catalogue, or `None` if there are several.
    pub(super) fn single(&self) -> Option<&ServedEnsemble> {
        match &self.served[..] {
            [single] => Some(single),
            _ => None,
        }
    }

    /// Returns the combination of newly admitted requests. With several entries, each uses the one
    /// in its manifest.
    fn combination(&self) -> Combination {
        let single = self.single().map(ServedEnsemble::combination);
        single.unwrap_or_else(|| self.ensemble.combination())
    }

    /// Returns whether a caller's own rule combines requests.
    pub(super) fn has_own_rule(&self) -> bool {
        self.single().is_some_and(ServedEnsemble::has_own_rule)
    }

    /// Sets the combination of newly admitted requests.
    pub(super) fn combine_by(&self, combination: Combination) {
        if let Some(single) = self.single() {
            single.combine_by(combination);
        }
    }

    /// Returns the time since the engine's start.
    pub(super) fn now(&self) -> Duration {
        self.time_of(Instant::now())
    }

    /// Converts an instant to the time since the engine's start.
    pub(super) fn time_of(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }

    pub(super) fn core(&self) -> RankedGuard<'_, Core<Arc<RequestData>>> {
        self.core.lock()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Keeps an event and passes it to `tracing`. The caller must not hold a lock.
    pub(super) fn emit(&self, event: EngineEvent) {
        event.trace();
        self.counters.keep_event(self.now(), event);
    }

    /// Wakes devices.
    pub(super) fn poke(&self, devices: &[DeviceIndex]) {
        for &device in devices {
            self.drivers[device].wake();
        }
    }

    /// Makes the timer check again what is due.
    pub(super) fn poke_timer(&self) {
        if let Some(thread) = self.timer.get() {
            thread.unpark();
        }
    }

    /// Wakes devices with work.
    pub(super) fn wake(&self) {
        let woken = self.core().wake(self.now());
        self.poke(&woken);
    }
}

/// Creates the core with the disciplines of the drivers.
fn core(
    catalogue: &Catalogue,
    pools: &[PoolSize],
    drivers: &[Arc<dyn DeviceDriver>],
) -> Core<Arc<RequestData>> {
    let capabilities: Vec<_> = drivers.iter().map(|d| d.capabilities()).collect();
    let models = catalogue.models();
    let pipeline = |(entry, pool): (&CatalogueEntry, &PoolSize)| PipelineConfig {
        flow: Arc::new(entry.ensemble().dataflow().on_columns(entry.columns())),
        extents: pool.extents(),
        slots: pool.slots(),
        queueing: entry.ensemble().queueing.clone(),
    };
    let entries = catalogue.entries().iter();
    let smallest = pools.iter().map(|pool| pool.samples()).min();
    let mut core = Core::new(CoreConfig {
        devices: capabilities.iter().map(|c| c.discipline).collect(),
        members: models.members.len(),
        pipelines: entries.zip(pools).map(pipeline).collect(),
        // A pool may be smaller than a segment.
        segment: smallest.map_or(models.segment_size, |most| most.min(models.segment_size)),
        policy: models.policy,
        own_policies: catalogue.own_policies(),
    });
    let keepers = DeviceIndex::enumerate(&capabilities);
    for (device, _) in keepers.filter(|(_, c)| c.keeps_samples) {
        core.record_departures(device);
    }
    core
}

/// Page-locks the pool's memory with the first device that can, for all devices.
fn lend_pinned(storage: Storage, drivers: &[Arc<dyn DeviceDriver>]) -> Storage {
    let keepers = drivers.iter().filter(|d| d.capabilities().keeps_samples);
    let keepers: Vec<_> = keepers.cloned().collect();
    if keepers.is_empty() {
        return storage;
    }
    storage.pinned(Box::new(move |floats| {
        keepers.iter().find_map(|driver| driver.pinned(floats))
    }))
}

/// The settings in force, borrowed by [`super::Engine::settings`]. Plans change most of them.
#[derive(Clone, Copy)]
pub struct EngineSettings<'a> {
    state: &'a EngineState,
}

impl<'a> EngineSettings<'a> {
    pub(super) fn new(state: &'a EngineState) -> Self {
        EngineSettings { state }
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.state.core().policy()
    }

    /// Returns the combination of newly admitted requests.
    pub fn combination(&self) -> Combination {
        self.state.combination()
    }

    /// Returns the number of changes of the combination or of precisions. If two calls return the
    /// same number, equal requests admitted between them have equal answers, except those admitted
    /// during a change of precisions.
    pub fn answer_changes(&self) -> u64 {
        let entries = self.state.served.iter();
        let rules: u64 = entries.map(|entry| entry.rule_changes()).sum();
        rules + self.state.counters.recomputed.load(Ordering::Acquire)
    }

    /// Combines newly admitted requests by the caller's own rule until a combination is set.
    /// [`EngineSettings::combination`] still returns the last combination, and members are not
    /// weighed. A rule that panics fails its requests with the reason.
    pub fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        if let Some(single) = self.state.single() {
            single.combine_with(rule);
        }
    }

    /// Returns the most samples in a segment, under `segment`.
    pub fn segment_size(&self) -> usize {
        self.state.core().segment()
    }

    /// Limits the samples in execution on a device under `elastic`. `None` uses the policy's limit.
    pub fn set_max_inf(&self, device: DeviceIndex, most: Option<NonZeroU32>) {
        self.state.core().set_max_inf(device, most);
        self.state.wake();
    }
}

/// A device that failed while serving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The number of the device.
    pub device: DeviceIndex,
    /// The reason that its driver reported.
    pub reason: LossReason,
}

/// Called with a loss in the thread that detected it. It must be quick.
pub(crate) type LossListener = Arc<dyn Fn(Loss) + Send + Sync>;

/// Losses that have not been handled yet, and their listener.
#[derive(Default)]
pub(crate) struct Losses {
    state: Leaf<LossState>,
}

#[derive(Default)]
struct LossState {
    listener: Option<LossListener>,
    /// Reported losses that were not evacuated.
    awaited: BTreeMap<DeviceIndex, LossReason>,
}

impl Losses {
    /// Returns whether evacuations are pending, so that members may be without workers.
    pub(super) fn are_awaited(&self) -> bool {
        let state = self.state.lock();
        state.listener.is_some() && !state.awaited.is_empty()
    }

    /// Marks a device's loss as handled. Returns `false` if none was reported.
    pub(super) fn take(&self, device: DeviceIndex) -> bool {
        self.state.lock().awaited.remove(&device).is_some()
    }

    /// Adds a loss. Returns the listener to notify.
    pub(super) fn add(&self, loss: &Loss) -> Option<LossListener> {
        let mut state = self.state.lock();
        state.awaited.insert(loss.device, loss.reason.clone());
        state.listener.clone()
    }

    /// Sets the listener of losses. Returns the losses that have not been handled.
    pub(super) fn listen(&self, listener: LossListener) -> Vec<Loss> {
        let (before, awaited) = {
            let mut state = self.state.lock();
            (state.listener.replace(listener), state.awaited.clone())
        };
        // Dropped without the lock, because its contents are unknown.
        drop(before);
        let loss = |(device, reason)| Loss { device, reason };
        awaited.into_iter().map(loss).collect()
    }

    /// Removes the listener.
    pub(super) fn silence(&self) {
        let before = self.state.lock().listener.take();
        drop(before);
    }
}
