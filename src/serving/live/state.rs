//! The state that all threads of an engine share: the core, the samples that wait, the clock, the
//! drivers, what is counted, and what clients were promised.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::device::Devices;
use crate::ensemble::{Combination, CombinationRule, Ensemble};
use crate::lock::{Ranked, RankedGuard};
use crate::profile::Costs;
use crate::serving::accumulator::Part;
use crate::serving::batch::{RequestKey, WorkerId};
use crate::serving::core::{Core, CoreConfig};
use crate::serving::door::Refused;
use crate::serving::events::EngineEvent;
use crate::serving::flaws::Detail;
use crate::serving::storage::Storage;
use crate::trace::SpanRing;

use super::counters::EngineCounters;
use super::drivers::{self, DeviceDriver, DriverError, ServedNetworks};
use super::locks::CoreRank;
use super::losses::Losses;
use super::member_sampler::MemberSampler;
use super::promise::{Failure, PromiseLedger, Reply};
use super::request::{Request, RequestData};

/// Spans kept for each device until somebody reads them.
pub const SPAN_BOUND: usize = 16_384;

/// The engine's insides.
pub(crate) struct EngineState {
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    pub networks: ServedNetworks,
    /// Costs of batches on simulated devices.
    pub costs: Arc<Costs>,
    /// Whether answers say something about the members: they are computed, by weights that
    /// are not made up.
    pub answers_are_real: bool,
    in_force: RwLock<RuleInForce>,
    pub sampler: MemberSampler,
    pub storage: Storage,
    start: Instant,
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

/// How requests that are let in now are combined.
struct RuleInForce {
    combination: Combination,
    rule: Arc<dyn CombinationRule>,
    /// The rule is a caller's and not the combination's.
    own_rule: bool,
}

impl RuleInForce {
    fn new(combination: Combination, classes: usize) -> Self {
        RuleInForce {
            rule: combination.build(classes),
            combination,
            own_rule: false,
        }
    }
}

impl EngineState {
    /// Opens a driver for each device; the pool has so many `extents`.
    ///
    /// # Errors
    /// A device cannot be used.
    pub(super) fn open(
        networks: ServedNetworks,
        devices: Devices,
        extents: usize,
    ) -> Result<Self, DriverError> {
        let ensemble = Arc::clone(&networks.ensemble);
        let costs = Arc::new(Costs::of_laws(&ensemble, &devices));
        let drivers = drivers::open(&networks, &devices, &costs)?;
        let core = core(&ensemble, extents, &drivers);
        let storage = Storage::new(extents, ensemble.segment_size, ensemble.transforms());
        let in_force = RuleInForce::new(ensemble.combination(), ensemble.classes);
        // What devices that do not compute or made-up weights answer says nothing of members.
        let computed = drivers.iter().all(|d| d.capabilities().computes);
        let answers_are_real = computed && !ensemble.is_synthetic();
        let (by, rule) = (&in_force.combination, &in_force.rule);
        Ok(EngineState {
            sampler: MemberSampler::new(answers_are_real, by, rule, &ensemble),
            in_force: RwLock::new(in_force),
            storage: lend_pinned(storage, &drivers),
            spans: drivers.iter().map(|_| SpanRing::new(SPAN_BOUND)).collect(),
            counters: EngineCounters::new(ensemble.members.len()),
            core: Ranked::new(core),
            answers_are_real,
            costs,
            ensemble,
            devices,
            networks,
            start: Instant::now(),
            drivers,
            timer: OnceLock::new(),
            stopping: AtomicBool::new(false),
            losses: Losses::default(),
            promises: Arc::default(),
        })
    }

    /// Removes a worker; its memory goes with its last batch.
    pub(super) fn remove_worker(&self, device: usize, id: WorkerId) {
        self.drivers[device].remove(id);
    }

    /// The rule for requests that are let in now.
    pub(super) fn rule(&self) -> Arc<dyn CombinationRule> {
        let in_force = self.in_force.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&in_force.rule)
    }

    /// How requests that are let in now are combined.
    pub(super) fn combination(&self) -> Combination {
        let in_force = self.in_force.read().unwrap_or_else(PoisonError::into_inner);
        in_force.combination.clone()
    }

    /// Combines requests by a rule of the caller's that are let in from now on.
    pub(super) fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        let mut in_force = self
            .in_force
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        in_force.rule = rule;
        in_force.own_rule = true;
    }

    /// Whether requests are combined by a rule of a caller's.
    pub(super) fn has_own_rule(&self) -> bool {
        let in_force = self.in_force.read().unwrap_or_else(PoisonError::into_inner);
        in_force.own_rule
    }

    /// Combines requests otherwise that are let in from now on.
    pub(super) fn combine_by(&self, combination: Combination) {
        let new = RuleInForce::new(combination, self.ensemble.classes);
        self.sampler.restart(&new.combination, &new.rule);
        let mut in_force = self
            .in_force
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *in_force = new;
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

    /// Lets a request in and broadcasts it; `reply` gets its outcome exactly once.
    pub(super) fn submit(&self, request: Request<'_>, reply: Reply) -> Result<RequestKey, Refused> {
        let admitted = self.stage(request, reply)?;
        self.release(admitted);
        Ok(admitted)
    }

    /// Lets a request in and writes its samples to the pool.
    pub(super) fn stage(&self, request: Request<'_>, reply: Reply) -> Result<RequestKey, Refused> {
        let width = self.ensemble.input.shape.elements();
        if let Err(refused) = check(request.values, width) {
            self.core().door().count_refusal(&refused);
            return Err(refused);
        }
        let now = self.now();
        let deadline = request.deadline.map(|within| now.saturating_add(within));
        let samples = request.values.len() / width;
        let rule = self.rule();
        let ballot = self.sampler.ballot(now, samples, request.labels);
        let due = now.saturating_sub(request.late);
        let kept = match request.detail {
            Detail::Members => self.ensemble.members.len(),
            Detail::Scores | Detail::Marked => 0,
        };
        let detail = request.detail;
        let admission = self.core().admit(due, samples, deadline, |slices| {
            let parts = slices.iter().map(|s| Part::keeping(s.len, kept)).collect();
            let ballot = ballot.map(|b| b.within(slices[0].len));
            let promises = &self.promises;
            Arc::new(RequestData::new(
                parts, rule, ballot, detail, reply, promises,
            ))
        })?;
        self.storage.write(&admission.parts, request.values);
        Ok(admission.request)
    }

    /// Broadcasts a staged request to the queues and wakes who can serve it.
    pub(super) fn release(&self, request: RequestKey) {
        let now = self.now();
        let (woken, timer) = {
            let mut core = self.core();
            core.enqueue(now, request);
            (core.wake(now), core.next_timer().is_some())
        };
        self.poke(&woken);
        if timer {
            self.poke_timer();
        }
    }

    /// Wakes devices.
    pub(super) fn poke(&self, devices: &[usize]) {
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

    /// Gives a request up for `failure`.
    pub(super) fn fail(&self, request: RequestKey, failure: &Failure) {
        let (failed, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.fail(now, request), core.wake(now))
        };
        // Others may take the place of what was copied ahead of it.
        self.poke(&woken);
        self.deliver_failures(failed, failure);
    }
}

/// The core for devices as their drivers run batches.
fn core(
    ensemble: &Ensemble,
    extents: usize,
    drivers: &[Arc<dyn DeviceDriver>],
) -> Core<Arc<RequestData>> {
    let capabilities: Vec<_> = drivers.iter().map(|d| d.capabilities()).collect();
    let mut core = Core::new(CoreConfig {
        devices: capabilities.iter().map(|c| c.discipline).collect(),
        transforms: ensemble.transforms().by_member().to_vec(),
        extents,
        segment: ensemble.segment_size,
        policy: ensemble.policy,
    });
    let keepers = capabilities.iter().enumerate();
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

fn check(values: &[f32], width: usize) -> Result<(), Refused> {
    if values.is_empty() {
        return Err(Refused::Empty);
    }
    if !values.len().is_multiple_of(width) {
        return Err(Refused::Shape {
            expected: width,
            found: values.len(),
        });
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Refused::NotFinite {
            sample: at / width,
            value: at % width,
        }),
    }
}
