//! Changes of the running setup as a state machine: one change at a time from any origin,
//! optional probation, history and undo, and the evacuation of lost devices.
//!
//! The machine has no clock, lock or thread. Its driver passes the time and the events, and carries
//! out the returned actions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::deployment::{Applied, DeploymentError, Handover};
use crate::serving::{ApplyStep, LogLevel, Setup};
use divisi_model::allocation::Frame;
use divisi_model::catalogue::{ModelCopy, ServedCopies};
use divisi_model::metrics::{Distribution, Reading};
use divisi_model::setup::{SettingChange, SetupDiff};
use divisi_runtime::device::DeviceIndex;

use super::change_log::{ChangeLog, MadeChange};
use super::event::{
    ChangeAction, ChangeEvent, ChangeOrigin, ChangeRefusal, ChangeWork, PlannedChange, WatchedBy,
};
use super::judge::{Baseline, Terms};
use super::probation::RunningProbation;
use super::status::{Actions, ReloadState, ReloadView, UnderWay, done, failed, info};

/// The state of all changes of the running setup.
#[derive(Debug)]
pub struct ChangeMachine {
    /// The rows and columns of the running matrix.
    pub(super) frame: Arc<Frame>,
    pub(super) under_way: Option<UnderWay>,
    /// The number of the last change that began, from 1.
    number: u64,
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
            number: 0,
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
                change,
                watch,
                origin,
            } => self.requested(now, *change, watch, origin),
            ChangeEvent::Adjusted {
                change,
                origin,
                reading,
            } => self.adjusted(&change, &origin, *reading),
            ChangeEvent::Kept => self.kept(),
            ChangeEvent::TakenBack => self.taken_back(now),
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
            ChangeEvent::Ended {
                result,
                running,
                before,
                reading,
                graded,
            } => {
                self.log.set_graded(graded);
                Ok(self.ended(now, result, *running, *before, *reading))
            }
            ChangeEvent::Looked {
                reading,
                in_flight,
                is_disturbed,
            } => Ok(self.looked(now, &reading, in_flight, is_disturbed)),
            ChangeEvent::GoalsSeen(evidence) => Ok(self.goals_seen(now, &evidence)),
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
        let past = self.log.undo().to_undo().map(|past| &past.setup);
        past.ok_or(ChangeRefusal::NoUndo)
    }

    /// Returns the setup before the last undo.
    ///
    /// # Errors
    /// There is no undone change.
    pub fn redo_setup(&self) -> Result<&Setup, ChangeRefusal> {
        let past = self.log.undo().to_redo().map(|past| &past.setup);
        past.ok_or(ChangeRefusal::NoRedo)
    }

    /// Returns the setup that a rollback of the probation restores.
    ///
    /// # Errors
    /// A change is under way, or nothing is on probation.
    pub fn fallback(&self) -> Result<&Setup, ChangeRefusal> {
        if self.under_way.is_some() {
            return Err(ChangeRefusal::UnderWay);
        }
        let watched = self.probation.as_ref().filter(|p| p.is_watching());
        let fallback = watched.map(|p| &p.view.fallback);
        fallback.ok_or(ChangeRefusal::NoProbation)
    }

    /// Returns the number of the last change that began, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of the change under way, or `None` if no change is under way.
    pub fn number_under_way(&self) -> Option<u64> {
        self.under_way.as_ref().map(|_| self.number)
    }

    /// Returns the copies of models that were rolled back. They stay out until they are requested
    /// by name.
    pub fn held_off(&self) -> &[ModelCopy] {
        self.log.held_off()
    }

    /// Returns the models of the setups that can still be restored.
    pub fn models(&self) -> Vec<ServedCopies> {
        let fallback = self.probation.iter().map(|p| &p.view.fallback.models);
        self.log.models().chain(fallback).cloned().collect()
    }

    /// Returns the terms of the change under way, with the reading when the running setup began, or
    /// `None` without terms.
    pub fn baseline_wanted(&self) -> Option<(Terms, &Reading)> {
        match self.under_way.as_ref()?.watch {
            Some(WatchedBy::Requests(terms)) => Some((terms, self.log.since())),
            _ => None,
        }
    }

    fn requested(
        &mut self,
        now: Duration,
        planned: PlannedChange,
        watch: Option<WatchedBy>,
        origin: ChangeOrigin,
    ) -> Result<Actions, ChangeRefusal> {
        self.check_current(&planned)?;
        if planned.is_empty {
            return Err(ChangeRefusal::Nothing);
        }
        let past = match origin {
            ChangeOrigin::Undo => Some(self.log.undo().to_undo()),
            ChangeOrigin::Redo => Some(self.log.undo().to_redo()),
            _ => None,
        };
        let handover = match past {
            None => planned.handover,
            Some(Some(past)) if past.setup == planned.new => past.handover,
            // The plan was made earlier, and another change came first.
            Some(_) => return Err(DeploymentError::Stale.into()),
        };
        let mut actions = match self.keeps_probation(&origin, watch.as_ref())? {
            true => Actions::new(),
            false => self.make_way(&origin.to_string()),
        };
        let new = Box::new(planned.new);
        // If the models change, the operator saw the plan, or the caller plans again.
        let again = (planned.old.models == new.models).then(|| new.clone());
        let work = match planned.is_planned {
            true => ChangeWork::Apply(handover),
            false => ChangeWork::ApplySetup(new, handover),
        };
        let change = UnderWay {
            watch,
            again,
            handover,
            ..UnderWay::new(now, origin)
        };
        actions.push(self.begin(change, work));
        Ok(actions)
    }

    fn adjusted(
        &mut self,
        change: &PlannedChange,
        origin: &ChangeOrigin,
        reading: Reading,
    ) -> Result<Actions, ChangeRefusal> {
        if change.old == change.new {
            return Ok(Actions::new());
        }
        self.check_current(change)?;
        let mut actions = self.make_way(&origin.to_string());
        let members = &change.new.matrix.frame().members;
        let settings = SettingChange::between(&change.old, &change.new).into_iter();
        let said: Vec<String> = settings.flat_map(|change| change.words(members)).collect();
        let made = MadeChange {
            old: &change.old,
            new: &change.new,
            origin,
            handover: Handover::Beside,
        };
        self.log.remember(&made, reading.clone(), reading);
        actions.push(ChangeAction::SetSettings);
        actions.push(ChangeAction::Log(LogLevel::Info, said.join(", ")));
        Ok(actions)
    }

    /// Refuses a change if another one is under way or came first.
    fn check_current(&self, planned: &PlannedChange) -> Result<(), ChangeRefusal> {
        self.check_free()?;
        match planned.old == *self.log.running() {
            true => Ok(()),
            false => Err(DeploymentError::Stale.into()),
        }
    }

    pub(super) fn check_free(&self) -> Result<(), ChangeRefusal> {
        match (self.is_closing, &self.under_way) {
            (true, _) => Err(ChangeRefusal::Closed),
            (false, Some(_)) => Err(ChangeRefusal::UnderWay),
            (false, None) => Ok(()),
        }
    }

    pub(super) fn begin(&mut self, change: UnderWay, work: ChangeWork) -> ChangeAction {
        self.under_way = Some(change);
        self.number += 1;
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
        result: Result<Applied, Arc<DeploymentError>>,
        running: Setup,
        before: Reading,
        reading: Reading,
    ) -> Actions {
        let Some(mut change) = self.under_way.take() else {
            return Actions::new();
        };
        let again = change.again.take();
        if let (Err(error), Some(setup)) = (&result, again)
            && error.is_stale()
        {
            let handover = change.handover;
            self.under_way = Some(change);
            return vec![ChangeAction::Run(ChangeWork::ApplySetup(setup, handover))];
        }
        let took = now.saturating_sub(change.began);
        let old = self.log.running().clone();
        if old.models != running.models {
            // They were lost by the engine of the old models.
            self.lost.clear();
        }
        self.frame = Arc::clone(running.matrix.frame());
        let made = MadeChange {
            old: &old,
            new: &running,
            origin: &change.origin,
            handover: change.handover,
        };
        self.log.remember(&made, before, reading);
        let (state, mut actions) = match result {
            Ok(Applied { gap }) => {
                if old == running {
                    self.log.drop_step(&change.origin);
                }
                let actions = self.succeeded(now, change, old, &running, gap);
                (ReloadState::Done, actions)
            }
            // Only a part of the change may have been made.
            Err(error) => failed(&error.into(), &change.origin),
        };
        if let Some(shown) = &mut self.shown {
            (shown.state, shown.elapsed) = (state, took);
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
        mut change: UnderWay,
        old: Setup,
        new: &Setup,
        gap: Option<Duration>,
    ) -> Actions {
        let mut actions = Actions::new();
        let diff = SetupDiff::between(&old, new);
        if diff.changes_pace() {
            actions.push(ChangeAction::ClearLatencies);
            let latency = change.latency.take().filter(|l| l.summary.count > 0);
            self.latency_before = latency.map(|l| *l);
        }
        actions.extend(self.watch(now, &change, old));
        let took = now.saturating_sub(change.began);
        let members = &new.matrix.frame().members;
        actions.extend(info(done(&diff, members, &change.origin, took, gap)));
        actions
    }
}
