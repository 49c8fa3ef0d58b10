//! The changes of what a deployment serves: see [`Changes`].

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::deployment::{ChangePlan, Deployment, Generation, Handover};
use crate::serving::{Leaf, LogLevel, Setup, TurnRank};
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::lock::Ranked;

use super::change_log::MarkKind;
use super::driver::{ChangeJournal, Driver, may_lose_devices};
use super::event::{ChangeEvent, ChangeOrigin, ChangeRefusal, PlannedChange, WatchedBy};
use super::goals::GoalEvidence;
use super::judge::{JudgeVerdict, Terms};
use super::status::ChangeStatus;

/// Changes what a deployment serves, one change at a time from any origin, and records the
/// changes. [`Changes::close`] ends it.
pub struct Changes {
    pub(super) driver: Arc<Driver>,
    /// Held by callers that wait for their change, so that one plans after the other.
    pub(super) turn: Ranked<TurnRank, ()>,
    /// The thread that makes changes. Starts with the first change, or at once if devices can be
    /// lost.
    thread: Leaf<Option<JoinHandle<()>>>,
}

/// The origin of a requested change, and how its probation is watched.
#[derive(Clone, Debug)]
pub(super) struct RequestedAs {
    pub(super) watch: Option<WatchedBy>,
    pub(super) origin: ChangeOrigin,
}

impl RequestedAs {
    /// Returns a request without a probation.
    pub(super) fn unwatched(origin: ChangeOrigin) -> Self {
        RequestedAs {
            watch: None,
            origin,
        }
    }
}

impl Changes {
    /// Takes sole control over what `deployment` serves. Evacuates GPUs that are lost.
    pub fn new(deployment: Deployment) -> Arc<Self> {
        let changes = Changes {
            driver: Arc::new(Driver::new(Arc::new(deployment))),
            turn: Ranked::default(),
            thread: Leaf::default(),
        };
        changes.listen();
        Arc::new(changes)
    }

    /// Returns the deployment.
    pub fn deployment(&self) -> &Arc<Deployment> {
        &self.driver.deployment
    }

    /// Returns the running generation.
    pub fn running(&self) -> Arc<Generation> {
        self.driver.deployment.running()
    }

    /// Sends log lines to `journal`.
    pub fn log_to(&self, journal: ChangeJournal) {
        *self.driver.journal.lock() = Some(journal);
    }

    /// Returns the plan for applying a setup of the running models.
    ///
    /// # Errors
    /// The setup cannot be applied.
    pub fn plan(&self, setup: &Setup) -> Result<ChangePlan, ChangeRefusal> {
        Ok(self.running().engine.plan(setup)?.into())
    }

    /// Applies a setup in the background, on probation if there are terms.
    ///
    /// # Errors
    /// The setup cannot be applied, it is already running, or another change is under way.
    pub fn apply(
        &self,
        setup: &Setup,
        terms: Option<Terms>,
        origin: ChangeOrigin,
    ) -> Result<(), ChangeRefusal> {
        let plan = self.plan(setup)?;
        let watch = terms.map(WatchedBy::Requests);
        self.begin(plan, Handover::Beside, RequestedAs { watch, origin })?;
        Ok(())
    }

    /// Begins to make a planned change. Returns its number.
    pub(super) fn begin(
        &self,
        plan: ChangePlan,
        handover: Handover,
        RequestedAs { watch, origin }: RequestedAs,
    ) -> Result<u64, ChangeRefusal> {
        if let Some(WatchedBy::Requests(terms)) = &watch {
            terms.check().map_err(ChangeRefusal::Terms)?;
        }
        let change = Box::new(PlannedChange {
            handover,
            ..PlannedChange::from(&plan)
        });
        self.start_thread()?;
        let event = ChangeEvent::Requested {
            change,
            watch,
            origin,
        };
        Ok(self.driver.step(event, Some(plan))?.number)
    }

    /// Restores the setup before the last change.
    ///
    /// # Errors
    /// There is no change to undo, or the setup cannot be restored now.
    pub fn undo(&self) -> Result<(), ChangeRefusal> {
        let before = self.driver.machine.lock().undo_setup()?.clone();
        self.restore(before, ChangeOrigin::Undo)
    }

    /// Returns the setup that [`Changes::undo`] restores.
    ///
    /// # Errors
    /// There is no change to undo.
    pub fn undo_setup(&self) -> Result<Setup, ChangeRefusal> {
        self.driver.machine.lock().undo_setup().cloned()
    }

    /// Returns the setup that [`Changes::redo`] restores.
    ///
    /// # Errors
    /// There is no undone change.
    pub fn redo_setup(&self) -> Result<Setup, ChangeRefusal> {
        self.driver.machine.lock().redo_setup().cloned()
    }

    /// Restores the setup before the last undo.
    ///
    /// # Errors
    /// There is no undone change, or the setup cannot be restored now.
    pub fn redo(&self) -> Result<(), ChangeRefusal> {
        let after = self.driver.machine.lock().redo_setup()?.clone();
        self.restore(after, ChangeOrigin::Redo)
    }

    /// Restores an earlier setup. Other models are planned in the background, because a plan waits
    /// until no other models are read.
    fn restore(&self, setup: Setup, origin: ChangeOrigin) -> Result<(), ChangeRefusal> {
        let running = self.running().engine.setup();
        if running.models == setup.models {
            return self.apply(&setup, None, origin);
        }
        self.start_thread()?;
        let event = ChangeEvent::Requested {
            change: Box::new(PlannedChange::unplanned(running, setup)),
            watch: None,
            origin,
        };
        self.driver.step(event, None).map(drop)
    }

    /// Applies the settings of a setup at once. Workers stay unchanged.
    ///
    /// # Errors
    /// The settings cannot be applied, or another change is under way.
    pub fn adjust(&self, setup: &Setup, origin: ChangeOrigin) -> Result<(), ChangeRefusal> {
        let plan = self.plan(setup)?;
        let event = ChangeEvent::Adjusted {
            change: Box::new(PlannedChange::from(&plan)),
            reading: Box::new(self.driver.engine().telemetry().reading()),
            origin,
        };
        self.driver.step(event, Some(plan)).map(drop)
    }

    /// Makes a simulated device disappear and evacuates it.
    ///
    /// # Errors
    /// The device is real or already lost, or another change is under way.
    pub fn lose(&self, device: DeviceIndex) -> Result<(), ChangeRefusal> {
        self.running()
            .engine
            .faults()
            .check_loss_on_demand(device)?;
        self.start_thread()?;
        let event = ChangeEvent::LoseRequested(device);
        self.driver.step(event, None).map(drop)
    }

    /// Ends the probation and keeps the change.
    ///
    /// # Errors
    /// Nothing is on probation.
    pub fn keep(&self) -> Result<(), ChangeRefusal> {
        self.driver.step(ChangeEvent::Kept, None).map(drop)
    }

    /// Ends the probation and rolls the change back.
    ///
    /// # Errors
    /// Nothing is on probation, or another change is under way.
    pub fn take_back(&self) -> Result<(), ChangeRefusal> {
        self.start_thread()?;
        self.driver.step(ChangeEvent::TakenBack, None).map(drop)
    }

    /// Judges a policy's change by its evidence. Returns `None` if no such change is on
    /// probation, or if another change is under way.
    pub fn judge(&self, evidence: GoalEvidence) -> Option<JudgeVerdict> {
        let event = ChangeEvent::GoalsSeen(Box::new(evidence));
        let stepped = self.driver.step(event, None);
        stepped.ok().and_then(|stepped| stepped.verdict)
    }

    /// Returns whether a policy's change is on probation.
    pub fn is_judging(&self) -> bool {
        self.driver.machine.lock().is_judging()
    }

    /// Adds a mark to the history.
    pub fn mark(&self, kind: MarkKind, text: String) {
        self.driver.tell(ChangeEvent::Marked(kind, text));
    }

    /// Returns the status of changes.
    pub fn status(&self) -> ChangeStatus {
        let models = self.driver.requests.lock().view();
        let machine = self.driver.machine.lock();
        let reading = self.driver.engine().telemetry().reading();
        ChangeStatus {
            models,
            ..machine.status(&reading)
        }
    }

    /// Waits for the change under way. Afterwards nothing is changed or monitored.
    pub fn close(&self) {
        self.driver.tell(ChangeEvent::Closed);
        let Some(thread) = self.thread.lock().take() else {
            return;
        };
        self.driver.inbox.put(|mail| mail.is_over = true);
        // The thread catches its own panics.
        let _ = thread.join();
        self.driver.engine().faults().on_loss(|_| {});
    }

    fn listen(&self) {
        let engine = self.driver.engine();
        if !may_lose_devices(&engine) {
            return;
        }
        match self.start_thread() {
            Ok(()) => self.driver.listen_to(&engine),
            Err(error) => {
                let text = format!("lost GPUs will not be evacuated: {error}");
                self.driver.log(LogLevel::Warn, text).trace();
            }
        }
    }

    fn start_thread(&self) -> Result<(), ChangeRefusal> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let driver = Arc::clone(&self.driver);
            let started = thread::Builder::new()
                .name("changes".into())
                .spawn(move || driver.run());
            *thread = Some(started.map_err(|e| ChangeRefusal::NoThread(e.to_string()))?);
        }
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.close();
    }
}
