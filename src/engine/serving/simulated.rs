//! A simulated device in place of a device's thread. Takes batches and transfers, and returns their
//! outcomes at the right times. Driven in real time by `live`, and in virtual time by the
//! simulation.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use divisi_model::profile::{Costs, KernelCache};
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::simulated::{DeviceJob, Executor, JobEvent, JobId, Law};

use super::batch::{Batch, Transfer};
use super::core::Stamps;

/// An event of a simulated device.
#[derive(Clone, Debug)]
pub enum DeviceEvent<T> {
    /// A part is in its memory; holds the time at which its copy was requested.
    Copied(Transfer, Duration),
    /// The answers of a batch are in host memory, ready to be folded.
    Done(Batch<T>, Stamps),
}

/// A simulated device with its batches and copies.
pub struct SimulatedDevice<T> {
    device: DeviceIndex,
    costs: Arc<Costs>,
    cache: KernelCache,
    executor: Executor,
    batches: HashMap<JobId, (Batch<T>, Stamps)>,
    transfers: HashMap<JobId, (Transfer, Duration)>,
    next_job: JobId,
    slowdown: f64,
    /// Whether batches leave unused capacity to others.
    shared: bool,
}

/// The law of a device with measured times of whole batches.
const MEASURED: Law = Law {
    units: 1,
    rate: 1.0,
    fuses: true,
    activation_bandwidth: 1.0,
    weight_bandwidth: 1.0,
    grain: 0.0,
    launch: 0.0,
    copy_bandwidth: 1e18,
    copy_latency: 0.0,
};

impl<T> SimulatedDevice<T> {
    /// Creates an idle `device` of `costs`.
    pub fn new(device: DeviceIndex, costs: Arc<Costs>) -> Self {
        let shared = costs.is_shared(device);
        SimulatedDevice {
            executor: Executor::new(costs.law(device).unwrap_or(MEASURED)),
            device,
            costs,
            cache: KernelCache::default(),
            batches: HashMap::new(),
            transfers: HashMap::new(),
            next_job: 0,
            slowdown: 1.0,
            shared,
        }
    }

    /// Makes later operations slower by `factor`.
    pub fn set_slowdown(&mut self, factor: f64) {
        self.slowdown = factor;
        self.executor.set_slowdown(factor);
    }

    /// Forgets all work, because the device is lost.
    pub fn clear(&mut self) {
        self.executor.clear();
        self.batches.clear();
        self.transfers.clear();
    }

    /// Starts a batch.
    pub fn start(&mut self, now: Duration, batch: Batch<T>) {
        let (member, device) = (batch.member, self.device);
        let cost = self.cache.batch(&self.costs, member, device, batch.rows);
        let together = self
            .cache
            .batch(&self.costs, member, device, batch.alive.max(batch.rows));
        let stamps = Stamps {
            started: now,
            busy: Duration::from_secs_f64(cost.occupied * self.slowdown),
            expected: Some(Duration::from_secs_f64(together.computing)),
            ..Stamps::default()
        };
        let id = self.number();
        let job = DeviceJob {
            id,
            copy_in: if batch.in_pool { 0 } else { cost.copy_in },
            kernels: cost.kernels,
            copy_out: cost.copy_out,
        };
        self.batches.insert(id, (batch, stamps));
        self.executor.submit(now, job);
    }

    /// Copies a part ahead.
    pub fn copy(&mut self, now: Duration, transfer: Transfer) {
        let id = self.number();
        let bytes = self.costs.sample_bytes(transfer.member) * transfer.samples as u64;
        self.transfers.insert(id, (transfer, now));
        let job = DeviceJob {
            id,
            copy_in: bytes,
            kernels: Arc::new([]),
            copy_out: 0,
        };
        self.executor.submit(now, job);
    }

    fn number(&mut self) -> JobId {
        self.next_job += 1;
        self.next_job
    }

    /// Returns the time of the next event.
    pub fn next_event(&self) -> Option<Duration> {
        self.executor.next_event()
    }

    /// Returns the next time at which [`SimulatedDevice::advance`] may return something.
    pub fn foresee(&self) -> Option<Duration> {
        self.executor.foresee()
    }

    /// Returns the events until `now`, each with its time, in order.
    pub fn advance(&mut self, now: Duration) -> Vec<(Duration, DeviceEvent<T>)> {
        let events = self.executor.advance(now);
        let happened = events
            .into_iter()
            .filter_map(|(at, event)| Some((at, self.note(at, event)?)));
        happened.collect()
    }

    fn note(&mut self, at: Duration, event: JobEvent) -> Option<DeviceEvent<T>> {
        let (JobEvent::CopiedIn(id) | JobEvent::Computed(id) | JobEvent::Done(id)) = event;
        if let JobEvent::Done(id) = event
            && let Some((transfer, asked)) = self.transfers.remove(&id)
        {
            return Some(DeviceEvent::Copied(transfer, asked));
        }
        let (_, stamps) = self.batches.get_mut(&id)?;
        match event {
            JobEvent::CopiedIn(_) => stamps.copied = at,
            JobEvent::Computed(_) => stamps.computed = at,
            JobEvent::Done(_) => {
                stamps.returned = at;
                let (batch, mut stamps) = self.batches.remove(&id)?;
                if !self.shared {
                    stamps.busy = at.saturating_sub(stamps.started);
                }
                return Some(DeviceEvent::Done(batch, stamps));
            }
        }
        None
    }
}
