//! The snapshot of a live engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::allocation::{Cell, Matrix};
use crate::ensemble::Ensemble;
use crate::serving::{Engine, Observed, WorkerStats};
use crate::session::{
    Accuracy, Audience, Counters, DeviceView, EntryView, LatencyView, LoadView, MemberView,
    ReloadState, ReloadView, Snapshot, ThroughputView,
};

use super::devices::INTERFERED;
use super::{BARS_PER_OCTAVE, LiveSession};

/// What never changes about a member, worked out once.
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

impl LiveSession {
    pub(super) fn view(&self) -> Snapshot {
        // Before the matrix: a reload that is shown as done is then also in it.
        let reload = self.reloads.view();
        let (can_undo, can_redo) = self.reloads.can_go();
        let seen = self.engine.observe();
        let matrix = self.engine.matrix();
        Snapshot {
            now: seen.now,
            ensemble: Arc::from(self.ensemble.name.as_str()),
            synthetic: self.ensemble.is_synthetic(),
            simulated: self.engine.devices().is_simulated(),
            health: self.health(&seen),
            policy: seen.policy,
            combination: self.ensemble.combination(),
            segment_size: self.ensemble.segment_size,
            target: None,
            marks: Vec::new(),
            history: Vec::new(),
            probation: None,
            audience: Audience::default(),
            playback: None,
            recording: None,
            devices: self.devices(&seen, &matrix),
            members: self.members(&seen),
            entries: self.entries(&seen, &matrix, reload.as_ref()),
            latency: latency(&self.engine),
            latency_before: self.reloads.latency_before(),
            throughput: throughput(&seen),
            accuracy: self.accuracy(),
            counters: self.counters(&seen),
            load: LoadView {
                pattern: self.pattern,
                resting: self.pattern.is_some() && self.load.is_none(),
                sent: self
                    .load
                    .as_ref()
                    .map_or(0, |l| l.tally().sent.load(Ordering::Relaxed)),
            },
            search: self.searches.view(),
            reload,
            proposal: self.proposal.clone().filter(|p| p.matrix != matrix),
            log: self.log.lines(),
            can_undo,
            can_redo,
            matrix,
        }
    }

    fn devices(&self, seen: &Observed, matrix: &Matrix) -> Vec<DeviceView> {
        let ledger = self.engine.ledger(matrix).ok();
        let devices = self.engine.devices();
        devices
            .iter()
            .zip(&seen.devices)
            .enumerate()
            .map(|(index, (device, stats))| DeviceView {
                name: device.name.clone(),
                kind: device.kind.name().to_owned(),
                busy: stats.busy.min(1.0),
                copying: 0.0,
                memory_booked: ledger.as_ref().map_or(0, |l| l.booked(index)),
                memory_bytes: devices.memory_bytes(index),
                side_by_side: device.kind.is_concurrent(),
                lost: seen.lost[index],
                slowdown: self.slowdown[index],
                max_inf: stats.max_inf,
                alive: stats.alive,
            })
            .collect()
    }

    fn members(&self, seen: &Observed) -> Vec<MemberView> {
        self.members
            .iter()
            .zip(&seen.members)
            .map(|(facts, stats)| MemberView {
                name: facts.name.clone(),
                flops: facts.flops,
                parameters: facts.parameters,
                synthetic: facts.synthetic,
                queued: stats.queued,
                growth: 0.0,
                series: Vec::new(),
                latency: LatencyView::default(),
                standing: None,
                samples_per_s: stats.samples_per_s,
            })
            .collect()
    }

    fn entries(
        &self,
        seen: &Observed,
        matrix: &Matrix,
        reload: Option<&ReloadView>,
    ) -> Vec<EntryView> {
        // While a reload runs, a worker that is not there is on its way.
        let retired = match reload {
            Some(reload) if reload.state == ReloadState::Running => Vec::new(),
            _ => self.engine.retired(matrix),
        };
        matrix
            .cells()
            .map(|cell| {
                let mut at = seen
                    .workers
                    .iter()
                    .filter(|w| (w.spec.device, w.spec.member) == (cell.device, cell.member));
                match at.next_back() {
                    Some(stats) => self.entry(stats, cell),
                    None => EntryView {
                        retired: retired.contains(&cell),
                        ..EntryView::default()
                    },
                }
            })
            .collect()
    }

    fn entry(&self, stats: &WorkerStats, cell: Cell) -> EntryView {
        let room = stats.batches as f64 * stats.spec.size.get() as f64;
        EntryView {
            load: stats.load.min(1.0),
            fill: if room > 0.0 {
                stats.samples as f64 / room
            } else {
                0.0
            },
            waiting: 0,
            copying: 0.0,
            latency: LatencyView::default(),
            batches: stats.batches,
            restarts: self.engine.restarts(cell),
            retired: false,
            interfered: stats.slowdown.filter(|s| *s > INTERFERED),
        }
    }

    fn accuracy(&self) -> Option<Accuracy> {
        let labelled = self.ensemble.calibration.as_ref()?.labels().is_some();
        let made_up = self.ensemble.is_synthetic() || self.engine.devices().is_simulated();
        if !labelled || made_up {
            return None;
        }
        let tally = self.load.as_ref()?.tally();
        let answered = tally.answered.load(Ordering::Relaxed);
        (answered > 0).then(|| Accuracy {
            right: tally.right.load(Ordering::Relaxed),
            answered,
        })
    }

    fn counters(&self, seen: &Observed) -> Counters {
        Counters {
            answered: seen.answered,
            refused: seen.refused,
            failed: seen.failed,
            cancelled: seen.cancelled,
            worker_restarts: seen.restarts,
        }
    }
}

/// The ensemble's latencies.
pub(super) fn latency(engine: &Engine) -> LatencyView {
    let seen = engine.observe();
    LatencyView {
        summary: seen.latency,
        buckets: engine.latency_buckets(BARS_PER_OCTAVE),
        split: seen.split,
        missed: None,
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
