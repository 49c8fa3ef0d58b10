//! Changes of the running setup as a state machine: one change at a time, optional probation,
//! history and undo, and the evacuation of lost devices.
//!
//! The machine has no clock, lock or thread. Its driver passes the time and the events, and carries
//! out the returned actions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::{ApplyError, ApplyStep, LogLevel, Plan, Setup};
use divisi_model::allocation::Frame;
use divisi_model::metrics::{Distribution, Reading};
use divisi_runtime::device::DeviceIndex;

use super::change_log::{ChangeLog, MarkKind};
use super::event::{ChangeAction, ChangeEvent, ChangeOrigin, ChangeRefusal, ChangeWork};
use super::judge::{Baseline, JudgeVerdict, Terms};
use super::status::{
    Actions, ChangeStatus, ProbationState, ReloadState, ReloadView, RunningProbation, TAKEN_BACK,
    UnderWay, done, failed, info, models_back,
};

/// The state of all changes of the running setup.
#[derive(Debug)]
pub struct ChangeMachine {
    pub(super) frame: Arc<Frame>,
    pub(super) under_way: Option<UnderWay>,
    /// Devices that were lost during a change, with the reasons that their drivers reported.
    pub(super) lost: VecDeque<(DeviceIndex, String)>,
    pub(super) is_closing: bool,
    pub(super) shown: Option<ReloadView>,
    pub(super) latency_before: Option<Distribution>,
    pub(super) log: ChangeLog,
    pub(super) probation: Option<RunningProbation>,
}

impl ChangeMachine {
    /// Creates a machine with the running setup and the current reading. Labels count only if
    /// answers are `graded`.
    pub fn new(running: Setup, now: Reading, graded: bool) -> Self {
        ChangeMachine {
            frame: Arc::clone(running.matrix.frame()),
            under_way: None,
            lost: VecDeque::new(),
            is_closing: false,
            shown: None,
            latency_before: None,
            log: ChangeLog::new(running, now, graded),
            probation: None,
        }
    }

    /// Takes an event at `now` and returns the resulting actions.
    ///
    /// # Errors
    /// The requested change is refused. The state stays unchanged.
    pub fn step(&mut self, now: Duration, event: ChangeEvent) -> Result<Actions, ChangeRefusal> {
        match event {
            ChangeEvent::Requested {
                plan,
                terms,
                origin,
            } => self.requested(now, plan, terms, origin),
            ChangeEvent::Adjusted {
                plan,
                origin,
                reading,
            } => self.adjusted(plan, &origin, *reading),
            ChangeEvent::Kept => self.kept(),
            ChangeEvent::TakenBack(plan) => self.taken_back(now, plan),
            ChangeEvent::LoseRequested(device) => self.lose(now, device),
            ChangeEvent::DeviceLost { device, reason } => {
                self.lost.push_back((device, reason));
                Ok(self.next_loss(now))
            }
            ChangeEvent::Marked(kind, text) => {
                self.log.mark(now, kind, text);
                Ok(Actions::new())
            }
            ChangeEvent::Began { baseline, latency } => Ok(self.began(now, baseline, latency)),
            ChangeEvent::Stepped(step) => Ok(self.stepped(now, &step)),
            ChangeEvent::Ended { result, reading } => Ok(self.ended(now, result, *reading)),
            ChangeEvent::Looked {
                reading,
                in_flight,
                is_disturbed,
            } => Ok(self.looked(now, &reading, (in_flight, is_disturbed))),
            ChangeEvent::Closed => {
                self.is_closing = true;
                Ok(Actions::new())
            }
        }
    }

    /// Returns whether the machine is closed and no change is under way.
    pub fn is_over(&self) -> bool {
        self.is_closing && self.under_way.is_none() && self.lost.is_empty()
    }

    /// Returns the setup before the last change.
    ///
    /// # Errors
    /// There is no change to undo.
    pub fn undo_setup(&self) -> Result<&Setup, ChangeRefusal> {
        self.log.undo().to_undo().ok_or(ChangeRefusal::NoUndo)
    }

    /// Returns the setup before the last undo.
    ///
    /// # Errors
    /// There is no undone change.
    pub fn redo_setup(&self) -> Result<&Setup, ChangeRefusal> {
        self.log.undo().to_redo().ok_or(ChangeRefusal::NoRedo)
    }

    /// Returns the setup that a rollback of the probation restores.
    ///
    /// # Errors
    /// A change is under way, or nothing is on probation.
    pub fn fallback(&self) -> Result<&Setup, ChangeRefusal> {
        if self.under_way.is_some() {
            return Err(ChangeRefusal::NotNow);
        }
        let watched = self.probation.as_ref().filter(|p| p.is_watching());
        let fallback = watched.and_then(|p| p.view.fallback.as_ref());
        fallback.ok_or(ChangeRefusal::NoProbation)
    }

    /// Returns the status, with the figures up to `now`.
    pub fn status(&self, now: &Reading) -> ChangeStatus {
        ChangeStatus {
            reload: self.shown.clone(),
            latency_before: self.latency_before.clone(),
            can_undo: self.log.undo().to_undo().is_some(),
            can_redo: self.log.undo().to_redo().is_some(),
            marks: self.log.marks(),
            history: self.log.history(now),
            probation: self.probation.as_ref().map(|p| p.view.clone()),
        }
    }

    fn requested(
        &mut self,
        now: Duration,
        plan: Box<Plan>,
        terms: Option<Terms>,
        origin: ChangeOrigin,
    ) -> Result<Actions, ChangeRefusal> {
        if plan.is_empty() {
            return Err(ChangeRefusal::Nothing);
        }
        self.check_free()?;
        // The plan was made earlier, and another change may have come first.
        let due = match origin {
            ChangeOrigin::Undo => self.log.undo().to_undo() == Some(plan.new_setup()),
            ChangeOrigin::Redo => self.log.undo().to_redo() == Some(plan.new_setup()),
            _ => true,
        };
        if !due {
            return Err(ChangeRefusal::UnderWay);
        }
        let mut actions = self.make_way(&origin.to_string());
        let change = UnderWay {
            terms,
            again: Some(Box::new(plan.new_setup().clone())),
            ..UnderWay::new(now, origin)
        };
        actions.push(self.begin(change, ChangeWork::Apply(plan)));
        Ok(actions)
    }

    fn adjusted(
        &mut self,
        plan: Box<Plan>,
        origin: &ChangeOrigin,
        reading: Reading,
    ) -> Result<Actions, ChangeRefusal> {
        if plan.old_setup() == plan.new_setup() {
            return Ok(Actions::new());
        }
        self.check_free()?;
        let mut actions = self.make_way(&origin.to_string());
        let text = plan.setting_words().join(", ");
        self.log.remember(&plan, reading, origin);
        actions.push(ChangeAction::SetSettings(plan));
        actions.push(ChangeAction::Log(LogLevel::Info, text));
        Ok(actions)
    }

    fn kept(&mut self) -> Result<Actions, ChangeRefusal> {
        match self.end_probation(ProbationState::Kept) {
            true => Ok(info("probation ended: change kept".into())),
            false => Err(ChangeRefusal::NoProbation),
        }
    }

    fn taken_back(&mut self, now: Duration, plan: Box<Plan>) -> Result<Actions, ChangeRefusal> {
        if self.fallback()? != plan.new_setup() {
            return Err(ChangeRefusal::NotNow);
        }
        if plan.is_empty() {
            return Err(ChangeRefusal::Nothing);
        }
        self.end_probation(ProbationState::Failed(TAKEN_BACK.into()));
        let change = UnderWay {
            again: Some(Box::new(plan.new_setup().clone())),
            ..UnderWay::new(now, ChangeOrigin::RolledBack(TAKEN_BACK.into()))
        };
        Ok(vec![self.begin(change, ChangeWork::Apply(plan))])
    }

    fn lose(&mut self, now: Duration, device: DeviceIndex) -> Result<Actions, ChangeRefusal> {
        self.check_free()?;
        let text = format!("{} lost", self.frame.devices[device]);
        let mut actions = self.make_way(&text);
        self.log.mark(now, MarkKind::Device, text);
        let change = UnderWay::new(now, ChangeOrigin::Evacuation);
        actions.push(self.begin(change, ChangeWork::Evacuate(device)));
        Ok(actions)
    }

    /// Evacuates the first lost device, unless a change is under way.
    fn next_loss(&mut self, now: Duration) -> Actions {
        if self.under_way.is_some() {
            return Actions::new();
        }
        let Some((device, reason)) = self.lost.pop_front() else {
            return Actions::new();
        };
        let text = format!("{} lost: {reason}", self.frame.devices[device]);
        let mut actions = self.interrupt_probation(&text);
        self.log.mark(now, MarkKind::Device, text);
        let work = match self.is_closing {
            true => ChangeWork::Abandon(device),
            false => ChangeWork::Evacuate(device),
        };
        let change = UnderWay::new(now, ChangeOrigin::Evacuation);
        actions.push(self.begin(change, work));
        actions
    }

    fn check_free(&self) -> Result<(), ChangeRefusal> {
        match self.under_way.is_some() || self.is_closing {
            true => Err(ChangeRefusal::UnderWay),
            false => Ok(()),
        }
    }

    /// Ends the probation of the last change before the next change.
    fn make_way(&mut self, why: &str) -> Actions {
        let actions = self.interrupt_probation(why);
        if actions.is_empty() {
            self.probation = None;
        }
        actions
    }

    fn interrupt_probation(&mut self, why: &str) -> Actions {
        match self.end_probation(ProbationState::Kept) {
            true => info(format!("probation ended early ({why}): change kept")),
            false => Actions::new(),
        }
    }

    fn end_probation(&mut self, state: ProbationState) -> bool {
        let watched = self.probation.as_mut().filter(|p| p.is_watching());
        watched.map(|p| p.view.state = state).is_some()
    }

    fn begin(&mut self, change: UnderWay, work: ChangeWork) -> ChangeAction {
        self.under_way = Some(change);
        self.shown = Some(ReloadView {
            steps: Vec::new(),
            state: ReloadState::Running,
            elapsed: Duration::ZERO,
        });
        ChangeAction::Run(work)
    }

    fn began(
        &mut self,
        now: Duration,
        baseline: Option<Box<Baseline>>,
        latency: Box<Distribution>,
    ) -> Actions {
        if let Some(change) = &mut self.under_way {
            change.began = now;
            change.baseline = baseline;
            change.latency = Some(latency);
        }
        Actions::new()
    }

    fn stepped(&mut self, now: Duration, step: &ApplyStep) -> Actions {
        if let (Some(change), Some(shown)) = (&self.under_way, &mut self.shown) {
            shown.steps.extend(step.words(&self.frame));
            shown.elapsed = now.saturating_sub(change.began);
        }
        Actions::new()
    }

    fn ended(
        &mut self,
        now: Duration,
        result: Result<Box<Plan>, ApplyError>,
        reading: Reading,
    ) -> Actions {
        let Some(mut change) = self.under_way.take() else {
            return Actions::new();
        };
        let again = change.again.take();
        if let (Err(ApplyError::Stale), Some(setup)) = (&result, again) {
            self.under_way = Some(change);
            return vec![ChangeAction::Run(ChangeWork::ApplySetup(setup))];
        }
        let took = now.saturating_sub(change.began);
        let (state, mut actions) = match result {
            Ok(plan) => (
                ReloadState::Done,
                self.succeeded(now, change, &plan, reading),
            ),
            Err(error) => failed(&error, &change.origin),
        };
        if let Some(shown) = &mut self.shown {
            shown.state = state;
            shown.elapsed = took;
        }
        actions.extend(self.next_loss(now));
        if !self.is_closing {
            actions.extend(self.next_look(now));
        }
        actions
    }

    fn succeeded(
        &mut self,
        now: Duration,
        change: UnderWay,
        plan: &Plan,
        reading: Reading,
    ) -> Actions {
        let mut actions = Actions::new();
        if plan.changes_pace() {
            actions.push(ChangeAction::ClearLatencies);
            let latency = change.latency.filter(|l| l.summary.count > 0);
            self.latency_before = latency.map(|l| *l);
        }
        self.log.remember(plan, reading, &change.origin);
        if let (Some(terms), Some(before)) = (change.terms, change.baseline) {
            let before = self.log.graded_baseline(*before);
            let measured = self.log.measured(&before.whole);
            let fallback = plan.old_setup().clone();
            let probation = RunningProbation::new(terms, &before, measured, Some(fallback), now);
            self.probation = Some(probation);
        }
        let took = now.saturating_sub(change.began);
        actions.extend(info(done(plan, took)));
        actions
    }

    pub(super) fn next_look(&self, now: Duration) -> Option<ChangeAction> {
        let watched = self.probation.as_ref().filter(|p| p.is_watching())?;
        Some(ChangeAction::LookAt(now.saturating_add(watched.pause())))
    }

    fn looked(&mut self, now: Duration, reading: &Reading, load: (usize, bool)) -> Actions {
        if self.under_way.is_some() || self.is_closing {
            return Actions::new();
        }
        let watched = self.probation.as_mut().filter(|p| p.is_watching());
        let Some(watched) = watched else {
            return Actions::new();
        };
        match watched.check(reading, load, &self.log) {
            JudgeVerdict::Watching => self.next_look(now).into_iter().collect(),
            JudgeVerdict::Passed(remark) => {
                watched.view.state = ProbationState::Passed;
                let remark = remark.map(|r| format!(", though {r}")).unwrap_or_default();
                info(format!("probation passed{remark}"))
            }
            JudgeVerdict::Failed(why) => {
                watched.view.state = ProbationState::Failed(why.clone());
                let fallback = watched.view.fallback.clone();
                self.roll_back(now, why, fallback)
            }
        }
    }

    fn roll_back(&mut self, now: Duration, why: String, fallback: Option<Setup>) -> Actions {
        let Some(fallback) = fallback.map(Box::new) else {
            return models_back(why);
        };
        let text = format!("probation failed: {why}; restoring the previous setup");
        let change = UnderWay::new(now, ChangeOrigin::RolledBack(why));
        let begin = self.begin(change, ChangeWork::ApplySetup(fallback));
        vec![ChangeAction::Log(LogLevel::Warn, text), begin]
    }
}
