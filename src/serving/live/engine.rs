//! The engine: workers for a matrix, requests in, answers out.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::allocation::{
    Cell, DoesNotFit, Footprints, Matrix, PoolBounds, PoolSize, SegmentTooLarge,
};
use crate::device::{Devices, Ledger};
use crate::ensemble::{Ensemble, PolicyKind};
use crate::lock::lock;
use crate::profile::Costs;
use crate::serving::door::{DoorState, Refused};
use crate::serving::scheduler::WorkerSpec;

use super::assembly::assemble;
use super::client::{Failure, Outcome, Pending, Reply, Request, Slot, Staged};
use super::factory::{BuildError, PredictorFactory};
use super::partition;
use super::promise::Settlements;
use super::reserve::Reserve;
use super::shared::EngineState;
use super::simulated;
use super::worker::build;

/// How an engine is set up.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// How large the sample pool may get.
    pub pool: PoolBounds,
    /// How long draining may take.
    pub drain_limit: Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            pool: PoolBounds::default(),
            drain_limit: Duration::from_secs(10),
        }
    }
}

/// Why an engine does not start.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    #[error("worker `{member}` on `{device}` did not start: {reason}")]
    Worker {
        member: String,
        device: String,
        reason: Box<BuildError>,
    },
    #[error("`{device}` cannot be used: {reason}")]
    Gpu {
        device: String,
        reason: Box<BuildError>,
    },
    #[error("policy: {0}")]
    Policy(String),
    #[error("combination: {0}")]
    Combination(String),
    #[error("segment size: expected 1 to {most} samples, what the pool holds; found {size}")]
    SegmentSize { size: usize, most: usize },
    #[error("a thread could not be started: {0}")]
    Thread(String),
    #[error(transparent)]
    Segment(#[from] SegmentTooLarge),
}

/// A running inference system. Dropping it stops it at once; [`Engine::shutdown`]
/// lets it finish first.
pub struct Engine {
    pub(super) shared: Arc<EngineState>,
    pub(super) matrix: Mutex<Matrix>,
    pub(super) footprints: Footprints,
    pub(super) options: EngineOptions,
    /// Memory that others measure in.
    pub(super) reserve: Reserve,
    /// One reload at a time.
    pub(super) reloading: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Builds every worker of `matrix`, then opens the door.
    ///
    /// # Errors
    /// The matrix does not fit, or a worker does not start: nothing runs then.
    pub fn start(
        ensemble: Arc<Ensemble>,
        devices: Devices,
        matrix: &Matrix,
        factory: Arc<dyn PredictorFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let pool = PoolSize::of(&ensemble, options.pool)?;
        let footprints = Footprints::of(&ensemble, &devices).with_pool(pool);
        footprints.book(matrix, &devices)?;
        ensemble
            .policy
            .check(&ensemble.batch_sizes)
            .map_err(EngineError::Policy)?;
        let shared = Arc::new(assemble(&ensemble, devices, factory, &options)?);
        let engine = Engine {
            shared,
            matrix: Mutex::new(matrix.clone()),
            footprints,
            options,
            reserve: Reserve::default(),
            reloading: Mutex::new(()),
            threads: Mutex::default(),
        };
        engine.start_workers(matrix)?;
        engine.start_threads()?;
        engine.shared.core().door().set(DoorState::Open);
        Ok(engine)
    }

    fn start_workers(&self, matrix: &Matrix) -> Result<(), EngineError> {
        for (cell, size) in matrix.workers() {
            let spec = self.new_spec(cell, size);
            build(&self.shared, spec).map_err(|reason| EngineError::Worker {
                member: self.shared.ensemble.members[cell.member].name.clone(),
                device: self.shared.devices.get(cell.device).name.clone(),
                reason: Box::new(reason),
            })?;
            self.shared.core().add_worker(self.shared.now(), spec);
        }
        Ok(())
    }

    pub(super) fn new_spec(&self, cell: Cell, size: crate::ensemble::BatchSize) -> WorkerSpec {
        WorkerSpec {
            id: self.shared.core().new_worker(),
            device: cell.device,
            member: cell.member,
            size,
        }
    }

    fn start_threads(&self) -> Result<(), EngineError> {
        for device in 0..self.shared.devices.count() {
            let shared = Arc::clone(&self.shared);
            if let Some(board) = &shared.lanes[device].board {
                let thread = board.start(&shared);
                let thread = thread.map_err(|e| EngineError::Thread(e.to_string()))?;
                let _ = shared.lanes[device].thread.set(thread);
                continue;
            }
            let name = self.shared.devices.get(device).name.clone();
            let simulated = shared.devices.get(device).kind.profile().is_some();
            let body = move || match simulated {
                true => simulated::run(&shared, device),
                false => partition::run(&shared, device),
            };
            let handle = self.spawn(name, body)?;
            // The door is still closed, so nobody pokes the thread before it is known.
            let _ = self.shared.lanes[device].thread.set(handle);
        }
        let shared = Arc::clone(&self.shared);
        let handle = self.spawn("timer".into(), move || partition::run_timer(&shared))?;
        let _ = self.shared.timer.set(handle);
        Ok(())
    }

    fn spawn(
        &self,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<thread::Thread, EngineError> {
        let handle = thread::Builder::new()
            .name(name)
            .spawn(body)
            .map_err(|e| EngineError::Thread(e.to_string()))?;
        let thread = handle.thread().clone();
        lock(&self.threads).push(handle);
        Ok(thread)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`Refused`] at once.
    pub fn submit(&self, request: Request<'_>) -> Result<Pending, Refused> {
        Ok(self.stage(request)?.release())
    }

    /// Writes a request's samples to the pool but tells nobody yet.
    ///
    /// # Errors
    /// [`Refused`] at once.
    pub fn stage(&self, request: Request<'_>) -> Result<Staged, Refused> {
        let slot = Arc::<Slot>::default();
        let reply = Arc::clone(&slot);
        let put = move |outcome| reply.put(outcome);
        Ok(Staged {
            slot,
            shared: Arc::clone(&self.shared),
            request: self.shared.stage(request, Box::new(put))?,
            released: false,
        })
    }

    /// Sends a request whose outcome goes to `reply`, called in an engine's thread.
    ///
    /// # Errors
    /// [`Refused`] at once; `reply` is then never called.
    pub fn submit_with(&self, request: Request<'_>, reply: Reply) -> Result<(), Refused> {
        self.shared.submit(request, reply).map(|_| ())
    }

    /// Sends and waits.
    ///
    /// # Errors
    /// [`Refused`] at once.
    pub fn predict(&self, request: Request<'_>) -> Result<Outcome, Refused> {
        Ok(self.submit(request)?.wait())
    }

    /// The ensemble served.
    pub fn ensemble(&self) -> &Arc<Ensemble> {
        &self.shared.ensemble
    }

    /// The devices served on.
    pub fn devices(&self) -> &Devices {
        &self.shared.devices
    }

    /// The matrix that runs.
    pub fn matrix(&self) -> Matrix {
        lock(&self.matrix).clone()
    }

    /// What each worker books.
    pub fn footprints(&self) -> &Footprints {
        &self.footprints
    }

    /// What batches cost on simulated devices.
    pub fn costs(&self) -> &Costs {
        &self.shared.costs
    }

    /// The ledger of a matrix that fits.
    pub fn ledger(&self, matrix: &Matrix) -> Result<Ledger, DoesNotFit> {
        self.footprints.book(matrix, &self.shared.devices)
    }

    /// Samples a request may have at most.
    pub fn capacity(&self) -> usize {
        self.shared.core().capacity()
    }

    /// What clients were promised since the start, and what became of it.
    pub fn settlements(&self) -> Settlements {
        self.shared.books.read()
    }

    /// Samples that hold a slot of the pool now.
    pub fn pooled(&self) -> usize {
        self.shared.core().pooled()
    }

    /// Closes the door, lets requests under way finish for at most the drain limit,
    /// fails the rest with a reason, and stops.
    pub fn shutdown(&self) {
        self.shared.core().close("shutting down");
        if self.policy().wait() > Duration::ZERO {
            // Nothing more will come that a sample could wait for.
            self.follow_policy(PolicyKind::NoWait);
        }
        let limit = Instant::now() + self.options.drain_limit;
        while Instant::now() < limit && self.shared.core().in_flight() > 0 {
            thread::park_timeout(Duration::from_millis(1));
        }
        self.stop("the system shut down before it was answered");
    }

    fn stop(&self, reason: &str) {
        self.shared.core().close("stopped");
        self.shared.stopping.store(true, Ordering::Release);
        let all: Vec<usize> = (0..self.shared.lanes.len()).collect();
        self.shared.poke(&all);
        self.shared.poke_timer();
        let left = self.shared.core().fail_all(self.shared.now());
        self.shared
            .deliver_failures(left, &Failure::Worker(reason.to_owned()));
        for handle in lock(&self.threads).drain(..) {
            // A device's thread catches panics; there is nothing to do about others.
            let _ = handle.join();
        }
        self.shared.losses.silence();
        self.shared.boards().for_each(|board| board.stop());
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop("the system was stopped");
    }
}
