//! Drives the machine of changes by the engine's clock, and does slow work in its own thread, with
//! or without a connected console.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::deployment::{Applied, CatalogueChange, ChangePlan, Deployment, DeploymentError};
use crate::search::evacuate;
use crate::serving::{
    ApplyError, ApplyStep, Engine, LogLevel, LogTarget, MachineRank, NoFallback, RequestsRank,
    SharedLeaf, UntracedLine, caught,
};
use divisi_model::allocation::Matrix;
use divisi_model::metrics::Reading;
use divisi_runtime::lock::{Leaf, Ranked};

use super::event::{ChangeAction, ChangeEvent, ChangeRefusal, ChangeWork};
use super::host_looks::HostLooks;
use super::inbox::{ChangeJob, Inbox, PlannedWork};
use super::judge::{Baseline, JudgeVerdict, Terms};
use super::machine::ChangeMachine;
use super::outcomes::{ChangeMade, Outcomes};
use super::requests::{ModelChangeState, ModelChangeView, ModelRequests, ModelsChanged};

/// Takes lines for the log: the time, the level and the text. `tracing` receives each line too.
pub type ChangeJournal = Arc<dyn Fn(Duration, LogLevel, String) + Send + Sync>;

/// The results of a step of the machine for its caller.
#[derive(Debug, Default)]
pub(super) struct Stepped {
    /// The number of the last change that began.
    pub(super) number: u64,
    /// The verdict on a policy's change.
    pub(super) verdict: Option<JudgeVerdict>,
}

/// The state that the callers and the thread share.
pub(super) struct Driver {
    pub(super) deployment: Arc<Deployment>,
    pub(super) machine: Ranked<MachineRank, ChangeMachine>,
    pub(super) inbox: Arc<Inbox>,
    /// The outcomes of the last changes.
    pub(super) outcomes: Outcomes,
    /// The last change of the models that an operator requested.
    pub(super) requests: Ranked<RequestsRank, ModelRequests>,
    pub(super) journal: Leaf<Option<ChangeJournal>>,
    /// The engine of the setup that the machine knows as running.
    engine: SharedLeaf<Arc<Engine>>,
    /// The start of the first engine, from which all engines of the deployment count time.
    epoch: Instant,
    host: Leaf<HostLooks>,
}

impl Driver {
    pub(super) fn new(deployment: Arc<Deployment>) -> Self {
        let engine = Arc::clone(&deployment.running().engine);
        let graded = engine.telemetry().answers_are_real();
        let machine = ChangeMachine::new(engine.setup(), engine.telemetry().reading(), graded);
        Driver {
            host: Leaf::new(HostLooks::new(engine.devices())),
            machine: Ranked::new(machine),
            inbox: Arc::default(),
            outcomes: Outcomes::default(),
            requests: Ranked::default(),
            journal: Leaf::default(),
            epoch: started(&engine),
            engine: SharedLeaf::new(engine),
            deployment,
        }
    }

    /// Returns the engine of the setup that the machine knows as running.
    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read())
    }

    /// Makes changes and looks at probations until there is nothing more to do.
    pub(super) fn run(&self) {
        while let Some(job) = self.inbox.next(|| self.epoch.elapsed()) {
            let event = match job {
                ChangeJob::Work(planned) => {
                    self.work(*planned);
                    continue;
                }
                ChangeJob::Loss(of, loss) => match of.upgrade() {
                    Some(of) if Arc::ptr_eq(&of, &self.engine()) => ChangeEvent::DeviceLost {
                        device: loss.device,
                        reason: loss.reason.to_string(),
                    },
                    // Another engine serves, without the lost device or with its own loss.
                    _ => continue,
                },
                ChangeJob::Look => self.look(),
            };
            self.tell(event);
        }
    }

    fn look(&self) -> ChangeEvent {
        let engine = self.engine();
        ChangeEvent::Looked {
            reading: Box::new(engine.telemetry().reading()),
            in_flight: engine.telemetry().in_flight(),
            is_disturbed: self.host.lock().is_disturbed(),
        }
    }

    /// Sends the machine an event that it never refuses.
    pub(super) fn tell(&self, event: ChangeEvent) {
        let told = self.step(event, None);
        debug_assert!(told.is_ok());
    }

    /// Steps the machine and carries out the quick actions before its state is visible. `plan` is
    /// the requested plan.
    pub(super) fn step(
        &self,
        event: ChangeEvent,
        plan: Option<ChangePlan>,
    ) -> Result<Stepped, ChangeRefusal> {
        self.step_in(None, event, plan)
    }

    /// Steps the machine. `serving` is the engine that serves from now on, or `None` if it is the
    /// same as before.
    fn step_in(
        &self,
        serving: Option<&Arc<Engine>>,
        event: ChangeEvent,
        mut plan: Option<ChangePlan>,
    ) -> Result<Stepped, ChangeRefusal> {
        let (mut lines, mut stepped) = (Vec::new(), Stepped::default());
        let mut machine = self.machine.lock();
        // Read and written within the lock: the machine never meets the readings of another engine.
        let engine = serving.map_or_else(|| self.engine(), Arc::clone);
        let actions = machine.step(engine.telemetry().now(), event)?;
        if serving.is_some() {
            *self.engine.write() = Arc::clone(&engine);
        }
        for action in actions {
            match action {
                ChangeAction::Log(level, text) => lines.push(self.log(level, text)),
                ChangeAction::ClearLatencies => drop(engine.telemetry().clear_latency()),
                ChangeAction::SetSettings => {
                    let plan = plan.as_ref().and_then(ChangePlan::of_running_models);
                    plan.into_iter().for_each(|plan| engine.adjust(plan));
                }
                ChangeAction::Run(work) => {
                    let plan = plan.take();
                    let work = Box::new(PlannedWork { work, plan });
                    self.inbox.put(|mail| mail.work = Some(work));
                }
                ChangeAction::Judged(verdict) => stepped.verdict = Some(verdict),
                ChangeAction::LookAt(at) => self.inbox.put(|mail| mail.look_at = Some(at)),
            }
        }
        stepped.number = machine.number();
        drop(machine);
        lines.into_iter().for_each(UntracedLine::trace);
        Ok(stepped)
    }

    /// Writes a line to the log. The caller traces the line after it has released all locks.
    pub(super) fn log(&self, level: LogLevel, text: String) -> UntracedLine {
        let line = UntracedLine::new(LogTarget::Changes, level, &text);
        let journal = self.journal.lock().clone();
        if let Some(journal) = journal {
            journal(self.engine().telemetry().now(), level, text);
        }
        line
    }

    fn work(&self, planned: PlannedWork) {
        self.host.lock().change();
        let (began, engine) = (Instant::now(), self.engine());
        self.tell(ChangeEvent::Began {
            baseline: self.baseline(&engine).map(Box::new),
            latency: Box::new(engine.telemetry().observe().latency.since),
        });
        let made = caught(|| self.make(planned));
        let panicked = |panic: &dyn ToString| ApplyError::Panicked(panic.to_string()).into();
        let made = made.unwrap_or_else(|panic| Err(panicked(&panic)));
        self.end(began, &engine, made.map_err(Arc::new));
    }

    /// Tells the machine and the callers the end of a change.
    fn end(&self, began: Instant, before: &Engine, made: Result<Applied, Arc<DeploymentError>>) {
        let running = self.deployment.running();
        let done = |made: &Applied| ChangeMade {
            changed: ModelsChanged {
                took: began.elapsed(),
                gap: made.gap,
            },
            serving: running.serving(),
        };
        let outcome = made.as_ref().map(done).map_err(Arc::clone);
        let now = Arc::clone(&running.engine);
        let is_other = !std::ptr::eq(&*now, before);
        let event = ChangeEvent::Ended {
            result: made,
            running: Box::new(now.setup()),
            before: Box::new(before.telemetry().reading()),
            reading: Box::new(now.telemetry().reading()),
            graded: now.telemetry().answers_are_real(),
        };
        let ended = self.machine.lock().number();
        let told = self.step_in(Some(&now), event, None);
        debug_assert!(told.is_ok());
        if self.machine.lock().number_under_way() == Some(ended) {
            // It is planned again.
            return;
        }
        let request = self.requests.lock().ended(ended, &outcome);
        let log = |view: &ModelChangeView| self.log_request(&view.change, &view.state);
        request.iter().for_each(log);
        self.outcomes.tell(ended, outcome);
        if is_other {
            before.faults().on_loss(|_| {});
            self.listen_to(&now);
        }
        let wanted = self.machine.lock().models();
        self.deployment.keep_only(&wanted);
    }

    /// Writes a request that changed nothing to the log.
    pub(super) fn log_request(&self, change: &CatalogueChange, state: &ModelChangeState) {
        let line = match state {
            ModelChangeState::Refused(why) => (LogLevel::Error, format!("{change}: {why}")),
            ModelChangeState::Nothing => (LogLevel::Info, format!("{change}: nothing to change")),
            _ => return,
        };
        self.log(line.0, line.1).trace();
    }

    /// Evacuates the devices that the drivers of an engine report as lost.
    pub(super) fn listen_to(&self, engine: &Arc<Engine>) {
        let (inbox, of) = (Arc::clone(&self.inbox), Arc::downgrade(engine));
        if may_lose_devices(engine) {
            let tell = move |loss| inbox.put(|mail| mail.losses.push_back((of.clone(), loss)));
            engine.faults().on_loss(tell);
        }
    }

    fn make(&self, planned: PlannedWork) -> Result<Applied, DeploymentError> {
        let PlannedWork { work, plan } = planned;
        let watch: &mut dyn FnMut(ApplyStep) = &mut |step| self.tell(ChangeEvent::Stepped(step));
        let (deployment, engine) = (&self.deployment, self.engine());
        match work {
            ChangeWork::Apply(handover) => {
                let held = self.machine.lock().held_off().to_vec();
                let plan = plan.ok_or(DeploymentError::Stale)?;
                deployment.apply(plan, handover, &held, watch)
            }
            ChangeWork::ApplySetup(setup, handover) => {
                deployment.apply_setup(&setup, handover, watch)
            }
            ChangeWork::Evacuate(device) => {
                let fallback = |running: &Matrix| fallback(&engine, running);
                engine.evacuate(device, &fallback, watch)?;
                Ok(Applied::default())
            }
            ChangeWork::Abandon(device) => {
                let ending = |_: &Matrix| Err(NoFallback("the system is shutting down".into()));
                engine.evacuate(device, &ending, watch)?;
                Ok(Applied::default())
            }
        }
    }

    /// Returns the recent figures that a probation compares with: of a period as long as the terms
    /// require, or since the running setup began.
    fn baseline(&self, engine: &Engine) -> Option<Baseline> {
        let (terms, start) = {
            let machine = self.machine.lock();
            let (terms, since) = machine.baseline_wanted()?;
            (terms, since.clone())
        };
        Some(baseline_since(engine, terms, start))
    }
}

/// Returns whether an engine has devices that can be lost.
pub(super) fn may_lose_devices(engine: &Engine) -> bool {
    let mut devices = engine.devices().indices();
    devices.any(|device| engine.faults().capabilities(device).may_fail)
}

/// Returns the time from which an engine counts.
fn started(engine: &Engine) -> Instant {
    let now = Instant::now();
    now.checked_sub(engine.telemetry().now()).unwrap_or(now)
}

/// Returns the matrix that moves the workers of lost devices to other devices.
fn fallback(engine: &Engine, running: &Matrix) -> Result<Matrix, NoFallback> {
    let lost = engine.faults().lost();
    let moved = evacuate(running, &lost, engine.devices(), &engine.footprints());
    moved.map_err(|error| NoFallback(error.to_string()))
}

fn baseline_since(engine: &Engine, terms: Terms, start: Reading) -> Baseline {
    let telemetry = engine.telemetry();
    let now = telemetry.reading();
    let window = telemetry.reading_before(now.at.saturating_sub(terms.lasts));
    let from = window.filter(|w| w.at > start.at).unwrap_or(start);
    let mut kept: Vec<Reading> = telemetry.readings_between(from.at, now.at);
    kept.insert(0, from.clone());
    let pieces = kept.windows(2).map(|pair| pair[1].since(&pair[0]));
    Baseline {
        pieces: pieces.collect(),
        whole: now.since(&from),
    }
}
