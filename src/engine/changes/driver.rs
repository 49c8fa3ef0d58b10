//! Changes the setup of an engine. Drives the machine by the engine's clock and does slow work in
//! its own thread, with or without a connected console.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::search::evacuate;
use crate::serving::{
    ApplyError, ApplyStep, Engine, LogLevel, LogTarget, MachineRank, NoFallback, Plan, Setup,
    UntracedLine, caught,
};
use divisi_model::allocation::Matrix;
use divisi_model::metrics::Reading;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::lock::{Leaf, Ranked};

use super::change_log::MarkKind;
use super::event::{ChangeAction, ChangeEvent, ChangeOrigin, ChangeRefusal, ChangeWork};
use super::host_looks::HostLooks;
use super::inbox::{ChangeJob, Inbox};
use super::judge::{Baseline, Terms};
use super::machine::ChangeMachine;
use super::status::ChangeStatus;

/// Takes lines for the log: the time, the level and the text. `tracing` receives each line too.
pub type ChangeJournal = Box<dyn Fn(Duration, LogLevel, String) + Send + Sync>;

/// Restores the previous models because the running ones did worse. The argument is the reason.
pub type BringBack = Box<dyn Fn(String) + Send + Sync>;

/// Applies setups one after another and records them. [`Changes::close`] ends it.
pub struct Changes {
    pub(super) driver: Arc<Driver>,
    /// The thread that makes changes. Starts with the first change, or at once if devices can be
    /// lost.
    thread: Option<JoinHandle<()>>,
}

/// The state that the callers and the thread share.
pub(super) struct Driver {
    pub(super) engine: Arc<Engine>,
    journal: ChangeJournal,
    bring_back: Option<BringBack>,
    pub(super) machine: Ranked<MachineRank, ChangeMachine>,
    inbox: Arc<Inbox>,
    pub(super) host: Leaf<HostLooks>,
}

impl Changes {
    /// Takes sole control over the setup of `engine`. Evacuates GPUs that are lost. Log lines go to
    /// `journal`.
    pub fn new(engine: Arc<Engine>, journal: ChangeJournal) -> Self {
        let graded = engine.telemetry().answers_are_real();
        let machine = ChangeMachine::new(engine.setup(), engine.telemetry().reading(), graded);
        Changes::driving(machine, engine, journal, (None, None))
    }

    pub(super) fn driving(
        machine: ChangeMachine,
        engine: Arc<Engine>,
        journal: ChangeJournal,
        (bring_back, others): (Option<BringBack>, Option<f64>),
    ) -> Self {
        let driver = Driver {
            host: Leaf::new(HostLooks::new(engine.devices(), others)),
            machine: Ranked::new(machine),
            inbox: Arc::default(),
            engine,
            journal,
            bring_back,
        };
        let mut changes = Changes {
            driver: Arc::new(driver),
            thread: None,
        };
        changes.listen();
        changes
    }

    /// Schedules the first check of the probation that the machine began with.
    pub(super) fn look_at(&mut self, at: Duration) {
        self.driver.inbox.put(|mail| mail.look_at = Some(at));
        if let Err(error) = self.start_thread() {
            let text = format!("the probation is not monitored: {error}");
            self.driver.log(LogLevel::Warn, text).trace();
        }
    }

    /// Returns the plan for applying a setup.
    ///
    /// # Errors
    /// The setup cannot be applied.
    pub fn plan(&self, setup: &Setup) -> Result<Plan, ChangeRefusal> {
        Ok(self.driver.engine.plan(setup)?)
    }

    /// Applies a setup in the background, on probation if there are terms.
    ///
    /// # Errors
    /// The setup cannot be applied, it is already running, or another change is under way.
    pub fn apply(
        &mut self,
        setup: &Setup,
        terms: Option<Terms>,
        origin: ChangeOrigin,
    ) -> Result<(), ChangeRefusal> {
        if let Some(terms) = &terms {
            terms.check().map_err(ChangeRefusal::Terms)?;
        }
        let plan = Box::new(self.plan(setup)?);
        self.start_thread()?;
        self.driver.step(ChangeEvent::Requested {
            plan,
            terms,
            origin,
        })
    }

    /// Returns whether the last change can be undone.
    pub fn can_undo(&self) -> bool {
        self.driver.machine.lock().undo_setup().is_ok()
    }

    /// Returns whether the last undo can be redone.
    pub fn can_redo(&self) -> bool {
        self.driver.machine.lock().redo_setup().is_ok()
    }

    /// Restores the setup before the last change.
    ///
    /// # Errors
    /// There is no change to undo, or the setup cannot be restored now.
    pub fn undo(&mut self) -> Result<(), ChangeRefusal> {
        let before = self.driver.machine.lock().undo_setup()?.clone();
        self.apply(&before, None, ChangeOrigin::Undo)
    }

    /// Restores the setup before the last undo.
    ///
    /// # Errors
    /// There is no undone change, or the setup cannot be restored now.
    pub fn redo(&mut self) -> Result<(), ChangeRefusal> {
        let after = self.driver.machine.lock().redo_setup()?.clone();
        self.apply(&after, None, ChangeOrigin::Redo)
    }

    /// Applies the settings of a setup at once. Workers stay unchanged.
    ///
    /// # Errors
    /// The settings cannot be applied, or another change is under way.
    pub fn adjust(&self, setup: &Setup, origin: ChangeOrigin) -> Result<(), ChangeRefusal> {
        self.driver.step(ChangeEvent::Adjusted {
            plan: Box::new(self.plan(setup)?),
            reading: Box::new(self.driver.engine.telemetry().reading()),
            origin,
        })
    }

    /// Makes a simulated device disappear and evacuates it.
    ///
    /// # Errors
    /// The device is real or already lost, or another change is under way.
    pub fn lose(&mut self, device: DeviceIndex) -> Result<(), ChangeRefusal> {
        self.driver.engine.faults().check_loss_on_demand(device)?;
        self.start_thread()?;
        self.driver.step(ChangeEvent::LoseRequested(device))
    }

    /// Ends the probation and keeps the change.
    ///
    /// # Errors
    /// Nothing is on probation.
    pub fn keep(&self) -> Result<(), ChangeRefusal> {
        self.driver.step(ChangeEvent::Kept)
    }

    /// Ends the probation and rolls the change back.
    ///
    /// # Errors
    /// Nothing is on probation, or the previous setup cannot be restored now.
    pub fn take_back(&mut self) -> Result<(), ChangeRefusal> {
        let fallback = self.driver.machine.lock().fallback()?.clone();
        let plan = Box::new(self.plan(&fallback)?);
        self.start_thread()?;
        self.driver.step(ChangeEvent::TakenBack(plan))
    }

    /// Adds a mark to the history.
    pub fn mark(&self, kind: MarkKind, text: String) {
        // A mark is never refused.
        let marked = self.driver.step(ChangeEvent::Marked(kind, text));
        debug_assert!(marked.is_ok());
    }

    /// Returns the status of changes.
    pub fn status(&self) -> ChangeStatus {
        let reading = self.driver.engine.telemetry().reading();
        self.driver.machine.lock().status(&reading)
    }

    fn listen(&mut self) {
        let engine = &self.driver.engine;
        let mut devices = engine.devices().indices();
        if !devices.any(|device| engine.faults().capabilities(device).may_fail) {
            return;
        }
        if let Err(error) = self.start_thread() {
            let text = format!("lost GPUs will not be evacuated: {error}");
            self.driver.log(LogLevel::Warn, text).trace();
            return;
        }
        let inbox = Arc::clone(&self.driver.inbox);
        let tell = move |loss| inbox.put(|mail| mail.losses.push_back(loss));
        self.driver.engine.faults().on_loss(tell);
    }

    fn start_thread(&mut self) -> Result<(), ChangeRefusal> {
        if self.thread.is_none() {
            let driver = Arc::clone(&self.driver);
            let thread = thread::Builder::new()
                .name("changes".into())
                .spawn(move || driver.run());
            self.thread = Some(thread.map_err(|e| ChangeRefusal::NoThread(e.to_string()))?);
        }
        Ok(())
    }
}

impl Changes {
    /// Waits for the change under way. Afterwards nothing is changed or monitored.
    pub fn close(&mut self) {
        let closed = self.driver.step(ChangeEvent::Closed);
        debug_assert!(closed.is_ok());
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.driver.engine.faults().on_loss(|_| {});
        self.driver.inbox.put(|mail| mail.is_over = true);
        // The thread catches its own panics.
        let _ = thread.join();
    }
}

impl Driver {
    fn run(&self) {
        while let Some(job) = self.inbox.next(&self.engine) {
            let event = match job {
                ChangeJob::Work(ChangeWork::BringModelsBack(why)) => {
                    self.bring_back.iter().for_each(|ask| ask(why.clone()));
                    continue;
                }
                ChangeJob::Work(work) => {
                    self.work(work);
                    continue;
                }
                ChangeJob::Loss(loss) => ChangeEvent::DeviceLost {
                    device: loss.device,
                    reason: loss.reason.to_string(),
                },
                ChangeJob::Look => ChangeEvent::Looked {
                    reading: Box::new(self.engine.telemetry().reading()),
                    in_flight: self.engine.telemetry().in_flight(),
                    is_disturbed: self.host.lock().is_disturbed(),
                },
            };
            self.tell(event);
        }
    }

    /// Sends the machine an event that it never refuses.
    fn tell(&self, event: ChangeEvent) {
        let told = self.step(event);
        debug_assert!(told.is_ok());
    }

    /// Steps the machine and carries out the quick actions before its state is visible.
    fn step(&self, event: ChangeEvent) -> Result<(), ChangeRefusal> {
        let mut lines = Vec::new();
        let mut machine = self.machine.lock();
        for action in machine.step(self.engine.telemetry().now(), event)? {
            match action {
                ChangeAction::Log(level, text) => lines.push(self.log(level, text)),
                ChangeAction::ClearLatencies => drop(self.engine.telemetry().clear_latency()),
                ChangeAction::SetSettings(plan) => self.engine.adjust(&plan),
                ChangeAction::Run(work) => self.inbox.put(|mail| mail.work = Some(work)),
                ChangeAction::LookAt(at) => self.inbox.put(|mail| mail.look_at = Some(at)),
            }
        }
        drop(machine);
        lines.into_iter().for_each(UntracedLine::trace);
        Ok(())
    }

    /// Writes a line to the log. The caller traces the line after it has released all locks.
    fn log(&self, level: LogLevel, text: String) -> UntracedLine {
        let line = UntracedLine::new(LogTarget::Changes, level, &text);
        (self.journal)(self.engine.telemetry().now(), level, text);
        line
    }

    fn work(&self, work: ChangeWork) {
        self.host.lock().change();
        self.tell(ChangeEvent::Began {
            baseline: self.baseline().map(Box::new),
            latency: Box::new(self.engine.telemetry().observe().latency.since),
        });
        let made = caught(|| self.make(work));
        let made = made.unwrap_or_else(|panic| Err(ApplyError::Panicked(panic.to_string())));
        self.tell(ChangeEvent::Ended {
            result: made.map(Box::new),
            reading: Box::new(self.engine.telemetry().reading()),
        });
    }

    fn make(&self, work: ChangeWork) -> Result<Plan, ApplyError> {
        let engine = &self.engine;
        let watch: &mut dyn FnMut(ApplyStep) = &mut |step| self.tell(ChangeEvent::Stepped(step));
        match work {
            ChangeWork::Apply(plan) => engine.apply(*plan, watch),
            ChangeWork::ApplySetup(setup) => engine.apply_setup(&setup, watch),
            ChangeWork::Evacuate(device) => {
                engine.evacuate(device, &|running| self.fallback(running), watch)
            }
            // Another part of the system restores models, not this engine.
            ChangeWork::BringModelsBack(_) => Err(ApplyError::Stale),
            ChangeWork::Abandon(device) => {
                let ending = |_: &Matrix| Err(NoFallback("the system is shutting down".into()));
                engine.evacuate(device, &ending, watch)
            }
        }
    }

    /// Returns the matrix that moves the workers of lost devices to other devices.
    fn fallback(&self, running: &Matrix) -> Result<Matrix, NoFallback> {
        let (devices, lost) = (self.engine.devices(), self.engine.faults().lost());
        let moved = evacuate(running, &lost, devices, &self.engine.footprints());
        moved.map_err(|error| NoFallback(error.to_string()))
    }

    /// Returns the recent figures that a probation compares with: of a period as long as the terms
    /// require, or since the running setup began.
    fn baseline(&self) -> Option<Baseline> {
        let (terms, start) = {
            let machine = self.machine.lock();
            let (terms, since) = machine.baseline_wanted()?;
            (terms, since.clone())
        };
        Some(self.baseline_since(terms, start))
    }

    pub(super) fn baseline_since(&self, terms: Terms, start: Reading) -> Baseline {
        let engine = &self.engine;
        let now = engine.telemetry().reading();
        let window = engine
            .telemetry()
            .reading_before(now.at.saturating_sub(terms.lasts));
        let from = window.filter(|w| w.at > start.at).unwrap_or(start);
        let mut kept: Vec<Reading> = engine.telemetry().readings_between(from.at, now.at);
        kept.insert(0, from.clone());
        let pieces = kept.windows(2).map(|pair| pair[1].since(&pair[0]));
        Baseline {
            pieces: pieces.collect(),
            whole: now.since(&from),
        }
    }
}
