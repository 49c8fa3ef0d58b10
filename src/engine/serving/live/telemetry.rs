//! The figures of a running engine.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::serving::batch::PipelineIndex;
use crate::serving::core::{
    DeviceStats, Latencies, LevelStats, MOMENT, MemberStats, StepStats, WorkerStats,
};
use crate::serving::door::DoorState;
use crate::serving::events::EngineEvent;
use crate::serving::flaws::Flaws;
use crate::serving::ledger::RequestLedger;
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::catalogue::{Mix, StepShare};
use divisi_model::ensemble::{MemberFigures, PolicyKind};
use divisi_model::metrics::{
    Distribution, Latency, LatencyTally, LatencyView, Reading, RequestsView,
};
use divisi_model::trace::Span;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::counters::{EngineCounters, EntryStats, Graded};
use super::drivers::DeviceVitals;
use super::promise::Settlements;
use super::state::EngineState;
use super::step_graph::StepGraph;

/// Counters and rates of a running engine, for display.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The time since the engine's start.
    pub now: Duration,
    /// Whether requests are admitted.
    pub door: DoorState,
    /// Requests refused since the start.
    pub refused: u64,
    /// Requests that failed since the start.
    pub failed: u64,
    /// Requests that their callers cancelled.
    pub cancelled: u64,
    /// Workers that were rebuilt.
    pub restarts: u64,
    /// Requests answered since the start.
    pub answered: u64,
    /// Admitted requests that are not over.
    pub in_flight: usize,
    /// The policy in force.
    pub policy: PolicyKind,
    /// Whether some models have their own, shorter delays.
    pub own_policies: bool,
    /// The figures of each worker.
    pub workers: Vec<WorkerStats>,
    /// The figures of each device.
    pub devices: Vec<DeviceStats>,
    /// The figures of each member.
    pub members: Vec<MemberStats>,
    /// Recent requests answered per second.
    pub requests_per_s: f64,
    /// Recent samples answered per second.
    pub samples_per_s: f64,
    /// Samples per second in each moment of [`Observed::moment`], oldest first.
    pub series: Vec<f64>,
    /// The length of a moment.
    pub moment: Duration,
    /// The most samples of a segment under `segment`.
    pub segment_size: usize,
    /// Latencies of requests, from submission to answer.
    pub latency: LatencyView,
    /// The waiting time of the oldest request under way.
    pub oldest_waiting: Option<Duration>,
    /// The batches in execution, each as a span from its start to [`Observed::now`].
    pub under_way: Vec<Span>,
    /// Latencies from arrival to a member's answer.
    pub latencies: Latencies,
    /// Whether each device is lost.
    pub lost: Vec<bool>,
    /// The flawed rows of each member.
    pub flaws: Vec<Flaws>,
}

/// The bars of the latency chart per doubling.
const BARS_PER_OCTAVE: u32 = 4;

/// The figures of a running engine, borrowed by [`super::Engine::telemetry`].
#[derive(Clone, Copy)]
pub struct Telemetry<'a> {
    state: &'a EngineState,
}

impl<'a> Telemetry<'a> {
    pub(super) fn new(state: &'a EngineState) -> Self {
        Telemetry { state }
    }

    /// Returns whether answers are meaningful: computed, with weights that are not synthetic.
    pub fn answers_are_real(&self) -> bool {
        self.state.answers_are_real
    }

    /// Returns the most samples of a request.
    pub fn capacity(&self) -> usize {
        self.state.core().capacity(PipelineIndex::default())
    }

    /// Returns the most samples of a request to an entry of the catalogue.
    pub fn capacity_of(&self, pipeline: PipelineIndex) -> usize {
        self.state.core().capacity(pipeline)
    }

    /// Returns whether requests to an entry of the catalogue are admitted.
    pub fn door_of(&self, pipeline: PipelineIndex) -> DoorState {
        let mut core = self.state.core();
        let closed = core.closed(pipeline).map(str::to_owned);
        match (core.door().state().clone(), closed) {
            (DoorState::Open, Some(reason)) => DoorState::Closed(reason),
            (state, _) => state,
        }
    }

    /// Returns the waiting requests to an entry of the catalogue, level by level. Empty if they
    /// wait in the order of arrival.
    pub fn queue_of(&self, pipeline: PipelineIndex) -> Vec<LevelStats> {
        self.state.core().queue_of(pipeline)
    }

    /// Returns the number of requests to an entry of the catalogue that wait for their first batch.
    pub fn waiting_of(&self, pipeline: PipelineIndex) -> usize {
        self.state.core().waiting(pipeline)
    }

    /// Returns the figures of each entry of the catalogue.
    pub fn entries(&self) -> Vec<EntryStats> {
        let now = self.state.now();
        let served = self.state.served.iter();
        served.map(|entry| entry.tally.lock().stats(now)).collect()
    }

    /// Returns the shares of samples answered by the entries of the catalogue since the start, or
    /// `None` if there are none.
    pub fn seen_mix(&self) -> Option<Mix> {
        let samples = self.entries().into_iter().map(|entry| entry.samples);
        Mix::from_counts(&samples.collect::<Vec<_>>())
    }

    /// Returns the shares of rows of the steps of each entry of the catalogue, in the order of work.
    pub fn step_shares(&self) -> Vec<Vec<StepShare>> {
        let now = self.state.now();
        let entries = 0..self.state.catalogue.entries().len();
        let shares = |entry| {
            let stats = self.state.core().step_stats(now, PipelineIndex(entry));
            stats.iter().map(StepStats::shares).collect()
        };
        entries.map(shares).collect()
    }

    /// Returns the steps of each entry of the catalogue, with their figures.
    pub fn step_graphs(&self) -> Vec<StepGraph> {
        let (now, entries) = (self.state.now(), self.state.catalogue.entries());
        let numbered = entries.iter().enumerate();
        let graph = |(number, entry)| {
            let stats = self.state.core().step_stats(now, PipelineIndex(number));
            StepGraph::from_entry(entry, &stats)
        };
        numbered.map(graph).collect()
    }

    /// Returns the ledger of errors, which the next engine of a deployment goes on with.
    pub fn ledger(&self) -> &'a Arc<RequestLedger> {
        self.state.ledger()
    }

    /// Returns whether requests are admitted.
    pub fn door(&self) -> DoorState {
        self.state.core().door().state().clone()
    }

    /// Returns the number of samples that hold a slot of the pool.
    pub fn pooled(&self) -> usize {
        self.state.core().pooled()
    }

    /// Returns the number of requests admitted since the start, and their outcomes.
    pub fn settlements(&self) -> Settlements {
        self.state.promises.read()
    }

    /// Returns the number of plans made since the start.
    pub fn plans_made(&self) -> u64 {
        self.state.counters.plans.load(Ordering::Relaxed)
    }

    /// Returns the entries of a running matrix whose worker was retired.
    pub fn retired(&self, matrix: &Matrix) -> Vec<Cell> {
        let staying: HashSet<(DeviceIndex, MemberIndex)> = {
            let core = self.state.core();
            let staying = core.staying();
            staying.map(|spec| (spec.device, spec.member)).collect()
        };
        let workers = matrix.workers().map(|(cell, _)| cell);
        workers
            .filter(|cell| !staying.contains(&(cell.device, cell.member)))
            .collect()
    }

    /// The time since the engine's start.
    pub fn now(&self) -> Duration {
        self.state.now()
    }

    /// Returns the number of admitted requests that are not over.
    pub fn in_flight(&self) -> usize {
        self.state.core().in_flight()
    }

    /// Returns the slowest requests of the last minute and the last failed ones.
    pub fn requests(&self) -> RequestsView {
        self.state.counters.recent.view(self.state.now())
    }

    /// Returns the counters since the start.
    pub fn reading(&self) -> Reading {
        self.state.reading()
    }

    /// Returns the counters at about `at`: the newest kept reading before it. Readings are kept
    /// every few seconds while requests are answered, for ten minutes.
    pub fn reading_before(&self, at: Duration) -> Option<Reading> {
        let checkpoints = self.state.counters.checkpoints.lock();
        checkpoints.reading_before(at).cloned()
    }

    /// Returns the counters at the moments kept between two times, oldest first.
    pub fn readings_between(&self, from: Duration, until: Duration) -> Vec<Reading> {
        self.state
            .counters
            .checkpoints
            .lock()
            .readings_between(from, until)
    }

    /// Returns each member's contribution to the ensemble over the recently weighed requests.
    /// `None` if answers are meaningless or too few were weighed.
    pub fn member_figures(&self) -> Vec<Option<MemberFigures>> {
        match self.state.single() {
            Some(single) => single.sampler.member_figures(),
            None => vec![None; self.state.ensemble.members.len()],
        }
    }

    /// Returns the counters of answers with known labels.
    pub fn graded(&self) -> &'a Arc<Graded> {
        &self.state.counters.graded
    }

    /// Returns counters and rates.
    pub fn observe(&self) -> Observed {
        self.observe_against(None)
    }

    /// Returns counters and rates, and the share of latencies above `limit`. Examines every
    /// distribution, so it is for display only.
    pub fn observe_against(&self, limit: Option<Duration>) -> Observed {
        let counters = &self.state.counters;
        let now = self.state.now();
        let latency = self.latency(now, limit);
        let (answered, requests_per_s, samples_per_s, series) = rates(counters, now);
        let mut core = self.state.core();
        let workers = core.worker_stats(now);
        Observed {
            now,
            door: core.door().state().clone(),
            refused: core.door().refused(),
            failed: counters.failed.load(Ordering::Relaxed),
            cancelled: counters.cancelled.load(Ordering::Relaxed),
            restarts: counters.restarts.load(Ordering::Relaxed),
            answered,
            in_flight: core.in_flight(),
            policy: core.policy(),
            own_policies: core.has_own_policies(),
            segment_size: core.segment(),
            oldest_waiting: core.oldest_waiting(now),
            under_way: core.under_way(now),
            latencies: core.latencies(now, limit),
            devices: core.device_stats(now, &workers),
            workers,
            members: core.member_stats(now),
            requests_per_s,
            samples_per_s,
            series,
            moment: MOMENT,
            latency,
            lost: self
                .state
                .devices
                .indices()
                .map(|d| core.is_lost(d))
                .collect(),
            flaws: counters.flaws.by_member(),
        }
    }

    /// Returns the latencies of requests. Those since the last clearing have three digits.
    fn latency(&self, now: Duration, limit: Option<Duration>) -> LatencyView {
        let counters = &self.state.counters;
        let view = counters.tally.lock().view(now, limit);
        let whole = counters.latency.lock().whole(BARS_PER_OCTAVE, limit);
        LatencyView {
            since: Distribution {
                summary: whole.summary,
                buckets: whole.buckets,
                missed: whole.above,
                ..view.since
            },
            ..view
        }
    }

    /// Clears the latencies and returns them.
    pub fn clear_latency(&self) -> Latency {
        self.state.core().clear_latencies();
        *self.state.counters.tally.lock() = LatencyTally::default();
        std::mem::take(&mut *self.state.counters.latency.lock())
    }

    /// Returns the restarts of workers by place. Omits places without restarts.
    pub fn restarts(&self) -> HashMap<(DeviceIndex, MemberIndex), u32> {
        self.state.core().restarts().clone()
    }

    /// Moves the spans since the last call to `into`, by device, oldest first. Returns the number
    /// of spans lost since the start.
    pub fn drain_spans(&self, into: &mut Vec<Span>) -> u64 {
        self.state.spans.iter().map(|ring| ring.drain(into)).sum()
    }

    /// Returns the state of a device as reported by its driver, or `None` if there is no such
    /// driver or the device is lost. Queries the hardware.
    pub fn vitals(&self, device: DeviceIndex) -> Option<DeviceVitals> {
        self.state.drivers[device].vitals()
    }

    /// Takes the events since the last call, each with its time since the engine's start.
    pub fn take_events(&self) -> Vec<(Duration, EngineEvent)> {
        std::mem::take(&mut *self.state.counters.events.lock())
    }
}

fn rates(counters: &EngineCounters, now: Duration) -> (u64, f64, f64, Vec<f64>) {
    let lately = Duration::from_secs(1);
    let mut answered = counters.answered.lock();
    let (requests, samples) = &mut *answered;
    (
        requests.total() as u64,
        requests.rate(now, lately),
        samples.rate(now, lately),
        samples.series(now),
    )
}
