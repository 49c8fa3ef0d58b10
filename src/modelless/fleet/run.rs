//! The event loop.

use std::collections::BTreeMap;
use std::time::Duration;

use super::batches::SimulatedBatch;
use super::clock::{FleetEvent, VirtualClock};
use super::group::{HostedGroup, WaitingQuery};
use super::report::{FleetRecord, QueryRecord};
use super::scenario::{FleetJob, FleetScenario};
use super::workers::WorkerScaling;
use crate::choice::TaskChoices;
use crate::demands::StreamCounts;
use crate::jobs::{JobProgress, OfflineJob};
use crate::placement::{DeviceSlot, HostedInstances};
use crate::policies::Policy;
use crate::states::{DeviceWatch, InstanceWatches, VariantWatch};
use crate::variants::VariantIndex;

/// The time between two decisions of the slow loop.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// A running simulation.
pub(super) struct FleetRun<'s> {
    pub(super) scenario: &'s FleetScenario,
    pub(super) clock: VirtualClock,
    pub(super) choices: TaskChoices,
    pub(super) policy: Box<dyn Policy>,
    pub(super) scaling: WorkerScaling,
    /// The devices of each machine.
    pub(super) devices: Vec<Vec<DeviceSlot>>,
    pub(super) hosted: HostedInstances,
    pub(super) groups: BTreeMap<(DeviceSlot, VariantIndex), HostedGroup>,
    /// For each device, the end of the batch that has all its time.
    pub(super) taken: Vec<Option<Duration>>,
    /// For each device, the share of its time used by queries in the last second.
    pub(super) utilisation: Vec<f64>,
    pub(super) watches: Vec<VariantWatch>,
    pub(super) instances: InstanceWatches,
    /// The watch of each device.
    pub(super) device_watches: Vec<DeviceWatch>,
    pub(super) served: Vec<u32>,
    pub(super) counts: Vec<StreamCounts>,
    pub(super) batches: Vec<Option<SimulatedBatch>>,
    /// Queries of tasks without running variants.
    pub(super) backlog: Vec<WaitingQuery>,
    pub(super) jobs: Vec<(VariantIndex, OfflineJob)>,
    pub(super) report: FleetRecord,
}

/// Simulates a fleet and returns its record.
pub fn simulate(scenario: &FleetScenario) -> FleetRecord {
    simulate_with(scenario, scenario.policy.with_objective(scenario.objective))
}

/// Simulates a fleet with `policy` instead of the scenario's and returns its record.
pub fn simulate_with(scenario: &FleetScenario, policy: Box<dyn Policy>) -> FleetRecord {
    let mut run = FleetRun::new(scenario, policy);
    run.begin();
    while let Some(event) = run.clock.next() {
        run.handle(event);
    }
    run.report.offline_rows = run.offline_rows();
    run.report
}

impl<'s> FleetRun<'s> {
    fn new(scenario: &'s FleetScenario, policy: Box<dyn Policy>) -> Self {
        let variants = scenario.catalog.variants().len();
        FleetRun {
            clock: VirtualClock::default(),
            choices: TaskChoices::new(scenario.catalog.clone()),
            policy,
            scaling: WorkerScaling::new(&scenario.workers),
            devices: Vec::new(),
            hosted: HostedInstances::new(&scenario.catalog, &[]),
            groups: BTreeMap::new(),
            taken: Vec::new(),
            utilisation: Vec::new(),
            watches: vec![VariantWatch::new(scenario.thresholds); variants],
            instances: InstanceWatches::new(scenario.thresholds),
            device_watches: Vec::new(),
            served: vec![0; variants],
            counts: vec![StreamCounts::default(); scenario.streams.len()],
            batches: Vec::new(),
            backlog: Vec::new(),
            jobs: Vec::new(),
            report: FleetRecord {
                queries: Vec::with_capacity(scenario.arrivals.len()),
                ..FleetRecord::default()
            },
            scenario,
        }
    }

    fn begin(&mut self) {
        let initial = self
            .scenario
            .workers
            .iter()
            .map(|kind| usize::from(kind.initial));
        for machine in 0..initial.sum() {
            self.add_devices(machine);
        }
        for (variant, device) in &self.scenario.initial {
            let added = self.hosted.add(&self.scenario.catalog, *variant, *device);
            if added.is_ok() {
                self.group(*device, *variant).loaded += 1;
                self.update_load(*variant);
            }
        }
        for (at, job) in self.scenario.jobs.iter().enumerate() {
            self.clock.plan(job.at, FleetEvent::Submitted(at));
        }
        self.plan_arrival(0);
        self.clock.plan(TICK, FleetEvent::Tick);
    }

    /// Adds the devices of a machine at the end.
    pub(super) fn add_devices(&mut self, machine: usize) {
        let kind = &self.scenario.workers[self.scaling.kind(machine)];
        let mut slots = Vec::new();
        for device in &kind.devices {
            slots.push(self.hosted.push_device(&self.scenario.catalog, *device));
            self.taken.push(None);
            self.utilisation.push(0.0);
            let watch = DeviceWatch::new(self.scenario.thresholds);
            self.device_watches.push(watch);
        }
        self.devices
            .resize(self.devices.len().max(machine + 1), Vec::new());
        self.devices[machine] = slots;
    }

    fn plan_arrival(&mut self, at: usize) {
        if let Some(arrival) = self.scenario.arrivals.get(at) {
            self.clock.plan(arrival.at, FleetEvent::Arrives(at));
        }
    }

    pub(super) fn group(&mut self, device: DeviceSlot, variant: VariantIndex) -> &mut HostedGroup {
        let group = self.groups.entry((device, variant));
        group.or_insert_with(|| HostedGroup::new(variant, device))
    }

    fn handle(&mut self, event: FleetEvent) {
        match event {
            FleetEvent::Arrives(at) => {
                self.plan_arrival(at + 1);
                self.arrive(at);
            }
            FleetEvent::BatchEnds(batch) => self.end_batch(batch),
            FleetEvent::Loaded(device, variant) => self.loaded(device, variant),
            FleetEvent::WorkerStarted(machine) => {
                self.scaling.started(machine);
                self.add_devices(machine);
            }
            FleetEvent::Submitted(at) => self.submit(at),
            FleetEvent::Tick => self.tick(),
        }
    }

    fn arrive(&mut self, at: usize) {
        let arrival = self.scenario.arrivals[at];
        let stream = &self.scenario.streams[usize::from(arrival.stream)];
        self.report.queries.push(QueryRecord {
            arrived: arrival.at,
            stream: arrival.stream,
            answer: None,
            met: false,
        });
        self.counts[usize::from(arrival.stream)].arrived(1);
        let deadline = stream.goals.latency.map(|d| arrival.at + d.get());
        self.dispatch(WaitingQuery {
            query: at,
            arrived: arrival.at,
            deadline,
        });
    }

    fn submit(&mut self, at: usize) {
        let FleetJob { variant, rows, .. } = self.scenario.jobs[at];
        let progress = JobProgress { rows, written: 0 };
        if let Ok(job) = OfflineJob::new(self.scenario.job_rules, progress) {
            self.jobs.push((variant, job));
        }
        self.load_for_job(variant);
        self.start_everywhere();
    }

    /// Loads the variant of a job if it does not run and there is room.
    fn load_for_job(&mut self, variant: VariantIndex) {
        let catalog = &self.scenario.catalog;
        let device = self.hosted.best_fit(catalog, variant);
        if let Some(device) = device.filter(|_| self.hosted.total(variant) == 0)
            && self.hosted.add(catalog, variant, device).is_ok()
        {
            self.load(device, variant, 1);
        }
    }

    pub(super) fn offline_rows(&self) -> u64 {
        self.jobs
            .iter()
            .map(|(_, job)| job.progress().written)
            .sum()
    }
}
