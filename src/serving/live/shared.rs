//! What all threads of an engine share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::device::Devices;
use crate::ensemble::{Combination, CombinationRule, Ensemble};
use crate::lock::lock;
use crate::metrics::Reading;
use crate::profile::Costs;
use crate::serving::accumulator::Part;
use crate::serving::answer::Answer;
use crate::serving::batch::{RequestKey, WorkerId};
use crate::serving::core::{Core, Next, Owed};
use crate::serving::door::Refused;
use crate::serving::flaws::Detail;
use crate::serving::storage::Storage;
use crate::trace::SpanRing;

use super::ballots::MemberSampler;
use super::client::{Failure, Reply, Request, RequestData};
use super::factory::PredictorFactory;
use super::gpu::{GpuSlot, Losses, sweep};
use super::promise::Books;
use super::simulated::DeviceFault;
use super::watched::EngineCounters;
use super::worker::{CpuWorker, since};

/// Spans kept for each device until somebody reads them.
pub const SPAN_BOUND: usize = 16_384;

/// The engine's insides.
pub struct EngineState {
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    pub factory: Arc<dyn PredictorFactory>,
    /// What batches cost on simulated devices.
    pub costs: Arc<Costs>,
    running: RwLock<Running>,
    pub weighing: MemberSampler,
    pub storage: Storage,
    pub start: Instant,
    pub lanes: Vec<DeviceLane>,
    pub timer: OnceLock<Thread>,
    pub stopping: AtomicBool,
    bodies: RwLock<HashMap<WorkerId, Arc<Mutex<CpuWorker>>>>,
    pub watched: EngineCounters,
    pub losses: Losses,
    /// What clients were promised.
    pub books: Arc<Books>,
    core: Mutex<Core<Arc<RequestData>>>,
}

/// How requests that are let in now are combined.
struct Running {
    combination: Combination,
    rule: Arc<dyn CombinationRule>,
}

impl Running {
    fn new(combination: Combination, classes: usize) -> Self {
        Running {
            rule: combination.build(classes),
            combination,
        }
    }
}

/// One device's thread, as others see it.
pub struct DeviceLane {
    pub thread: OnceLock<Thread>,
    pub poked: AtomicBool,
    pub pool: Option<Arc<ThreadPool>>,
    pub spans: SpanRing,
    /// What befell it since its thread looked, where it is simulated.
    pub fates: Mutex<Vec<DeviceFault>>,
    /// Where it is a GPU.
    pub board: Option<Arc<GpuSlot>>,
}

impl EngineState {
    pub fn new(
        ensemble: Arc<Ensemble>,
        devices: Devices,
        factory: Arc<dyn PredictorFactory>,
        core: Core<Arc<RequestData>>,
        storage: Storage,
        lanes: Vec<DeviceLane>,
    ) -> Self {
        let running = Running::new(ensemble.combination(), ensemble.classes);
        // What simulated devices or made-up weights answer says nothing of members.
        let means = !ensemble.is_synthetic() && !devices.is_simulated();
        let (by, rule) = (&running.combination, &running.rule);
        let watched = EngineCounters::new(ensemble.members.len());
        EngineState {
            weighing: MemberSampler::new(means, by, rule, &ensemble),
            running: RwLock::new(running),
            costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
            ensemble,
            devices,
            factory,
            storage,
            start: Instant::now(),
            lanes,
            timer: OnceLock::new(),
            stopping: AtomicBool::new(false),
            bodies: RwLock::default(),
            watched,
            losses: Losses::default(),
            books: Arc::default(),
            core: Mutex::new(core),
        }
    }

    /// A worker's body, while it is there.
    pub fn body(&self, id: WorkerId) -> Option<Arc<Mutex<CpuWorker>>> {
        let bodies = self.bodies.read().unwrap_or_else(PoisonError::into_inner);
        bodies.get(&id).cloned()
    }

    /// A worker was built.
    pub fn keep(&self, id: WorkerId, body: CpuWorker) {
        let mut bodies = self.bodies.write().unwrap_or_else(PoisonError::into_inner);
        bodies.insert(id, Arc::new(Mutex::new(body)));
    }

    /// A worker is gone; its memory goes with its last batch.
    pub fn forget(&self, id: WorkerId) {
        let mut bodies = self.bodies.write().unwrap_or_else(PoisonError::into_inner);
        bodies.remove(&id);
        drop(bodies);
        self.boards().for_each(|board| board.forget(id));
    }

    /// The GPUs.
    pub fn boards(&self) -> impl Iterator<Item = &Arc<GpuSlot>> {
        self.lanes.iter().filter_map(|lane| lane.board.as_ref())
    }

    /// Frees what requests took on GPUs that are over.
    fn sweep(&self) {
        for opened in self.boards().filter_map(|board| board.opened()) {
            sweep(self, &opened);
        }
    }

    /// The rule for requests that are let in now.
    pub fn rule(&self) -> Arc<dyn CombinationRule> {
        let running = self.running.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&running.rule)
    }

    /// How requests that are let in now are combined.
    pub fn combination(&self) -> Combination {
        let running = self.running.read().unwrap_or_else(PoisonError::into_inner);
        running.combination.clone()
    }

    /// Combines requests by a rule of the caller's that are let in from now on.
    pub fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
        running.rule = rule;
    }

    /// Combines requests otherwise that are let in from now on.
    pub fn combine_by(&self, combination: Combination) {
        let new = Running::new(combination, self.ensemble.classes);
        self.weighing.restart(&new.combination, &new.rule);
        let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
        *running = new;
    }

    /// Time since the engine's start.
    pub fn now(&self) -> Duration {
        since(self.start, Instant::now())
    }

    pub fn core(&self) -> MutexGuard<'_, Core<Arc<RequestData>>> {
        lock(&self.core)
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Keeps what an operator should read.
    pub fn notice(&self, text: String) {
        self.watched.notice(self.now(), text);
    }

    /// Lets a request in and broadcasts it; `reply` gets its outcome exactly once.
    pub fn submit(&self, request: Request<'_>, reply: Reply) -> Result<RequestKey, Refused> {
        let admitted = self.stage(request, reply)?;
        self.release(admitted);
        Ok(admitted)
    }

    /// Lets a request in and writes its samples to the pool.
    pub fn stage(&self, request: Request<'_>, reply: Reply) -> Result<RequestKey, Refused> {
        let width = self.ensemble.input.shape.elements();
        if let Err(refused) = check(request.values, width) {
            self.core().door().count_refusal(&refused);
            return Err(refused);
        }
        let now = self.now();
        let deadline = request.deadline.map(|within| now.saturating_add(within));
        let samples = request.values.len() / width;
        let rule = self.rule();
        let ballot = self.weighing.ballot(now, samples, request.labels);
        let due = now.saturating_sub(request.late);
        let kept = match request.detail {
            Detail::Members => self.ensemble.members.len(),
            Detail::Scores | Detail::Marked => 0,
        };
        let detail = request.detail;
        let admission = self.core().admit(due, samples, deadline, |slices| {
            let parts = slices.iter().map(|s| Part::keeping(s.len, kept)).collect();
            let ballot = ballot.map(|b| b.within(slices[0].len));
            let books = &self.books;
            Arc::new(RequestData::new(parts, rule, ballot, detail, reply, books))
        })?;
        self.storage.write(&admission.parts, request.values);
        Ok(admission.request)
    }

    /// Broadcasts a staged request to the queues and wakes who can serve it.
    pub fn release(&self, request: RequestKey) {
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

    /// Wakes device threads.
    pub fn poke(&self, devices: &[usize]) {
        for &device in devices {
            let lane = &self.lanes[device];
            lane.poked.store(true, Ordering::Release);
            if let Some(thread) = lane.thread.get() {
                thread.unpark();
            }
        }
    }

    /// Lets the timer look again at what is due.
    pub fn poke_timer(&self) {
        if let Some(thread) = self.timer.get() {
            thread.unpark();
        }
    }

    /// What a device does next; wakes others if it leaves them something.
    pub fn next(&self, device: usize) -> Next<Arc<RequestData>> {
        let (next, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.next(now, device), core.wake_others(now))
        };
        self.poke(&woken);
        next
    }

    /// Wakes devices that have something to do.
    pub fn wake(&self) {
        let woken = self.core().wake(self.now());
        self.poke(&woken);
    }

    /// Gives a request up for `failure`.
    pub fn fail(&self, request: RequestKey, failure: &Failure) {
        let (failed, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.fail(now, request), core.wake(now))
        };
        // Others may take the place of what was copied ahead of it.
        self.poke(&woken);
        self.deliver_failures(failed, failure);
    }

    /// Answers requests that are complete.
    pub fn deliver(&self, mut finished: Owed<Arc<RequestData>>) {
        self.sweep();
        if finished.iter().any(|done| done.payload.is_flawed()) {
            finished = self.without_spoilt(finished);
        }
        if finished.is_empty() {
            return;
        }
        let now = self.now();
        {
            let mut latency = lock(&self.watched.latency);
            let mut tally = lock(&self.watched.tally);
            let lately = tally.slot(now);
            let mut answered = lock(&self.watched.answered);
            let mut checkpoints = lock(&self.watched.checkpoints);
            for done in finished.iter() {
                checkpoints.answered(now, done.latency, done.samples);
                latency.record(done.latency);
                lately.record(done.latency.as_micros() as u64, 1);
                lately.record_split(done.split, 1);
                answered.0.add(now, 1.0);
                answered.1.add(now, done.samples as f64);
            }
        }
        self.keep_reading(now);
        let classes = self.ensemble.classes;
        finished.pay(|done| {
            let finish = |d: &RequestData| Ok(Answer::finish(d.rule.as_ref(), &d.parts, classes));
            match (done.payload.answer(finish), &done.payload.ballot) {
                (Some(why), _) => {
                    self.watched.failed.fetch_add(1, Ordering::Relaxed);
                    self.notice(format!("error: a request failed: {why}"));
                }
                // Those of a rule that it does not know it leaves alone.
                (None, Some(ballot)) => self.weighing.weigh(ballot, &done.payload.rule),
                (None, None) => {}
            }
        });
    }

    /// What was done since the start.
    pub fn reading(&self) -> Reading {
        let (labelled, right) = self.watched.graded.so_far();
        Reading {
            at: self.now(),
            failed: self.watched.failed.load(Ordering::Relaxed),
            refused: self.core().door().refused(),
            labelled,
            right,
            ..lock(&self.watched.checkpoints).answers()
        }
    }

    fn keep_reading(&self, now: Duration) {
        if lock(&self.watched.checkpoints).is_due(now) {
            let reading = self.reading();
            lock(&self.watched.checkpoints).keep(reading);
        }
    }

    /// Answers requests that failed.
    pub fn deliver_failures(&self, failed: Owed<Arc<RequestData>>, failure: &Failure) {
        self.sweep();
        let counter = match failure {
            Failure::Cancelled => &self.watched.cancelled,
            _ => &self.watched.failed,
        };
        let mut any = false;
        failed.pay(|done| {
            counter.fetch_add(1, Ordering::Relaxed);
            done.payload.answer(|_| Err(failure.clone()));
            any = true;
        });
        if any && *failure != Failure::Cancelled {
            *lock(&self.watched.failure) = Some(failure.clone());
        }
    }
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
