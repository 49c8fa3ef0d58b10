//! Drives a reload: the steps of the plan, while serving goes on.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::allocation::{Cell, DoesNotFit, Matrix};
use crate::ensemble::BatchSize;
use crate::lock::lock;
use crate::serving::batch::WorkerId;
use crate::serving::reload::{Reload, ReloadAction, ReloadEvent, ReloadPlan};
use crate::serving::scheduler::WorkerSpec;

use super::engine::Engine;
use super::promise::Failure;

/// Why a reload did not happen; the old matrix serves.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReloadError {
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    #[error("the matrix is for other devices or members than those that run")]
    OtherFrame,
    #[error("a new worker did not start: {0}")]
    Worker(String),
    #[error("a search measures in the rest of the memory; cancel it or wait for its end: {0}")]
    Lent(DoesNotFit),
    #[error("somebody else measures in the rest of the memory")]
    Reserved,
    #[error("a reload is under way")]
    UnderWay,
    #[error("`{0}` is gone")]
    Lost(String),
    #[error("`{0}` is there")]
    NotLost(String),
    #[error("`{0}` is a device of this machine; only simulated ones disappear or grow slow")]
    NotSimulated(String),
    #[error("{0}")]
    NoRefuge(String),
    #[error("the system is stopping")]
    Stopping,
}

impl Engine {
    /// Plans the way to `matrix`, moving nothing.
    ///
    /// # Errors
    /// It does not fit, or belongs to something else.
    pub fn plan_reload(&self, matrix: &Matrix) -> Result<ReloadPlan, ReloadError> {
        let old = self.matrix();
        if old.frame() != matrix.frame() {
            return Err(ReloadError::OtherFrame);
        }
        let devices = &self.shared.devices;
        let lost = self.lost_devices();
        if let Some((cell, _)) = matrix.workers().find(|(c, _)| lost.contains(&c.device)) {
            return Err(ReloadError::Lost(devices.get(cell.device).name.clone()));
        }
        let mut plan = match self.reserve.left() {
            None => ReloadPlan::new(&old, matrix, &self.footprints, devices)?,
            Some(left) => {
                // What would not fit without the search is told as such.
                self.footprints.book(matrix, devices)?;
                ReloadPlan::new(&old, matrix, &self.footprints, &left).map_err(ReloadError::Lent)?
            }
        };
        plan.revive(&self.retired(&old));
        Ok(plan)
    }

    /// Entries of the running matrix whose worker was retired.
    pub fn retired(&self, matrix: &Matrix) -> Vec<Cell> {
        let staying: HashSet<(usize, usize)> = {
            let core = self.shared.core();
            let staying = core.staying();
            staying.map(|spec| (spec.device, spec.member)).collect()
        };
        matrix
            .workers()
            .map(|(cell, _)| cell)
            .filter(|cell| !staying.contains(&(cell.device, cell.member)))
            .collect()
    }

    /// Replaces the running matrix while serving; tells `watch` each step.
    ///
    /// # Errors
    /// The reload failed; the old matrix serves.
    pub fn reload(
        &self,
        matrix: &Matrix,
        watch: impl FnMut(&str),
    ) -> Result<ReloadPlan, ReloadError> {
        let _one_at_a_time = lock(&self.reloading);
        // What cannot even be planned changes nothing.
        self.plan_reload(matrix)?;
        self.shared.core().set_reloading(true);
        self.reach(Ok(matrix.clone()), watch)
    }

    /// Moves to the matrix that is aimed at, if there is one, and looks who serves.
    pub(super) fn reach(
        &self,
        target: Result<Matrix, ReloadError>,
        mut watch: impl FnMut(&str),
    ) -> Result<ReloadPlan, ReloadError> {
        let result = target.and_then(|matrix| {
            let plan = self.plan_reload(&matrix)?;
            self.follow(plan, &matrix, &mut watch)
        });
        {
            let mut core = self.shared.core();
            // A GPU may have been lost meanwhile whose workers are still to be moved.
            core.set_reloading(self.shared.losses.are_awaited());
        }
        // Where even an old worker did not start again, its member has nobody left.
        self.shared.close_if_orphaned();
        self.shared.core().reopen_if_served();
        result
    }

    fn follow(
        &self,
        plan: ReloadPlan,
        matrix: &Matrix,
        watch: &mut impl FnMut(&str),
    ) -> Result<ReloadPlan, ReloadError> {
        // What drains early may share weights with what is then built.
        let starts = plan.starts.iter().map(|(cell, _)| cell.member);
        let _kept: Vec<_> = starts
            .filter_map(|member| self.shared.networks.factory.hold(member))
            .collect();
        let mut reload = Reload::new(plan.clone());
        let mut built = Vec::new();
        let mut event = ReloadEvent::Start;
        loop {
            let action = reload.step(event);
            if let Some(words) = self.describe(&action) {
                watch(&words);
            }
            event = match action {
                ReloadAction::Done => {
                    *lock(&self.matrix) = matrix.clone();
                    return Ok(plan);
                }
                ReloadAction::Failed(reason) => return Err(ReloadError::Worker(reason)),
                action => self.act(action, &mut built),
            };
        }
    }

    fn act(&self, action: ReloadAction, built: &mut Vec<WorkerSpec>) -> ReloadEvent {
        match action {
            ReloadAction::Drain(cell) => self.drain(cell, built),
            ReloadAction::Build(cell, size) => return self.build_new(cell, size, built),
            ReloadAction::Activate => self.activate(built),
            ReloadAction::Discard => {
                for spec in built.drain(..) {
                    self.shared.remove_worker(spec.device, spec.id);
                }
            }
            ReloadAction::Restore(cell, size) => {
                let mut restored = Vec::new();
                let event = self.build_new(cell, size, &mut restored);
                self.activate(&restored);
                return event;
            }
            ReloadAction::Done | ReloadAction::Failed(_) => {}
        }
        ReloadEvent::Done
    }

    fn build_new(&self, cell: Cell, size: BatchSize, built: &mut Vec<WorkerSpec>) -> ReloadEvent {
        if self.shared.is_stopping() {
            return ReloadEvent::Failed(ReloadError::Stopping.to_string());
        }
        let spec = self.new_spec(cell, size);
        match self.shared.build_worker(spec) {
            Ok(()) => {
                built.push(spec);
                ReloadEvent::Done
            }
            Err(error) => ReloadEvent::Failed(error.to_string()),
        }
    }

    fn activate(&self, built: &[WorkerSpec]) {
        {
            let mut core = self.shared.core();
            for &spec in built {
                core.add_worker(self.shared.now(), spec);
            }
        }
        self.shared.wake();
    }

    /// Drains the workers at a cell that were not built by this reload.
    fn drain(&self, cell: Cell, built: &[WorkerSpec]) {
        let old: Vec<WorkerId> = {
            let mut core = self.shared.core();
            let old: Vec<WorkerId> = core
                .staying()
                .filter(|s| s.device == cell.device && s.member == cell.member)
                .map(|s| s.id)
                .filter(|id| built.iter().all(|b| b.id != *id))
                .collect();
            for &id in &old {
                core.drain_worker(id);
            }
            old
        };
        // What they had taken but not started is for others now.
        self.shared.wake();
        for id in old {
            self.await_drained(id);
            let now = self.shared.now();
            let stuck = self.shared.core().remove_worker(now, id);
            let reason = "its worker was stopped and did not finish in time";
            self.shared
                .deliver_failures(stuck, &Failure::Worker(reason.into()));
            self.shared.remove_worker(cell.device, id);
        }
        self.shared.wake();
    }

    fn await_drained(&self, id: WorkerId) {
        let limit = Instant::now() + self.options.drain_limit;
        while !self.shared.core().is_drained(id) {
            if Instant::now() >= limit || self.shared.is_stopping() {
                let notice = "warning: a worker did not drain in time; its batch was given up";
                self.shared.notice(notice.into());
                return;
            }
            thread::park_timeout(Duration::from_micros(200));
        }
    }

    fn describe(&self, action: &ReloadAction) -> Option<String> {
        let place = |cell: &Cell| {
            let frame = self.matrix();
            let frame = frame.frame();
            format!(
                "{} × {}",
                frame.devices[cell.device], frame.members[cell.member]
            )
        };
        match action {
            ReloadAction::Drain(cell) => Some(format!("drain {}", place(cell))),
            ReloadAction::Build(cell, size) => Some(format!("start {} at {size}", place(cell))),
            ReloadAction::Activate => Some("new workers serve".into()),
            ReloadAction::Discard => Some("drop what was started".into()),
            ReloadAction::Restore(cell, size) => Some(format!("restore {} at {size}", place(cell))),
            ReloadAction::Done | ReloadAction::Failed(_) => None,
        }
    }
}
