//! The snapshot of a live engine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    AnswerQuality, Audience, Counters, DeviceView, EntryView, ErrorOutcome, ErrorsView,
    LostRequests, MemberContribution, MemberView, ReloadState, ReloadView, SessionRefusal, Setup,
    Snapshot, ThroughputView, Total,
};
use divisi_engine::changes::ChangeStatus;
use divisi_engine::serving::{DeviceCapabilities, LogTarget, Observed, WorkerId, WorkerStats};
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::catalogue::{Demand, Mix};
use divisi_model::ensemble::{Ensemble, MemberFigures, MemberPrecision};
use divisi_model::metrics::{LatencyView, RequestsView};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::before;
use super::devices::INTERFERED;
use super::engine_session::EngineSession;
use super::forecast::Conditions;
use super::saturation::{is_at_capacity, mean_rate};

/// The maximum number of running batches in a snapshot. More would be of no use on a screen.
const MOST_RUNNING: usize = 1024;

/// The properties of a member that never change, computed once.
pub(super) struct MemberFacts {
    name: String,
    flops: u64,
    parameters: u64,
    synthetic: bool,
}

pub(super) fn member_facts(ensemble: &Ensemble) -> Vec<MemberFacts> {
    let members = ensemble.members.iter();
    members
        .map(|member| MemberFacts {
            name: member.name.clone(),
            flops: member.graph.flops(),
            parameters: member.graph.parameter_count(),
            synthetic: member.weights.is_synthetic(),
        })
        .collect()
}

impl EngineSession {
    pub(super) fn view(&mut self, told: ChangeStatus) -> Snapshot {
        let load = self.load.lock().view();
        let limit = self.target.map(|t| t.latency);
        let seen = self.engine.telemetry().observe_against(limit);
        let queues = seen.members.iter().map(|m| m.queued);
        self.growth.note(seen.now, queues);
        self.refresh_proposal(&seen);
        let disturbed = self.searches.is_measuring();
        self.forecast.learn(&seen, disturbed);
        let setup = self.engine.setup();
        let is_running = |reload: &ReloadView| reload.state == ReloadState::Running;
        let reloads = told.reload.as_ref().is_some_and(is_running);
        self.learn_capacity(&seen, &setup, disturbed || reloads);
        self.learn_latency(disturbed);
        let Setup {
            models: copies,
            matrix,
            precisions,
            ..
        } = setup;
        self.readings.refresh(&self.engine, seen.now);
        let lately = self.lately(&seen);
        Snapshot {
            now: seen.now,
            started: None,
            second: None,
            generation: 0,
            models: Vec::new(),
            copies,
            can_load: false,
            door: None,
            scaling: None,
            model_change: told.models,
            ensemble: Arc::clone(&self.name),
            answers: self.ensemble.answers,
            pipeline: !self.ensemble.is_combined(),
            synthetic: self.ensemble.is_synthetic(),
            simulated: self.capabilities().any(|c| !c.computes),
            precision: self.precision(),
            health: self.health(&seen),
            policy: seen.policy,
            own_policies: seen.own_policies,
            combination: self.engine.settings().combination(),
            segment_size: seen.segment_size,
            host: None,
            target: self.target,
            marks: told.marks,
            history: told.history,
            probation: told.probation,
            audience: Audience::default(),
            playback: None,
            recording: None,
            devices: self.devices(&seen, &matrix),
            members: self.members(&seen, &precisions),
            entries: self.entries(&seen, &matrix, told.reload.as_ref()),
            graphs: self.engine.telemetry().step_graphs(),
            latency: seen.latency.clone(),
            latency_before: told.latency_before,
            oldest_waiting: seen.oldest_waiting,
            under_way: seen.under_way.iter().take(MOST_RUNNING).copied().collect(),
            throughput: ThroughputView {
                series: self.with_before(seen.series.clone(), seen.moment, seen.now),
                ..throughput(&seen)
            },
            quality: self.quality(),
            counters: self.counters(&seen),
            lately,
            errors: self.errors(),
            requests: RequestsView::default(),
            load,
            search: self.searches.view(),
            reload: told.reload,
            proposal: self.proposal.clone().filter(|p| p.matrix != matrix),
            log: self.log.lines(),
            can_undo: told.can_undo,
            can_redo: told.can_redo,
            matrix,
        }
    }

    /// Adds the error of the prediction if the running `setup` was at capacity.
    fn learn_capacity(&mut self, seen: &Observed, setup: &Setup, disturbed: bool) {
        let measures = !disturbed && is_at_capacity(seen);
        let running = measures.then(|| self.forecast.number(setup));
        let is_complete = self.capacity.note(seen.now, running);
        let Some(rate) = is_complete.then(|| mean_rate(seen)).flatten() else {
            return;
        };
        if let Ok(conditions) = self.conditions() {
            self.forecast.served_at_capacity(setup, &conditions, rate);
        }
    }

    /// Returns the demand: the configured mix, else the mix observed while serving, else an even
    /// mix; with the shares of rows that reached each step.
    pub(super) fn demand(&self) -> Result<Demand, SessionRefusal> {
        let (catalogue, telemetry) = (self.engine.computed_catalogue(), self.engine.telemetry());
        let mix = match &self.mix {
            Some(mix) => mix.resolve(&catalogue)?,
            None => telemetry
                .seen_mix()
                .unwrap_or_else(|| Mix::equal_shares(catalogue.entries().len())),
        };
        let demand = Demand::new(catalogue, mix);
        Ok(demand.with_steps(telemetry.step_shares()))
    }

    /// Returns the conditions of predictions in addition to the setup.
    pub(super) fn conditions(&self) -> Result<Conditions, SessionRefusal> {
        Ok(Conditions::new(&self.slowdown, self.demand()?.by_member()))
    }

    /// Returns a series up to `now` that includes the previous engine's intervals. In an interval
    /// with both engines, their values are added.
    pub(super) fn with_before(
        &self,
        mut series: Vec<f64>,
        moment: Duration,
        now: Duration,
    ) -> Vec<f64> {
        let Some((before, until)) = &self.throughput_before else {
            return series;
        };
        let number = |at: Duration| (at.as_nanos() / moment.as_nanos().max(1)) as usize;
        let since = number(now).saturating_sub(number(*until));
        let wanted = before.len().max(series.len()).min(before.len() + since);
        let missing = wanted.saturating_sub(series.len());
        series.splice(0..0, std::iter::repeat_n(0.0, missing));
        let shifted = series.iter_mut().rev().skip(since);
        shifted
            .zip(before.iter().rev())
            .for_each(|(now, then)| *now += then);
        series
    }

    fn capabilities(&self) -> impl Iterator<Item = DeviceCapabilities> {
        let devices = self.engine.devices().indices();
        devices.map(|device| self.engine.faults().capabilities(device))
    }

    fn devices(&self, seen: &Observed, matrix: &Matrix) -> Vec<DeviceView> {
        let ledger = self.engine.ledger(matrix).ok();
        let devices = self.engine.devices();
        let facts = devices.iter().zip(&seen.devices).zip(self.capabilities());
        DeviceIndex::enumerate(facts)
            .map(|(index, ((device, stats), can))| DeviceView {
                name: device.name.clone(),
                kind: device.kind.name().to_owned(),
                faults_on_demand: can.faults_on_demand,
                busy: stats.busy.min(1.0),
                copying: stats.copying,
                memory_booked: ledger.as_ref().map_or(0, |l| l.booked(index)),
                memory_bytes: devices.memory_bytes(index),
                shares_memory_of: devices.shares_memory_of(index),
                side_by_side: can.discipline.is_concurrent(),
                lost: seen.lost[index],
                loss: self.loss(seen, index),
                gpu: self.gpu(index),
                slowdown: self.slowdown[index],
                max_inf: stats.max_inf,
                alive: stats.alive,
            })
            .collect()
    }

    fn members(&self, seen: &Observed, precisions: &[MemberPrecision]) -> Vec<MemberView> {
        let figures = self.engine.telemetry().member_figures();
        let all: f64 = seen.members.iter().map(|m| m.device_s).sum();
        let cost = |member: MemberIndex| seen.members[member].device_s / all.max(f64::MIN_POSITIVE);
        let facts = self.members.iter().zip(&seen.members);
        MemberIndex::enumerate(facts)
            .map(|(member, (facts, stats))| MemberView {
                name: facts.name.clone(),
                flops: facts.flops,
                parameters: facts.parameters,
                synthetic: facts.synthetic,
                precision: precisions[member.get()],
                queued: stats.queued,
                growth: self.growth.growth(member.get()),
                series: stats.series.clone(),
                latency: seen.latencies.members[member].clone(),
                contribution: figures[member].map(|f| contribution(f, cost(member))),
                samples_per_s: stats.samples_per_s,
                flaws: seen.flaws[member],
            })
            .collect()
    }

    fn entries(
        &self,
        seen: &Observed,
        matrix: &Matrix,
        reload: Option<&ReloadView>,
    ) -> Vec<EntryView> {
        // While a reload runs, a missing worker is about to start.
        let retired = match reload {
            Some(reload) if reload.state == ReloadState::Running => Vec::new(),
            _ => self.engine.telemetry().retired(matrix),
        };
        let restarts = self.engine.telemetry().restarts();
        let workers: HashMap<(DeviceIndex, MemberIndex), &WorkerStats> = seen
            .workers
            .iter()
            .map(|w| ((w.spec.device, w.spec.member), w))
            .collect();
        let lags: HashMap<WorkerId, &LatencyView> = {
            let lags = seen.latencies.workers.iter();
            lags.map(|(id, view)| (*id, view)).collect()
        };
        let entry = |cell: Cell| {
            let place = (cell.device, cell.member);
            match workers.get(&place) {
                Some(stats) => EntryView {
                    restarts: restarts.get(&place).copied().unwrap_or(0),
                    latency: lags
                        .get(&stats.spec.id)
                        .map(|view| (*view).clone())
                        .unwrap_or_default(),
                    ..entry(stats)
                },
                None => EntryView {
                    retired: retired.contains(&cell),
                    ..EntryView::default()
                },
            }
        };
        matrix.cells().map(entry).collect()
    }

    fn quality(&self) -> Option<AnswerQuality> {
        let known = self.ensemble.calibration.as_ref()?.targets().is_some();
        if !known || !self.engine.telemetry().answers_are_real() {
            return None;
        }
        self.load.lock().quality()
    }

    /// Returns the recently lost requests. Writes to the log when losses begin, continue or end.
    fn lately(&mut self, seen: &Observed) -> LostRequests {
        let ledger = self.engine.telemetry().ledger();
        let total = |outcome| Total {
            requests: ledger.requests(outcome),
            why: ledger.last_message(outcome),
        };
        let (refused, failed) = (total(ErrorOutcome::Refused), total(ErrorOutcome::Failed));
        let (lately, lines) = self.lately.note(seen.now, [refused, failed]);
        for (level, text) in lines {
            self.log
                .add(seen.now, LogTarget::Session, level, text)
                .trace();
        }
        lately
    }

    fn counters(&self, seen: &Observed) -> Counters {
        let ledger = self.engine.telemetry().ledger();
        let lost = Counters {
            refused: ledger.requests(ErrorOutcome::Refused),
            failed: ledger.requests(ErrorOutcome::Failed),
            cancelled: ledger.requests(ErrorOutcome::Cancelled),
            ..Counters::default()
        };
        before::counters(seen) + lost + self.counted_before
    }

    /// Returns the errors that clients saw.
    fn errors(&self) -> ErrorsView {
        let ledger = self.engine.telemetry().ledger();
        ErrorsView {
            counts: ledger.counts(),
            last: ledger.last(),
        }
    }
}

fn contribution(figures: MemberFigures, cost: f64) -> MemberContribution {
    MemberContribution {
        weighed: figures.weighed,
        agreement: figures.agreement,
        quality: figures.quality,
        disagreement: figures.disagreement,
        entropy: figures.entropy,
        cost,
        flips: figures.flips(),
        otherwise: figures.otherwise,
        quality_change: figures.quality_change,
    }
}

fn entry(stats: &WorkerStats) -> EntryView {
    EntryView {
        load: stats.load.min(1.0),
        fill: stats.fill,
        waiting: stats.waiting,
        copying: stats.copying,
        batches: stats.batches,
        interfered: stats.slowdown.filter(|s| *s > INTERFERED),
        ..EntryView::default()
    }
}

fn throughput(seen: &Observed) -> ThroughputView {
    ThroughputView {
        samples_per_s: seen.samples_per_s,
        requests_per_s: seen.requests_per_s,
        series: seen.series.clone(),
        moment: seen.moment,
    }
}
