//! The discrete-event loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::serving::{
    Arrival, Core, CoreConfig, DeviceEvent, Discipline, DoorState, Finished, HostWork, Next, Owed,
    PipelineConfig, PipelineIndex, Refused, SimulatedDevice, WorkerSpec, batch_spans,
    transfer_span,
};
use divisi_model::allocation::Cell;
use divisi_model::catalogue::{CatalogueEntry, Demand};
use divisi_model::dataflow::RowSet;
use divisi_model::ensemble::{BatchSize, MemberPrecision};
use divisi_model::metrics::{Latency, SplitTally};
use divisi_model::profile::CellCost;
use divisi_runtime::device::DeviceIndex;

use super::arriving::ArrivingRequests;
use super::incidents::Incident;
use super::{Scenario, Served, SimulationError, SimulationReport, Workload};

/// A scenario that is ready to run.
pub struct Simulation {
    demand: Demand,
    /// The core. Each request's payload is the number of its entry.
    pub(super) core: Core<usize>,
    /// Draws the rows that pass conditions.
    random: ChaCha8Rng,
    pub(super) devices: Vec<SimulatedDevice<usize>>,
    pub(super) now: Duration,
    pub(super) incidents: Vec<(Duration, Incident)>,
    /// The workers of the matrix.
    pub(super) workers: Vec<(Cell, BatchSize)>,
    /// The devices whose next batch panics.
    pub(super) panics: Vec<DeviceIndex>,
    segment: usize,
    keep_spans: bool,
    keep_requests: bool,
    stop: Option<Arc<AtomicBool>>,
    latency: Latency,
    split: SplitTally,
    pub(super) report: SimulationReport,
}

/// The samples of a pool. There is no limit in bytes, because the pool holds no data.
const POOL_SAMPLES: usize = 16_384;

/// A constant seed, so that the same rows pass conditions in each run.
const SEED_OF_CONDITIONS: u64 = 1;

impl Simulation {
    /// Creates a simulation in which every worker of the scenario's matrix is ready.
    ///
    /// # Errors
    /// The costs of a worker are unknown, or the policy does not match the batch sizes.
    pub fn new(scene: &Scenario) -> Result<Self, SimulationError> {
        let ensemble = scene.demand.models();
        let policy = scene.policy;
        policy.check(&ensemble.batch_sizes)?;
        let segment = ensemble.segment_size;
        let kinds = scene.devices.iter().map(|d| Discipline::for_kind(&d.kind));
        let mut core = Core::new(CoreConfig {
            devices: kinds.collect(),
            members: ensemble.members.len(),
            pipelines: pipelines(&scene.demand),
            segment,
            policy,
            own_policies: match policy == ensemble.policy {
                true => scene.demand.catalogue().own_policies(),
                false => Vec::new(),
            },
        });
        add_workers(scene, &mut core)?;
        core.door().set(DoorState::Open);
        let count = scene.devices.count();
        Ok(Simulation {
            demand: scene.demand.clone(),
            random: ChaCha8Rng::seed_from_u64(SEED_OF_CONDITIONS),
            core,
            devices: DeviceIndex::all(count)
                .map(|d| SimulatedDevice::new(d, Arc::clone(&scene.costs)))
                .collect(),
            now: Duration::ZERO,
            incidents: Vec::new(),
            workers: scene.matrix.workers().collect(),
            panics: Vec::new(),
            segment,
            keep_spans: false,
            keep_requests: false,
            stop: None,
            latency: Latency::new(),
            split: SplitTally::default(),
            report: SimulationReport {
                busy: vec![0.0; count],
                ..SimulationReport::default()
            },
        })
    }

    /// Keeps the spans of every lane.
    #[must_use]
    pub fn with_spans(mut self) -> Self {
        self.keep_spans = true;
        self
    }

    /// Keeps every request.
    #[must_use]
    pub fn with_requests(mut self) -> Self {
        self.keep_requests = true;
        self
    }

    /// Ends the run early when `stop` is set.
    #[must_use]
    pub fn until(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Adds an incident at a time.
    #[must_use]
    pub fn with_incident(mut self, at: Duration, incident: Incident) -> Self {
        self.incidents.push((at, incident));
        self.incidents.sort_by_key(|(at, _)| *at);
        self
    }

    /// Limits the samples in execution on a device under `elastic`.
    #[must_use]
    pub fn with_max_inf(mut self, device: DeviceIndex, most: std::num::NonZeroU32) -> Self {
        self.core.set_max_inf(device, Some(most));
        self
    }

    /// Runs until every request is over.
    ///
    /// # Errors
    /// A request is larger than the pool, or no worker can serve the waiting requests.
    pub fn run(mut self, workload: Workload) -> Result<SimulationReport, SimulationError> {
        let mut arriving = ArrivingRequests::new(&workload, self.segment, self.demand.mix())?;
        loop {
            self.inject();
            self.submit_due(&mut arriving)?;
            self.drive(&mut arriving);
            if arriving.is_over() && self.core.in_flight() == 0 || self.is_stopped() {
                break;
            }
            let Some(next) = self.next_time(&arriving) else {
                let left = self.core.in_flight();
                return Err(SimulationError::Stuck { at: self.now, left });
            };
            self.now = self.now.max(next);
            self.advance(&mut arriving);
        }
        self.report.refused = self.core.door().refused();
        self.report.latency = self.latency.summary();
        self.report.split = self.split.means();
        Ok(self.report.with_shares())
    }

    fn is_stopped(&self) -> bool {
        let stop = self.stop.as_ref();
        stop.is_some_and(|stop| stop.load(Ordering::Acquire))
    }

    fn next_time(&self, arriving: &ArrivingRequests) -> Option<Duration> {
        let devices = self.devices.iter().filter_map(SimulatedDevice::next_event);
        let incident = self.incidents.first().map(|(at, _)| *at);
        let sleeping = self.core.next_wake();
        let timers = [arriving.next(), self.core.next_timer(), incident, sleeping];
        devices.chain(timers.into_iter().flatten()).min()
    }

    /// Submits the requests that are due.
    fn submit_due(&mut self, arriving: &mut ArrivingRequests) -> Result<(), SimulationError> {
        while let Some(samples) = arriving.due(self.now) {
            let entry = arriving.entry();
            let asked = PipelineIndex(entry);
            let fits = samples > self.core.capacity(asked) || samples <= self.core.free(asked);
            if !fits && !arriving.gives_up() {
                // The request waits instead of being refused and sent again.
                break;
            }
            let arrival = Arrival {
                pipeline: asked,
                ..Arrival::with_samples(samples)
            };
            match self.core.admit(self.now, arrival, |_| entry) {
                Ok(admission) => {
                    self.core.enqueue(self.now, admission.request);
                    arriving.sent(samples);
                }
                Err(Refused::TooLarge { samples, most }) => {
                    return Err(SimulationError::TooLarge { samples, most });
                }
                Err(_) if arriving.gives_up() => arriving.sent(samples),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Lets devices with room start batches.
    fn drive(&mut self, arriving: &mut ArrivingRequests) {
        // No request has a deadline in a simulation.
        self.core.tick(self.now).pay(drop);
        let early = self.core.lose_patience(self.now);
        self.note_served(self.now, early, arriving);
        self.run_host_steps(arriving);
        for device in DeviceIndex::all(self.devices.len()) {
            if self.core.is_awake(device) {
                self.drive_device(device);
            }
        }
        // After one device has taken a batch, another may be the least loaded.
        loop {
            let woken = self.core.wake(self.now);
            if woken.is_empty() {
                break;
            }
            for device in woken {
                self.drive_device(device);
            }
        }
    }

    fn drive_device(&mut self, device: DeviceIndex) {
        loop {
            match self.core.next(self.now, device) {
                Next::Run(batch) => self.devices[device].start(self.now, batch),
                Next::Copy(transfers) => {
                    for transfer in transfers {
                        self.devices[device].copy(self.now, transfer);
                    }
                }
                Next::Sleep(_) => return,
            }
        }
    }

    fn advance(&mut self, arriving: &mut ArrivingRequests) {
        for device in DeviceIndex::all(self.devices.len()) {
            if self.devices[device]
                .next_event()
                .is_none_or(|at| at > self.now)
            {
                continue;
            }
            for (at, event) in self.devices[device].advance(self.now) {
                self.note(at, event, arriving);
            }
        }
    }

    fn note(&mut self, at: Duration, event: DeviceEvent<usize>, arriving: &mut ArrivingRequests) {
        match event {
            DeviceEvent::Copied(transfer, asked) => {
                self.core.copied(at, transfer.device, transfer.part);
                if self.keep_spans {
                    self.report.spans.push(transfer_span(&transfer, asked, at));
                }
            }
            DeviceEvent::Done(batch, stamps) => {
                if self.panics.contains(&batch.device) {
                    return self.panicked(&batch, arriving);
                }
                self.report.busy[batch.device] += stamps.busy.as_secs_f64();
                if self.keep_spans {
                    self.report.spans.extend(batch_spans(&batch, &stamps, at));
                }
                let finished = self.core.finish(at, &batch, stamps);
                self.note_served(at, finished, arriving);
                self.run_host_steps(arriving);
            }
        }
    }

    /// Runs the steps on the host that are ready. They take no time here, and the demand defines
    /// the share of rows for each outcome.
    fn run_host_steps(&mut self, arriving: &mut ArrivingRequests) {
        loop {
            let ready = self.core.take_host_work();
            if ready.is_empty() {
                return;
            }
            for work in ready {
                let rows = self.rows_made(&work);
                let finished = self.core.host_step_done(self.now, &work, rows);
                self.note_served(self.now, finished, arriving);
            }
        }
    }

    /// Draws the rows with a result of a step on the host.
    fn rows_made(&mut self, work: &HostWork<usize>) -> RowSet {
        let passed = self.demand.step(work.payload, work.step.get()).passed();
        if passed >= 1.0 {
            return work.rows.clone();
        }
        let random = &mut self.random;
        RowSet::filter(work.samples, |row| {
            work.rows.contains(row) && random.random::<f64>() < passed
        })
    }

    fn note_served(&mut self, at: Duration, owed: Owed<usize>, arriving: &mut ArrivingRequests) {
        owed.pay(|finished| {
            arriving.answered();
            self.served(at, &finished);
        });
    }

    fn served(&mut self, at: Duration, finished: &Finished<usize>) {
        self.report.elapsed = at;
        self.report.samples += finished.samples;
        self.latency.record(finished.latency);
        self.split.record(finished.split);
        if self.keep_requests {
            self.report.served.push(Served {
                entry: finished.payload,
                at,
                samples: finished.samples,
                latency: finished.latency,
                split: finished.split,
            });
        }
    }
}

/// The pools and graphs of all entries.
fn pipelines(demand: &Demand) -> Vec<PipelineConfig> {
    let pipeline = |entry: &CatalogueEntry| {
        let slots = entry.ensemble().segment_size;
        PipelineConfig {
            // The simulation measures the capacity of the devices, regardless of queue limits.
            queueing: None,
            flow: Arc::new(entry.ensemble().dataflow().on_columns(entry.columns())),
            extents: (POOL_SAMPLES / slots).max(2),
            slots,
        }
    };
    demand.catalogue().entries().iter().map(pipeline).collect()
}

fn add_workers(scene: &Scenario, core: &mut Core<usize>) -> Result<(), SimulationError> {
    for (cell, size) in scene.matrix.workers() {
        if *scene.costs.cell(cell.member, cell.device) == CellCost::Unknown {
            return Err(SimulationError::Unknown {
                member: scene.demand.models().members[cell.member].name.clone(),
                device: scene.devices.get(cell.device).name.clone(),
            });
        }
        add_worker(core, Duration::ZERO, cell, size);
    }
    Ok(())
}

pub(super) fn add_worker(core: &mut Core<usize>, now: Duration, cell: Cell, size: BatchSize) {
    let spec = WorkerSpec {
        id: core.new_worker(),
        device: cell.device,
        member: cell.member,
        size,
        // The costs determine the time of batches, regardless of precision.
        precision: MemberPrecision::default(),
    };
    core.add_worker(now, spec);
}
