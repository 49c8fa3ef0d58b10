//! A core driven as the live engine drives it, in virtual time: devices that sleep until
//! they are woken, batches that end, panic or hang, copies, workers built again.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use divisi_engine::serving::{
    Batch, BatchId, Core, CoreConfig, Discipline, DoorState, Next, RequestKey, Stamps, Transfer,
    Verdict, WorkerId, WorkerSpec,
};
use divisi_model::ensemble::{MemberPrecision, PolicyKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::ledger::{Figures, Ledger};
use super::setup::{chance, config, ms, size};

/// Something that happens at its time.
pub enum Event {
    /// A batch was run.
    BatchDone(Batch<u64>),
    /// Its answers were folded.
    Folded(Batch<u64>),
    Copied(Transfer),
    /// A worker that panicked was built again, or was not.
    Built(WorkerSpec),
    /// A draining worker is looked at; how often still.
    Leaves(WorkerId, u32),
    /// The samples of a request were written.
    Written(RequestKey),
}

/// See the module's text.
pub struct World {
    pub core: Core<u64>,
    pub random: ChaCha8Rng,
    pub config: CoreConfig,
    pub now: Duration,
    pub ledger: Ledger,
    pub figures: Figures,
    /// Requests that may be under way.
    pub open: Vec<RequestKey>,
    /// Workers that stay.
    pub workers: Vec<WorkerSpec>,
    events: BTreeMap<(Duration, u64), Event>,
    next: u64,
    /// Until when each device's driver sleeps, where it does.
    asleep: Vec<Option<Option<Duration>>>,
    /// Batches and builds that keep a device's own thread.
    busy: Vec<usize>,
    /// Samples in execution on each device, and batches.
    alive: Vec<(usize, usize)>,
    /// Batches whose device was lost: they come to their end, but nobody counts them.
    gone: HashSet<BatchId>,
}

impl World {
    /// A random setup.
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let config = config(&mut random);
        let devices = config.devices.len();
        let mut world = World {
            core: Core::new(config.clone()),
            random,
            config,
            now: Duration::ZERO,
            ledger: Ledger::default(),
            figures: Figures::default(),
            open: Vec::new(),
            workers: Vec::new(),
            events: BTreeMap::new(),
            next: 0,
            asleep: vec![None; devices],
            busy: vec![0; devices],
            alive: vec![(0, 0); devices],
            gone: HashSet::new(),
        };
        world.core.door().set(DoorState::Open);
        world.staff();
        world.drive();
        world
    }

    /// Every member gets a worker somewhere; some get more.
    pub fn staff(&mut self) {
        let devices: Vec<DeviceIndex> = DeviceIndex::all(self.config.devices.len())
            .filter(|d| !self.core.is_lost(*d))
            .collect();
        if devices.is_empty() {
            return;
        }
        for member in MemberIndex::all(self.config.members) {
            let first = devices[self.random.random_range(0..devices.len())];
            for &device in &devices {
                let wanted = device == first || chance(&mut self.random, 500);
                let there = self
                    .core
                    .staying()
                    .any(|w| (w.device, w.member) == (device, member));
                if wanted && !there {
                    self.hire(device, member);
                }
            }
        }
        self.core.reopen_if_served();
    }

    /// A worker starts.
    pub fn hire(&mut self, device: DeviceIndex, member: MemberIndex) {
        let spec = WorkerSpec {
            id: self.core.new_worker(),
            device,
            member,
            size: size(&mut self.random),
            precision: MemberPrecision::default(),
        };
        self.core.add_worker(self.now, spec);
        self.workers.push(spec);
    }

    /// Lets something happen after a while.
    pub fn after(&mut self, time: Duration, event: Event) {
        self.next += 1;
        self.events.insert((self.now + time, self.next), event);
    }

    /// Goes on to what happens next; false where nothing does.
    pub fn advance(&mut self) -> bool {
        let event = self.events.first_key_value().map(|((at, _), _)| *at);
        let alarms = self.asleep.iter().filter_map(|a| a.flatten());
        let times = alarms.chain(event).chain(self.core.next_timer());
        let Some(next) = times.min() else {
            return false;
        };
        self.now = self.now.max(next);
        let late = self.core.tick(self.now);
        self.ledger.failed(late);
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let event = entry.remove();
            self.figures.events += 1;
            self.happen(event);
        }
        self.drive();
        true
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Copied(transfer) => self.core.copied(self.now, transfer.device, transfer.part),
            Event::BatchDone(batch) => self.ran(batch),
            Event::Folded(batch) => self.folded(&batch),
            Event::Built(spec) => self.built(spec),
            Event::Leaves(id, looks) => self.leaves(id, looks),
            Event::Written(request) => self.core.enqueue(self.now, request),
        }
        self.look_after_members();
    }

    fn ran(&mut self, batch: Batch<u64>) {
        if chance(&mut self.random, 40) {
            return self.panicked(&batch);
        }
        if self.core.fold(&batch) {
            let folding = ms(self.random.random_range(0..2));
            self.after(folding, Event::Folded(batch));
        } else {
            // Its device was lost: others run it.
            self.ended(&batch);
        }
    }

    fn folded(&mut self, batch: &Batch<u64>) {
        if chance(&mut self.random, 10) {
            // Its rule panicked.
            let owed = self.core.spoiled(self.now, batch);
            self.ledger.failed(owed);
            return self.ended(batch);
        }
        self.ledger.folded(batch);
        let owed = self.core.finish(self.now, batch, Stamps::default());
        self.ledger.answered(owed);
        self.ended(batch);
    }

    fn panicked(&mut self, batch: &Batch<u64>) {
        self.figures.panics += 1;
        let (verdict, owed) = self.core.panicked(self.now, batch);
        self.ledger.failed(owed);
        self.ended(batch);
        let spec = WorkerSpec {
            id: batch.worker,
            device: batch.device,
            member: batch.member,
            size: batch.size,
            precision: MemberPrecision::default(),
        };
        if verdict == Verdict::Restart {
            self.busy[batch.device] += 1;
            let building = ms(self.random.random_range(0..30));
            self.after(building, Event::Built(spec));
        }
    }

    fn built(&mut self, spec: WorkerSpec) {
        self.busy[spec.device] -= 1;
        if chance(&mut self.random, 100) {
            let owed = self.core.remove_worker(self.now, spec.id);
            self.ledger.failed(owed);
        } else {
            self.core.rebuilt(spec.id);
        }
        self.asleep[spec.device] = None;
    }

    /// A driver waits for a worker to drain, but not for ever.
    fn leaves(&mut self, id: WorkerId, looks: u32) {
        if looks > 0 && !self.core.is_drained(id) {
            return self.after(ms(3), Event::Leaves(id, looks - 1));
        }
        let owed = self.core.remove_worker(self.now, id);
        self.ledger.failed(owed);
    }

    /// As the live engine: without a worker for a member the door closes.
    pub fn look_after_members(&mut self) {
        if let Some(member) = self.core.new_orphan() {
            let owed = self.core.close_orphaned(self.now, member, "nobody is left");
            self.ledger.failed(owed);
        }
        self.core.reopen_if_served();
        let staying: Vec<WorkerSpec> = self.core.staying().collect();
        self.workers = staying;
    }

    fn ended(&mut self, batch: &Batch<u64>) {
        if self.gone.remove(&batch.id) {
            return;
        }
        self.leave(batch.device, batch.samples);
    }

    fn leave(&mut self, device: DeviceIndex, left: usize) {
        let (samples, batches) = &mut self.alive[device];
        *samples -= left;
        *batches -= 1;
        self.asleep[device] = None;
    }

    /// Devices that are awake ask until they sleep; then nobody sleeps who could act.
    pub fn drive(&mut self) {
        for device in DeviceIndex::all(self.asleep.len()) {
            if self.asleep[device]
                .flatten()
                .is_some_and(|at| at <= self.now)
            {
                self.asleep[device] = None;
            }
        }
        let woken = self.core.wake(self.now);
        self.poke(&woken);
        let mut order: Vec<DeviceIndex> = DeviceIndex::all(self.asleep.len()).collect();
        loop {
            order.shuffle(&mut self.random);
            let Some(&device) = order.iter().find(|d| self.asks(**d)) else {
                break;
            };
            self.ask(device);
        }
        for device in DeviceIndex::all(self.asleep.len()) {
            let sleeps = self.asleep[device].is_some();
            let could = sleeps && self.core.could_act(self.now, device);
            self.figures.idle += u64::from(could);
        }
    }

    fn asks(&self, device: DeviceIndex) -> bool {
        let alone = self.config.devices[device] == Discipline::OneAtATime;
        self.asleep[device].is_none() && !(alone && self.busy[device] > 0) && !self.runs(device)
    }

    /// Whether a device's own thread runs a batch.
    fn runs(&self, device: DeviceIndex) -> bool {
        let alone = self.config.devices[device] == Discipline::OneAtATime;
        alone && self.alive[device].1 > 0
    }

    fn poke(&mut self, devices: &[DeviceIndex]) {
        for &device in devices {
            self.asleep[device] = None;
        }
    }

    fn ask(&mut self, device: DeviceIndex) {
        let next = self.core.next(self.now, device);
        let woken = self.core.wake_others(self.now);
        self.poke(&woken);
        match next {
            Next::Run(batch) => self.begin(batch),
            Next::Copy(transfers) => {
                for transfer in transfers {
                    let copying = ms(self.random.random_range(0..3));
                    self.after(copying, Event::Copied(transfer));
                }
            }
            Next::Sleep(until) => self.asleep[device] = Some(until),
        }
    }

    fn begin(&mut self, batch: Batch<u64>) {
        assert!(batch.samples > 0 && batch.samples <= batch.lane.size);
        let (samples, batches) = &mut self.alive[batch.device];
        *samples += batch.samples;
        *batches += 1;
        let alone = self.config.devices[batch.device] == Discipline::OneAtATime;
        assert!(
            !alone || *batches == 1,
            "two batches where one runs at a time"
        );
        if let PolicyKind::Elastic { max_inf } = self.core.policy() {
            let most = self.core.max_inf(batch.device).or(max_inf);
            let most = most.map_or(usize::MAX, |n| n.get() as usize);
            assert!(*samples <= most, "{samples} alive where {most} may be");
        }
        let hangs = chance(&mut self.random, 10);
        let rows = batch.rows as u64;
        let most = if hangs { 400 } else { 2 + rows };
        let time = ms(self.random.random_range(0..most));
        self.after(time, Event::BatchDone(batch));
    }

    /// A device is gone: its driver forgets what it was doing.
    pub fn lose(&mut self, device: DeviceIndex) {
        self.figures.losses += 1;
        self.core.lose_device(device);
        self.asleep[device] = None;
        let running = self.events.values().filter_map(|event| match event {
            Event::BatchDone(batch) if batch.device == device => Some((batch.id, batch.samples)),
            _ => None,
        });
        for (batch, samples) in running.collect::<Vec<_>>() {
            if self.gone.insert(batch) {
                self.leave(device, samples);
            }
        }
    }
}
