//! Makes changes of what an engine runs: drives the machine by the engine's clock, and does
//! what takes time in a thread of its own, whether or not a console looks.

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
use divisi_runtime::lock::Ranked;

use super::change_log::MarkKind;
use super::event::{ChangeAction, ChangeEvent, ChangeOrigin, ChangeRefusal, ChangeWork};
use super::inbox::{ChangeJob, Inbox};
use super::judge::{Baseline, Terms};
use super::machine::ChangeMachine;
use super::status::ChangeStatus;

/// Takes lines for the log: when, how grave, what. `tracing` is given each of them too.
pub type ChangeJournal = Box<dyn Fn(Duration, LogLevel, String) + Send + Sync>;

/// Brings the models of before back, since those of now did worse as it is told.
pub type BringBack = Box<dyn Fn(String) + Send + Sync>;

/// Applies setups one after another and remembers what ran. [`Changes::close`] ends it.
pub struct Changes {
    pub(super) driver: Arc<Driver>,
    /// Started by the first change, or at once where devices may be lost.
    thread: Option<JoinHandle<()>>,
}

/// The state that the callers and the thread share.
pub(super) struct Driver {
    pub(super) engine: Arc<Engine>,
    journal: ChangeJournal,
    bring_back: Option<BringBack>,
    pub(super) machine: Ranked<MachineRank, ChangeMachine>,
    inbox: Arc<Inbox>,
}

impl Changes {
    /// Changes what `engine` runs, from now on alone. Where it has GPUs, those that are
    /// lost are evacuated. Lines for the log go to `journal`.
    pub fn new(engine: Arc<Engine>, journal: ChangeJournal) -> Self {
        let graded = engine.telemetry().answers_are_real();
        let machine = ChangeMachine::new(engine.setup(), engine.telemetry().reading(), graded);
        Changes::driving(machine, engine, journal, None)
    }

    pub(super) fn driving(
        machine: ChangeMachine,
        engine: Arc<Engine>,
        journal: ChangeJournal,
        bring_back: Option<BringBack>,
    ) -> Self {
        let driver = Driver {
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

    /// Looks at the probation that the machine began with.
    pub(super) fn look_at(&mut self, at: Duration) {
        self.driver.inbox.put(|mail| mail.look_at = Some(at));
        if let Err(error) = self.start_thread() {
            let text = format!("nobody watches what is on probation: {error}");
            self.driver.log(LogLevel::Warn, text).trace();
        }
    }

    /// Works out what applying a setup would change.
    ///
    /// # Errors
    /// It cannot be applied.
    pub fn plan(&self, setup: &Setup) -> Result<Plan, ChangeRefusal> {
        Ok(self.driver.engine.plan(setup)?)
    }

    /// Applies a setup in the background; with terms, on probation.
    ///
    /// # Errors
    /// It cannot be applied, it runs already, or another change is under way.
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

    /// Whether there is a setup that ran before the last change.
    pub fn can_undo(&self) -> bool {
        self.driver.machine.lock().before().is_ok()
    }

    /// Whether there is a setup that the last undo took back.
    pub fn can_redo(&self) -> bool {
        self.driver.machine.lock().after().is_ok()
    }

    /// Brings back what ran before the last change.
    ///
    /// # Errors
    /// Nothing did, or it cannot come back now.
    pub fn undo(&mut self) -> Result<(), ChangeRefusal> {
        let before = self.driver.machine.lock().before()?.clone();
        self.apply(&before, None, ChangeOrigin::Undo)
    }

    /// Brings back what the last undo took back.
    ///
    /// # Errors
    /// Nothing was undone, or it cannot come back now.
    pub fn redo(&mut self) -> Result<(), ChangeRefusal> {
        let after = self.driver.machine.lock().after()?.clone();
        self.apply(&after, None, ChangeOrigin::Redo)
    }

    /// Sets the settings of a setup at once; workers stay as they are.
    ///
    /// # Errors
    /// It cannot be applied, or another change is under way.
    pub fn adjust(&self, setup: &Setup, origin: ChangeOrigin) -> Result<(), ChangeRefusal> {
        self.driver.step(ChangeEvent::Adjusted {
            plan: Box::new(self.plan(setup)?),
            reading: Box::new(self.driver.engine.telemetry().reading()),
            origin,
        })
    }

    /// Lets a simulated device disappear and evacuates it.
    ///
    /// # Errors
    /// It is a device of this machine or lost already, or another change is under way.
    pub fn lose(&mut self, device: DeviceIndex) -> Result<(), ChangeRefusal> {
        self.driver.engine.faults().check_loss_on_demand(device)?;
        self.start_thread()?;
        self.driver.step(ChangeEvent::LoseRequested(device))
    }

    /// Ends the probation: what was applied stays.
    ///
    /// # Errors
    /// Nothing is on probation.
    pub fn keep(&self) -> Result<(), ChangeRefusal> {
        self.driver.step(ChangeEvent::Kept)
    }

    /// Ends the probation: what was applied goes.
    ///
    /// # Errors
    /// Nothing is on probation, or what ran before cannot come back now.
    pub fn take_back(&mut self) -> Result<(), ChangeRefusal> {
        let fallback = self.driver.machine.lock().fallback()?.clone();
        let plan = Box::new(self.plan(&fallback)?);
        self.start_thread()?;
        self.driver.step(ChangeEvent::TakenBack(plan))
    }

    /// Leaves a mark in history.
    pub fn mark(&self, kind: MarkKind, text: String) {
        // A mark is never refused.
        let marked = self.driver.step(ChangeEvent::Marked(kind, text));
        debug_assert!(marked.is_ok());
    }

    /// Returns all that is shown of changes.
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
            let text = format!("GPUs that are lost will not be evacuated: {error}");
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
    /// Waits for the change under way; nothing is changed or watched any more.
    pub fn close(&mut self) {
        let closed = self.driver.step(ChangeEvent::Closed);
        debug_assert!(closed.is_ok());
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.driver.engine.faults().on_loss(|_| {});
        self.driver.inbox.put(|mail| mail.is_over = true);
        // It catches its own panics.
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
                },
            };
            self.tell(event);
        }
    }

    /// Tells the machine of something that it never refuses.
    fn tell(&self, event: ChangeEvent) {
        let told = self.step(event);
        debug_assert!(told.is_ok());
    }

    /// Steps the machine and does what is quick before anybody sees its state.
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

    /// Writes a line to the log. It is to be traced once no lock is held.
    fn log(&self, level: LogLevel, text: String) -> UntracedLine {
        let line = UntracedLine::new(LogTarget::Changes, level, &text);
        (self.journal)(self.engine.telemetry().now(), level, text);
        line
    }

    fn work(&self, work: ChangeWork) {
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
            // It is no work on this engine.
            ChangeWork::BringModelsBack(_) => Err(ApplyError::Stale),
            ChangeWork::Abandon(device) => {
                let ending = |_: &Matrix| Err(NoFallback("the system is shutting down".into()));
                engine.evacuate(device, &ending, watch)
            }
        }
    }

    /// Where the workers of lost devices go.
    fn fallback(&self, running: &Matrix) -> Result<Matrix, NoFallback> {
        let (devices, lost) = (self.engine.devices(), self.engine.faults().lost());
        let moved = evacuate(running, &lost, devices, &self.engine.footprints());
        moved.map_err(|error| NoFallback(error.to_string()))
    }

    /// Returns what was done lately, where what comes is on probation: over a time as long
    /// as the terms ask for, or since what runs began.
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
