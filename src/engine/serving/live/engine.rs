//! The engine: workers for a matrix, requests in, answers out.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::serving::door::{DoorState, Refused};
use crate::serving::drain::{DrainLimits, DrainWait, WorkLeft};
use crate::serving::ledger::RequestLedger;
use crate::serving::scheduler::WorkerSpec;
use divisi_model::allocation::{Cell, DoesNotFit, Footprints, Matrix, PoolSize, SegmentTooLarge};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::{BatchSize, Ensemble, MemberPrecision, PolicyError, PolicyKind};
use divisi_model::profile::Costs;
use divisi_runtime::device::Devices;
use divisi_runtime::lock::Ranked;

use super::columns::RunningColumns;
use super::drivers::{DriverError, ServedNetworks};
use super::factory::{BuildError, PredictorFactory};
use super::locks::{ApplyingRank, Leaf};
use super::options::EngineOptions;
use super::pending::{Pending, Staged, SubmittedRequest};
use super::promise::{Failure, Outcome, Reply};
use super::request::Request;
use super::reserve::Reserve;
use super::state::{EngineSettings, EngineState};
use super::telemetry::Telemetry;

/// The reason why an engine does not start.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The matrix does not fit.
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    /// A worker could not be built.
    #[error("worker `{member}` on `{device}` did not start: {reason}")]
    Worker {
        /// The member's name.
        member: String,
        /// The device's name.
        device: String,
        /// The reason.
        reason: Box<BuildError>,
    },
    /// A device cannot be driven.
    #[error(transparent)]
    Driver(Box<DriverError>),
    /// The policy does not suit the ensemble's batch sizes.
    #[error("policy: {0}")]
    Policy(PolicyError),
    /// No thread could be started.
    #[error("a thread could not be started: {0}")]
    Thread(String),
    /// The pool cannot hold two segments.
    #[error(transparent)]
    Segment(#[from] SegmentTooLarge),
}

/// A running inference engine. Dropping it stops it at once; [`Engine::shutdown`] lets its requests
/// finish first.
pub struct Engine {
    pub(super) state: Arc<EngineState>,
    pub(super) columns: Leaf<RunningColumns>,
    pub(super) options: EngineOptions,
    /// Memory lent to measurements.
    pub(super) reserve: Reserve,
    /// Held during a change, so only one runs at a time.
    pub(super) applying: Ranked<ApplyingRank, ()>,
    /// The number of matrices that have replaced another one.
    pub(super) matrices: AtomicU64,
    timer: Leaf<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Builds every worker of `matrix`, then opens the door.
    ///
    /// # Errors
    /// The matrix does not fit, or a worker does not start. Nothing runs then.
    pub fn start(
        ensemble: Arc<Ensemble>,
        devices: Devices,
        matrix: &Matrix,
        factory: Arc<dyn PredictorFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let catalogue = Arc::new(Catalogue::from_ensemble(ensemble));
        Engine::start_catalogue(catalogue, devices, matrix, factory, options)
    }

    /// Builds every worker of `matrix`, then opens the door. The columns are the members of all
    /// entries of the catalogue, which share the memory limit of the pools.
    ///
    /// # Errors
    /// See [`Engine::start`].
    pub fn start_catalogue(
        catalogue: Arc<Catalogue>,
        devices: Devices,
        matrix: &Matrix,
        factory: Arc<dyn PredictorFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let precisions = catalogue.models().precisions();
        Engine::start_in_precisions(catalogue, devices, matrix, &precisions, factory, options)
    }

    /// Starts like [`Engine::start_catalogue`], with one precision per column instead of those in
    /// the manifests.
    ///
    /// # Errors
    /// See [`Engine::start`].
    pub fn start_in_precisions(
        catalogue: Arc<Catalogue>,
        devices: Devices,
        matrix: &Matrix,
        precisions: &[MemberPrecision],
        factory: Arc<dyn PredictorFactory>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let ensemble = Arc::clone(catalogue.models());
        let precisions = precisions.iter().map(|p| p.resolved(ensemble.precision));
        let precisions: Vec<MemberPrecision> = precisions.collect();
        let pools = PoolSize::for_catalogue(&catalogue, options.pool)?;
        let computed = ensemble.in_precisions(&precisions);
        let footprints = Footprints::plan(&computed, &devices).with_pools(&pools);
        footprints.book(matrix, &devices)?;
        ensemble
            .policy
            .check(&ensemble.batch_sizes)
            .map_err(EngineError::Policy)?;
        let networks = ServedNetworks { ensemble, factory };
        let opened = EngineState::open(catalogue, networks, devices, &pools, options);
        let state = Arc::new(opened.map_err(|e| EngineError::Driver(Box::new(e)))?);
        let engine = Engine {
            state,
            columns: Leaf::new(RunningColumns {
                matrix: matrix.clone(),
                precisions,
                footprints: Arc::new(footprints),
            }),
            options,
            reserve: Reserve::default(),
            applying: Ranked::default(),
            matrices: AtomicU64::new(0),
            timer: Leaf::default(),
        };
        engine.start_workers(matrix)?;
        engine.start_threads()?;
        engine.state.core().door().set(DoorState::Open);
        Ok(engine)
    }

    fn start_workers(&self, matrix: &Matrix) -> Result<(), EngineError> {
        let precisions = self.precisions();
        for (cell, size) in matrix.workers() {
            let spec = self.new_spec(cell, size, precisions[cell.member]);
            let built = self.state.build_worker(spec);
            built.map_err(|reason| EngineError::Worker {
                member: self.state.ensemble.members[cell.member].name.clone(),
                device: self.state.devices.get(cell.device).name.clone(),
                reason: Box::new(reason),
            })?;
            self.state.core().add_worker(self.state.now(), spec);
        }
        Ok(())
    }

    pub(super) fn new_spec(
        &self,
        cell: Cell,
        size: BatchSize,
        precision: MemberPrecision,
    ) -> WorkerSpec {
        WorkerSpec {
            id: self.state.core().new_worker(),
            device: cell.device,
            member: cell.member,
            size,
            precision,
        }
    }

    fn start_threads(&self) -> Result<(), EngineError> {
        let failed = |e: io::Error| EngineError::Thread(e.to_string());
        let host = self.state.host();
        for driver in &self.state.drivers {
            Arc::clone(driver).start(&host).map_err(failed)?;
        }
        let state = Arc::clone(&self.state);
        let timer = thread::Builder::new().name("timer".into());
        let timer = timer.spawn(move || run_timer(&state)).map_err(failed)?;
        let _ = self.state.timer.set(timer.thread().clone());
        *self.timer.lock() = Some(timer);
        Ok(())
    }

    /// Goes on with the ledger of the engine before. Without effect if errors were recorded already.
    pub fn go_on_with(&self, ledger: &Arc<RequestLedger>) {
        self.state.go_on_with(Arc::clone(ledger));
    }

    /// Takes over the lost devices of the engine before, and the limits of its devices.
    pub(crate) fn goes_on_after(&self, before: &Engine) {
        self.faults().take_over(&before.faults().lost());
        for device in self.devices().indices() {
            let most = before.state.core().max_inf(device);
            self.settings().set_max_inf(device, most);
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Returns [`Refused`] at once.
    pub fn submit(&self, request: Request<'_>) -> Result<Pending, Refused> {
        Ok(self.stage(request)?.release())
    }

    /// Writes a request's samples to the pool without queueing it.
    ///
    /// # Errors
    /// Returns [`Refused`] at once.
    pub fn stage(&self, request: Request<'_>) -> Result<Staged, Refused> {
        Staged::new(&self.state, request)
    }

    /// Sends a request. Calls `reply` with its outcome in an engine's thread.
    ///
    /// # Errors
    /// Returns [`Refused`] at once, and never calls `reply`.
    pub fn submit_with(&self, request: Request<'_>, reply: Reply) -> Result<(), Refused> {
        self.state.submit(request, reply).map(|_| ())
    }

    /// Sends a request like [`Engine::submit_with`]. Dropping the returned value before the outcome
    /// cancels the request.
    ///
    /// # Errors
    /// Returns [`Refused`] at once, and never calls `reply`.
    pub fn submit_cancellable(
        &self,
        request: Request<'_>,
        reply: Reply,
    ) -> Result<SubmittedRequest, Refused> {
        SubmittedRequest::new(&self.state, request, reply)
    }

    /// Sends a request and waits for its outcome.
    ///
    /// # Errors
    /// Returns [`Refused`] at once.
    pub fn predict(&self, request: Request<'_>) -> Result<Outcome, Refused> {
        Ok(self.submit(request)?.wait())
    }

    /// Returns the served catalogue.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.state.catalogue
    }

    /// Returns the served ensemble. For several entries of a catalogue, contains the members of
    /// all.
    pub fn ensemble(&self) -> &Arc<Ensemble> {
        &self.state.ensemble
    }

    /// Returns the devices.
    pub fn devices(&self) -> &Devices {
        &self.state.devices
    }

    /// Returns the costs of batches on simulated devices.
    pub fn costs(&self) -> &Costs {
        &self.state.costs
    }

    /// Returns the view for monitoring.
    pub fn telemetry(&self) -> Telemetry<'_> {
        Telemetry::new(&self.state)
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> EngineSettings<'_> {
        EngineSettings::new(&self.state)
    }

    /// Closes the door, waits for requests under way for at most the drain limit, fails the rest
    /// with a reason, and stops.
    pub fn shutdown(&self) {
        let limits = DrainLimits::within(self.options.drain_limit);
        self.end_requests(limits, &AtomicBool::new(false));
        self.stop("the system shut down before it was answered");
    }

    /// Stops an engine that another one replaces. Waits for its requests while they progress
    /// ([`EngineOptions::retire_limits`]). After `hurried` becomes true, behaves like
    /// [`Engine::shutdown`].
    pub fn retire(&self, hurried: &AtomicBool) {
        self.state.is_followed.store(true, Ordering::Release);
        self.end_requests(self.options.retire_limits, hurried);
        self.stop("its model was replaced, and the time to answer it ran out");
    }

    fn end_requests(&self, limits: DrainLimits, hurried: &AtomicBool) {
        self.state.core().close("shutting down");
        if self.settings().policy().wait() > Duration::ZERO {
            // No more samples will arrive to wait for.
            self.follow_policy(PolicyKind::NoWait);
        }
        let began = Instant::now();
        let mut drain = DrainWait::begin(Duration::ZERO, limits);
        let mut hurries = false;
        while drain.goes_on(began.elapsed(), self.work_left()) {
            if !hurries && hurried.load(Ordering::Acquire) {
                hurries = true;
                drain.hurry(began.elapsed(), self.options.drain_limit);
            }
            thread::park_timeout(Duration::from_millis(1));
        }
    }

    fn work_left(&self) -> WorkLeft {
        let core = self.state.core();
        WorkLeft {
            requests: core.in_flight(),
            samples: core.pooled(),
        }
    }

    fn stop(&self, reason: &str) {
        self.state.core().close("stopped");
        self.state.stopping.store(true, Ordering::Release);
        for driver in &self.state.drivers {
            driver.wake();
        }
        self.state.poke_timer();
        let left = self.state.core().fail_all(self.state.now());
        self.state
            .deliver_failures(left, &Failure::Stopped(reason.to_owned()));
        let timer = self.timer.lock().take();
        // The thread does not panic, and nothing could be done about it.
        drop(timer.map(JoinHandle::join));
        self.state.losses.silence();
        for driver in &self.state.drivers {
            driver.stop(self.options.drain_limit);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop("the system was stopped");
    }
}

/// Runs the timer of deadlines and segments, which sleeps until one is due.
fn run_timer(state: &EngineState) {
    while !state.is_stopping() {
        let now = state.now();
        let (late, expired, early, woken, next) = {
            let mut core = state.core();
            let (late, expired) = (core.tick(now), core.expire(now));
            let early = core.lose_patience(now);
            (late, expired, early, core.wake(now), core.next_timer())
        };
        state.poke(&woken);
        state.deliver_failures(late, &Failure::Deadline);
        state.deliver_failures(expired, &Failure::QueueTimeout);
        state.deliver(early);
        state.run_host_steps();
        match next {
            Some(at) => thread::park_timeout(at.saturating_sub(state.now())),
            None => thread::park(),
        }
    }
}
