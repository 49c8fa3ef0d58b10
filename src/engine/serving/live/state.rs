//! The state that all threads of an engine share: the core, the samples that wait, the clock, the
//! drivers, what is counted, the devices that are lost, and what clients were promised; and the
//! settings in force.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::serving::batch::{PipelineIndex, WorkerId};
use crate::serving::core::{Core, CoreConfig, PipelineConfig};
use crate::serving::events::EngineEvent;
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

/// Spans kept for each device until somebody reads them.
pub const SPAN_BOUND: usize = 16_384;

/// Engines that were started in this process.
static ENGINES: AtomicU64 = AtomicU64::new(0);

/// The engine's insides.
pub(crate) struct EngineState {
    pub catalogue: Arc<Catalogue>,
    /// The members of all entries of the catalogue, one a column of the matrix.
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    pub networks: ServedNetworks,
    /// Costs of batches on simulated devices.
    pub costs: Arc<Costs>,
    /// Whether answers say something about the members: they are computed, by weights that
    /// are not made up.
    pub answers_are_real: bool,
    /// The entries of the catalogue, by [`PipelineIndex`].
    pub served: Vec<Arc<ServedEnsemble>>,
    /// Any entry has steps.
    pub has_steps: bool,
    start: Instant,
    /// Its number among the engines of this process.
    pub serial: u64,
    /// One for each device.
    pub drivers: Vec<Arc<dyn DeviceDriver>>,
    /// Spans of each device.
    pub spans: Vec<SpanRing>,
    pub timer: OnceLock<Thread>,
    pub stopping: AtomicBool,
    pub counters: EngineCounters,
    pub losses: Losses,
    pub promises: Arc<PromiseLedger>,
    core: Ranked<CoreRank, Core<Arc<RequestData>>>,
}

impl EngineState {
    /// Opens a driver for each device; each entry of the catalogue has a pool of so many extents.
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
        // What devices that do not compute or made-up weights answer says nothing of members.
        let computed = drivers.iter().all(|d| d.capabilities().computes);
        // Of a pipeline nobody votes.
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
        })
    }

    /// Removes a worker; its memory goes with its last batch.
    pub(super) fn remove_worker(&self, device: DeviceIndex, id: WorkerId) {
        self.drivers[device].remove(id);
    }

    /// Returns the entry of the catalogue that has a number.
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

    /// How requests that are let in now are combined; of several entries each as its manifest says.
    fn combination(&self) -> Combination {
        let single = self.single().map(ServedEnsemble::combination);
        single.unwrap_or_else(|| self.ensemble.combination())
    }

    /// Whether requests are combined by a rule of a caller's.
    pub(super) fn has_own_rule(&self) -> bool {
        self.single().is_some_and(ServedEnsemble::has_own_rule)
    }

    /// Combines requests otherwise that are let in from now on.
    pub(super) fn combine_by(&self, combination: Combination) {
        if let Some(single) = self.single() {
            single.combine_by(combination);
        }
    }

    /// Time since the engine's start.
    pub(super) fn now(&self) -> Duration {
        self.time_of(Instant::now())
    }

    /// The time of an instant, counted from the engine's start.
    pub(super) fn time_of(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }

    pub(super) fn core(&self) -> RankedGuard<'_, Core<Arc<RequestData>>> {
        self.core.lock()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Keeps an event and passes it to `tracing`. No lock may be held.
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

    /// Lets the timer look again at what is due.
    pub(super) fn poke_timer(&self) {
        if let Some(thread) = self.timer.get() {
            thread.unpark();
        }
    }

    /// Wakes devices that have something to do.
    pub(super) fn wake(&self) {
        let woken = self.core().wake(self.now());
        self.poke(&woken);
    }
}

/// The core for devices as their drivers run batches.
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
        // A pool may hold fewer samples than a segment has.
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

/// The pool's memory is page-locked by the first device that can, for all of them.
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

/// The settings in force. [`super::Engine::settings`] lends it; plans change most of them.
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

    /// Returns how requests that are let in now are combined.
    pub fn combination(&self) -> Combination {
        self.state.combination()
    }

    /// Returns how often requests began to be combined in another way, or computed in other
    /// numbers. Of two requests that are let in between two calls that return the same, equal ones
    /// have equal answers, but for what is let in while members change their numbers.
    pub fn answer_changes(&self) -> u64 {
        let entries = self.state.served.iter();
        let rules: u64 = entries.map(|entry| entry.rule_changes()).sum();
        rules + self.state.counters.recomputed.load(Ordering::Acquire)
    }

    /// Combines requests that are let in from now on by a rule of the caller's own, until
    /// a combination is set. [`EngineSettings::combination`] goes on returning the last one that
    /// was set, and members are not weighed. A rule that panics fails the requests that it
    /// was to combine, with the reason.
    pub fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        if let Some(single) = self.state.single() {
            single.combine_with(rule);
        }
    }

    /// Returns the most samples in a segment, under `segment`.
    pub fn segment_size(&self) -> usize {
        self.state.core().segment()
    }

    /// Lets at most so many samples be alive on a device under `elastic`; none: as many as
    /// the policy says.
    pub fn set_max_inf(&self, device: DeviceIndex, most: Option<NonZeroU32>) {
        self.state.core().set_max_inf(device, most);
        self.state.wake();
    }
}

/// A device that stopped working while it served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its number among the devices.
    pub device: DeviceIndex,
    /// Why, as its driver said.
    pub reason: LossReason,
}

/// Who is told of a loss, in the thread that met with it: it must be quick.
pub(crate) type LossListener = Arc<dyn Fn(Loss) + Send + Sync>;

/// Losses that nobody has dealt with yet, and who wants to know.
#[derive(Default)]
pub(crate) struct Losses {
    state: Leaf<LossState>,
}

#[derive(Default)]
struct LossState {
    listener: Option<LossListener>,
    /// Told, and not evacuated.
    awaited: BTreeMap<DeviceIndex, LossReason>,
}

impl Losses {
    /// Whether evacuations are still to come, so that members may be without workers.
    pub(super) fn are_awaited(&self) -> bool {
        let state = self.state.lock();
        state.listener.is_some() && !state.awaited.is_empty()
    }

    /// A device's loss is dealt with now; false where none was told.
    pub(super) fn take(&self, device: DeviceIndex) -> bool {
        self.state.lock().awaited.remove(&device).is_some()
    }

    /// A loss that somebody must deal with. Returns who is to be told of it.
    pub(super) fn add(&self, loss: &Loss) -> Option<LossListener> {
        let mut state = self.state.lock();
        state.awaited.insert(loss.device, loss.reason.clone());
        state.listener.clone()
    }

    /// Tells `listener` of losses from now on. Returns those that nobody has dealt with.
    pub(super) fn listen(&self, listener: LossListener) -> Vec<Loss> {
        let (before, awaited) = {
            let mut state = self.state.lock();
            (state.listener.replace(listener), state.awaited.clone())
        };
        // Outside of the lock: nobody knows what it holds.
        drop(before);
        let loss = |(device, reason)| Loss { device, reason };
        awaited.into_iter().map(loss).collect()
    }

    /// Nobody wants to know any more.
    pub(super) fn silence(&self) {
        let before = self.state.lock().listener.take();
        drop(before);
    }
}
