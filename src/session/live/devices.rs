//! Devices: their view, simulated failures and slowdowns, and proposals to relieve slow workers.

use std::time::Duration;

use crate::{GpuView, Health, LogLevel, MarkKind, Proposal, Refusal, SessionRefusal};
use divisi_engine::search::model::Batching;
use divisi_engine::search::propose_move;
use divisi_engine::serving::{DoorState, Engine, Observed, WorkerStats};
use divisi_model::allocation::{Cell, Matrix};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::gpu::{Gauges, Usage};

use super::engine_session::EngineSession;

/// The slowdown from which a worker counts as disturbed, by other workers of its device or by the
/// device itself.
pub(super) const INTERFERED: f64 = 1.5;

/// The time between two searches for a proposal, and the number of workers they consider.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const TRIED: usize = 8;

/// The batches a worker must have run before its pace is meaningful.
const SETTLED: u64 = 10;

impl EngineSession {
    /// Returns an error if there is no such device.
    pub(super) fn device(&self, device: DeviceIndex) -> Result<(), SessionRefusal> {
        let last = DeviceIndex::new(self.engine.devices().count() - 1);
        match device > last {
            true => Err(SessionRefusal::UnknownDevice {
                found: device,
                last,
            }),
            false => Ok(()),
        }
    }

    pub(super) fn regain(&mut self, device: DeviceIndex) -> Result<(), Refusal> {
        self.device(device)?;
        self.engine.faults().regain(device)?;
        let name = &self.engine.devices().get(device).name;
        self.changes.mark(MarkKind::Device, format!("{name} back"));
        Ok(())
    }

    pub(super) fn slow(&mut self, device: DeviceIndex, factor: f64) -> Result<(), Refusal> {
        self.device(device)?;
        self.engine.faults().slow(device, factor)?;
        self.slowdown[device] = factor;
        let name = &self.engine.devices().get(device).name;
        let text = format!("`{name}`: operations take {factor}x their normal time");
        self.say(LogLevel::Info, text);
        let text = format!("{name} at {factor}x its time");
        self.changes.mark(MarkKind::Device, text);
        Ok(())
    }

    pub(super) fn health(&self, seen: &Observed) -> Health {
        match &seen.door {
            DoorState::Starting => return Health::Starting,
            DoorState::Closed(reason) => return Health::Closed(reason.clone()),
            DoorState::Open => {}
        }
        if self.engine.catalogue().entries().is_empty() {
            return Health::Closed("no model is served; load one".into());
        }
        let names = self.engine.devices().iter().zip(&seen.lost);
        let gone: Vec<&str> = names
            .filter(|(_, lost)| **lost)
            .map(|(d, _)| d.name.as_str())
            .collect();
        match gone.is_empty() {
            true => Health::Serving,
            false => Health::Degraded(format!("{} gone", gone.join(", "))),
        }
    }

    /// Returns the precision of the GPUs, or `None` without GPUs.
    pub(super) fn precision(&self) -> Option<Precision> {
        let any = self.engine.devices().has_gpu();
        any.then_some(self.ensemble.precision)
    }

    /// Returns the reason for a device's failure, if the driver reported one.
    pub(super) fn loss(&self, seen: &Observed, device: DeviceIndex) -> Option<String> {
        let reason = || self.engine.faults().loss_reason(device);
        let reason = seen.lost[device].then(reason).flatten();
        reason.map(|r| r.to_string())
    }

    /// Returns the properties and latest readings of a device, or `None` if it is not a GPU.
    pub(super) fn gpu(&self, device: DeviceIndex) -> Option<GpuView> {
        let info = self.engine.devices().get(device).kind.gpu()?;
        Some(GpuView::new(info, self.readings.reading(device)))
    }

    /// Searches once a second for a change that would relieve a slow worker.
    pub(super) fn refresh_proposal(&mut self, seen: &Observed) {
        let due = self
            .proposed_at
            .is_none_or(|at| seen.now >= at + LOOK_EVERY);
        if due {
            self.proposed_at = Some(seen.now);
            self.proposal = self.work_out_proposal(seen, &self.engine.matrix());
        }
    }

    /// Returns the change that relieves the slowest worker that any change relieves, or `None`
    /// without one.
    fn work_out_proposal(&self, seen: &Observed, matrix: &Matrix) -> Option<Proposal> {
        let suffers =
            |w: &&WorkerStats| w.batches >= SETTLED && w.slowdown.is_some_and(|s| s > INTERFERED);
        let workers = seen.workers.iter().filter(suffers);
        let mut workers: Vec<&WorkerStats> = workers.collect();
        workers.sort_by(|a, b| f64::total_cmp(&slowdown(b), &slowdown(a)));
        if workers.is_empty() {
            return None;
        }
        let paces = paces(seen);
        let devices = self
            .engine
            .devices()
            .without_memory_of(&self.engine.faults().lost());
        let (costs, footprints) = (self.engine.costs(), self.engine.footprints());
        let batching = Batching::from(&self.engine.setup());
        let relieved = |worker: &WorkerStats| {
            let cell = Cell {
                device: worker.spec.device,
                member: worker.spec.member,
            };
            let better =
                propose_move(matrix, costs, batching, &paces, &footprints, &devices, cell)?;
            Some(Proposal {
                cell,
                slowdown: slowdown(worker),
                matrix: better,
            })
        };
        workers.into_iter().take(TRIED).find_map(relieved)
    }
}

fn slowdown(worker: &WorkerStats) -> f64 {
    worker.slowdown.unwrap_or(1.0)
}

/// Returns the slowdown of each device: that of its least disturbed worker, since a slowdown of all
/// workers is the device's.
fn paces(seen: &Observed) -> Vec<f64> {
    let pace = |device: DeviceIndex| {
        let here = seen.workers.iter().filter(|w| w.spec.device == device);
        let least = here.filter_map(|w| w.slowdown).min_by(f64::total_cmp);
        least.unwrap_or(1.0).max(1.0)
    };
    DeviceIndex::all(seen.devices.len()).map(pace).collect()
}

/// How long a reading is shown.
const KEPT: Duration = Duration::from_millis(500);

type Read = Option<(Gauges, Option<Usage>)>;

/// The last readings of all devices and their time.
#[derive(Debug, Default)]
pub(super) struct Readings {
    at: Option<Duration>,
    devices: Vec<Read>,
}

impl Readings {
    /// Reads the devices again if the last readings are old.
    pub(super) fn refresh(&mut self, engine: &Engine, now: Duration) {
        if self.at.is_some_and(|at| now < at + KEPT) {
            return;
        }
        self.at = Some(now);
        let all = engine.devices().indices();
        self.devices = all.map(|device| read(engine, device)).collect();
    }

    /// Returns the last reading of a device, or `None` if there is none.
    pub(super) fn reading(&self, device: DeviceIndex) -> Read {
        self.devices.get(device.get()).copied().flatten()
    }
}

fn read(engine: &Engine, device: DeviceIndex) -> Read {
    let vitals = engine.telemetry().vitals(device)?;
    Some((vitals.gauges, vitals.memory))
}
